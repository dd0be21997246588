# SPDX-License-Identifier: Apache-2.0
"""Runs the mutants of tests/mutants/mutants.txt against the build of preset `mutants`. With
`--of NAME` those of tests/mutants/NAME.txt against build/NAME, which somebody else has built.

A line of the list is `name | command [; command] | what is broken`. A command is a test program
and a filter, as in `test_sim --gtest_filter=Takeover.*`. A mutant is caught when one of its
commands fails. Without a mutant all must pass, or catching would mean nothing: each program is run
once for that with all of its filters, and once more for each set of other arguments.

Whether a race is met is chance on a busy machine, so who survives is tried again, LOOKS times in
all. One that is caught late is said at the end: its test wants to be sharper.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap
import time

from changed_files import changed_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = sorted((ROOT / "tests" / "mutants").glob("*.txt"))
TIMEOUT = 120
BASELINE_TIMEOUT = 900
LOOKS = 3
WORKERS = 6  # tests wait, mostly: two leave seven eighths of two cores idle
PLACE = re.compile(r'ONCEMQ_MUTANT\("([^"]+)"\)')
FILTER = "--gtest_filter="
PASSED = re.compile(r"\[       OK \] (\S+)")


def read_options():
    parser = argparse.ArgumentParser(prog="scripts/mutants")
    parser.add_argument("--of", default="mutants", metavar="NAME", help="another list and build")
    parser.add_argument("--changed", action="store_true",
                        help="only those with a place in a file that differs from --base")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="a revision (HEAD)")
    parser.add_argument("--programs", action="store_true",
                        help="only print the programs that are needed")
    parser.add_argument("names", nargs="*", help="only these")
    return parser.parse_args()


OPTIONS = read_options()
WHICH = OPTIONS.of
BUILD = ROOT / "build" / WHICH
LOGS = ROOT / "build" / "test-logs" / "mutants" / WHICH


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    commands: tuple
    broken: str


def read_list(path):
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|", 2)]
        if len(fields) != 3 or not all(fields):
            sys.exit(f"{path}:{number}: expected `name | command | what is broken`")
        commands = tuple(command.strip() for command in fields[1].split(" ; "))
        mutants.append(Mutant(fields[0], commands, fields[2]))
    return mutants


def read_lists():
    """Returns those of our list, and all of them; a name stands in one list, once."""
    lists = {path.stem: read_list(path) for path in LISTS}
    every = [mutant for mutants in lists.values() for mutant in mutants]
    names = [mutant.name for mutant in every]
    for name in {name for name in names if names.count(name) > 1}:
        sys.exit(f"tests/mutants: mutant {name} is listed twice")
    return lists[WHICH], every


def compare_with_sources(mutants):
    """Every place in the sources is listed, and every listed name has a place."""
    places = set()
    for folder in ("base", "ordering", "dedup", "gate", "locks", "clients", "framework", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cc"):
                places |= set(PLACE.findall(path.read_text(encoding="utf-8")))
    names = {mutant.name for mutant in mutants}
    places.discard("name")  # the example in the macro's own comment
    places = {place for place in places if not place.startswith("test-only/")}
    return ([f"mutant {name} is in the sources, but not listed" for name in places - names]
            + [f"mutant {name} is listed, but has no place" for name in names - places])


def find_programs():
    return {path.name: path for path in BUILD.rglob("test_*")
            if path.is_file() and os.access(path, os.X_OK)}


def run(command, mutant, programs, timeout=TIMEOUT):
    """Returns (exit code or None after the time limit, output, seconds)."""
    words = shlex.split(command)
    program = programs.get(words[0])
    if program is None:
        return 127, f"{words[0]} is not built in {BUILD}", 0.0
    env = {**os.environ, "ONCEMQ_MUTANT": mutant}
    arguments = [str(program), *words[1:]]
    if mutant:
        arguments.append("--gtest_fail_fast")
    begin = time.monotonic()
    try:
        done = subprocess.run(arguments, cwd=program.parent, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                              text=True, errors="replace", check=False)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        code, output = None, output.decode(errors="replace")
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / f"{mutant or 'none'}.log", "a", encoding="utf-8") as log:
        log.write(f"$ ONCEMQ_MUTANT={mutant} {command}\n{output}\nexit code {code}\n")
    return code, output, time.monotonic() - begin


def check_unbroken(asked, filters, programs):
    """Without a mutant all must pass, and each filter must name a test. Returns what is wrong.
    `asked`: a program and its arguments besides the filter."""
    program, *others = asked
    command = " ".join([program, FILTER + ":".join(filters), *others])
    program = " ".join(asked)
    code, output, took = run(command, "", programs, BASELINE_TIMEOUT)
    if code != 0:
        said = textwrap.indent(output[-2000:], "  ")
        return [f"{program} fails without a mutant (exit code {code})\n{said}"]
    print(f"without a mutant: {program} passes in {took:.1f} s", flush=True)
    names = PASSED.findall(output)
    patterns = {one: one.split(":") for one in filters}
    return [f"{program} {FILTER}{one} runs no test" for one, parts in patterns.items()
            if not any(fnmatch.filter(names, part) for part in parts)]


def try_mutant(mutant, programs):
    """Returns (at which look it was caught or 0, what to say)."""
    for look in range(1, LOOKS + 1):
        for command in mutant.commands:
            code, output, took = run(command, mutant.name, programs)
            if code is None:
                return 0, f"{command}: neither passed nor failed in {TIMEOUT} s"
            if code not in (0, 127):
                first = re.search(r"\[  FAILED  \] (\S+)", output)
                where = first.group(1).rstrip(",") if first else f"exit code {code}"
                return look, f"by {where} in {took:.1f} s"
    return 0, f"every test passed, {LOOKS} times"


def choose(listed):
    """Those that were asked for."""
    chosen = listed
    if OPTIONS.names:
        chosen = [mutant for mutant in chosen if mutant.name in OPTIONS.names]
        if not chosen:
            sys.exit(f"no such mutant; tests/mutants/{WHICH}.txt names them all")
    if OPTIONS.changed:
        places = set()
        for path in changed_files(OPTIONS.base):
            if path.endswith((".h", ".cc")):
                places |= set(PLACE.findall((ROOT / path).read_text(encoding="utf-8")))
        chosen = [mutant for mutant in chosen if mutant.name in places]
    return chosen


def by_program(mutants):
    """The filters that each program is asked with, by the program and its other arguments."""
    filters = collections.defaultdict(set)
    for command in {command for mutant in mutants for command in mutant.commands}:
        program, option, *others = shlex.split(command)
        filters[(program, *others)].add(option.removeprefix(FILTER))
    return {asked: sorted(found) for asked, found in sorted(filters.items())}


def main():
    listed, every = read_lists()
    mutants = choose(listed)
    asked = by_program(mutants)
    if OPTIONS.programs:
        print(" ".join(sorted({program for program, *_ in asked})))
        return 0
    for old in LOGS.glob("*.log"):
        old.unlink()
    programs = find_programs()
    problems = sorted(compare_with_sources(every))
    bad = []
    late = []

    def complain(text):
        bad.append(text)
        print(text, flush=True)

    for problem in problems:
        complain(f"NOT VALID: {problem}")
    with concurrent.futures.ThreadPoolExecutor(max_workers=WORKERS) as pool:
        for found in pool.map(lambda one: check_unbroken(*one, programs), asked.items()):
            for problem in found:
                complain(f"NOT VALID: {problem}")
        for mutant, (look, how) in zip(
                mutants, pool.map(lambda mutant: try_mutant(mutant, programs), mutants)):
            what = f"{mutant.name}: {mutant.broken} ({how})"
            if look:
                print(f"caught   {what}", flush=True)
            else:
                complain(f"SURVIVED {what}")
            if look > 1:
                late.append(f"caught late, at look {look}: {mutant.name}")
    # Said once more where the reader of a long log looks first.
    for text in bad + late:
        print(text)
    passed = max(0, len(mutants) + len(asked) + len(problems) - len(bad))
    print(f"{passed} passed, {len(bad)} failed, 0 skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
