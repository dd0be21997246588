# SPDX-License-Identifier: Apache-2.0
"""Edits of tests/mutants/*.mutants, for scripts/mutants:

  --edit NAME     opens the mutant in a copy of its files, and writes its entry from what was
                  changed; without $EDITOR or a terminal it only makes the copy
  --take NAME     writes the entry from that copy
  --refresh       finds the text of entries again that has moved or changed a little, where there is
                  one place only
"""

import difflib
import os
import pathlib
import shlex
import subprocess
import sys

import mutant_table as table
from mutant_text import Text

SCRATCH = table.ROOT / "build" / "mutant-edit"
LIKE_ENOUGH = 0.7
MOST_CONTEXT = 12


def paragraph(mutant):
    """The entry as its table has it."""
    lines = [f"name: {mutant.name}", f"why: {mutant.why}"]
    lines += [f"expect: {mutant.expect}"] if mutant.expect != "KILLED" else []
    lines += [f"build: {mutant.build}"] if mutant.build != "mutants" else []
    file = ""
    for place in mutant.places:
        if place.file != file or not place.function:
            lines.append(f"file: {place.file}")
        if place.function:
            lines.append(f"function: {place.function}")
        file = place.file
        lines += place.lines
    return "\n".join(lines + [f"test: {test}" for test in mutant.tests]) + "\n"


def write_entry(mutant, root=table.ROOT):
    """Replaces the paragraph of the mutant in its table."""
    path = root / mutant.table
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    end = mutant.line - 1
    while end < len(lines) and lines[end].strip():
        end += 1
    path.write_text("".join([*lines[:mutant.line - 1], paragraph(mutant), *lines[end:]]),
                    encoding="utf-8")


# From a copy to an entry --------------------------------------------------------------------------


def places_between(file, clean, broken):
    """The places of the changes, each with as many lines around it as make it the only one in its
    function."""
    source = Text(file, clean)
    old, new = clean.splitlines(), broken.splitlines()
    hunks = []
    for kind, a, b, c, d in line_changes(old, new):
        if kind == "equal" or not any(line.strip() for line in old[a:b] + new[c:d]):
            continue
        if hunks and (a - hunks[-1][1] <= 1 or depth(old, new, hunks[-1])):
            hunks[-1] = (hunks[-1][0], b, hunks[-1][2], d)
        else:
            hunks.append((a, b, c, d))
    return [place_of(source, old, new, hunk) for hunk in hunks]


def line_changes(old, new):
    """Lines that are only indented otherwise are the same."""
    return difflib.SequenceMatcher(None, [line.strip() for line in old],
                                   [line.strip() for line in new], autojunk=False).get_opcodes()


def depth(old, new, hunk):
    """How many more braces it opens than before."""
    before, after = "".join(old[hunk[0]:hunk[1]]), "".join(new[hunk[2]:hunk[3]])
    return (after.count("{") - after.count("}")) - (before.count("{") - before.count("}"))


def place_of(source, old, new, hunk):
    a, b, c, d = hunk
    for more in range(MOST_CONTEXT):
        for above in range(more, -1, -1):
            begin, end = with_tokens(source, old, a, b, above, more - above)
            words = Text(source.name, "\n".join(old[begin:end])).words
            if not words:
                continue
            first = next(index for index, token in enumerate(source.tokens)
                         if source.line(token.begin) > begin)
            function = source.function_at(first)
            spans = source.functions()[function] if function else None
            if len(source.places(words, spans)) == 1:
                place = table.Place(source.name, function, 0)
                place.lines = (shown(" ", old[begin:a]) + lines_of(old[a:b], new[c:d])
                               + shown(" ", old[b:end]))
                return place
    raise SystemExit(f"{source.name}:{a + 1}: no text makes this change the only one")


def with_tokens(source, lines, begin, end, above, below):
    """The range with so many lines more that are no comment and not empty."""
    def speaks(line):
        return bool(Text(source.name, line).words)

    while above and begin > 0:
        begin -= 1
        above -= speaks(lines[begin])
    while below and end < len(lines):
        below -= speaks(lines[end])
        end += 1
    return begin, end


def shown(mark, lines):
    return [mark + line for line in lines
            if line.strip() and not line.lstrip().startswith(("//", "--"))]


def lines_of(old, new):
    lines = []
    for kind, a, b, c, d in line_changes(old, new):
        if kind == "equal":
            lines += [" " + line for line in new[c:d] if line.strip()]
        else:
            lines += ["-" + line for line in old[a:b]] + ["+" + line for line in new[c:d]]
    return lines


def broken_copy(mutant, file, files):
    """The file with the lines of this mutant, whose choice is still called MUTANT."""
    source = files.get(file)
    changes = []
    for place in (place for place in mutant.places if place.file == file):
        first = table.edits_of(mutant, place, files) and source.places(
            Text(file, place.before()).words, source.functions().get(place.function))[0]
        last = first + len(Text(file, place.before()).words) - 1
        begin = source.text.rfind("\n", 0, source.tokens[first].begin) + 1
        end = source.text.find("\n", source.tokens[last].end)
        changes.append((begin, end, place.after()))
    text = source.text
    for begin, end, after in sorted(changes, reverse=True):
        text = text[:begin] + after + text[end:]
    return text


