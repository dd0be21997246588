# SPDX-License-Identifier: Apache-2.0
"""Rules of the protocol are cited by number, in code, tests and documents: each number stands, with
its sentence, in docs/guarantees.md.
"""

import re

PAGE = "docs/guarantees.md"
CITED = re.compile(r"\b[Rr]ules?\s+(\d+(?:\s*(?:,|and|to|or|\u2013|-)+\s*\d+)*)(?!\d|\.\d)")
# A citation may go over the end of a line of comment.
LINE_END = re.compile(r"\n[ \t]*(?://+|#|\*)?[ \t]*")


def numbers(listed):
    """Of "4 to 7, 9 and 12": 4, 5, 6, 7, 9, 12."""
    found = []
    for between, number in re.findall(r"(to|\u2013|-)?\s*(\d+)", listed):
        first = found[-1] + 1 if between and found else int(number)
        found += range(first, int(number) + 1)
    return found


def findings(names, text):
    rules = text(PAGE).partition("## Rules in force")[2]
    known = {int(row) for row in re.findall(r"^\| (\d+) \|", rules, re.M)}
    for name in names:
        joined = LINE_END.sub(lambda end: "\n" + " " * (len(end.group(0)) - 1), text(name))
        for cited in CITED.finditer(joined):
            line = joined[:cited.start()].count("\n") + 1
            for number in numbers(cited.group(1)):
                if number not in known:
                    yield name, line, f"rule {number} has no sentence in {PAGE}"
