# SPDX-License-Identifier: Apache-2.0
"""Builds what later tiers of scripts/test need while earlier ones wait, as most tests do: one build
after the other, and only with what time of the processors nobody else wants."""

import os
import shutil
import signal
import subprocess
import threading

# Which tiers need a build of their own: what scripts/build is told.
BUILD_OF = {
    "mutants": ("mutants",),
    "asan-ubsan": ("asan-ubsan",),
    "tsan": ("tsan",),
    "fuzz": ("fuzz", "fuzz", "oncemq_libraries"),
}


# Where the kernel shares time out by session first, niceness within one means nothing to others.
def yield_to_other_sessions():
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("19")
    except OSError:
        pass


class BuildAhead:
    def __init__(self, root, logs, tiers):
        self.root, self.logs = root, logs
        self.tiers = [tier for tier in tiers if tier in BUILD_OF]
        self.tier = None  # whose build is under way
        self.process = None
        self.lock = threading.Lock()

    def begin(self):
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        idle = ["chrt", "--idle", "0"] if shutil.which("chrt") else []
        while True:
            with self.lock:
                if not self.tiers:
                    return
                self.tier = self.tiers.pop(0)
                with open(self.logs / f"ahead-{self.tier}.log", "wb") as log:
                    self.process = subprocess.Popen(
                        [*idle, "nice", "-n", "19", "scripts/build", *BUILD_OF[self.tier]],
                        cwd=self.root, stdin=subprocess.DEVNULL, stdout=log,
                        stderr=subprocess.STDOUT, start_new_session=True,
                        preexec_fn=yield_to_other_sessions)
            self.process.wait()

    def leave(self, tier):
        """The tier begins, and builds the rest itself, with all the time that it can get."""
        with self.lock:
            if tier in self.tiers:
                self.tiers.remove(tier)
            if tier == self.tier:
                self.kill()

    def end(self):
        with self.lock:
            self.tiers.clear()
            self.kill()

    def kill(self):
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
