# SPDX-License-Identifier: Apache-2.0
"""The files of a change, for scripts/check and scripts/mutants."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git_names(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files(base):
    """Files that differ from `base` or are new, as paths of the repository, without those that are
    gone."""
    names = git_names("diff", "--name-only", base, "--")
    names += git_names("ls-files", "--others", "--exclude-standard")
    return sorted({name for name in names if (ROOT / name).is_file()})
