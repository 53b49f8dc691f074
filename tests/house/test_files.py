"""What files may hold: their size, their first words, and nothing of the machine they came from."""

import ast
import re
from pathlib import Path

from tests.house.tree import ROOT, files, modules, parsed, text

LINES_MAX = 400

# Put together here, so that this file does not hold what it looks for.
REGISTRY_HOSTS = (
    "pypi" + ".org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "npm" + "mirror.com",
    "yarn" + "pkg.com",
    "crates" + ".io",
    "proxy." + "golang.org",
    "deb." + "debian.org",
    "security." + "debian.org",
    "archive." + "ubuntu.com",
    "ghcr" + ".io",
    "docker" + ".io",
)
# A directory that belongs to one machine or person; a path inside the tree is none.
MACHINE_PATH = re.compile(r"(?<![\w.~$})*-])/(?:work|opt|root|home|Users|mnt|srv)" + r"/[\w.-]+")


def test_no_module_of_noeta_is_longer_than_a_reader_can_hold() -> None:
    """A file is one idea; past 400 lines it has a second."""
    long = {
        str(path): count for path in modules() if (count := text(path).count("\n")) >= LINES_MAX
    }
    assert long == {}


def test_every_module_of_noeta_says_what_lives_in_it() -> None:
    """A module opens with a docstring that was written, not left for later."""
    silent = [
        str(path)
        for path in modules()
        if not (doc := ast.get_docstring(parsed(path))) or doc.startswith("TODO")
    ]
    assert silent == []


def test_no_file_names_a_registry_host() -> None:
    """Packages come from where the user's own pip, npm or apt is told to look."""
    named = [
        f"{path} names {host}"
        for path in files()
        for host in REGISTRY_HOSTS
        if host in _words(path)
    ]
    assert named == []


def test_no_file_names_a_path_of_one_machine() -> None:
    """The tree works wherever it is cloned."""
    found = [f"{path}: {match}" for path in files() for match in MACHINE_PATH.findall(_words(path))]
    here = [str(path) for path in files() if f"{ROOT}/" in _words(path)]
    assert found + here == []


def _words(path: Path) -> str:
    """A file's text, whatever its bytes are."""
    return (ROOT / path).read_bytes().decode("utf-8", errors="replace")
