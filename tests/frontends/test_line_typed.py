"""Lines from pipes, files and terminals: whole, in order, and nothing lost."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import anyio
import pytest

from noeta.frontends.line.typed import LINE_BYTES_MAX, Typed
from tests.frontends.line_pty import screen

pytestmark = pytest.mark.anyio


@contextmanager
def pipe(data: bytes = b"") -> Iterator[tuple[Typed, int]]:
    """What reads, and where to write."""
    out, into = os.pipe()
    os.write(into, data)
    with os.fdopen(out) as stream:
        yield Typed(stream), into


def nothing() -> TextIO:
    return Path(os.devnull).open()


async def messages(typed: Typed) -> list[str]:
    found = []
    with anyio.fail_after(10):
        while (text := await typed.message()) is not None:
            found.append(text)
    return found


async def test_each_line_of_a_pipe_is_a_message() -> None:
    """The last one needs no end."""
    with pipe(b"one\ntwo\r\nthree") as (typed, into):
        os.close(into)
        assert await messages(typed) == ["one", "two", "three"]


async def test_a_line_that_ends_in_a_backslash_goes_on() -> None:
    """Two of them are text."""
    with pipe(b"one\\\ntwo\nC:\\\\\nend\\") as (typed, into):
        os.close(into)
        assert await messages(typed) == ["one\ntwo", "C:\\\\", "end"]


async def test_a_file_and_a_stream_in_memory_are_read_alike(tmp_path: Path) -> None:
    """epoll refuses regular files, so they are read at once."""
    file = tmp_path / "in"
    file.write_text("one\ntwo\n")
    with file.open() as stream:
        assert await messages(Typed(stream)) == ["one", "two"]
    assert await messages(Typed(io.StringIO("one\ntwo\n"))) == ["one", "two"]
    with nothing() as stream:
        assert await messages(Typed(stream)) == []
    assert await messages(Typed(None)) == []


async def test_bytes_that_are_no_utf8_are_replaced() -> None:
    """One bad byte costs one character."""
    with pipe(b"a\xffb\n") as (typed, into):
        os.close(into)
        assert await messages(typed) == ["a\ufffdb"]


async def test_a_line_of_10_megabytes_is_one_message(tmp_path: Path) -> None:
    """In linear time; the client says whether it is too large."""
    file = tmp_path / "in"
    file.write_bytes(b"x" * 10_000_000 + b"\nnext\n")
    with file.open() as stream:
        assert list(map(len, await messages(Typed(stream)))) == [10_000_000, 4]


async def test_a_line_without_end_is_bounded(tmp_path: Path) -> None:
    """Memory is."""
    file = tmp_path / "in"
    file.write_bytes(b"x" * (2 * LINE_BYTES_MAX) + b"\nnext\n")
    with file.open() as stream:
        long, after = await messages(Typed(stream))
    assert LINE_BYTES_MAX <= len(long) < LINE_BYTES_MAX + 200_000
    assert after == "next"


async def test_a_cancelled_read_loses_nothing() -> None:
    """What had come in is still there."""
    with pipe(b"one\\\nt") as (typed, into):
        with anyio.move_on_after(0.01):
            await typed.message()
        os.write(into, b"wo\n")
        assert await typed.message() == "one\ntwo"
        os.close(into)


async def test_a_pasted_text_is_one_message() -> None:
    """A terminal hands it over line by line, faster than anybody types."""
    with screen({}) as person, anyio.fail_after(10):
        person.type("one\ntwo\nthree\n")
        assert await person.terminal.typed.message() == "one\ntwo\nthree"


async def test_what_was_typed_before_a_question_is_no_answer() -> None:
    """It is kept for later, line by line; what was not finished is dropped."""
    with screen({}) as person, anyio.fail_after(10):
        typed = person.terminal.typed
        person.type("y\nand then\nye")
        await person.expect("ye")
        typed.set_aside()
        typed.drop_unfinished()
        person.type("no\n")
        assert await typed.line() == "no"
        assert [await typed.message(), await typed.message()] == ["y", "and then"]
