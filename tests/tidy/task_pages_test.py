# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/tasks give whole projects."""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
import paste_page


class TaskPages(unittest.TestCase):
    def test_a_pasted_page_has_all_files_that_its_build_names(self):
        pages = sorted((ROOT / "docs/tasks").glob("*.md"))
        self.assertEqual(len(pages), 3)
        for page in pages:
            with tempfile.TemporaryDirectory() as folder:
                files = paste_page.paste(page, pathlib.Path(folder))
                build = (pathlib.Path(folder) / "CMakeLists.txt").read_text(encoding="utf-8")
                sources = re.search(r"add_executable\(\w+ ([^)]*)\)", build).group(1).split()
                self.assertLessEqual(set(sources), set(files), page.name)
                main = (pathlib.Path(folder) / "main.cc").read_text(encoding="utf-8")
                own = re.findall(r'#include "([^"/]+)"', main)
                self.assertLessEqual(set(own), set(files), page.name)
                self.assertTrue(main.endswith("}\n"), page.name)


if __name__ == "__main__":
    unittest.main()
