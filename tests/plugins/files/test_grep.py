"""What Grep finds and how it says that there is more, less or nothing."""

import sys

import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.plugins.files import grep as module
from tests.plugins.files.desk import Desk


@pytest.fixture
def code(desk: Desk) -> Desk:
    """A small project."""
    desk.put("a.py", "import os\n\ndef main():\n    print(os)\n")
    desk.put("b/c.py", "import sys\n")
    desk.put("b/d.js", "import x from 'os'\n")
    desk.put(".hidden/e.py", "import os\n")
    desk.put(".git/f.py", "import os\n")
    return desk


async def test_files_that_match_are_listed(code: Desk) -> None:
    assert await code.says("Grep", pattern=r"\bos\b") == ".hidden/e.py\na.py\nb/d.js"
    assert await code.says("Grep", pattern="os", path="b") == "b/d.js"
    assert await code.says("Grep", pattern="os", glob="*.py") == ".hidden/e.py\na.py"
    assert await code.says("Grep", pattern="os", type="js") == "b/d.js"


async def test_lines_come_with_path_and_number_and_what_is_around_them(code: Desk) -> None:
    content = {"output_mode": "content", "path": "a.py"}
    assert (
        await code.says("Grep", pattern="os", **content) == "a.py:1:import os\na.py:4:    print(os)"
    )
    assert await code.says("Grep", pattern="os", **content, _n=False, _A=1) == (
        "a.py:import os\na.py:\n--\na.py:    print(os)"
    )
    assert await code.says("Grep", pattern="DEF", **content, _i=True, _B=1) == (
        "a.py:2-\na.py:3:def main():"
    )
    around = "a.py:2-\na.py:3:def main():\na.py:4-    print(os)"
    assert await code.says("Grep", pattern="def", **content, _C=1) == around
    assert await code.says("Grep", pattern="def", **content, context=1) == around
    assert (
        await code.says("Grep", pattern=r"\(\w*\)", **content, _o=True) == "a.py:3:()\na.py:4:(os)"
    )


async def test_matches_over_several_lines_are_found_when_asked_for(code: Desk) -> None:
    assert await code.says("Grep", pattern="os.+main", output_mode="content") == (
        "Nothing in '.' matches 'os.+main'."
    )
    assert await code.says("Grep", pattern="os.+main", output_mode="content", multiline=True) == (
        "a.py:1:import os\na.py:2:\na.py:3:def main():"
    )


async def test_a_count_totals_all_matches_not_only_the_listed(desk: Desk) -> None:
    desk.put("a", "x x\nx\n")
    desk.put("b", "x\n")
    assert await desk.says("Grep", pattern="x", output_mode="count") == (
        "a:3\nb:1\n[In all 4 matches in 2 files.]"
    )
    assert await desk.says("Grep", pattern="x", output_mode="count", head_limit=1) == (
        "a:3\n[Files 1 to 1 of 2. For more use offset 1, or narrow the search.]"
        "\n[In all 4 matches in 2 files.]"
    )


async def test_250_entries_are_given_unless_another_limit_is_asked_for(desk: Desk) -> None:
    desk.put("a", "x\n" * 300)
    lines = (await desk.says("Grep", pattern="x", output_mode="content")).split("\n")
    assert len(lines) == 251
    assert lines[250] == "[Lines 1 to 250 of 300. For more use offset 250, or narrow the search.]"
    rest = await desk.says("Grep", pattern="x", output_mode="content", offset=250)
    assert rest.split("\n")[0] == "a:251:x"
    assert rest.split("\n")[-1].startswith("[Lines 251 to 300 of 300.")
    every = await desk.says("Grep", pattern="x", output_mode="content", head_limit=0)
    assert len(every.split("\n")) == 300


async def test_an_offset_past_the_end_is_not_no_match(desk: Desk) -> None:
    desk.put("a", "x\n")
    assert await desk.fails("Grep", pattern="x", offset=1) == (
        "There are 1 files and offset 1 skips them all. Give a smaller one."
    )
    assert await desk.says("Grep", pattern="y", offset=1) == "Nothing in '.' matches 'y'."


