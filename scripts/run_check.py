# SPDX-License-Identifier: Apache-2.0
"""Tests what a change reaches, for scripts/check. What a source reaches is read from the build: the
files that each object was made of, as the compiler said, and the programs that objects end in."""

import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

import run_tiers as tiers
from changed_files import changed_files
from job_queue import Job, JobQueue

ROOT = tiers.ROOT
BUILD = ROOT / "build" / "dev"
SEEDS = "200"
SOURCES = (".h", ".cc")
# The header that g++ compiled in advance is nothing to clang.
NOT_FOR_CLANG = re.compile(
    r"-include \S+cmake_pch\.hxx|-Winvalid-pch| -o \S+| -c \S+| -M[DTF] ?\S*")


def told(*command, cwd=ROOT):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout


class BuildGraph:
    """What build/dev makes of what."""

    def __init__(self):
        self.objects = collections.defaultdict(set)  # of a file: what it was compiled into
        made = None
        for line in told("ninja", "-t", "deps", cwd=BUILD).splitlines():
            if line.startswith("    "):
                path = (BUILD / line.strip()).resolve()
                if path.is_relative_to(ROOT):
                    self.objects[str(path.relative_to(ROOT))].add(made)
            elif ": #deps" in line:
                made = line.split(": #deps")[0]
        self.uses = collections.defaultdict(set)  # of an output: the outputs that need it
        for line in (BUILD / "build.ninja").read_text(encoding="utf-8").splitlines():
            if line.startswith("build "):
                outputs, _, inputs = line[len("build "):].partition(": ")
                for needed in inputs.split()[1:]:
                    self.uses[needed].update(outputs.split())

    def reached(self, files):
        """Every output that one of these files has a part in."""
        found = set()
        left = [made for file in files for made in self.objects.get(file, ())]
        while left:
            output = left.pop()
            if output not in found:
                found.add(output)
                left += self.uses[output]
        return found


def clang_jobs(files, graph):
    entries = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    commands = {re.search(r" -o (\S+)", entry["command"]).group(1): entry["command"]
                for entry in entries}
    for file in files:
        command = next((commands[made] for made in sorted(graph.objects.get(file, ()))
                        if made in commands and "header_check" not in made), None)
        if command is None or not file.endswith(SOURCES):
            continue
        words = shlex.split(NOT_FOR_CLANG.sub("", command))
        compiler = next(i for i, word in enumerate(words) if word.endswith("c++"))
        argv = ["clang++-14", *words[compiler + 1:], "-fsyntax-only", "-Wthread-safety",
                "-Wno-unknown-warning-option", "-Wno-pragma-once-outside-header", "-x", "c++", file]
        yield Job(tier="clang", name=file.replace("/", "."), argv=argv, count=tiers.count_exit)


def test_jobs(graph, files):
    reached = {(BUILD / output).resolve() for output in graph.reached(files)}
    jobs = []
    for tier in ("unit", "conformance", "sim"):
        env = {"ONCEMQ_SIM_SEEDS": SEEDS} if tier == "sim" else {}
        jobs += [job for job in tiers.programs(tier, "dev", [tier], env)
                 if pathlib.Path(job.argv[0]).resolve() in reached]
    return jobs


def main():
    parser = argparse.ArgumentParser(prog="scripts/check",
                                     description="Tests what a change reaches.")
    parser.add_argument("--base", default="HEAD", metavar="REV", help="what it differs from (HEAD)")
    base = parser.parse_args().base
    files = changed_files(base)
    begin = time.monotonic()
    tiers.LOGS.mkdir(parents=True, exist_ok=True)
    queue, screen = JobQueue(ROOT, tiers.LOGS), tiers.Screen()
    print(f"{len(files)} files differ from {base}", flush=True)

    first = tiers.script("tidy", "scripts/tidy", needs=(), quarters=2)
    compiled = any(file.endswith((*SOURCES, "CMakeLists.txt", ".cmake", ".json", ".proto"))
                   for file in files)
    if compiled:
        first.append(Job(tier="build", name="build dev", argv=["scripts/build", "dev"],
                         count=tiers.count_exit, quarters=6, timeout=3600, echo=True))
    for job in queue.run(screen.expect(first)):
        screen.ended(job)
    if compiled and not screen.counts["build"].failed:
        graph = BuildGraph()
        jobs = [*test_jobs(graph, files), *clang_jobs(files, graph),
                *tiers.script("mutants", "scripts/mutants", "--changed", "--base", base,
                              timeout=3600)]
        for job in queue.run(screen.expect(jobs)):
            screen.ended(job)
    total = screen.total
    print(f"check: {time.monotonic() - begin:.0f} s; logs in build/test-logs/")
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
