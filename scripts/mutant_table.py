# SPDX-License-Identifier: Apache-2.0
"""The tables tests/mutants/*.mutants: reads them, compares them with the tree, and writes the
mirrored tree build/mutated, where each mutant is a choice at run time. tests/mutants/README.md has
the form of an entry. The tree itself is never changed."""

import collections
import dataclasses
import difflib
import fcntl
import os
import pathlib
import re
import subprocess

from mutant_text import Text

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = "tests/mutants"
MIRROR = ROOT / "build" / "mutated"
SUPPORT = "tests/mutants/support"
FIELDS = {"name", "why", "test", "expect", "build", "file", "function"}
VERDICTS = {"KILLED", "SURVIVED", "INVALID"}
MARK = re.compile(r"\bMUTANT\b")


@dataclasses.dataclass
class Place:
    """One change of one function; `function` is empty where the text stands outside of all."""
    file: str
    function: str
    line: int
    lines: list = dataclasses.field(default_factory=list)  # as in a diff: " ", "-" or "+" first

    def before(self):
        return "\n".join(line[1:] for line in self.lines if line[0] != "+")

    def after(self):
        return "\n".join(line[1:] for line in self.lines if line[0] != "-")


@dataclasses.dataclass
class Mutant:
    table: str
    line: int
    name: str = ""
    why: str = ""
    tests: list = dataclasses.field(default_factory=list)  # "program filter [argument...]"
    expect: str = "KILLED"
    build: str = "mutants"
    places: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Edit:
    """Tokens `first` to `last` of a file become `text`."""
    first: int
    last: int
    text: str
    mutant: Mutant
    place: Place


class Wrong(Exception):
    def __init__(self, table, line, text):
        super().__init__(f"{table}:{line}: {text}")
        self.finding = (table, line, text)


# Reading ------------------------------------------------------------------------------------------


def read_table(name, text):
    """The mutants of one table."""
    mutants, mutant, place = [], None, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            mutant = place = None
        elif line.startswith("#"):
            continue
        elif line[0] in "-+ ":
            if place is None:
                raise Wrong(name, number, "a line of text before `file:`")
            place.lines.append(line)
        else:
            key, _, value = (part.strip() for part in line.partition(":"))
            if key not in FIELDS or not value:
                raise Wrong(name, number, f"expected one of {', '.join(sorted(FIELDS))}")
            if mutant is None:
                mutant = Mutant(name, number)
                mutants.append(mutant)
            if key == "test":
                mutant.tests.append(value)
            elif key == "file" or (key == "function" and place and (place.function or place.lines)):
                place = Place(value if key == "file" else place.file,
                              value if key == "function" else "", number)
                mutant.places.append(place)
            elif key == "function":
                if place is None:
                    raise Wrong(name, number, "`function:` before `file:`")
                place.function = value
            else:
                setattr(mutant, key, value)
    return mutants


def tables(root=ROOT):
    return sorted((root / TABLES).glob("*.mutants"))


def read_tables(root=ROOT):
    """All mutants, in the order of the tables; each has what it needs, and a name of its own."""
    mutants, names = [], set()
    for path in tables(root):
        name = str(path.relative_to(root))
        for mutant in read_table(name, path.read_text(encoding="utf-8")):
            complete(mutant, names)
            mutants.append(mutant)
            names.add(mutant.name)
    return mutants


def complete(mutant, names):
    wrong = ""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant.name):
        wrong = "a mutant needs a `name:` of small letters, digits and hyphens"
    elif mutant.name in names:
        wrong = f"mutant {mutant.name} is listed twice"
    elif not mutant.why or not mutant.tests or not mutant.places:
        wrong = f"{mutant.name} needs `why:`, `test:` and `file:`"
    elif any(len(test.split()) < 2 for test in mutant.tests):
        wrong = f"{mutant.name}: expected `test: program filter`"
    elif mutant.expect not in VERDICTS:
        wrong = f"{mutant.name}: `expect:` is one of {', '.join(sorted(VERDICTS))}"
    elif not any(MARK.search(place.after()) for place in mutant.places):
        wrong = f"{mutant.name}: no line has the choice MUTANT"
    if wrong:
        raise Wrong(mutant.table, mutant.line, wrong)


# Finding ------------------------------------------------------------------------------------------


class Files:
    """The files of a tree as tokens, each read once."""

    def __init__(self, root=ROOT):
        self.root, self.known = root, {}

    def get(self, name):
        if name not in self.known:
            path = self.root / name
            text = path.read_text(encoding="utf-8") if path.is_file() else None
            self.known[name] = text if text is None else Text(name, text)
        return self.known[name]


