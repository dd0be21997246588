# SPDX-License-Identifier: Apache-2.0
"""Runs the tiers of scripts/test and counts what passed.

A tier is a name and the jobs that belong to it: test programs as ctest knows them by their labels,
scripts that count for themselves, builds. All jobs of a run share one queue (job_queue.py). What a
job prints goes to build/test-logs/<tier>/<job>.log; failures and summaries reach the screen.
"""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from job_queue import QUARTERS, Job, JobQueue

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test-logs"
STRICT = os.environ.get("REQUIRE_BACKENDS") == "1"
GATE = ("tidy", "build", "unit", "conformance", "disk", "sim", "model", "kafka-gate", "demo")
FULL = ("servers", "kafka", "later", "mutants", "asan-ubsan", "tsan", "seeds", "storms", "locks",
        "large", "package", "bench", "hiredis", "fuzz", "flaky")
SHORT = {"ONCEMQ_CONFORMANCE_SEEDS": "30"}  # of the random scripts
BUDGETS = {"gate": 600, "full": 4500}  # seconds, warm, on two quiet processors

# What a program of GoogleTest says of each test, also behind what the test itself left on the line.
SAID = re.compile(
    r"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w./]+)(?:, .*?)?( \(\d+ ms\))?$", re.M)
BAD = re.compile(r"^(?:SURVIVED|INVALID|FAILED).*(?:\n  .*)*", re.M)  # what a script tells of
LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped\b", re.M)
ADD_TEST = re.compile(r"^add_test\(\[=\[(.*?)\]=\] (.*)\)$", re.M)
FLAKY = re.compile(r"^\| `(test_\w+)` \| `(\S+)` \|", re.M)  # a row of the list in docs/testing.md


@dataclasses.dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list = dataclasses.field(default_factory=list)  # one text each
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

    def skip(self, line):
        if STRICT:
            self.fail(f"skipped, and REQUIRE_BACKENDS=1: {line}")
        else:
            self.skipped += 1
            self.notes.append(f"skipped: {line}")


def tail(text, lines=30):
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def how_it_ended(job):
    return f"ended after {job.timeout:.0f} s" if job.late else f"exit code {job.code}"


# What a finished job counts -----------------------------------------------------------------------


def count_tests(job):
    """Of a program of GoogleTest: each of its tests."""
    count = Count()
    begun = {}  # where the output of a test that has not ended began
    for said in SAID.finditer(job.output):
        what, name, took = said.groups()
        if what == "RUN":
            begun[name] = said.start()
        elif took and name in begun:
            told = job.output[begun.pop(name):said.end()]
            if what == "OK":
                count.passed += 1
            elif what == "FAILED":
                count.fail(f"{name}\n{tail(told)}")
            else:
                why = re.search(r": Skipped\n(.*)", told)
                count.skip(f"{name}: {why.group(1) if why else 'it does not say why'}")
    for name, begin in begun.items():
        count.fail(f"{name} ({how_it_ended(job)})\n{tail(job.output[begin:])}")
    if job.code != 0 and not count.failed:
        count.fail(f"{job.name} ({how_it_ended(job)})\n{tail(job.output)}")
    if not count.passed + count.failed + count.skipped:
        count.fail(f"{job.name} ran no test")
    count.notes += [line.strip() for line in job.output.splitlines()
                    if "not covered" in line.lower()]
    return count


def count_script(job):
    """Of a script whose last line is "N passed, M failed, K skipped"."""
    count = Count()
    found = LAST_LINE.findall(job.output)
    if not found:
        count.fail(f"{job.name} ({how_it_ended(job)}) has no summary\n{tail(job.output)}")
        return count
    count.passed, failed, count.skipped = map(int, found[-1])
    count.notes += [line for line in job.output.splitlines()
                    if "not covered" in line or line.startswith(("killed late", "KILLED BY OTHER"))]
    if failed or job.code != 0:
        count.failed = max(1, failed)
        told = "\n".join(BAD.findall(job.output))
        count.failures.append(f"{job.name} ({how_it_ended(job)})\n{tail(told or job.output, 60)}")
    return count