async def test_a_rejected_regex_gives_ripgreps_own_words(desk: Desk) -> None:
    """Once this was "no files found"."""
    assert await desk.fails("Grep", pattern="(?:a") == (
        "ripgrep did not accept this search; change it as it says:\n"
        "rg: regex parse error:\n    (?:(?:a)\n    ^\nerror: unclosed group"
    )
    assert (await desk.fails("Grep", pattern="a", type="nope")).endswith(
        "change it as it says:\nrg: unrecognized file type: nope"
    )
    assert "error parsing glob 'a[': unclosed character class" in await desk.fails(
        "Grep", pattern="a", glob="a["
    )


async def test_ignored_files_are_left_out_unless_the_path_names_them(desk: Desk) -> None:
    desk.put(".git/HEAD", "")
    desk.put(".gitignore", "out/\nlog.txt\n")
    desk.put("out/a.py", "x")
    desk.put("log.txt", "x")
    assert await desk.says("Grep", pattern="x") == ".gitignore"
    assert await desk.says("Grep", pattern="x", path="log.txt") == "log.txt"
    assert await desk.says("Grep", pattern="x", path="out") == "out/a.py"


async def test_a_pattern_is_a_pattern_whatever_it_begins_with(desk: Desk) -> None:
    desk.put("-e", "--version\n")
    assert await desk.says("Grep", pattern="--version") == "-e"
    assert await desk.says("Grep", pattern="-v", path="-e") == "-e"


async def test_long_lines_are_cut(desk: Desk) -> None:
    desk.put("a", "x" * 10_000)
    line = await desk.says("Grep", pattern="x+", output_mode="content")
    assert line == f"a:1:{'x' * 500} [... omitted end of long line]"


async def test_a_result_is_no_larger_than_its_bytes(desk: Desk) -> None:
    """100,000 of them, whatever head_limit says."""
    desk.put("a", f"{'x' * 490}\n" * 300)
    text = await desk.says("Grep", pattern="x", output_mode="content", head_limit=0)
    assert 99_000 < len(text.encode()) < 100_200
    assert "\n[Lines 1 to 201 of 300. For more use offset 201," in text


async def test_a_flood_is_stopped_and_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTPUT_BYTES_MAX", 1000)
    desk.put("a", f"{'x' * 99}\n" * 100_000)
    text = await desk.says("Grep", pattern="x", output_mode="content", head_limit=2)
    lines = text.split("\n")
    assert lines[2:] == [
        "[Lines 1 to 2 of at least 9. For more use offset 2, or narrow the search.]",
        "[The search found too much and was stopped there; narrow it.]",
    ]


async def test_a_search_that_takes_too_long_is_stopped(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_MAX", 0.0)
    assert await desk.fails("Grep", pattern="x", path="/usr") == (
        "The search took longer than 0.0 s and was stopped. Narrow it with path, glob or type."
    )


async def test_a_machine_without_ripgrep_is_told_of(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    environ = {"PATH": "/nowhere"}
    scratch = str(desk.path / "scratch")
    desk.env = LocalEnv(str(desk.path), environ=environ, scratch_dir=scratch, shell="/bin/sh")
    assert await desk.fails("Grep", pattern="x") == (
        "Grep needs ripgrep (rg), which is not installed here. Search with the command grep -rn, or"
        " ask the user for: pip install 'noeta[rg]'"
    )


async def test_a_search_that_cannot_be_is_refused_in_words(desk: Desk) -> None:
    assert await desk.fails("Grep", pattern="x", path="none") == (
        f"There is no file or directory 'none' (the working directory is '{desk.path}')."
    )
    assert await desk.fails("Grep", pattern="") == "The pattern is empty. Give one."
    assert await desk.fails("Grep", pattern="a\0b") == (
        "The pattern has a NUL character in it. Give it without one."
    )
    assert await desk.fails("Grep", pattern="a", glob="\0") == (
        "The glob has a NUL character in it. Give it without one."
    )
