# SPDX-License-Identifier: Apache-2.0
"""Runs the mutants of tests/mutants/mutants.txt against the build of preset `mutants`. With
`--of NAME` those of tests/mutants/NAME.txt against build/NAME, which somebody else has built.

A line of the list is `name | command [; command] | what is broken`. A command is a test program
and its arguments, as in `test_sim --gtest_filter=Takeover.*`. A mutant is caught when one of its
commands fails. The same commands must pass without a mutant, or catching would mean nothing.

Whether a race is met is chance on a busy machine, so who survives is tried again, LOOKS times in
all. One that is caught late is said at the end: its test wants to be sharper.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHICH = sys.argv[2] if sys.argv[1:2] == ["--of"] else "mutants"
LISTS = sorted((ROOT / "tests" / "mutants").glob("*.txt"))
BUILD = ROOT / "build" / WHICH
LOGS = ROOT / "build" / "test-logs" / ("mutants" if WHICH == "mutants" else f"mutants-{WHICH}")
TIMEOUT = 120
LOOKS = 3
WORKERS = 6  # tests wait, mostly: two leave seven eighths of two cores idle
PLACE = re.compile(r'ONCEMQ_MUTANT\("([^"]+)"\)')
NO_TESTS = re.compile(r"Running 0 tests|doesn't match|not match any test")


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
    for folder in ("base", "ordering", "dedup", "locks", "clients", "framework", "tests"):
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


def run(command, mutant, programs):
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
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                              text=True, errors="replace", check=False)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        code, output = None, output.decode(errors="replace")
    LOGS.mkdir(parents=True, exist_ok=True)
    with open(LOGS / f"{mutant or 'none'}.log", "a", encoding="utf-8") as log:
        log.write(f"$ ONCEMQ_MUTANT={mutant} {command}\n{output}\nexit code {code}\n")
    return code, output, time.monotonic() - begin


def check_unbroken(command, programs):
    """Without a mutant the command must pass, and must run a test at all."""
    code, output, took = run(command, "", programs)
    if code != 0:
        said = textwrap.indent(output[-2000:], "  ")
        return f"{command} fails without a mutant (exit code {code})\n{said}"
    if NO_TESTS.search(output) or not re.search(r"\[  PASSED  \] [1-9]", output):
        return f"{command} runs no test"
    print(f"without a mutant: {command} passes in {took:.1f} s", flush=True)
    return ""


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


def main():
    wanted = sys.argv[3 if sys.argv[1:2] == ["--of"] else 1:]
    listed, every = read_lists()
    mutants = [mutant for mutant in listed if not wanted or mutant.name in wanted]
    if not mutants:
        sys.exit(f"no such mutant; tests/mutants/{WHICH}.txt names them all")
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
        commands = sorted({command for mutant in mutants for command in mutant.commands})
        for problem in pool.map(lambda command: check_unbroken(command, programs), commands):
            if problem:
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
    passed = len(mutants) + len(commands) + len(problems) - len(bad)
    print(f"{passed} passed, {len(bad)} failed, 0 skipped")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