def count_exit(job):
    count = Count()
    if job.code == 0:
        count.passed = 1
    else:
        count.fail(f"{job.name} ({how_it_ended(job)})\n{tail(job.output, 60)}")
    return count


def count_build(job):
    """Of a build that only tests need: itself it is none."""
    return Count() if job.code == 0 else count_exit(job)


def count_fetch(job):
    if job.code == 0:
        return Count()
    return Count(notes=[f"not covered: {job.name}: {how_it_ended(job)}: {tail(job.output, 2)}"])


def count_demo(job):
    verdicts = [line for line in job.output.splitlines() if line.startswith("verdict:")]
    if job.code == 0 and not (verdicts and verdicts[-1].startswith("verdict: OK")):
        job.code = 4
    return count_exit(job)


def count_flaky(job):
    count = count_tests(job)
    notes = [f"flaky: {text.splitlines()[0]} failed" for text in count.failures]
    return Count(passed=count.passed, skipped=count.skipped, notes=notes)


# The jobs of a tier -------------------------------------------------------------------------------


def flaky_tests():
    """By program what docs/testing.md lists as flaky."""
    listed = collections.defaultdict(list)
    for program, test in FLAKY.findall((ROOT / "docs" / "testing.md").read_text(encoding="utf-8")):
        listed[program].append(test)
    return listed


def without(argv, names):
    """The same tests but those."""
    if not names:
        return argv
    option = "--gtest_filter="
    chosen = "".join(word[len(option):] for word in argv if word.startswith(option))
    more = (":" if "-" in chosen else "-") + ":".join(names)
    return [*(word for word in argv if not word.startswith(option)), option + chosen + more]


def commands(preset):
    """By test. ctest itself names no command whose program is not built yet."""
    found = {}
    for path in (ROOT / "build" / preset).rglob("CTestTestfile.cmake"):
        for name, words in ADD_TEST.findall(path.read_text(encoding="utf-8")):
            found[name] = re.findall(r'"([^"]*)"', words)
    return found


def ctest_entries(preset):
    argv_of = commands(preset)
    told = subprocess.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"],
                          cwd=ROOT, capture_output=True, text=True, check=True)
    for test in json.loads(told.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in test["properties"]}
        yield test["name"], argv_of[test["name"]], properties


def programs(tier, preset, labels, env=None, slowness=1, skip=()):
    """The tests of ctest with one of these labels, as jobs."""
    flaky = flaky_tests()
    jobs = []
    for name, argv, properties in ctest_entries(preset):
        mine = set(labels) & set(properties.get("LABELS", []))
        if not mine:
            continue
        own = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        program = pathlib.Path(argv[0]).name
        avoided = [*flaky.get(program, []), *skip]
        count = count_tests if program.startswith("test_") else count_exit
        jobs.append(Job(tier=tier, name=name, argv=without(argv, avoided), count=count,
                        env={**(env or {}), **own}, quarters=int(properties.get("PROCESSORS", 1)),
                        timeout=slowness * float(properties.get("TIMEOUT", 600)),
                        kind="kafka" if name.startswith("kafka") else "",
                        cwd=properties.get("WORKING_DIRECTORY", ""),
                        needs=(f"build {preset}", "kafka-fetch")))
    if not jobs:
        sys.exit(f"no test of preset {preset} has a label among {', '.join(labels)}")
    return jobs


def build(tier, preset, *targets, count=count_build):
    return Job(tier=tier, name=f"build {preset}", argv=["scripts/build", preset, *targets],
               count=count, quarters=0, timeout=3600, kind="build")


def script(tier, path, *arguments, count=count_script, needs=("build dev",), **more):
    return [Job(tier=tier, name=pathlib.Path(path).name, argv=[path, *arguments], count=count,
                needs=needs, **more)]


