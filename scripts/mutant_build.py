# SPDX-License-Identifier: Apache-2.0
"""Builds the mirrored tree with all mutants, for scripts/build mutants:
mutant_build.py [target...], or mutant_build.py --mirror to write the tree only. A mutant that does
not compile is left out, and scripts/mutants reports it."""

import pathlib
import re
import subprocess
import sys

import mutant_table as table

BUILD = table.MIRROR / "build" / "mutants"
ERROR = re.compile(r"^(\S+?):(\d+):\d+: (?:fatal )?error:", re.M)


def guilty(log, lines):
    """The mutants on whose lines the compiler found an error."""
    found = set()
    for path, number in ERROR.findall(log):
        file = (BUILD / path).resolve()  # ccache makes paths relative
        if file.is_relative_to(table.MIRROR.resolve()):
            name = str(file.relative_to(table.MIRROR.resolve()))
            found |= {mutant for mutant, first, last in lines.get(name, [])
                      if first <= int(number) <= last}
    return found


def main():
    targets = sys.argv[1:]
    mutants, left_out = table.read_tables(), set()
    while True:
        lines = table.write_mirror([one for one in mutants if one.name not in left_out])
        if targets == ["--mirror"]:
            return 0
        code = subprocess.call([str(table.MIRROR / "scripts" / "build"), "mutants", *targets])
        log = BUILD / "build.log"
        found = guilty(log.read_text(encoding="utf-8", errors="replace"), lines) if (
            code and log.exists()) else set()
        for name in sorted(found):
            print(f"INVALID {name}: it does not compile; the build goes on without it", flush=True)
        left_out |= found
        if not found:
            if code == 0:
                pathlib.Path(BUILD / "left_out").write_text("\n".join(sorted(left_out)) + "\n",
                                                            encoding="ascii")
            return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except table.Wrong as wrong:
        sys.exit(f"INVALID: {wrong}")