def edits_of(mutant, place, files):
    """The edits of a place, or Wrong where its text does not stand exactly once in its function."""
    source = files.get(place.file)
    if source is None:
        raise Wrong(mutant.table, place.line, f"{mutant.name}: there is no file {place.file}")
    spans = source.functions().get(place.function) if place.function else None
    if place.function and not spans:
        raise Wrong(mutant.table, place.line,
                    f"{mutant.name}: no function {place.function} in {place.file}"
                    + nearest(source, place, None))
    before, after = Text(place.file, place.before()), Text(place.file, place.after())
    found = source.places(before.words, spans)
    if len(found) != 1:
        where = f"function {place.function}" if place.function else place.file
        often = f"stands {len(found)} times" if found else "does not stand"
        raise Wrong(mutant.table, place.line, f"{mutant.name}: the text {often} in {where}"
                    + ("" if found else nearest(source, place, spans)))
    edits = []
    matcher = difflib.SequenceMatcher(None, before.words, after.words, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            begin = after.tokens[c - 1].end if c else 0
            text = after.text[begin:after.tokens[d - 1].end] if d > c else ""
            edits.append(Edit(found[0] + a, found[0] + b, text, mutant, place))
    if not edits:
        raise Wrong(mutant.table, place.line, f"{mutant.name}: the text stays as it is")
    return edits


def nearest(source, place, spans):
    """Where a text like that of the place stands, for a message."""
    index, ratio = nearest_at(source, Text(place.file, place.before()).words, spans)
    if index is None:
        return ""
    line = source.line(source.tokens[index].begin)
    function = source.function_at(index)
    text = source.text.splitlines()[line - 1].strip()
    return (f"; nearest ({ratio:.0%}): line {line}" + (f", in {function}" if function else "")
            + f": {text}")


def nearest_at(source, words, spans=None):
    """(token, likeness) of the most like text that begins a line, or (None, 0)."""
    best = (None, 0.0)
    wanted = collections.Counter(words)
    for begin, end in spans or [(0, len(source.words))]:
        last_line = 0
        for at in range(begin, end):
            line = source.line(source.tokens[at].begin)
            if line == last_line:
                continue
            last_line = line
            there = source.words[at:at + len(words)]
            common = sum((collections.Counter(there) & wanted).values())
            if common > 0.5 * len(words):
                ratio = difflib.SequenceMatcher(None, there, words, autojunk=False).ratio()
                best = max(best, (at, ratio), key=lambda one: one[1])
    return best


def plan(mutants, files):
    """(edits by file, findings). Edits are sorted; those at one place are in the tables' order."""
    by_file, wrong = collections.defaultdict(list), []
    for mutant in mutants:
        try:
            for edits in [edits_of(mutant, place, files) for place in mutant.places]:
                by_file[edits[0].place.file] += edits
        except Wrong as error:
            wrong.append(error.finding)
    for file, edits in by_file.items():
        # What is put in before a token comes first, then what takes the token's place.
        edits.sort(key=lambda edit: (edit.first, edit.last > edit.first))
        end, one = 0, None
        for edit in edits:
            if edit.first < end:
                wrong.append((edit.mutant.table, edit.place.line,
                              f"{edit.mutant.name} overlaps {one.mutant.name} in {file}"))
            if edit.last > end:
                end, one = edit.last, edit
    return by_file, wrong


def findings(root=ROOT):
    """What is wrong with the tables, for scripts/tidy: (file, line, what)."""
    try:
        return plan(read_tables(root), Files(root))[1]
    except Wrong as error:
        return [error.finding]


# The mirrored tree --------------------------------------------------------------------------------


def compose(source, edits):
    """(text with the edits, [(mutant, its first line, its last line)])."""
    parts, lines, at, line = [], [], 0, 1

    def add(text):
        nonlocal line
        parts.append(text)
        line += text.count("\n")

    for edit in edits:
        # After the token before it, so that a comment between them stays where it is.
        begin = source.tokens[edit.first - 1].end if edit.first else 0
        if edit.last > edit.first:
            begin = source.tokens[edit.first].begin
        add(source.text[at:begin])
        first = line
        if edit.text:
            mark = f'ONCEMQ_MUTANT("{edit.mutant.name}")'
            add(" " + MARK.sub(lambda _: mark, edit.text) + " ")
        lines.append((edit.mutant.name, first, line))
        at = source.tokens[edit.last - 1].end if edit.last > edit.first else begin
    add(source.text[at:])
    return "".join(parts), lines


def tracked(root=ROOT):
    done = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                          cwd=root, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def mirrored(mutants, root=ROOT):
    """(what differs from the tree, by name of the file; the lines of its mutants by file)."""
    files = Files(root)
    by_file, wrong = plan(mutants, files)
    if wrong:
        raise Wrong(*wrong[0])
    texts, lines = {}, {}
    for file, edits in by_file.items():
        texts[file], lines[file] = compose(files.get(file), edits)
        if file.endswith((".h", ".cc")):
            header = os.path.relpath(f"{SUPPORT}/mutant.h", os.path.dirname(file))
            head, _, rest = texts[file].partition("\n")
            # On the line of the licence, so that all others keep their numbers.
            texts[file] = f'#include "{header}"  {head}\n{rest}'
    module = "cmake/OncemqModule.cmake"
    texts[module] = ((root / module).read_text(encoding="utf-8")
                     + f"include(${{PROJECT_SOURCE_DIR}}/{SUPPORT}/embed.cmake)\n")
    return texts, lines


def write_mirror(mutants, root=ROOT, mirror=MIRROR):
    """Brings the mirrored tree up to date; a file that stays as it is keeps its time. Returns the
    lines of the mutants by file."""
    mirror.mkdir(parents=True, exist_ok=True)
    with open(mirror.parent / "mutated.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        texts, lines = mirrored(mutants, root)
        names = set(tracked(root))
        for name in names:
            source, copy = root / name, mirror / name
            text = texts[name].encode() if name in texts else source.read_bytes()
            if not copy.is_file() or copy.read_bytes() != text:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(text)
            if copy.stat().st_mode != source.stat().st_mode:
                copy.chmod(source.stat().st_mode)
        for folder, folders, files in os.walk(mirror):
            here = pathlib.Path(folder)
            if here == mirror:
                folders[:] = [one for one in folders if one != "build"]
            for file in files:
                if str((here / file).relative_to(mirror)) not in names:
                    (here / file).unlink()
    return lines
