# SPDX-License-Identifier: Apache-2.0
"""The numbers that may only fall: what is counted, and what is refused."""

import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import tidy_ratchet as ratchet

HEADER, PAGE = "dedup/src/thing.h", "docs/thing.md"


def measure(name, text):
    return ratchet.measure([name], lambda _: text, lambda _: ratchet.COMMENT.sub(" ", text))


def value(name, text, kind):
    return measure(name, text)[name, kind].value


def refused(name, text, rows=()):
    return list(ratchet.findings(dict(rows), measure(name, text)))


def struct(fields, functions=0):
    members = [f"int f{i} = 0;" for i in range(fields)]
    members += [f"void F{i}();" for i in range(functions)]
    return "\nstruct Thing {\n" + "\n".join(members) + "\n};\n"


class Classes(unittest.TestCase):
    def members(self, body):
        code = f"template <class T>\nclass A final : public B<T> {{{body}}};"
        return [(each.name, each.functions, each.fields) for each in ratchet.classes(code)]

    def test_counts_what_is_declared_or_defined(self):
        self.assertEqual(self.members("""
         public:
          explicit A(int x) : a_{x}, b_(x) { if (x) { c_ = 1; } }
          A(const A&) = delete;
          ~A() override = default;
          bool operator<(const A& other) const { return a_ < other.a_; }
          template <class U> U Get(U otherwise = {}) const REQUIRES(mutex_, other());
          virtual std::map<int, int> All() = 0;
         private:
          void Settle(Times times = {}, int wait = 0);
        """), [("A", 5, 0)])

    def test_counts_fields_by_their_declarators(self):
        self.assertEqual(self.members("""
          std::function<void(int, int)> told_;
          void (*call_)(int) = nullptr;
          std::map<int, std::pair<int, int>> map_ GUARDED_BY(mutex_){};
          Pair pair_{1, 2};
          int x_ = 0, y_ = F(1, 2);
          std::function<int()> made_ = [] { return 1; };
          static constexpr int kMost = 3;
          using Own = int;
          friend class C;
          enum class Kind { kA, kB };
        """), [("A", 0, 7)])

    def test_members_of_a_nested_class_are_its_own(self):
        self.assertEqual(
            self.members("struct Part { int a; int b; struct Piece { int c; }; }; int d;"),
            [("A::Part::Piece", 0, 1), ("A::Part", 0, 2), ("A", 0, 1)])

    def test_a_new_class_over_the_limit_is_refused_with_its_line(self):
        self.assertEqual(refused(HEADER, struct(15, 25)), [])
        self.assertEqual(refused(HEADER, struct(16, 26)), [
            (HEADER, 2, "16 fields in Thing; 15 are allowed"),
            (HEADER, 2, "26 functions in Thing; 25 are allowed")])

    def test_a_class_of_the_table_does_not_grow(self):
        rows = {(HEADER, "fields Thing"): 17}
        self.assertEqual(refused(HEADER, struct(17), rows), [])
        self.assertEqual(refused(HEADER, struct(18), rows),
                         [(HEADER, 2, "18 fields in Thing; 17 are allowed")])

    def test_capabilities_of_a_window_have_no_room(self):
        self.assertEqual(refused(HEADER, "struct WindowCapabilities { int a; };"),
                         [(HEADER, 1, "1 fields in WindowCapabilities; 0 are allowed")])

    def test_tests_may_have_large_classes(self):
        self.assertEqual(refused("tests/unit/thing.cc", struct(30)), [])


class Hooks(unittest.TestCase):
    def test_a_new_hook_is_refused_with_its_line(self):
        text = "\nif (a && !ONCEMQ_MUTANT(\"a\")) F();\n"
        self.assertEqual(refused("tests/sim/thing.cc", text),
                         [("tests/sim/thing.cc", 2, "1 hooks of mutants; 0 are allowed")])
        self.assertEqual(refused(HEADER, text, {(HEADER, "hooks"): 1}), [])


