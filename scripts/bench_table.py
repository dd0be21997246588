# SPDX-License-Identifier: Apache-2.0
"""Prints bench/out/*.jsonl as a table. A line that isn't as agreed is an error."""

import json
import sys

FIELDS = ("bench", "case", "value", "unit", "floor", "ratio")


def cell(value):
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "-" if value is None else str(value)


def main():
    rows = [FIELDS]
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                entry = json.loads(line)
                if set(entry) != set(FIELDS):
                    sys.exit(f"{path}:{number}: the fields are not {', '.join(FIELDS)}")
                rows.append(tuple(cell(entry[field]) for field in FIELDS))
    widths = [max(len(row[column]) for row in rows) for column in range(len(FIELDS))]
    for row in rows:
        numbers = (2, 4, 5)
        print("  ".join(value.rjust(width) if column in numbers else value.ljust(width)
                        for column, (value, width) in enumerate(zip(row, widths))).rstrip())


if __name__ == "__main__":
    main()
