"""What Glob finds, in which order, and what it says of the rest."""

import os

import pytest

from noeta.plugins.files import glob as module
from tests.plugins.files.desk import Desk


def tree(desk: Desk, *names: str) -> None:
    """Files, each a second older than the one before."""
    for age, name in enumerate(names):
        path = desk.put(name, "")
        os.utime(path, (10_000 - age, 10_000 - age))


async def glob(desk: Desk, pattern: str, path: str | None = None) -> list[str]:
    """The lines of the result."""
    return (await desk.says("Glob", pattern=pattern, path=path)).split("\n")


async def test_files_come_newest_first(desk: Desk) -> None:
    tree(desk, "b.py", "z/a.py", "a.py", "c.txt")
    assert await glob(desk, "**/*.py") == ["b.py", "z/a.py", "a.py"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "[x].py", ".h.py"]),
        ("**/*.py", ["a.py", "[x].py", ".h.py", "s/b.py", "s/t/c.py", ".d/e.py"]),
        ("s/**", ["s/b.py", "s/t/c.py", "s/t/d.js"]),
        ("s/**/c.py", ["s/t/c.py"]),
        ("**/t/*", ["s/t/c.py", "s/t/d.js"]),
        ("s/t/*.{py,js}", ["s/t/c.py", "s/t/d.js"]),
        ("{a,s/b}.py", ["a.py", "s/b.py"]),
        ("?.py", ["a.py"]),
        ("[a-c].py", ["a.py"]),
        ("[!b]*.py", ["a.py", "[x].py", ".h.py"]),
        ("[[]x[]].py", ["[x].py"]),
        (r"\[x].py", ["[x].py"]),
        ("s/b.py", ["s/b.py"]),
        ("./s/*", ["s/b.py"]),
    ],
)
async def test_a_pattern_finds_what_a_shell_would(
    desk: Desk, pattern: str, found: list[str]
) -> None:
    tree(desk, "a.py", "[x].py", ".h.py", "s/b.py", "s/t/c.py", "s/t/d.js", ".d/e.py", ".git/f.py")
    assert await glob(desk, pattern) == found


async def test_a_search_begins_at_its_path_or_where_its_pattern_says(desk: Desk) -> None:
    tree(desk, "s/t/a.py", "a.py", ".git/hooks/a.py")
    assert await glob(desk, "**/*.py", "s") == ["s/t/a.py"]
    assert await glob(desk, f"{desk.path}/s/**/*.py") == [f"{desk.path}/s/t/a.py"]
    assert await glob(desk, "../*.py", "s") == ["a.py"]
    assert await glob(desk, ".git/**/*.py") == [".git/hooks/a.py"]
    assert await glob(desk, "**/.git/hooks/*") == [".git/hooks/a.py"]


async def test_no_more_than_a_hundred_are_listed_and_the_rest_is_counted(desk: Desk) -> None:
    tree(desk, *(f"{n}.py" for n in range(103)))
    lines = await glob(desk, "*.py")
    assert lines[:2] == ["0.py", "1.py"]
    assert lines[100:] == [
        "[The newest 100 of 103 files are shown. Narrow the pattern or the path.]"
    ]


async def test_nothing_found_is_said(desk: Desk) -> None:
    assert await desk.says("Glob", pattern="*.py") == (
        "No file in '.' fits '*.py'. To look below it too, use '**/*.py'."
    )
    assert await desk.says("Glob", pattern="**/*.py") == "No file in '.' fits '**/*.py'."


async def test_a_search_that_cannot_be_is_refused_in_words(desk: Desk) -> None:
    desk.put("a.py", "")
    assert await desk.fails("Glob", pattern="*.py", path="none") == (
        f"There is no directory 'none' (the working directory is '{desk.path}')."
    )
    assert await desk.fails("Glob", pattern="*", path="a.py") == (
        "'a.py' is a file, not a directory. Give the directory that it is in."
    )
    assert await desk.fails("Glob", pattern="") == "The pattern is empty. Give one."
    assert await desk.fails("Glob", pattern="a\0") == (
        "The pattern has a NUL character in it. Give it without one."
    )
    assert await desk.fails("Glob", pattern="[a") == (
        "'[a' is no pattern: a [ is not closed. Write [[] for a literal bracket."
    )
    assert await desk.fails("Glob", pattern="{a,b") == (
        "'{a,b' is no pattern: a { is not closed. Write [[] for a literal bracket."
    )
    assert await desk.fails("Glob", pattern="*a" * 11) == (
        f"'{'*a' * 11}' is no pattern: it has more than 10 stars. Write [[] for a literal bracket."
    )


async def test_a_search_that_takes_too_long_is_stopped(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_MAX", 0)
    assert await desk.fails("Glob", pattern="*") == (
        "The search took longer than 0 s and was stopped. Give a path to search in."
    )


async def test_a_name_that_is_no_text_can_be_told(desk: Desk) -> None:
    """The log is UTF-8; a file name need not be."""
    os.close(os.open(os.fsencode(desk.path) + b"/\xff.py", os.O_CREAT))
    assert await glob(desk, "*.py") == ["\ufffd.py"]