def demo(story, *arguments, **more):
    jobs = script("demo", "scripts/demo", *story, *arguments, count=count_demo, quarters=2, **more)
    return [dataclasses.replace(job, name=" ".join(["demo", *story])) for job in jobs]


def demos(full):
    built = ("build release",)
    jobs = [build("demo", "release", "demo", *(["failures_demo"] if full else [])),
            *demo([], needs=built)]
    if full:
        jobs += demo(["redis"], "--report", "build/demo-redis-report.html", needs=built)
        jobs += demo(["failures"], needs=(*built, "kafka-fetch"), kind="kafka")
    return jobs


def sanitized(tier, one_of):
    """Of the simulator a share, as it is five to fifty times slower there. Its sweep is about
    coverage, by the seeds that the swarm runs anyway. A line of hundreds at one server needs the
    speed of a plain build. Programs work where they wait else: each has up to a whole processor, as
    far as it used it last time."""
    env = {"ONCEMQ_SIM_SEEDS": "200", "ONCEMQ_SIM_ONE_OF": str(one_of)}
    labels = ("unit", "conformance", "servers", "disk", "sim", "kafka-sanitize")
    skip = ("Sweep.*", "*ALineOfHundreds*")
    return lambda: [
        dataclasses.replace(job, quarters=min(2 * job.quarters, QUARTERS // 2), measured=True)
        for job in programs(tier, tier, labels, env, slowness=4, skip=skip)]


def flaky():
    jobs = []
    for program, tests in flaky_tests().items():
        path = next((ROOT / "build" / "dev").rglob(program))
        jobs.append(Job(tier="flaky", name=program, cwd=path.parent, count=count_flaky,
                        argv=[path, f"--gtest_filter={':'.join(tests)}"]))
    return jobs


def tiers(options):
    """By name what makes the jobs; by name the builds that must be there to know them."""
    seeds = {"ONCEMQ_SIM_SEEDS": str(options.seeds)}
    many = {"ONCEMQ_SIM_SEEDS": str(max(options.seeds, 20000))}
    rounds = {"ONCEMQ_SHORT_ROUNDS": str(options.rounds)}
    storms = {"ONCEMQ_STORM_ROUNDS": str(options.storms)}
    dev = {
        "unit": lambda: programs("unit", "dev", ["unit"]),
        "conformance": lambda: programs("conformance", "dev", ["conformance"],
                                        {} if options.full else SHORT),
        "disk": lambda: programs("disk", "dev", ["disk"]),
        "sim": lambda: programs("sim", "dev", ["sim"], seeds),
        "model": lambda: script("model", "scripts/model", quarters=8, timeout=900),
        "kafka-gate": lambda: programs("kafka-gate", "dev", ["kafka-gate"]),
        "demo": lambda: demos(options.full),
        "servers": lambda: programs("servers", "dev", ["servers"]),
        "kafka": lambda: programs("kafka", "dev", ["kafka"], rounds),
        "later": lambda: programs("later", "dev", ["later"]),
        "mutants": lambda: [build("mutants", "mutants"),
                            *script("mutants", "scripts/mutants", "--no-build", timeout=3600,
                                    quarters=6, needs=("build mutants", "kafka-fetch"))],
        "seeds": lambda: programs("seeds", "dev", ["sim"], many, slowness=3,
                                  skip=("*SmallScope*",)),
        "storms": lambda: programs("storms", "dev", ["storm"], storms),
        "locks": lambda: programs("locks", "dev", ["locks"]),
        "large": lambda: programs("large", "dev", ["large"]),
        "package": lambda: script("package", "scripts/check_package", timeout=1800),
        "bench": lambda: [dataclasses.replace(
            build("bench", "dev", "bench", "header_check", count=count_exit), name="build bench")],
        "hiredis": lambda: script("hiredis", "scripts/check_hiredis", timeout=1800),
        "fuzz": lambda: [build("fuzz", "fuzz", "fuzz", "oncemq_libraries"),
                         *script("fuzz", "scripts/fuzz", timeout=1800, needs=("build fuzz",))],
        "flaky": flaky,
        "asan-ubsan": sanitized("asan-ubsan", 4),
        "tsan": sanitized("tsan", 25),
    }
    return dev


# The run ------------------------------------------------------------------------------------------


class Screen:
    """Says what failed when it fails, and of each tier what it counted when it has ended."""

    def __init__(self):
        self.total = Count()
        self.counts = collections.defaultdict(Count)
        self.left = collections.Counter()
        self.took = collections.Counter()

    def expect(self, jobs):
        self.left.update(job.tier for job in jobs)
        return jobs

    def ended(self, job):
        if job.code is None:
            count = Count()
            count.fail(f"{job.name}: not run, as {' or '.join(job.needs)} failed")
        else:
            count = job.count(job)
        for text in count.failures:
            print(f"  FAILED {job.tier}: {text}", flush=True)
        self.total.add(count)
        self.counts[job.tier].add(count)
        self.took[job.tier] += job.seconds
        self.left[job.tier] -= 1
        if self.left[job.tier] == 0:
            of_tier = self.counts[job.tier]
            for line in sorted(set(of_tier.notes)):
                print(f"  note {job.tier}: {line}")
            print(f"tier {job.tier}: {of_tier.passed} passed, {of_tier.failed} failed, "
                  f"{of_tier.skipped} skipped; its jobs took {self.took[job.tier]:.0f} s",
                  flush=True)


def read_options():
    parser = argparse.ArgumentParser(prog="scripts/test", description="Runs the tests by tier.")
    parser.add_argument("--full", action="store_true", help="all tiers, not only the gate's")
    parser.add_argument("--tier", action="extend", nargs="+", choices=GATE + FULL, metavar="NAME",
                        default=[], help="only these tiers: " + ", ".join(GATE + FULL))
    parser.add_argument("--seeds", type=int, default=500, help="of the simulator (500)")
    parser.add_argument("--rounds", type=int, default=20,
                        help="short rounds over stores on disk, in tier kafka (20)")
    parser.add_argument("--storms", type=int, default=3, help="long rounds, in tier storms (3)")
    parser.add_argument("--list", action="store_true", help="print the tiers")
    return parser.parse_args()


def main():
    options = read_options()
    if options.list:
        print(f"gate: {' '.join(GATE)}\nfull, too: {' '.join(FULL)}")
        return 0
    chosen = options.tier or GATE + (FULL if options.full else ())
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    queue, screen = JobQueue(ROOT, LOGS), Screen()

    # First what the others can't be known without.
    first = [dataclasses.replace(build("build", "dev", count=count_exit), kind="", quarters=6,
                                 echo=True)]
    if "tidy" in chosen:
        first += script("tidy", "scripts/tidy", needs=(), quarters=2)
    fetches = ["scripts/kafka-fetch", "scripts/librdkafka-new"] if options.full else []
    if {"kafka-gate", "kafka", "storms", "mutants"} & set(chosen):
        fetches = fetches or ["scripts/kafka-fetch"]
    for fetch in fetches:
        first += script("build", fetch, count=count_fetch, needs=(), quarters=0)
    for preset in {"asan-ubsan", "tsan"} & set(chosen):
        cmake = ["cmake", "--preset", preset]
        first.append(Job(tier="build", name=f"configure {preset}", argv=cmake, count=count_build))
    for job in queue.run(screen.expect(first)):
        screen.ended(job)

    if screen.counts["build"].failed == 0:
        make = tiers(options)
        jobs = [job for name in chosen if name in make for job in make[name]()]
        jobs += [dataclasses.replace(build(preset, preset), awaited=True)
                 for preset in ("asan-ubsan", "tsan") if preset in chosen]
        for job in queue.run(screen.expect(jobs)):
            screen.ended(job)
    took = time.monotonic() - begin
    budget = BUDGETS["full" if options.full else "gate"]
    over = "" if took <= budget or options.tier else f", OVER its budget of {budget} s"
    total = screen.total
    print(f"all tiers: {took:.0f} s{over}; logs in build/test-logs/")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
