# SPDX-License-Identifier: Apache-2.0
"""One queue for everything that scripts/test runs. A job is one process and its children. Jobs run
side by side while their quarters of a processor are free, first the one that most waits for. Next
to them run a few jobs that need one quarter at most, as these wait; a build takes only idle time,
or a small share where hours of tests wait for it."""

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import time

QUARTERS = 8  # of two processors, for jobs that need more than one
WAITING = 4  # jobs at a time that need one
LIMITS = {"kafka": 2, "build": 1}  # jobs of a kind at a time


@dataclasses.dataclass
class Job:
    tier: str
    name: str
    argv: list
    count: object  # of a finished Job: what its output says, as a Count
    env: dict = dataclasses.field(default_factory=dict)
    quarters: int = 4
    measured: bool = False  # at least two quarters, at most what it used last time
    timeout: float = 600
    kind: str = ""
    needs: tuple = ()  # names of jobs that must succeed before
    cwd: str = ""
    awaited: bool = False  # of a build: it takes a share
    echo: bool = False  # to the screen too
    # Once it has ended:
    code: int = None
    output: str = ""
    seconds: float = 0
    cpu: float = 0
    late: bool = False  # ended by us


# Where the kernel shares time out by session first, niceness within one means nothing to others.
def yield_to_other_sessions(niceness):
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write(str(niceness))
    except OSError:
        pass


class Running:
    def __init__(self, job, log_path, root):
        self.job, self.log_path = job, log_path
        argv = [str(word) for word in job.argv]
        aside = job.kind == "build"
        if aside:
            niceness = 5 if job.awaited else 19
            idle = [] if job.awaited or not shutil.which("chrt") else ["chrt", "--idle", "0"]
            argv = [*idle, "nice", "-n", str(niceness), *argv]
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                argv, cwd=job.cwd or root, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env={**os.environ, **job.env}, start_new_session=True,
                preexec_fn=(lambda: yield_to_other_sessions(niceness)) if aside else None)
        self.shown = 0
        self.began = time.monotonic()

    def show(self):
        with open(self.log_path, "rb") as log:
            log.seek(self.shown)
            new = log.read()
        self.shown += len(new)
        print(new.decode("utf-8", "replace"), end="", flush=True)

    def ended(self):
        """Whether it has; then its job knows how. What it started ends with it."""
        if time.monotonic() - self.began > self.job.timeout:
            self.job.late = True
            self.kill()
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if self.job.echo:
            self.show()
        if pid == 0:
            return False
        self.kill()
        self.process.returncode = self.job.code = os.waitstatus_to_exitcode(status)
        self.job.seconds = time.monotonic() - self.began
        self.job.cpu = usage.ru_utime + usage.ru_stime
        self.job.output = self.log_path.read_text(encoding="utf-8", errors="replace")
        return True

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class JobQueue:
    def __init__(self, root, logs):
        self.root, self.logs = root, logs
        self.times_path = logs / "times.json"
        try:
            self.times = json.loads(self.times_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.times = {}

    def length(self, job):
        """As long as it took last time; before the first time as long as it may take."""
        return self.times.get(f"{job.tier}/{job.name}", [job.timeout])[0]

    def quarters(self, job):
        """As said, or what it used last time if that is less."""
        seconds, cpu = self.times.get(f"{job.tier}/{job.name}", [0, 0])
        if not job.measured or seconds == 0:
            return job.quarters
        return min(job.quarters, max(2, math.ceil(4 * cpu / seconds)))

    def until_all(self, job, jobs):
        """From its begin to the end of all that waits for it."""
        after = [other for other in jobs if job.name in other.needs]
        share = sum(self.length(other) * other.quarters for other in after) / QUARTERS
        return self.length(job) + share

    def run(self, jobs):
        """Yields each job when it has ended. One whose need failed ends with code None."""
        for job in jobs:
            job.quarters = self.quarters(job)
        waiting = sorted(jobs, key=lambda job: self.until_all(job, jobs), reverse=True)
        good, bad, running = set(), set(), []
        known = {job.name for job in jobs}
        try:
            while waiting or running:
                for job in [job for job in waiting if bad & set(job.needs)]:
                    waiting.remove(job)
                    bad.add(job.name)
                    yield job
                for job in list(waiting):
                    ready = all(need in good or need not in known for need in job.needs)
                    if ready and self.fits(job, running):
                        waiting.remove(job)
                        log = self.logs / job.tier / (job.name.replace(" ", "-") + ".log")
                        running.append(Running(job, log, self.root))
                time.sleep(0.02)
                for one in [one for one in running if one.ended()]:
                    running.remove(one)
                    (good if one.job.code == 0 else bad).add(one.job.name)
                    key = f"{one.job.tier}/{one.job.name}"
                    self.times[key] = [round(one.job.seconds, 1), round(one.job.cpu, 1)]
                    yield one.job
        finally:
            for one in running:
                one.kill()
            self.times_path.write_text(json.dumps(self.times, indent=0, sort_keys=True) + "\n",
                                       encoding="utf-8")

    @staticmethod
    def fits(job, running):
        others = [one.job for one in running]
        if job.kind and sum(other.kind == job.kind for other in others) >= LIMITS[job.kind]:
            return False
        if job.quarters <= 1:
            return job.quarters == 0 or sum(other.quarters == 1 for other in others) < WAITING
        used = sum(other.quarters for other in others if other.quarters > 1)
        return used == 0 or used + job.quarters <= QUARTERS
