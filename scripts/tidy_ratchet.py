# SPDX-License-Identifier: Apache-2.0
"""Numbers that may only fall, file by file: sizes of classes, hooks of mutants, faults of prose.

scripts/ratchet.tsv keeps each number above its limit. A number may not rise above the greater of
the table's and the limit, so a new file or class starts at the limit. `scripts/tidy --ratchet`
writes the numbers that have fallen, and follows renames of files; `--ratchet --anew` writes the
whole table where there is none.
"""

import bisect
import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = "scripts/ratchet.tsv"
HEAD = "# Numbers above their limits. They only fall: scripts/tidy --ratchet writes the lower ones."
PRODUCT = ("base/", "clients/", "ordering/", "dedup/", "locks/", "gate/", "framework/", "cli/")
HOOKED = (".h", ".cc", ".lua", ".sql")
MACRO_HOME = ("tests/mutants/support/mutant.h",)
MAX_FUNCTIONS, MAX_FIELDS, MAX_SENTENCE, MAX_COMMENT = 25, 15, 25, 150
FIELDS_OF = {"WindowCapabilities": 0}  # each field is a switch in every caller: none may be added


@dataclasses.dataclass
class Number:
    value: int
    limit: int
    what: str
    lines: list  # where it was counted


# Classes ----------------------------------------------------------------------------------------

DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
ANNOTATION = re.compile(r"\b(?:[A-Z][A-Z_]{3,}|alignas)\b(?:\s*\((?:[^()]|\([^()]*\))*\))?")
ACCESS = re.compile(r"^(?:(?:public|private|protected)\s*:(?!:)\s*)+")
TEMPLATE = re.compile(r"^template\s*(?:requires\b.*)?")
TYPE = re.compile(r"\b(?:class|struct|union)\s+(?:\[\[.*?\]\]\s*)*([\w:]+)\s*(?:final\s*)?"
                  r"(?::(?!:).*)?$", re.S)
OPERATOR = re.compile(r"\boperator\s*(?:\(\)|\[\]|[^\w\s(]+)")
NO_MEMBER = re.compile(r"(?:using|typedef|friend|static_assert|enum|class|struct|union)\b")
CONSTRUCTOR_FIELD = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*[\w>]$", re.S)


@dataclasses.dataclass
class Scope:
    kind: str  # class, body of a function, initializer, other
    name: str = ""
    line: int = 0
    statement: str = ""
    functions: int = 0
    fields: int = 0

    def add(self, statement):
        """A member as it was declared. Static data and defaulted or deleted functions are none."""
        statement = TEMPLATE.sub("", statement).strip()
        if not statement or NO_MEMBER.match(statement):
            return
        if is_function(statement) and not re.search(r"\(\s*\*", statement):
            self.functions += not re.search(r"=\s*(default|delete)$", statement)
        elif not re.search(r"\b(static|constexpr)\b", statement):
            self.fields += 1 + re.sub(r"\{[^{}]*\}|\([^()]*\)", "", statement).count(",")


def plain(statement):
    """Without arguments of templates, annotations and access."""
    statement = OPERATOR.sub("operator_", statement).replace("->", " ")
    before = None
    while before != statement:
        before, statement = statement, re.sub(r"<[^<>;{}]*>", "", statement)
    return ACCESS.sub("", ANNOTATION.sub("", statement).strip())


def is_function(statement):
    return "(" in statement.partition("=")[0]


def opened(scopes, head, line):
    """The scope that a brace after `head` opens."""
    found = TYPE.search(head) if "(" not in head and "=" not in head else None
    if found and not head.startswith("enum"):
        outer = [scope.name for scope in scopes[-1:] if scope.kind == "class"]
        return Scope("class", "::".join([*outer, found.group(1)]), line)
    if scopes[-1].kind != "class":
        return Scope("other")
    body = (is_function(head) and head.count("(") == head.count(")")
            and not CONSTRUCTOR_FIELD.search(head))
    return Scope("body" if body else "initializer")


