# SPDX-License-Identifier: Apache-2.0
"""Runs the tiers of scripts/test, counts what passed, and says what each tier used of its budget.

A tier is a row of TIERS: a name, a budget in seconds and a function that returns a Count. What a
tier prints goes to build/test-logs/<tier>.log; only failures and summaries reach the screen.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

from build_ahead import BuildAhead

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test-logs"
BAD = re.compile(r"^(?:SURVIVED|NOT VALID|FAILED).*(?:\n  .*)*", re.M)  # what a script tells of
RUNNING = re.compile(r"^\[==========\] Running (\d+) tests? from", re.M)
FAILED = re.compile(r"^\[ RUN      \] (.+)\n(?:(?!\[ RUN ).*\n)*?\[  FAILED  \] \1[ ,].*", re.M)
LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\b", re.MULTILINE)
STRICT = os.environ.get("REQUIRE_BACKENDS") == "1"
# A tier that takes this many times its budget hangs, and is ended.
HANG_FACTOR = 3
# Short rounds that tier kafka plays if nobody says how many, and seconds for each one more.
SHORT_ROUNDS = 20
ROUND_SECONDS = 15


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)  # one line each
    notes: list = dataclasses.field(default_factory=list)  # loud, but no failure

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.notes += other.notes

    def fail(self, line):
        self.failed += 1
        self.failures.append(line)


class Run:
    """One tier at work: where it logs, and how long it may still take."""

    def __init__(self, name, budget, options):
        self.name = name
        self.options = options
        self.deadline = time.monotonic() + HANG_FACTOR * budget
        self.log_path = LOGS / f"{name}.log"
        self.log = open(self.log_path, "w", encoding="utf-8", errors="replace")

    def command(self, arguments, env=None, echo=False):
        """Runs a command and returns (exit code, output). Its whole process group ends with us."""
        self.log.write(f"$ {' '.join(map(str, arguments))}\n")
        self.log.flush()
        process = subprocess.Popen(
            [str(a) for a in arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, **(env or {})}, start_new_session=True)
        old = signal.signal(signal.SIGALRM, lambda *_: end_group(process))
        signal.alarm(max(1, int(self.deadline - time.monotonic())))
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                self.log.write(line)
                if echo:
                    print("  " + line, end="", flush=True)
            process.wait()
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)
            end_group(process)
        if time.monotonic() >= self.deadline:
            lines.append(f"\nended after {HANG_FACTOR} times its budget\n")
            self.log.write(lines[-1])
        return process.returncode, "".join(lines)


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def tail(text, lines=30):
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


# Builds -----------------------------------------------------------------------------------------

built = {}


def build(run, preset, *targets):
    """Builds once per preset and target list. Returns a Count that is empty when all is well."""
    key = (preset, targets)
    count = Count()
    if key not in built:
        code, output = run.command(["scripts/build", preset, *targets], echo=True)
        built[key] = code == 0
        if code != 0:
            count.fail(f"the build of preset {preset} failed\n{tail(output, 60)}")
    elif not built[key]:
        count.fail(f"the build of preset {preset} failed before")
    return count


# Tiers that ctest runs --------------------------------------------------------------------------


def what_failed(output):
    """Of a program that runs many tests what those say that failed; else its last words."""
    failed = [found.group() for found in FAILED.finditer(output)]
    return "\n".join(map(tail, failed)) or tail(output)


def read_junit(path):
    """Counts a ctest JUnit report, programs that are one test of ctest by what they run. A test
    that could not be started is a failure, not a skip."""
    count = Count()
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        output = case.findtext("system-out") or ""
        skipped = case.find("skipped")
        reason = skipped.get("message", "") if skipped is not None else ""
        count.notes += [f"{name}: {line.strip()}" for line in output.splitlines()
                        if "not covered" in line.lower()]
        if status == "run":
            running = RUNNING.search(output)
            count.passed += int(running.group(1)) if running else 1
        elif status == "disabled" or reason.startswith("SKIP_"):
            why = re.search(r": Skipped\n(.*)", output)
            line = f"{name}: {why.group(1) if why else reason or 'disabled'}"
            if STRICT:
                count.fail(f"skipped, and REQUIRE_BACKENDS=1: {line}")
            else:
                count.skipped += 1
                count.notes.append(f"skipped: {line}")
        else:
            count.fail(f"{name} ({status}{': ' + reason if reason else ''})\n{what_failed(output)}")
    return count


def ctest(run, preset, labels, jobs=2, env=None, exclude=None):
    count = build(run, preset)
    if count.failed:
        return count
    junit = LOGS / f"{run.name}.xml"
    junit.unlink(missing_ok=True)
    arguments = ["ctest", "--test-dir", f"build/{preset}", "--output-junit", junit, "-L", labels,
                 "-j", jobs, "--no-tests=error", "--output-on-failure",
                 "--test-output-size-passed", 200000, "--test-output-size-failed", 2000000]
    if exclude:
        arguments += ["-LE", exclude]
    if preset in ("asan-ubsan", "tsan"):
        # About coverage, by the seeds that the swarm runs anyway; too slow there.
        arguments += ["-E", r"^sim\.Sweep\."]
    seeds = {"ONCEMQ_SIM_SEEDS": str(run.options.seeds)} if run.options.seeds else {}
    code, output = run.command(arguments, env={**seeds, **(env or {})})
    if not junit.exists():
        count.fail(f"ctest wrote no report (exit code {code})\n{tail(output)}")
        return count
    try:
        count.add(read_junit(junit))
    except xml.etree.ElementTree.ParseError as error:
        count.fail(f"ctest's report can't be read: {error}\n{tail(output)}")
    if code != 0 and count.failed == 0:
        count.fail(f"ctest ended with exit code {code}\n{tail(output)}")
    if count.passed + count.failed + count.skipped == 0:
        count.fail(f"no test has a label like {labels}")
    return count


LONG = "^(storm|large)$"


def labelled(labels, jobs=2, exclude=LONG):
    return lambda run: ctest(run, "dev", labels, jobs, exclude=exclude)


SANITIZED = "^(unit|conformance|servers|disk|sim|kafka-sanitize)$"


def sanitized(preset, one_of):
    """Of the simulator a share, as it is five to fifty times slower there."""
    few_seeds = {"ONCEMQ_SIM_SEEDS": "200", "ONCEMQ_SIM_ONE_OF": str(one_of)}

    def tier(run):
        run.command(["scripts/kafka-fetch"])
        return ctest(run, preset, SANITIZED, jobs=3, env=few_seeds, exclude=LONG)

    return tier


def tier_storms(run):
    """A million messages, and rounds by seed; the same broker as tier kafka."""
    run.command(["scripts/kafka-fetch"])
    rounds = {"ONCEMQ_STORM_ROUNDS": str(run.options.storms)}
    return ctest(run, "dev", "^storm$", jobs=1, env=rounds)


def tier_seeds(run):
    seeds = {"ONCEMQ_SIM_SEEDS": str(max(run.options.seeds, 20000))}
    return ctest(run, "dev", "^sim$", env=seeds, exclude=LONG)


# Tiers that count for themselves ----------------------------------------------------------------


def script(path, *arguments):
    """A script whose last line is "N passed, M failed, K skipped"."""

    def tier(run):
        count = Count()
        code, output = run.command([path, *arguments])
        found = LAST_LINE.findall(output)
        if not found:
            count.fail(f"{path} ended with exit code {code} and no summary\n{tail(output)}")
            return count
        count.passed, failed, count.skipped = map(int, found[-1])
        count.notes += [line for line in output.splitlines()
                        if "not covered" in line or line.startswith("caught late")]
        if failed or code != 0:
            count.failed = max(1, failed)
            told = "\n".join(BAD.findall(output))
            count.failures.append(f"{path}\n{tail(told or output, 60)}")
        return count

    return tier


def tier_build(run):
    count = build(run, "dev")
    count.passed += not count.failed
    return count


def tier_mutants(run):
    count = build(run, "mutants")
    run.command(["scripts/kafka-fetch"])  # one mutant needs the broker to be noticed
    if count.failed == 0:
        count.add(script("scripts/mutants", "--no-build")(run))
    return count


def tier_kafka(run):
    """Fetches broker and newer client once; without them the tests say what that means."""
    rounds = run.options.rounds
    run.deadline += ROUND_SECONDS * max(0, rounds - SHORT_ROUNDS)
    count = Count()
    for fetch in ("scripts/kafka-fetch", "scripts/librdkafka-new"):
        code, output = run.command([fetch])
        if code != 0:
            count.notes.append(f"not covered: {fetch}: exit code {code}: {tail(output, 2)}")
    count.add(ctest(run, "dev", "^kafka$", jobs=1, env={"ONCEMQ_SHORT_ROUNDS": str(rounds)},
                    exclude=LONG))
    return count


def tier_package(run):
    count = build(run, "dev", "header_check")
    if count.failed == 0:
        count.passed += 1
    count.add(script("scripts/check_package")(run))
    return count


def tier_demo(run):
    count = Count()
    code, output = run.command(["scripts/demo"])
    verdicts = [line for line in output.splitlines() if line.startswith("verdict:")]
    if code == 0 and verdicts and verdicts[-1].startswith("verdict: OK"):
        count.passed = 1
    else:
        count.fail(f"scripts/demo: exit code {code}\n{tail(output)}")
    return count


TIERS = [  # name, budget in seconds, what it does; mirrored in docs/testing.md
    ("tidy", 20, script("scripts/tidy")),
    ("build", 480, tier_build),
    ("unit", 120, labelled("^unit$", jobs=4)),  # they wait, mostly
    ("conformance", 90, labelled("^conformance$")),
    ("servers", 480, labelled("^servers$", jobs=3)),  # they too
    ("disk", 150, labelled("^disk$")),
    ("sim", 180, labelled("^sim$")),
    ("model", 150, script("scripts/model")),
    ("mutants", 540, tier_mutants),
    ("kafka", 840, tier_kafka),
    ("package", 240, tier_package),
    ("demo", 100, tier_demo),
]
FULL_TIERS = [
    ("asan-ubsan", 1200, sanitized("asan-ubsan", 4)),
    ("tsan", 1200, sanitized("tsan", 25)),
    ("seeds", 300, tier_seeds),
    ("storms", 480, tier_storms),
    ("locks", 900, labelled("^locks$", jobs=3)),
    ("large", 120, labelled("^large$", jobs=1, exclude=None)),
    ("hiredis", 300, script("scripts/check_hiredis")),
    ("fuzz", 420, script("scripts/fuzz")),
]


def run_tier(name, budget, function, options):
    print(f"tier {name} ...", flush=True)
    begin = time.monotonic()
    try:
        count = function(Run(name, budget, options))
    except Exception as error:  # a tier that breaks is a failure with a name, not the end
        count = Count()
        count.fail(f"the tier itself broke: {error!r}")
    took = time.monotonic() - begin
    for line in count.failures:
        print(f"  FAILED {name}: {line}")
    for line in sorted(set(count.notes)):
        print(f"  note {name}: {line}")
    over = "" if took <= budget else " OVER BUDGET"
    print(f"tier {name}: {count.passed} passed, {count.failed} failed, {count.skipped} skipped "
          f"in {took:.0f} s (budget {budget} s){over}", flush=True)
    return count


def main():
    names = [name for name, _, _ in TIERS + FULL_TIERS]
    parser = argparse.ArgumentParser(prog="scripts/test", description="Runs the tests by tier.")
    parser.add_argument("--full", action="store_true",
                        help="sanitizers, storms, locks, large, fuzz too")
    parser.add_argument("--tier", action="extend", nargs="+", choices=names, metavar="NAME",
                        default=[], help="only these tiers: " + ", ".join(names))
    parser.add_argument("--seeds", type=int, default=0, help="seeds of the simulator")
    parser.add_argument("--rounds", type=int, default=SHORT_ROUNDS,
                        help="short rounds over stores on disk, in tier kafka (20)")
    parser.add_argument("--storms", type=int, default=3, help="long rounds, in tier storms (3)")
    parser.add_argument("--list", action="store_true", help="print the tiers and their budgets")
    options = parser.parse_args()
    if options.list:
        for name, budget, _ in TIERS + FULL_TIERS:
            print(f"{name:12} {budget:5} s{'  --full' if name not in names[:len(TIERS)] else ''}")
        return 0
    chosen = [tier for tier in TIERS + FULL_TIERS if tier[0] in options.tier]
    if not options.tier:
        chosen = TIERS + (FULL_TIERS if options.full else [])
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    total = Count()
    ahead = BuildAhead(ROOT, LOGS, [name for name, _, _ in chosen])
    try:
        for name, budget, function in chosen:
            ahead.leave(name)
            total.add(run_tier(name, budget, function, options))
            if name == "build":
                ahead.begin()
    finally:
        ahead.end()
    print(f"all tiers: {time.monotonic() - begin:.0f} s; logs in build/test-logs/")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
