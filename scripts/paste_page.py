# SPDX-License-Identifier: Apache-2.0
"""Pastes a page of docs/tasks as a reader does: paste_page.py PAGE FOLDER. A block of code becomes
the file in the line above it; files to be copied are those that the paragraph "Copy ..." links."""

import pathlib
import re
import shutil
import sys

BLOCK = re.compile(r"^\[?`?([\w.]+)[^\n]*\n\n```(?:cpp|sql|yaml|cmake)\n(.*?)^```$", re.M | re.S)


def paste(page, folder):
    text = page.read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in BLOCK.findall(text):
        (folder / name).write_text(content, encoding="utf-8")
    for paragraph in re.findall(r"^Copy .*?\n\n", text, re.M | re.S):
        for link in re.findall(r"\]\(([^)]+)\)", paragraph):
            shutil.copy(page.parent / link, folder)
    return sorted(path.name for path in folder.iterdir())


if __name__ == "__main__":
    print(*paste(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