def edit(name):
    mutant = find(name)
    files = table.Files()
    copies = []
    for file in dict.fromkeys(place.file for place in mutant.places):
        copy = SCRATCH / name / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(broken_copy(mutant, file, files), encoding="utf-8")
        copies.append(str(copy))
    editor = os.environ.get("EDITOR")
    if not editor or not sys.stdin.isatty():
        print("\n".join(copies))
        print(f"edit that, and run `scripts/mutants --take {name}`; MUTANT is the choice")
        return
    subprocess.run([*shlex.split(editor), *copies], check=True)
    take(name)


def take(name):
    mutant = find(name)
    copies = [path for path in sorted((SCRATCH / name).rglob("*")) if path.is_file()]
    if not copies:
        sys.exit(f"there is no copy to take: first `scripts/mutants --edit {name}`")
    mutant.places = []
    for copy in copies:
        file = str(copy.relative_to(SCRATCH / name))
        clean = (table.ROOT / file).read_text(encoding="utf-8")
        mutant.places += places_between(file, clean, copy.read_text(encoding="utf-8"))
    write_entry(mutant)
    print(paragraph(mutant), end="")


def find(name):
    for mutant in table.read_tables():
        if mutant.name == name:
            return mutant
    return sys.exit(f"no mutant {name} in {table.TABLES}")


# Text that has moved ------------------------------------------------------------------------------


def refresh(root=table.ROOT):
    files = table.Files(root)
    for name in [mutant.name for mutant in table.read_tables(root)]:
        mutant = next(one for one in table.read_tables(root) if one.name == name)
        changed, lost = False, False
        for place in mutant.places:
            try:
                table.edits_of(mutant, place, files)
            except table.Wrong as wrong:
                found = moved(place, files) or likened(place, files)
                changed, lost = changed or found, lost or not found
                print(f"{'moved' if found else 'NOT FOUND'}: {wrong}")
        if changed and not lost:
            write_entry(mutant, root)
    return table.findings(root)


def moved(place, files):
    """Whether the same text stands in one other function, or in one other file of the folder."""
    words = Text(place.file, place.before()).words
    folder = pathlib.PurePath(place.file).parts[0] + "/"
    suffix = place.file[place.file.rfind("."):]
    others = [name for name in table.tracked(files.root)
              if name.startswith(folder) and name.endswith(suffix) and name != place.file]
    for names in ([place.file], others):
        found = [(source, at) for source in map(files.get, names) if source
                 for at in source.places(words)]
        if len(found) == 1:
            source, at = found[0]
            place.file, place.function = source.name, source.function_at(at)
            return True
        if found:
            return False
    return False


def likened(place, files):
    """Whether one text of the function is like enough, and what the edits touch is as it was."""
    source = files.get(place.file)
    if source is None:
        return False
    old, new = Text(place.file, place.before()), Text(place.file, place.after())
    spans = source.functions().get(place.function)
    first, likeness = table.nearest_at(source, old.words, spans)
    if first is None or likeness < LIKE_ENOUGH:
        return False
    lines = source.text.splitlines()
    begin = source.line(source.tokens[first].begin) - 1
    count = len([line for line in place.lines if line[0] != "+"])
    end = max(range(begin + 1, min(begin + count + 3, len(lines) + 1)), key=lambda at: likeness_of(
        Text(place.file, "\n".join(lines[begin:at])).words, old.words))
    there = Text(place.file, "\n".join(lines[begin:end]))
    at = {}
    for a, b, size in difflib.SequenceMatcher(
            None, old.words, there.words, autojunk=False).get_matching_blocks():
        at.update({a + i: b + i for i in range(size)})
    text = there.text
    matcher = difflib.SequenceMatcher(None, old.words, new.words, autojunk=False)
    for kind, a, b, c, d in reversed(matcher.get_opcodes()):
        if kind == "equal":
            continue
        near = list(range(max(a - 1, 0), min(b + 1, len(old.words))))
        if any(one not in at for one in near) or any(
                at[two] != at[one] + 1 for one, two in zip(near, near[1:])):
            return False
        left = there.tokens[at[a - 1]].end if a else 0
        right = there.tokens[at[b - 1]].end if b > a else left
        more = new.text[new.tokens[c - 1].end if c else 0:new.tokens[d - 1].end] if d > c else ""
        if a == b < len(old.tokens) and new.tokens[d].begin == new.tokens[d - 1].end:
            left = right = there.tokens[at[a]].begin  # it belongs to what follows: "("
            more = more.lstrip()
        text = text[:left] + more + text[right:]
    place.lines = lines_of(there.text.splitlines(), text.splitlines())
    return True


def likeness_of(words, others):
    return difflib.SequenceMatcher(None, words, others, autojunk=False).ratio()
