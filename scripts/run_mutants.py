# SPDX-License-Identifier: Apache-2.0
"""Runs the mutants of tests/mutants/*.mutants against the build of the mirrored tree, for
scripts/mutants. With `--of NAME` those with `build: NAME`, which another script has built.

The verdicts:
  KILLED           by a test that the entry names
  KILLED BY OTHER  by another test of those programs: the entry should name that one (a warning)
  SURVIVED         each test passed, LOOKS times: a race is met by chance on a busy machine
  INVALID          it does not compile, no test reached its place, or a test did not end

An entry may expect another verdict: the controls do, which tell whether this script is blind. Each
program passes without a mutant first, or a failure would mean nothing.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time

import mutant_edit
import mutant_table as table
from changed_files import changed_files

ROOT = table.ROOT
TIMEOUT = 120
BASELINE_TIMEOUT = 900
LOOKS = 3
WORKERS = 6  # tests wait, mostly: two leave seven eighths of two cores idle
PASSED = re.compile(r"\[       OK \] (\S+)")
FAILED = re.compile(r"\[  FAILED  \] ([^\s,]+)")
BEGUN = re.compile(r"\[ RUN      \] (\S+)")


def read_options():
    parser = argparse.ArgumentParser(prog="scripts/mutants")
    parser.add_argument("--of", default="mutants", metavar="NAME", help="those of another build")
    parser.add_argument("--changed", action="store_true",
                        help="only those whose file or entry differs from --base")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="a revision (HEAD)")
    parser.add_argument("--programs", action="store_true",
                        help="only print the programs that are needed")
    parser.add_argument("--edit", metavar="NAME", help="open one in a copy of its files")
    parser.add_argument("--take", metavar="NAME", help="write its entry from that copy")
    parser.add_argument("--refresh", action="store_true", help="find text again that has moved")
    parser.add_argument("names", nargs="*", help="only these")
    return parser.parse_args()


OPTIONS = read_options()
BUILD = table.MIRROR / "build" / OPTIONS.of
LOGS = ROOT / "build" / "test-logs" / "mutants" / OPTIONS.of


def command_of(program, tests, more=()):
    return (program, f"--gtest_filter={tests}", *more)


def commands_of(mutant):
    """(program, filter, further arguments) of each test of an entry."""
    for test in mutant.tests:
        program, tests, *more = shlex.split(test)
        yield program, tests, tuple(more)


@functools.cache
def programs():
    return {path.name: path for path in BUILD.rglob("test_*")
            if path.is_file() and os.access(path, os.X_OK)}


def run(command, mutant, timeout=TIMEOUT):
    """Returns (exit code or None after the time limit, output, seconds)."""
    program = programs().get(command[0])
    if program is None:
        return 127, f"{command[0]} is not built in {BUILD}", 0.0
    env = {**os.environ, "ONCEMQ_MUTANT": mutant, "ONCEMQ_MUTANT_REACHED": str(reached(mutant))}
    arguments = [str(program), *command[1:]]
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
    with open(LOGS / f"{mutant or 'none'}.log", "a", encoding="utf-8") as log:
        log.write(f"$ ONCEMQ_MUTANT={mutant} {shlex.join(command)}\n{output}\nexit code {code}\n")
    return code, output, time.monotonic() - begin


def reached(mutant):
    """The file that a process writes once it comes to the place."""
    return LOGS / f"{mutant or 'none'}.reached"


# Without a mutant ---------------------------------------------------------------------------------


def check_unbroken(asked, filters):
    """All must pass, and each filter must name a test. Returns what is wrong. `asked`: a program
    and its arguments besides the filter."""
    program, *more = asked
    code, output, took = run(command_of(program, ":".join(filters), more), "", BASELINE_TIMEOUT)
    if code != 0:
        said = textwrap.indent(output[-2000:], "  ")
        return [f"{' '.join(asked)} fails without a mutant (exit code {code})\n{said}"]
    print(f"without a mutant: {' '.join(asked)} passes in {took:.1f} s", flush=True)
    names = PASSED.findall(output)
    return [f"{program} {one} runs no test" for one in filters
            if not any(fnmatch.filter(names, part) for part in one.split("-")[0].split(":"))]


@functools.cache
def others_pass(program, others):
    return run(command_of(program, others), "", BASELINE_TIMEOUT)[0] == 0


# With one -----------------------------------------------------------------------------------------


def judge(mutant):
    """(verdict, at which look, how)."""
    for look in range(1, LOOKS + 1):
        for program, tests, more in commands_of(mutant):
            code, output, took = run(command_of(program, tests, more), mutant.name)
            if code == 127:
                return "INVALID", look, output
            if code is None:
                return "INVALID", look, f"{program} {tests} has not ended after {TIMEOUT} s"
            if code != 0 and not reached(mutant.name).exists():
                return "INVALID", look, f"{program} {tests} fails, and has not reached its place"
            if code != 0:
                return "KILLED", look, f"by {guilty(output, code)} in {took:.1f} s"
    if not reached(mutant.name).exists():
        return "INVALID", LOOKS, "its tests never reached its place"
    other = killed_by_other(mutant) if mutant.expect == "KILLED" else None
    if other:
        return "KILLED BY OTHER", LOOKS, other
    return "SURVIVED", LOOKS, f"every test passed, {LOOKS} times"


def guilty(output, code):
    failed = FAILED.search(output)
    begun = BEGUN.findall(output)
    return failed.group(1) if failed else f"exit code {code} in {begun[-1] if begun else 'no test'}"


def killed_by_other(mutant):
    by_program = collections.defaultdict(list)
    for program, tests, _ in commands_of(mutant):
        by_program[program].append(tests.split("-")[0])
    for program, named in by_program.items():
        others = "-" + ":".join(named)
        code, output, _ = run(command_of(program, others), mutant.name, BASELINE_TIMEOUT)
        if code not in (0, 127, None) and others_pass(program, others):
            return f"by {program} {guilty(output, code)}"
    return None


# What is asked for --------------------------------------------------------------------------------


def entry_of(mutant):
    return mutant_edit.paragraph(mutant)


def changed(mutants, base):
    """Those whose file differs from the revision, or whose entry."""
    files = set(changed_files(base))
    before = set()
    for name in {mutant.table for mutant in mutants} & files:
        done = subprocess.run(["git", "show", f"{base}:{name}"], cwd=ROOT, capture_output=True,
                              text=True, check=False)
        before |= {entry_of(one) for one in table.read_table(name, done.stdout)}
    return [mutant for mutant in mutants
            if files & {place.file for place in mutant.places}
            or (mutant.table in files and entry_of(mutant) not in before)]


def choose():
    mutants = [mutant for mutant in table.read_tables() if mutant.build == OPTIONS.of]
    chosen = mutants
    if OPTIONS.names:
        chosen = [mutant for mutant in mutants if mutant.name in OPTIONS.names]
        for name in set(OPTIONS.names) - {mutant.name for mutant in chosen}:
            sys.exit(f"no mutant {name}; {table.TABLES} has them all")
    if OPTIONS.changed:
        chosen = changed(chosen, OPTIONS.base)
        # Next to others the controls are cheap.
        controls = [mutant for mutant in mutants if mutant.table.endswith("/controls.mutants")]
        chosen += [one for one in controls if chosen and one not in chosen]
    return chosen


def by_program(mutants):
    """The filters that each program is asked with, by the program and its other arguments."""
    filters = collections.defaultdict(set)
    for mutant in mutants:
        for program, tests, more in commands_of(mutant):
            filters[(program, *more)].add(tests)
    return {asked: sorted(found) for asked, found in sorted(filters.items())}


def left_out():
    """Names that the build could not take."""
    path = BUILD / "left_out"
    return path.read_text(encoding="ascii").split() if path.exists() else []


def run_all(mutants):
    LOGS.mkdir(parents=True, exist_ok=True)
    for old in LOGS.iterdir():
        old.unlink()
    asked = by_program(mutants)
    bad, notes = [], []

    def complain(text):
        bad.append(text)
        print(text, flush=True)

    for _, line, what in table.findings():
        complain(f"INVALID: line {line}: {what}")
    uncompiled = set(left_out())
    for mutant in (one for one in mutants if one.name in uncompiled):
        complain(f"INVALID {mutant.name}: {mutant.why} (it does not compile)")
    judged = [mutant for mutant in mutants if mutant.name not in uncompiled]
    with concurrent.futures.ThreadPoolExecutor(max_workers=WORKERS) as pool:
        for found in pool.map(lambda one: check_unbroken(*one), asked.items()):
            for problem in found:
                complain(f"INVALID: {problem}")
        for mutant, (verdict, look, how) in zip(judged, pool.map(judge, judged)):
            text = f"{verdict} {mutant.name}: {mutant.why} ({how})"
            if verdict in (mutant.expect, "KILLED BY OTHER"):
                print(text, flush=True)
            else:
                complain(text if mutant.expect == "KILLED" else
                         f"INVALID: {mutant.expect} is expected of a control: {text}")
            if verdict == "KILLED" and look > 1:
                notes.append(f"killed late, at look {look}: {mutant.name}")
            elif verdict == "KILLED BY OTHER":
                notes.append(text)
    # Said once more where the reader of a long log looks first.
    for text in bad + notes:
        print(text)
    passed = max(0, len(mutants) + len(asked) - len(bad))
    print(f"{passed} passed, {len(bad)} failed, 0 skipped")
    return 1 if bad else 0


def main():
    if OPTIONS.edit:
        mutant_edit.edit(OPTIONS.edit)
    elif OPTIONS.take:
        mutant_edit.take(OPTIONS.take)
    elif OPTIONS.refresh:
        wrong = mutant_edit.refresh()
        for file, line, what in wrong:
            print(f"{file}:{line}: {what}")
        return 1 if wrong else 0
    elif OPTIONS.programs:
        print(" ".join(sorted({program for program, *_ in by_program(choose())})))
    else:
        return run_all(choose())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except table.Wrong as wrong:
        sys.exit(f"INVALID: {wrong}")
