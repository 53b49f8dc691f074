"""What the pages name is there, and the decisions are whole.

Pages are README.md, AGENTS.md and docs/*.md; what an ADR named may have gone since.
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.house.tree import ROOT, files, text

PAGES = [
    path
    for path in files()
    if path.as_posix() in {"README.md", "AGENTS.md"}
    or (path.suffix == ".md" and path.parent == Path("docs"))
]
ADRS = [path for path in files() if path.parent == Path("docs/adr") and path.suffix == ".md"]
ADR_SECTIONS = (
    "Status",
    "Context",
    "Decision",
    "Instead of",
    "Consequences",
    "Kept true by",
)

_PATH = re.compile(r"(?<![\w./~-])(?:noeta|docs|tests|bench|requirements|changes)/[\w./*<>-]+")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"\bmake((?: +[\w-]+(?![\w=-]))+)")
_VARIABLE = re.compile(r"\bNOETA_[A-Z0-9_]*[A-Z0-9]\b")
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")


def test_the_pages_are_there() -> None:
    """A newcomer finds a README, a page for those who change the code, and the decisions."""
    assert {"README.md", "AGENTS.md"} <= {str(path) for path in PAGES}
    assert ADRS


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_path_a_page_names_exists(page: Path) -> None:
    """Paths are from the root; `*` stands for anything, and NAME, NNN and <...> for a blank."""
    missing = [
        path
        for path in (found.rstrip(".") for found in _PATH.findall(text(page)))
        if not any(blank in path for blank in ("NAME", "NNN", "<", "..."))
        and not any(ROOT.glob(path.rstrip("/")))
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES + ADRS, ids=str)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A link is relative to its page."""
    links = _LINK.findall(text(page))
    assert [link for link in links if not (ROOT / page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_make_target_a_page_names_exists(page: Path) -> None:
    """A `make` command in code, in a line or a block, can be typed as it stands."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", text(Path("Makefile")), re.MULTILINE))
    named = {
        target
        for code in _CODE.findall(text(page))
        for words in _MAKE.findall(code)
        for target in words.split()
    }
    assert sorted(named - targets) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_environment_variable_a_page_names_is_read_by_the_code(page: Path) -> None:
    """A variable that is documented does something."""
    code = "\n".join(
        text(path)
        for path in files()
        if path.parts[0] in {"noeta", "tests", "bench"}
        and path.suffix == ".py"
        # The tests of this directory name variables to keep them out.
        and path.parts[:2] != ("tests", "house")
    )
    known = set(_VARIABLE.findall(code))
    assert sorted(set(_VARIABLE.findall(text(page))) - known) == []


@pytest.mark.parametrize("adr", ADRS, ids=str)
def test_a_decision_has_all_its_sections_in_order(adr: Path) -> None:
    """Status, context, decision, what was rejected, consequences, and what keeps it true."""
    assert re.fullmatch(r"\d{3}-[a-z0-9-]+\.md", adr.name)
    places = [
        match.start() if (match := re.search(rf"^(?:#+ |\*\*){name}\b", text(adr), re.M)) else -1
        for name in ADR_SECTIONS
    ]
    assert [name for name, at in zip(ADR_SECTIONS, places, strict=True) if at < 0] == []
    assert all(a < b for a, b in pairwise(places)), "the sections stand in the order above"


def test_decisions_have_one_number_each() -> None:
    """A number means one decision for good."""
    numbers = [path.name[:3] for path in ADRS]
    assert sorted(numbers) == sorted(set(numbers))
