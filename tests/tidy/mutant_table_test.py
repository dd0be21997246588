# SPDX-License-Identifier: Apache-2.0
"""The tables of mutants over a tree of their own."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import mutant_build
import mutant_edit
import mutant_table as table
from mutant_text import Text

SOURCE = """\
// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

namespace oncemq {

bool Rules::Holds(const Marker& marker) const {
  // A comment moves no mutant.
  return marker.held && marker.own < own_;
}

template <class Marker>
bool Ends(const Marker& marker) {
  if (marker.held) {
    return false;
  }
  return marker.own < 7;
}

}  // namespace oncemq
"""
LUA = """\
local function alive(party)
  if party[3] > now then return true end
end
if alive({}) then return 1 end
"""


def entry(name, lines, file="a/rules.cc", function="Rules::Holds", more="", test="test_a A.*"):
    return (f"name: {name}\nwhy: it is wrong (rule 1)\n{more}file: {file}\n"
            + (f"function: {function}\n" if function else "") + lines + f"test: {test}\n")


FIRST = entry("first", "-  return marker.held && marker.own < own_;\n"
                       "+  return (marker.held || MUTANT) && marker.own < own_;\n")
SECOND = entry("second", "-  return marker.held && marker.own < own_;\n"
                         "+  return marker.held && !MUTANT && marker.own < own_;\n")


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.write("a/rules.cc", SOURCE)
        self.write("a/read.lua", LUA)
        self.write("cmake/OncemqModule.cmake", "# functions\n")
        self.write(".gitignore", "/build/\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def findings(self, *entries):
        self.write("tests/mutants/a.mutants", "\n".join(entries))
        return [what for _, _, what in table.findings(self.root)]

    def composed(self, *entries, file="a/rules.cc"):
        self.assertEqual(self.findings(*entries), [])
        texts, _ = table.mirrored(table.read_tables(self.root), self.root)
        return Text(file, texts[file])

    def assertHas(self, text, words):
        self.assertEqual(len(text.places(Text(text.name, words).words)), 1, text.text)

    def test_two_mutants_change_one_statement_in_the_order_of_the_table(self):
        text = self.composed(FIRST, SECOND)
        self.assertHas(text, 'return (marker.held || ONCEMQ_MUTANT("first")) '
                             '&& !ONCEMQ_MUTANT("second") && marker.own < own_;')
        self.assertTrue(text.text.startswith(
            '#include "../tests/mutants/support/mutant.h"  // SPDX'))

    def test_white_space_and_comments_do_not_count(self):
        self.write("a/rules.cc", SOURCE.replace("held && ", "held &&  // the holder\n      "))
        self.assertHas(self.composed(FIRST), '(marker.held || ONCEMQ_MUTANT("first")) &&')

    def test_text_that_does_not_stand_there_is_refused_with_the_nearest(self):
        self.write("a/rules.cc", SOURCE.replace("own_;", "mine_;"))
        found = self.findings(FIRST)
        self.assertEqual(len(found), 1)
        self.assertIn("does not stand in function Rules::Holds", found[0])
        self.assertIn("line 8, in Rules::Holds: return marker.held", found[0])

    def test_text_that_stands_twice_in_its_function_is_refused(self):
        twice = entry("twice", " marker.\n+ MUTANT;\n", function="Ends")
        self.assertIn("stands 2 times in function Ends", self.findings(twice)[0])

    def test_one_token_is_changed_by_one_mutant(self):
        lines = "-    return false;\n+    return MUTANT;\n"
        found = self.findings(entry("one", lines, function="Ends"),
                              entry("two", lines, function="Ends"))
        self.assertEqual(found, ["two overlaps one in a/rules.cc"])

    def test_an_entry_without_a_choice_a_test_or_a_name_of_its_own_is_refused(self):
        plain = "-    return false;\n+    return true;\n"
        no_choice = entry("x", plain, function="Ends")
        self.assertIn("no line has the choice", self.findings(no_choice)[0])
        self.assertIn("is listed twice", self.findings(FIRST, FIRST)[0])
        self.assertIn("test: program filter", self.findings(FIRST.replace(" A.*", ""))[0])
        self.assertIn("expected one of", self.findings(FIRST.replace("why", "because"))[0])

    def test_lua_has_functions_too(self):
        lua = entry("lua", "-  if party[3] > now then return true end\n"
                           "+  if MUTANT or party[3] > now then return true end\n",
                    file="a/read.lua", function="alive")
        self.assertHas(self.composed(lua, file="a/read.lua"),
                       'if ONCEMQ_MUTANT("lua") or party[3] > now then')

    def test_the_copy_is_written_anew_only_where_it_differs(self):
        self.findings(FIRST)
        mirror = self.root / "build" / "mutated"
        table.write_mirror(table.read_tables(self.root), self.root, mirror)
        same, lua = mirror / "a/rules.cc", mirror / "a/read.lua"
        before = same.stat().st_mtime_ns
        self.write("a/read.lua", LUA + "return 0\n")
        (self.root / "cmake" / "more").write_text("gone soon")
        table.write_mirror(table.read_tables(self.root), self.root, mirror)
        (self.root / "cmake" / "more").unlink()
        table.write_mirror(table.read_tables(self.root), self.root, mirror)
        self.assertEqual(same.stat().st_mtime_ns, before)
        self.assertTrue(lua.read_text().endswith("return 0\n"))
        self.assertFalse((mirror / "cmake" / "more").exists())
        self.assertEqual((self.root / "a/rules.cc").read_text(), SOURCE)

    def test_an_error_of_the_compiler_is_told_by_its_line(self):
        self.findings(FIRST)
        _, lines = table.mirrored(table.read_tables(self.root), self.root)
        self.assertEqual(lines["a/rules.cc"], [("first", 8, 8), ("first", 8, 8)])
        log = "../../a/rules.cc:8:9: error: no\n../../a/rules.cc:12:9: warning: hm\n"
        self.assertEqual(mutant_build.guilty(log, lines), {"first"})

    def test_refresh_finds_text_in_a_function_of_another_name_and_after_a_small_change(self):
        self.findings(FIRST)
        for old, new, wanted in (
                ("Rules::Holds", "Rules::IsHeld", "function: Rules::IsHeld"),
                ("own < own_", "own < mine_", "+  return (marker.held || MUTANT)")):
            text = (self.root / "a/rules.cc").read_text()
            self.write("a/rules.cc", text.replace(old, new))
            self.assertNotEqual(table.findings(self.root), [])
            with contextlib.redirect_stdout(None):
                self.assertEqual(mutant_edit.refresh(self.root), [])
            self.assertIn(wanted, (self.root / "tests/mutants/a.mutants").read_text())

    def test_an_entry_is_written_from_a_changed_copy(self):
        broken = SOURCE.replace("    return false;", "    return MUTANT;")
        place, = mutant_edit.places_between("a/rules.cc", SOURCE, broken)
        self.assertEqual((place.function, place.lines),
                         ("Ends", ["-    return false;", "+    return MUTANT;"]))
