# SPDX-License-Identifier: Apache-2.0
"""The style that a script can check. A rule is a function that yields findings as (file, line,
what); without findings it is one passed item. Rules about C++ text read it without comments and
strings where those would only cause false alarms."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import mutant_table
import tidy_citations
import tidy_lua
import tidy_ratchet

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Who may include whose public headers: arrows point up the list of folders only.
LAYERS = {
    "base": {"base"},
    "metrics": {"base", "metrics"},
    "clients": {"base", "clients"},
    "dedup": {"base", "clients", "dedup"},
    "gate": {"base", "clients", "dedup", "gate", "metrics"},
    "ordering": {"base", "clients", "ordering"},
    "locks": {"base", "clients", "locks", "metrics"},
    "framework": {"base", "clients", "dedup", "ordering", "locks", "framework",
                  "metrics"},
}

# Third-party headers and their library. Where they may be says THIRD_PARTY.md's last column.
THIRD_PARTY = {
    r"librdkafka/": "librdkafka", r"spdlog/": "spdlog", r"fmt/": "fmt", r"yaml-cpp/": "yaml-cpp",
    r"CLI/": "CLI11", r"xxhash": "xxHash", r"nlohmann/": "nlohmann/json",
    r"(google/protobuf/|.*\.pb\.h)": "Protobuf", r"rapidcheck": "RapidCheck",
    r"(gtest|gmock)/": "GoogleTest, GoogleMock", r"rocksdb/": "RocksDB", r"openssl/": "OpenSSL",
    r"hiredis/": "hiredis", r"httplib": "cpp-httplib", r"zookeeper/": "libzookeeper-mt",
    r"libpq-fe\.h": "libpq", r"(mysql|errmsg)\.h": "MariaDB Connector/C",
    r"prometheus/": "prometheus-cpp",
}

TIME_AND_CHANCE = {  # pattern: (what to say, where it is allowed)
    r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(": (
        "sleeping", ("base/", "tests/support/", "bench/")),
    r"\b(system_clock|steady_clock|high_resolution_clock)::now\b": (
        "reading a clock", ("base/src/clock.cc", "bench/", "tests/support/", "tests/unit/base/")),
    r"\b(clock_gettime|gettimeofday)\s*\(": (
        "reading a clock", ("base/src/clock.cc", "bench/", "tests/support/", "tests/unit/base/")),
    r"(?<![\w.>])(std::)?s?rand\s*\(|\brandom_device\b": ("unseeded chance", ("base/",)),
}

CODE = (".h", ".cc")
SCRIPTS = (".py", ".cmake", ".sh", ".proto", ".pml", ".java", ".go", ".lua")
MAX_COLUMNS, MAX_LINES, MAX_FUNCTION = 100, 600, 70


def list_files():
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    names = done.stdout.split("\n") if done.returncode == 0 else []
    if not names:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
                 if not {"build", ".git"} & set(path.relative_to(ROOT).parts)]
    return sorted(name for name in set(names) if name and (ROOT / name).is_file())


FILES = list_files()
TEXT = {}


def text(name):
    if name not in TEXT:
        TEXT[name] = (ROOT / name).read_text(encoding="utf-8", errors="replace")
    return TEXT[name]


def of(*suffixes):
    return [name for name in FILES if name.endswith(suffixes)]


def is_script(name):
    return "." not in pathlib.Path(name).name and text(name).startswith("#!")


def lines(name):
    return enumerate(text(name).splitlines(), 1)


BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)


def code(name):
    """The text of a C++ file with comments and strings blanked, line numbers kept."""
    key = ("code", name)
    if key not in TEXT:
        TEXT[key] = BLANKED.sub(
            lambda match: (" " if match.group(0)[0] == "/" else '""')
            + "\n" * match.group(0).count("\n"), text(name))
    return TEXT[key]


def includes(name):
    for number, line in lines(name):
        match = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1)


# Rules ------------------------------------------------------------------------------------------


def rule_line_length():
    for name in of(*CODE, *SCRIPTS, "CMakeLists.txt") + [n for n in FILES if is_script(n)]:
        for number, line in lines(name):
            if len(line) > MAX_COLUMNS:
                yield name, number, f"{len(line)} columns; {MAX_COLUMNS} are allowed"


def rule_white_space():
    for name in of(*CODE, *SCRIPTS, ".md", ".txt", ".json", ".yml", ".yaml", ".xml", ".mutants"):
        for number, line in lines(name):
            if line != line.rstrip() or ("\t" in line and not name.endswith(".go")):  # gofmt's
                yield name, number, "a tab, or a space at the end of the line"
        if text(name) and not text(name).endswith("\n"):
            yield name, len(text(name).splitlines()), "no newline at the end"


def rule_file_length():
    for name in of(*CODE, ".py", ".java", ".go"):
        count = len(text(name).splitlines())
        if count > MAX_LINES:
            yield name, count, f"{count} lines; {MAX_LINES} are allowed"


TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
REQUIRES = re.compile(r"\brequires\s*(\([^()]*\)|[\w:]+(<[^<>]*>)?)"
                      r"(\s*(&&|\|\|)\s*[\w:]+(<[^<>]*>)?)*")
SCOPE = re.compile(r"^\s*(inline\s+)?(namespace|class|struct|union|enum|extern|export)\b")


def functions(name):
    """Yields (first line, number of lines) of each function body, by matching braces."""
    stack, header, line, head_line = [], "", 1, 1
    for char in code(name):
        if char == "\n":
            line += 1
        if char == "{":
            outer = all(kind == "scope" for kind, _ in stack)
            head = re.sub(r"^\s*#.*$", "", header, flags=re.MULTILINE).strip()
            head = REQUIRES.sub("", TEMPLATE.sub("", head))
            if SCOPE.match(head) and not re.search(r"\)\s*(const|noexcept|override)*\s*$", head):
                kind = "scope"
            elif not outer or re.search(r"(?<!operator)=\s*$", head):
                kind = "other"
            else:
                kind = "function"
            stack.append((kind, head_line))
            header = ""
        elif char == "}":
            if stack:
                kind, begin = stack.pop()
                if kind == "function":
                    yield begin, line - begin + 1
            header = ""
        elif char == ";":
            header = ""
        else:
            if not header.strip():
                head_line = line
            header += char


def rule_function_length():
    for name in of(*CODE):
        for begin, count in functions(name):
            if count > MAX_FUNCTION:
                yield name, begin, f"a function of {count} lines; {MAX_FUNCTION} are allowed"


def rule_licence_line():
    for name in FILES:
        if not (name.endswith(CODE + SCRIPTS + ("CMakeLists.txt", ".yml", "Dockerfile"))
                or is_script(name)):
            continue
        head = text(name).splitlines()[:2]
        wanted = head[1:2] if head and head[0].startswith("#!") else head[:1]
        if not wanted or "SPDX-License-Identifier: Apache-2.0" not in wanted[0]:
            yield name, 1, "the first line is not the SPDX licence line"


def rule_pragma_once():
    for name in of(".h"):
        if "#pragma once" not in text(name):
            yield name, 1, "no #pragma once"


def rule_layers():
    for name in of(*CODE):
        allowed = LAYERS.get(name.split("/")[0])
        for number, header in includes(name):
            match = re.match(r"oncemq/(\w+)/", header)
            if allowed and match and match.group(1) not in allowed:
                yield name, number, f"{name.split('/')[0]} must not look at {match.group(1)}"


def rule_third_party():
    folders = {}
    for row in re.findall(r"^\| ([^|]+) \|.*\| ([^|]*`[^|]*) \|$", text("THIRD_PARTY.md"), re.M):
        folders[row[0]] = tuple(f"{path}/" for path in re.findall(r"`([^`]+)`", row[1]))
    for library in set(folders) ^ set(THIRD_PARTY.values()):
        yield "THIRD_PARTY.md", 1, f"{library} is known here or to this rule, but not to both"
    for name in of(*CODE):
        public = "/include/oncemq/" in name and "/conformance/" not in name
        for number, header in includes(name):
            for pattern, library in THIRD_PARTY.items():
                if re.match(pattern, header) and (
                        public or not name.startswith(folders.get(library, ()))):
                    place = "a public header" if public else "this folder"
                    yield name, number, f"<{header}> does not belong into {place}"


def rule_names():
    for name in FILES:
        if re.search(r"(^|/)(utils?|helpers?|common|misc)(/|\.)", name):
            yield name, 1, "a name that says nothing"
    for name in of(*CODE):
        for number, line in enumerate(code(name).splitlines(), 1):
            if re.search(r"\b(class|struct)\s+\w*(Manager|Helper|Util)", line):
                yield name, number, "no Manager, Helper or Util"


def rule_open_ends():
    for name in of(*CODE, *SCRIPTS, ".md", "CMakeLists.txt"):
        if name == "scripts/tidy.py":
            continue
        for number, line in lines(name):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                yield name, number, "an open end: do it, or open an issue"


def rule_dead_code():
    statement = re.compile(r"^\s*//\s*((if|for|while|switch) ?\(.*\{|return\b.*;|#include\b.*"
                           r"|(auto|const|std::\S+|[A-Za-z_]+_)\s.*=.*;"
                           r"|\w+(\.|->|::)\w+\(.*\);)\s*$")
    for name in of(".cc"):
        for number, line in lines(name):
            if statement.match(line):
                yield name, number, "code in a comment"


def rule_thread_safety():
    """It is looked for in headers, so it begins a paragraph of its comment."""
    for name in of(*CODE):
        before = ""
        for number, line in lines(name):
            comment = line.strip()
            if comment.startswith("//") and "Thread safety:" in comment:
                begins = before == "//" or not before.startswith("//")
                if not begins or not re.match(r"// (\*\*)?Thread safety:", comment):
                    yield name, number, "\"Thread safety:\" begins a paragraph of its own"
            before = comment


def rule_time_and_chance():
    for name in of(*CODE):
        for number, line in enumerate(code(name).splitlines(), 1):
            for pattern, (what, folders) in TIME_AND_CHANCE.items():
                if re.search(pattern, line) and not name.startswith(folders):
                    yield name, number, f"{what} outside {', '.join(folders)}"


def rule_links():
    for name in of(".md"):
        folder = (ROOT / name).parent
        fenced = False
        for number, line in lines(name):
            fenced ^= line.lstrip().startswith("```")
            if fenced:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                path = target.split("#")[0]
                if path and not re.match(r"\w+:", path) and not (folder / path).exists():
                    yield name, number, f"the link to {target} leads nowhere"
            for path in re.findall(r"`([a-z_.]+/[\w./-]+)`", line):
                top = path.split("/")[0]
                known = (ROOT / top).is_dir() and top not in ("build", "..", ".")
                generated = path.startswith(("bench/out", ".ci/"))
                if known and not generated and not list_like(path) and not (ROOT / path).exists():
                    yield name, number, f"`{path}` does not exist"


def list_like(path):
    return "..." in path or path.endswith(".")


def rule_samples():
    """C++ in a document, and each file in a page of docs/tasks, is cut from a file that is compiled
    or tested: the link before it names the file."""
    for name in of(".md"):
        page = text(name)
        languages = "cpp|sql|yaml" if name.startswith("docs/tasks/") else "cpp"
        for block in re.finditer(rf"```({languages})\n(.*?)```", page, re.DOTALL):
            suffix = {"cpp": "cc|h"}.get(block.group(1), block.group(1))
            links = re.findall(rf"\]\(([^)]+\.(?:{suffix}))\)", page[:block.start()])
            number = page[:block.start()].count("\n") + 1
            source = (ROOT / name).parent / links[-1] if links else None
            if source is None or not source.exists():
                yield name, number, "a sample needs a link to the file that it is cut from"
            elif block.group(2).strip() not in source.read_text(encoding="utf-8"):
                yield name, number, f"the sample differs from {links[-1]}"


def rule_headers():
    """The README.md of a module names each of its public headers."""
    for name in of(".h"):
        module, public, _ = name.partition("/include/oncemq/")
        readme = f"{module.split('/')[0]}/README.md"
        header = pathlib.PurePath(name).name
        if public and not re.search(rf"(?<![\w.]){re.escape(header)}(?!\w)", text(readme)):
            yield name, 1, f"{readme} does not name {header}"


def rule_registered():
    """Every source file is listed in a CMakeLists.txt above it, so none is silently left out."""
    for name in of(".cc"):
        path = pathlib.PurePath(name)
        for folder in path.parents:
            listing = str(folder / "CMakeLists.txt")
            if listing in FILES and re.search(
                    r"(?<![\w/])" + re.escape(str(path.relative_to(folder))) + r"(?!\w)",
                    text(listing)):
                break
        else:
            yield name, 1, "no CMakeLists.txt names this file"


def rule_decisions():
    names = sorted(name for name in FILES if name.startswith("docs/adr/"))
    for index, name in enumerate(names, 1):
        match = re.fullmatch(r"docs/adr/(\d{4})-[a-z0-9-]+\.md", name)
        if not match or int(match.group(1)) != index:
            yield name, 1, f"expected docs/adr/{index:04}-what-it-decides.md"


def rule_citations():
    yield from tidy_citations.findings(of(*CODE, *SCRIPTS, ".md", ".txt", ".mutants"), text)


def rule_mutants():
    """Each entry of the tables fits the tree."""
    yield from mutant_table.findings()


def rule_lua():
    yield from tidy_lua.findings(of(".lua"), text)


def rule_ratchet():
    yield from tidy_ratchet.check(FILES, text, code)


def rule_own_tests():
    """The rules that need tests of their own have them in tests/tidy."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.discover(str(ROOT / "tests/tidy"), "*_test.py").run(result)
    if not result.testsRun:
        yield "tests/tidy", 1, "no test has run"
    for test, trace in result.failures + result.errors:
        yield "tests/tidy", 1, f"{test.id()}: {trace.strip().splitlines()[-1]}"