def classes(code):
    """Each class, struct and union of a text without comments, with the numbers of its members."""
    code = DIRECTIVE.sub(lambda found: "\n" * found.group(0).count("\n"), code)
    scopes, begin = [Scope("other")], 0
    for mark in re.finditer(r"[{};]", code):
        scope = scopes[-1]
        scope.statement += code[begin:mark.start()]
        begin = mark.end()
        if mark.group(0) == "{":
            scopes.append(opened(scopes, plain(scope.statement),
                                 code.count("\n", 0, mark.start()) + 1))
        elif mark.group(0) == ";":
            if scope.kind == "class":
                scope.add(plain(scope.statement))
            scope.statement = ""
        elif len(scopes) > 1:
            ended, outer = scopes.pop(), scopes[-1]
            if ended.kind == "class":
                yield ended
            if ended.kind == "body":
                outer.add(plain(outer.statement))
            outer.statement = outer.statement + "{}" if ended.kind == "initializer" else ""


# Prose ------------------------------------------------------------------------------------------

COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
NO_PROSE = re.compile(r"SPDX-|NOLINT|clang-format|namespace\b")
ITEM = re.compile(r"\s*(?:[-*+]|\(?(?:\d{1,2}|[a-z])[.)]|[A-Z]\d+[.:]?)\s+")
LABEL = re.compile(r"(?:\*\*)?(?:Thread safety|[\w:<>()]+):(?:\*\*)?\s")
SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\bcf)[.!?][)\"*]*\s+")
WORD = re.compile(r"\S*\w\S*")


def comments(text):
    """Blocks of comment: lists of (line, text). A comment after code, or in another column than the
    line above, begins a block."""
    block, line, seen, place = [], 1, 0, None
    for found in COMMENT.finditer(text):
        if not found.group(0).startswith("//"):
            continue
        line += text.count("\n", seen, found.start())
        seen = found.start()
        begin = text.rfind("\n", 0, seen) + 1
        if block and (place != (line - 1, seen - begin) or text[begin:seen].strip()):
            yield block
            block = []
        block.append((line, found.group(0)[2:]))
        place = line, seen - begin
    if block:
        yield block


def paragraphs_of_comment(block):
    """Lists of (line, words). Examples, tables and diagrams are indented, items of lists hang."""
    paragraph, item = [], False
    for line, text in block:
        bare = text.strip().strip("/")
        begins = bool(ITEM.match(text))
        indented = text.startswith("   ")
        if not bare or begins or NO_PROSE.match(bare) or (indented and not item):
            yield paragraph
            paragraph = []
            item = begins
        if bare and not NO_PROSE.match(bare) and (begins or item or not indented):
            paragraph.append((line, ITEM.sub("", text, count=1) if begins else bare))
    yield paragraph


def paragraphs_of_page(text):
    """Of a page: without code; a heading, an item and a cell of a table stand for themselves."""
    text = re.sub(r"^( *)```.*?^ *```|<!--.*?-->", lambda found: "\n" * found.group(0).count("\n"),
                  text, flags=re.S | re.M)
    paragraph, item = [], False
    for line, row in enumerate(text.splitlines(), 1):
        row = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", row))
        bare = row.strip().lstrip("> ")
        alone = bare.startswith(("#", "|"))
        begins = bool(ITEM.match(row))
        item = begins or item and (not bare or row.startswith(" "))
        if not bare or alone or begins:
            yield paragraph
            paragraph = []
        if row.startswith("    ") and not item:
            continue
        if alone:
            for cell in bare.strip("#|").split("|"):
                yield [(line, cell)] if re.search(r"\w", cell) else []
        elif bare:
            paragraph.append((line, ITEM.sub("", row, count=1) if begins else bare))
    yield paragraph