class ProseOfCode(unittest.TestCase):
    def test_each_fault_is_counted(self):
        for kind, fault in {
                "nobody": "Nobody reads it.", "those-that": "Keeps the ones\n// that are held.",
                "of": "Short. Of the first it tells.", "joints": "One; two: three.",
                "long": "Word " * 25 + "end."}.items():
            self.assertEqual(value(HEADER, f"// {fault}\nint x;\n", kind), 1, kind)
            self.assertTrue(refused(HEADER, f"// {fault}\n"), kind)
        self.assertEqual(value(HEADER, "// The store that is full, which has it.\n", "pronouns"), 2)
        self.assertEqual(value(HEADER, "// Asks who waits, and what it waits for.\n", "who"), 2)

    def test_one_fault_of_a_rate_fits_into_a_small_file(self):
        self.assertEqual(refused(HEADER, "// The store that is full: it waits.\n"), [])
        self.assertEqual(refused(HEADER, "// The store that is full.\nint x;\n// And that.\n"),
                         [(HEADER, 1, "2 of that, which, whose, whom; 1 are allowed")])

    def test_a_finding_stands_on_a_changed_line(self):
        found = measure(HEADER, "// Nobody.\nint x;\n// Nobody.\n")
        self.assertEqual([line for _, line, _ in ratchet.findings({}, found, lambda _: {3})], [3])

    def test_code_strings_labels_and_values_are_no_prose(self):
        for text in ("auto x = \"// nobody\";", "// `nobody` is a name.",
                     "// Example:\n//   if (nobody) return;\n//   that(which, whose);",
                     "// **Limits:** none.\n//\n// Thread safety: none.\n//\n// Blocks: never.",
                     "int a;  // 0: none\nint b;  // empty: none\nint c;  // nullptr: none"):
            self.assertEqual(refused(HEADER, text), [], text)

    def test_comments_of_fields_are_sentences_of_their_own(self):
        fields = "".join(f"int field{i};  // a comment of some words\n" for i in range(9))
        self.assertEqual(value(HEADER, fields, "long"), 0)
        self.assertEqual(value(HEADER, "int a;  // a word\n// " + "word " * 24, "long"), 0)

    def test_a_comment_over_150_words_is_refused(self):
        line = "// These are ten words, and the last one is here.\n"
        self.assertEqual(refused(HEADER, line * 15), [])
        self.assertEqual(refused(HEADER, "int x;\n" + line * 16),
                         [(HEADER, 2, "10 words beyond 150 in one comment; 0 are allowed")])


class ProseOfPages(unittest.TestCase):
    def test_code_is_no_prose(self):
        page = ("# A title\n\n```cpp\n// Nobody\n```\nA `nobody` and [a page](nobody.md).\n\n"
                "    nobody; Of: x;\n\n<!-- nobody -->\n")
        self.assertEqual(refused(PAGE, page), [])

    def test_items_and_cells_end_a_sentence(self):
        half = "word " * 13
        self.assertEqual(value(PAGE, "Those\nit. Of two.\n", "of"), 1)
        self.assertEqual(value(PAGE, f"- {half}\n\n    Nobody.\n", "nobody"), 1)
        self.assertEqual(value(PAGE, f"- {half}\n- {half}\n\n| {half} | {half} |\n", "long"), 0)
        self.assertEqual(value(PAGE, f"{half}\n{half}\n", "long"), 1)

    def test_a_finding_has_the_line_of_the_fault(self):
        self.assertEqual(refused(PAGE, "One line\nof words.\nOf two.\n"),
                         [(PAGE, 3, "1 sentences that begin with \"Of\"; 0 are allowed")])


class Table(unittest.TestCase):
    def test_what_is_written_is_read(self):
        rows = {("a.h", "fields A::B"): 17, ("a.h", "of"): 2, ("b.md", "long"): 1}
        self.assertEqual(ratchet.read(ratchet.written(rows)), rows)

    def test_numbers_fall_and_never_rise(self):
        found = measure(HEADER, struct(20, 30) + "// Nobody.\n")
        rows = {(HEADER, "fields Thing"): 18, (HEADER, "functions Thing"): 40, (HEADER, "of"): 2,
                ("gone.h", "of"): 1}
        self.assertEqual(ratchet.lowered(rows, found),
                         {(HEADER, "fields Thing"): 18, (HEADER, "functions Thing"): 30})

    def test_numbers_follow_a_file(self):
        found = measure(HEADER, struct(20))
        self.assertEqual(ratchet.moved({("old.h", "fields Thing"): 20}, {"old.h": HEADER}, found),
                         {(HEADER, "fields Thing"): 20})

    def test_numbers_follow_a_class(self):
        rows = {(HEADER, "fields Old"): 20}
        moved = {(HEADER, "fields Thing"): 20}
        self.assertEqual(ratchet.moved(rows, {}, measure(HEADER, struct(20))), moved)
        self.assertEqual(ratchet.moved({("old.h", "fields Thing"): 20}, {},
                                       measure(HEADER, struct(20))), moved)
        two = struct(20) + struct(20).replace("Thing", "Other")
        self.assertEqual(ratchet.moved(rows, {}, measure(HEADER, two)), rows)

    def test_a_table_is_made_anew_only_where_there_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "table"

            def write(text, anew=False):
                ratchet.write([HEADER], lambda _: text, lambda _: text, anew, table)
                return ratchet.read(table.read_text(encoding="utf-8"))

            with self.assertRaises(SystemExit):
                write(struct(20))
            self.assertEqual(write(struct(20), anew=True), {(HEADER, "fields Thing"): 20})
            with self.assertRaises(SystemExit):
                write(struct(21), anew=True)
            self.assertEqual(write(struct(21)), {(HEADER, "fields Thing"): 20})
            self.assertEqual(write(struct(16)), {(HEADER, "fields Thing"): 16})
            self.assertEqual(write(struct(15)), {})