def rule_syntax():
    for name in of(".json"):
        try:
            json.loads(text(name))
        except ValueError as error:
            yield name, 1, str(error)
    for name in of(".py"):
        try:
            compile(text(name), name, "exec")
        except SyntaxError as error:
            yield name, error.lineno or 1, error.msg
    for name in FILES:
        if is_script(name) and "bash" in text(name).splitlines()[0]:
            done = subprocess.run(["bash", "-n", name], cwd=ROOT, capture_output=True, text=True,
                                  check=False)
            if done.returncode:
                yield name, 1, done.stderr.strip()
            if not os.access(ROOT / name, os.X_OK):
                yield name, 1, "a script that can't be executed"


def rule_yaml():
    try:
        import yaml
    except ImportError:
        yield from skip("python3-yaml is not installed")
        return
    for name in of(".yml", ".yaml"):
        if name.startswith("tests/fuzz/corpus/") or "/bad/" in name or "/broken/" in name:
            continue  # wrong on purpose
        try:
            list(yaml.safe_load_all(text(name)))
        except yaml.YAMLError as error:
            yield name, 1, str(error).replace("\n", " ")


def rule_format():
    tool = shutil.which("clang-format-14")
    if not tool:
        yield from skip("clang-format-14 is not installed")
        return
    names = of(*CODE)
    for begin in range(0, len(names), 50):
        done = subprocess.run([tool, "--dry-run", "-Werror", *names[begin:begin + 50]], cwd=ROOT,
                              capture_output=True, text=True, check=False)
        seen = set()
        for name, number in re.findall(r"^(\S+?):(\d+):\d+: error:", done.stderr, re.MULTILINE):
            if name not in seen:
                seen.add(name)
                yield name, int(number), f"run {pathlib.Path(tool).name} -i on it"


def skip(why):
    yield "", 0, f"SKIP {why}"


def main():
    found = globals().items()
    rules = {name[5:].replace("_", "-"): rule for name, rule in found if name[:5] == "rule_"}
    wanted = sys.argv[1:] or list(rules)
    if wanted[0] == "--ratchet":
        print(tidy_ratchet.write(FILES, text, code, anew=wanted[1:] == ["--anew"]))
        wanted = ["ratchet"]
    passed = failed = skipped = 0
    for name in wanted:
        if name not in rules:
            sys.exit(f"tidy: no rule {name}; there are {', '.join(rules)}")
        findings = list(rules[name]())
        for file, number, what in findings:
            print(f"{name}: {what}" if what.startswith("SKIP") else
                  f"{file}:{number}: {what} [{name}]")
        if any(what.startswith("SKIP") for _, _, what in findings):
            skipped += 1
        elif findings:
            failed += 1
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