class Prose:
    """The sentences of a file, and the lines of their faults."""

    FAULTS = {
        "pronouns": re.compile(r"\b(?:that|which|whose|whom)\b", re.I),
        "those-that": re.compile(r"\b(?:those|ones?)\s+(?:that|which|who|whose)\b", re.I),
        "nobody": re.compile(r"\b(?:nobody|somebody|anybody)\b", re.I),
        "who": re.compile(r"\b(?:who|whoever|what)\b", re.I),
        "marks": re.compile(r"[:;](?=\s|$)"),
    }

    def __init__(self, paragraphs):
        self.words = self.sentences = 0
        self.lines = {fault: [] for fault in (*self.FAULTS, "of", "joints", "long")}
        for paragraph in paragraphs:
            if paragraph:
                self.read(paragraph)

    def read(self, paragraph):
        starts, joined = [], ""
        for _, words in paragraph:
            starts.append(len(joined))
            joined += words.strip() + " "
        joined = re.sub(r"`[^`]*`", lambda found: "x" * len(found.group(0)), joined)
        label = LABEL.match(joined)
        joined = " " * label.end() + joined[label.end():] if label else joined

        def line(at):
            return paragraph[bisect.bisect_right(starts, at) - 1][0]

        for fault, pattern in self.FAULTS.items():
            self.lines[fault] += [line(found.start()) for found in pattern.finditer(joined)]
        begin = 0
        for end in [*(found.end() for found in SENTENCE_END.finditer(joined)), len(joined)]:
            sentence = joined[begin:end]
            count = len(WORD.findall(sentence))
            self.words += count
            self.sentences += count > 0
            if re.match(r"\W*Of\b", sentence):
                self.lines["of"].append(line(begin))
            if len(self.FAULTS["marks"].findall(sentence)) > 1:
                self.lines["joints"].append(line(begin))
            if count > MAX_SENTENCE:
                self.lines["long"].append(line(begin))
            begin = end

    def numbers(self):
        def rate(allowed, of):
            return max(1, allowed * of // 1000)

        limits = {
            "pronouns": (rate(18, self.words), "of that, which, whose, whom"),
            "those-that": (0, "of \"those that\", \"one that\""),
            "nobody": (0, "of nobody, somebody, anybody"),
            "who": (rate(2, self.words), "of who, whoever, what"),
            "marks": (rate(250, self.sentences), "colons and semicolons"),
            "of": (0, "sentences that begin with \"Of\""),
            "joints": (0, "sentences with two colons or semicolons"),
            "long": (0, f"sentences over {MAX_SENTENCE} words"),
        }
        for fault, (limit, what) in limits.items():
            yield fault, Number(len(self.lines[fault]), limit, what, self.lines[fault])


# The table --------------------------------------------------------------------------------------


def numbers_of(name, text, code):
    """Of one file: (measure, number)."""
    product = name.startswith(PRODUCT) and name.endswith((".h", ".cc"))
    if name.endswith(HOOKED) and name not in MACRO_HOME:
        lines = [number for number, line in enumerate(text(name).splitlines(), 1)
                 for _ in re.findall(r"\bONCEMQ_MUTANT\(", line)]
        yield "hooks", Number(len(lines), 0, "hooks of mutants", lines)
    if product:
        for each in classes(code(name)):
            yield f"functions {each.name}", Number(each.functions, MAX_FUNCTIONS,
                                                   f"functions in {each.name}", [each.line])
            yield f"fields {each.name}", Number(each.fields, FIELDS_OF.get(each.name, MAX_FIELDS),
                                                f"fields in {each.name}", [each.line])
        blocks = list(comments(text(name)))
        counts = [(block[0][0], Prose(paragraphs_of_comment(block)).words) for block in blocks]
        over = [(line, words - MAX_COMMENT) for line, words in counts if words > MAX_COMMENT]
        yield "comment", Number(sum(words for _, words in over), 0,
                                f"words beyond {MAX_COMMENT} in one comment",
                                [line for line, _ in over])
        yield from Prose(paragraph for block in blocks
                         for paragraph in paragraphs_of_comment(block)).numbers()
    elif name.endswith(".md"):
        yield from Prose(paragraphs_of_page(text(name))).numbers()


def measure(names, text, code):
    found = {}
    for name in names:
        for kind, number in numbers_of(name, text, code):
            if (name, kind) not in found or found[name, kind].value < number.value:
                found[name, kind] = number
    return found


def read(table):
    """(file, measure): number. A line has the numbers of one file."""
    rows = {}
    for line in table.splitlines():
        if not line.startswith("#"):
            name, *numbers = line.split("\t")
            rows |= {(name, kind): int(number) for kind, _, number
                     in (each.rpartition(" ") for each in numbers)}
    return rows


def written(rows):
    files = {}
    for (name, kind), number in sorted(rows.items()):
        files.setdefault(name, [name]).append(f"{kind} {number}")
    return "\n".join([HEAD, *("\t".join(numbers) for numbers in files.values())]) + "\n"


def moved(rows, renames, found):
    """The rows under new names: of a file, or of a class that is gone where one that is new in its
    file, or of its name in another, has none."""
    rows = {(renames.get(name, name), kind): number for (name, kind), number in rows.items()}
    for name, kind in [key for key in rows if " " in key[1] and key not in found]:
        measure_of = kind.partition(" ")[0] + " "
        heirs = [key for key, number in found.items()
                 if key not in rows and number.value > number.limit
                 and (key[1] == kind or (key[0] == name and key[1].startswith(measure_of)))]
        if len(heirs) == 1:
            rows[heirs[0]] = rows.pop((name, kind))
    return rows


def lowered(rows, found):
    """The rows with the lower numbers; those within their limits go."""
    return {key: min(old, found[key].value) for key, old in rows.items()
            if key in found and found[key].value > found[key].limit}


def findings(rows, found, changed=lambda name: ()):
    """(file, line, what) of each number that has risen, on a changed line where there is one."""
    for (name, kind), number in sorted(found.items()):
        allowed = max(number.limit, rows.get((name, kind), 0))
        if number.value > allowed:
            lines = changed(name)
            line = next((line for line in number.lines if line in lines), number.lines[0])
            yield name, line, f"{number.value} {number.what}; {allowed} are allowed"


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    return done.stdout if done.returncode == 0 else ""


def changed_lines(name):
    """Lines of the file that differ from HEAD."""
    found = set()
    for begin, count in re.findall(r"^@@ \S+ \+(\d+)(?:,(\d+))? @@",
                                   git("diff", "-U0", "HEAD", "--", name), re.M):
        found.update(range(int(begin), int(begin) + int(count or 1)))
    return found


def renamed():
    """Old name: new name, since the table was committed."""
    since = git("log", "-1", "--format=%H", "--", TABLE).strip()
    rows = git("diff", "-M", "--diff-filter=R", "--name-status", since) if since else ""
    return dict(row.split("\t")[1:] for row in rows.splitlines())


def check(names, text, code):
    table = ROOT / TABLE
    if not table.exists():
        yield TABLE, 1, "it is not there: scripts/tidy --ratchet --anew writes it"
        return
    rows, found = read(table.read_text(encoding="utf-8")), measure(names, text, code)
    fallen = sum(key not in found or found[key].value < old for key, old in rows.items())
    if fallen:
        print(f"ratchet: {fallen} numbers have fallen; scripts/tidy --ratchet writes them")
    yield from findings(rows, found, changed_lines)


def write(names, text, code, anew, table=ROOT / TABLE):
    """What was done, as a line."""
    if anew and table.exists():
        raise SystemExit(f"tidy: {TABLE} is there, and --anew could raise its numbers")
    if not anew and not table.exists():
        raise SystemExit(f"tidy: {TABLE} is not there; --ratchet --anew writes it")
    found = measure(names, text, code)
    if anew:
        rows = {key: number.value for key, number in found.items() if number.value > number.limit}
        done = f"{len(rows)} numbers are kept"
    else:
        before = moved(read(table.read_text(encoding="utf-8")), renamed(), found)
        rows = lowered(before, found)
        fallen = sum(rows[key] < before[key] for key in rows)
        done = f"{fallen} numbers fell, {len(before) - len(rows)} are within their limits or gone"
    table.write_text(written(rows), encoding="utf-8")
    return f"ratchet: {done}"
