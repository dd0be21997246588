# SPDX-License-Identifier: Apache-2.0
"""Lints the scripts that Redis runs, by luacheck. A file's line "-- After: a.lua b.lua" names the
files of its folder that stand before it: each is checked after them, as the server sees it."""

import pathlib
import re
import shutil
import subprocess
import tempfile

AFTER = re.compile(r"^-- After: (.*)$", re.M)
FINDING = re.compile(r"^\s*(\S+\.lua):(\d+):\d+(?:-\d+)?: \([EW]\d+\) (.*)$", re.M)
OPTIONS = ["--std", "lua51", "--no-config", "--no-color", "--codes", "--ranges",
           "--max-line-length", "100", "--read-globals", "redis", "struct", "cmsgpack", "KEYS",
           "ARGV"]


def findings(names, text):
    """Yields (file, line, what); one that begins with SKIP without luacheck."""
    if not shutil.which("luacheck"):
        yield "", 0, "SKIP luacheck is not installed"
        return
    parts, first = set(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            after = AFTER.search(text(name))
            before = [name[:name.rfind("/") + 1] + part
                      for part in (after.group(1).split() if after else [])]
            parts |= set(before)
            whole = "".join(text(part) for part in [*before, name])
            first[name] = whole.count("\n") - text(name).count("\n")
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(re.sub(r"@\w+@", "0", whole), encoding="utf-8")  # a word is filled in
        done = subprocess.run(["luacheck", *names, *OPTIONS], cwd=folder, capture_output=True,
                              text=True, check=False)
    found = FINDING.findall(done.stdout)
    for name, number, what in found:
        line = int(number) - first[name]
        # A script need not use all of the parts before it, nor a part what it is there for.
        if line > 0 and not (name in parts and what.startswith("unused ")):
            yield name, line, what
    if done.returncode > 1 and not found:
        yield names[0], 1, (done.stdout + done.stderr).strip().replace("\n", " ")
