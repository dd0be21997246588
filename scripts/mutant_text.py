# SPDX-License-Identifier: Apache-2.0
"""Tokens and functions of C++, Lua and SQL, as scripts/mutant_table.py compares them. Comments and
white space are no tokens, so a new line break or comment moves no mutant."""

import bisect
import collections
import re

Token = collections.namedtuple("Token", "text begin end")

C_TOKENS = re.compile(
    r"(?P<skip>\s+|//[^\n]*|/\*.*?\*/|\\\n)"
    r'|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|\d(?:'?\w|\.)*|[A-Za-z_]\w*|<=>|->|::|&&|\|\||\+\+|--|[-+*/%&|^=!<>]=|\S", re.DOTALL)
LUA_TOKENS = re.compile(
    r"(?P<skip>\s+|--\[\[.*?\]\]|--[^\n]*)|\[\[.*?\]\]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    r"|\d[\w.]*|[A-Za-z_]\w*|\.\.\.?|[=~<>]=|\S", re.DOTALL)
SQL_TOKENS = re.compile(
    r"(?P<skip>\s+|--[^\n]*|/\*.*?\*/)|\"[^\"]*\"|'(?:''|[^'])*'|\d[\w.]*|[A-Za-z_]\w*"
    r"|::|[<>!:]=|\S", re.DOTALL)
PATTERNS = {".lua": LUA_TOKENS, ".sql": SQL_TOKENS}
NAME = re.compile(r"[A-Za-z_]\w*$")
NO_NAMES = {"alignas", "decltype", "explicit", "noexcept", "requires", "if", "for", "while",
            "switch", "catch", "return", "sizeof"}
ACCESS = {"public", "protected", "private"}
SCOPES = {"namespace", "class", "struct", "union", "enum"}


class Text:
    """A file's text, or a part of it, as tokens."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        suffix = name[name.rfind("."):]
        pattern = PATTERNS.get(suffix, C_TOKENS)
        self.tokens = [Token(found.group(0), found.start(), found.end())
                       for found in pattern.finditer(text) if found.group("skip") is None]
        self.words = [token.text for token in self.tokens]
        self.line_ends = None
        self.spans = None

    def line(self, position):
        if self.line_ends is None:
            self.line_ends = [found.start() for found in re.finditer("\n", self.text)]
        return bisect.bisect_left(self.line_ends, position) + 1

    def functions(self):
        """By name the ranges of tokens of the functions that are called so."""
        if self.spans is None:
            self.spans = collections.defaultdict(list)
            find = lua_functions if self.name.endswith(".lua") else c_functions
            for name, begin, end in find(self.words):
                self.spans[name].append((begin, end))
        return self.spans

    def function_at(self, index):
        """The name of the function of a token, or nothing."""
        return next((name for name, spans in self.functions().items()
                     for begin, end in spans if begin <= index < end), "")

    def places(self, words, spans=None):
        """The indices at which these tokens begin, within ranges of tokens or anywhere."""
        found = []
        for begin, end in spans or [(0, len(self.words))]:
            at = begin
            while words and at + len(words) <= end:
                try:
                    at = self.words.index(words[0], at, end - len(words) + 1)
                except ValueError:
                    break
                if self.words[at:at + len(words)] == words:
                    found.append(at)
                at += 1
        return found


def lua_functions(words):
    """Yields (name, first token, token after the last)."""
    opened = []
    for index, word in enumerate(words):
        if word == "function":
            named = words[index + 1] != "("
            begin = index - 1 if words[index - 1] == "local" else index
            opened.append((words[index + 1] if named else "", begin))
        elif word in ("if", "do", "repeat"):  # `for` and `while` have a `do`
            opened.append(("", index))
        elif word in ("end", "until") and opened:
            name, begin = opened.pop()
            if name:
                yield name, begin, index + 1


def closing(words, index):
    """The index of the bracket that closes the one at `index`."""
    depth = 0
    for at in range(index, len(words)):
        if words[at] in "([{":
            depth += 1
        elif words[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return len(words) - 1


def name_of(words, begin, end):
    """The name in the head of a function: the words before its parameters, or nothing."""
    at = begin
    while at < end:
        if words[at] == "template" and at + 1 < end and words[at + 1] == "<":
            depth, at = 0, at + 1
            while at < end:
                depth += (words[at] == "<") - (words[at] in (">", ">="))
                at += 1
                if depth == 0:
                    break
            continue
        if words[at] == "operator":
            open_at = at + 1 + 2 * (words[at + 1:at + 3] == ["(", ")"])
            while open_at < end and words[open_at] != "(":
                open_at += 1
            outer = qualified(words, begin, at) if words[at - 1] == "::" else ""
            return outer + "".join(words[at:open_at])
        if words[at] in "([":
            before = words[at - 1] if at > begin else ""
            if words[at] == "(" and NAME.match(before) and before not in NO_NAMES:
                return qualified(words, begin, at)
            at = closing(words, at)
        at += 1
    return ""


def qualified(words, begin, end):
    """`A::~B` of the words that end there."""
    at, parts = end, []
    while at > begin and (NAME.match(words[at - 1]) or words[at - 1] in ("::", "~")):
        if parts and parts[0] not in ("::", "~") and words[at - 1] not in ("::", "~"):
            break  # the type
        at -= 1
        parts.insert(0, words[at])
    return "".join(parts)


def c_functions(words):
    """Yields (name, first token, token after the last). Methods have the name of their class before
    them, without its namespace."""
    scopes, head, at = [], 0, 0
    while at < len(words):
        word = words[at]
        if word == "#":  # a directive has no end here: it only moves the head of what comes next
            head = at + 1
        elif word in "([":
            at = closing(words, at)
        elif word == ";" or (word == ":" and words[at - 1] in ACCESS):
            head = at + 1
        elif word == "}":
            if scopes:
                scopes.pop()
            head = at + 1
        elif word == "{":
            kind, name = opened(words, head, at)
            if kind == "scope":
                scopes.append(name)
                head = at + 1
            else:
                end = closing(words, at)
                if kind == "function":
                    outer = [scope for scope in scopes if scope]
                    yield "::".join([*outer, name]), head, end + 1
                    head = end + 1
                at = end
        at += 1


def opened(words, head, at):
    """What the brace at `at` opens: (scope, function or other, its name)."""
    first = next((index for index in range(head, at) if words[index] in SCOPES), None)
    name = name_of(words, head, at)
    if words[head:head + 1] == ["extern"] and at - head == 2:
        return "scope", ""
    if first is not None and not name:
        if words[first] == "namespace":
            return "scope", ""
        base = words.index(":", first, at) if ":" in words[first:at] else at
        named = [word for word in words[first + 1:base]
                 if NAME.match(word) and word not in ("class", "final")]
        return "scope", named[-1] if named else ""
    depth, initialisers = 0, False
    for index in range(head, at):
        depth += (words[index] in "([") - (words[index] in ")]")
        initialisers |= depth == 0 and words[index] == ":" and words[index - 1] in (")", "noexcept")
    member = initialisers and re.match(r"(\w+|>)$", words[at - 1])
    if not name or words[at - 1] in ("=", ",", "return") or member:
        return "other", ""
    return "function", name
