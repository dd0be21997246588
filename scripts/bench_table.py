# SPDX-License-Identifier: Apache-2.0
"""Prints reports of the benches as a table. A line that isn't as agreed is an error.

bench_table.py FILE..               every case
bench_table.py --against A1 B A2    cases of two revisions, measured in the order A, B, A
"""

import json
import sys

FIELDS = ("bench", "case", "value", "unit", "floor", "ratio", "cpu_ns")
SINCE = {"cpu_ns": None}  # fields that an older revision doesn't write
TEXTS = ("bench", "case", "unit")


def cell(value):
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else str(value)


def read(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            entry = SINCE | json.loads(line)
            if set(entry) != set(FIELDS):
                sys.exit(f"{path}:{number}: the fields are not {', '.join(FIELDS)}")
            yield entry


def print_table(heads, rows):
    rows = [heads] + [tuple(cell(value) for value in row) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    for row in rows:
        print("  ".join(value.ljust(width) if head in TEXTS else value.rjust(width)
                        for head, value, width in zip(heads, row, widths)).rstrip())


def compare(first, other, last):
    """A row for each case of both revisions: the ratio to the floor, and processor time."""
    heads = ("bench", "case", "ratio", "its ratio", "again", "of its", "cpu_ns", "its cpu_ns",
             "again")
    others, lasts = ({(row["bench"], row["case"]): row for row in read(path)}
                     for path in (other, last))
    rows = []
    for a in read(first):
        case = (a["bench"], a["case"])
        b, c = others.get(case), lasts.get(case)
        if b is None or c is None:
            print(f"{case[0]}, {case[1]}: not measured at both revisions", file=sys.stderr)
            continue
        of_its = (a["ratio"] + c["ratio"]) / 2 / b["ratio"] if b["ratio"] else None
        rows.append(case + (a["ratio"], b["ratio"], c["ratio"], of_its,
                            a["cpu_ns"], b["cpu_ns"], c["cpu_ns"]))
    print_table(heads, rows)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--against"]:
        compare(*arguments[1:])
    else:
        print_table(FIELDS, [tuple(row[field] for field in FIELDS)
                             for path in arguments for row in read(path)])


if __name__ == "__main__":
    main()
