"""What Read shows, and what it says of what it does not show."""

import os
import tracemalloc

import pytest

from noeta.plugins.files.lines import Page
from noeta.plugins.files.read import CHUNK_BYTES
from tests.plugins.files.desk import Desk


def numbered(*lines: str, first: int = 1) -> str:
    """Lines as Read shows them."""
    return "\n".join(f"{first + n:6}\t{line}" for n, line in enumerate(lines))


async def test_a_text_is_shown_with_line_numbers(desk: Desk) -> None:
    desk.put("a.txt", "one\n\n\tthree\nlast without an end")
    assert await desk.says("Read", file_path="a.txt") == numbered(
        "one", "", "\tthree", "last without an end"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfa\r\n\xc3\xa9\r\n",
        "\ufeffa\r\n\xe9\r\n".encode("utf-16-le"),
        "\ufeffa\r\n\xe9\r\n".encode("utf-16-be"),
    ],
)
async def test_marks_and_carriage_returns_are_not_shown(desk: Desk, data: bytes) -> None:
    desk.put("a.txt", data)
    assert await desk.says("Read", file_path="a.txt") == numbered("a", "é")


async def test_bytes_that_are_no_text_are_shown_as_replacement_characters(desk: Desk) -> None:
    desk.put("a.txt", b"caf\xe9\n")
    assert await desk.says("Read", file_path="a.txt") == numbered("caf\ufffd")


async def test_a_range_is_shown_and_what_follows_is_said(desk: Desk) -> None:
    desk.put("a.txt", "".join(f"{n}\n" for n in range(1, 11)))
    assert await desk.says("Read", file_path="a.txt", offset=4, limit=2) == (
        numbered("4", "5", first=4) + "\n[PARTIAL: lines 4 to 5 of 10. For what follows, read with"
        " offset 6. Edit is possible now; Write needs the whole file read.]"
    )
    assert await desk.says("Read", file_path="a.txt", offset=9) == numbered("9", "10", first=9)


async def test_a_long_file_gives_its_first_page_and_says_how_to_go_on(desk: Desk) -> None:
    """2,000 lines."""
    desk.put("a.txt", "x\n" * 2500)
    text = await desk.says("Read", file_path="a.txt")
    assert text.count("\tx") == 2000
    assert text.endswith(
        "\n[PARTIAL: lines 1 to 2000 of 2500. For what follows, read with offset 2001. Edit is"
        " possible now; Write needs the whole file read.]"
    )


async def test_a_page_is_no_larger_than_its_bytes(desk: Desk) -> None:
    """100,000 bytes, whatever the characters."""
    desk.put("a.txt", f"{'é' * 500}\n" * 150)
    text = await desk.says("Read", file_path="a.txt")
    assert "[PARTIAL: lines 1 to 99 of 150. For what follows, read with offset 100." in text
    assert 99_000 < len(text.encode()) < 101_000


async def test_an_asked_range_that_does_not_fit_is_an_error(desk: Desk) -> None:
    desk.put("a.txt", f"{'é' * 500}\n" * 150)
    assert await desk.fails("Read", file_path="a.txt", offset=10, limit=120) == (
        "Lines 10 to 129 of 'a.txt' are larger than the 100000 bytes of one read. Give limit 99 or"
        " less."
    )


async def test_a_line_without_an_end_is_cut_and_costs_no_memory(desk: Desk) -> None:
    """An unbounded line must not be loaded first."""
    part = b"y" * CHUNK_BYTES
    largest = 0

    class Env(type(desk.env)):  # type: ignore[misc]  # the env's class, known at run time only
        async def read_part(self, path: str, *, start_bytes: int, bytes_max: int) -> bytes:
            nonlocal largest
            largest = max(largest, bytes_max)
            return part if start_bytes < 40 * 1024 * 1024 else b""

    desk.put("a.txt", "y")
    desk.env.__class__ = Env
    text = await desk.says("Read", file_path="a.txt")
    shown, notice, partial = text.split("\n")
    assert shown == f"     1\t{'y' * 2000} [cut: {32 * 1024 * 1024 - 2000} more characters]"
    assert (
        notice == "[Lines longer than 2000 characters are cut; Grep with -o shows parts of them.]"
    )
    assert partial.startswith("[PARTIAL: lines 1 to 1 of a file too long to count.")
    assert largest <= CHUNK_BYTES


def test_of_a_line_only_what_is_shown_is_kept() -> None:
    page = Page()
    tracemalloc.start()
    try:
        for _ in range(1000):
            page.feed("y" * 10_000)
        kept_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept_bytes < 20_000


async def test_a_line_is_cut_the_same_wherever_the_chunks_end(desk: Desk) -> None:
    """Chunks end in lines, in characters and between CR and LF."""
    lines = [f"{n}é" * (n % 50) for n in range(60_000)]
    desk.put("a.txt", "\r\n".join(lines).encode())
    for offset in (1, 20_000, 59_900):
        text = await desk.says("Read", file_path="a.txt", offset=offset, limit=90)
        assert text.split("\n[PARTIAL")[0] == numbered(
            *lines[offset - 1 : offset + 89], first=offset
        )


async def test_an_empty_file_is_said_to_be_empty(desk: Desk) -> None:
    desk.put("a.txt", "")
    assert await desk.says("Read", file_path="a.txt") == "'a.txt' is there and is empty."


async def test_an_offset_past_the_end_is_said_with_the_number_of_lines(desk: Desk) -> None:
    desk.put("a.txt", "one\ntwo\n")
    assert await desk.fails("Read", file_path="a.txt", offset=3) == (
        "'a.txt' has 2 lines; offset 3 is past its end. Give a smaller one."
    )


async def test_what_is_no_text_file_is_refused_in_words(desk: Desk) -> None:
    desk.put("dir/bin", b"\x7fELF\0\0")
    os.mkfifo(desk.path / "fifo")
    assert await desk.fails("Read", file_path="none.py") == (
        f"There is no file 'none.py' (the working directory is '{desk.path}'). Find it with Glob."
    )
    assert await desk.fails("Read", file_path="dir") == (
        "'dir' is a directory, not a file. List what is in it with Glob."
    )
    assert await desk.fails("Read", file_path="fifo") == (
        "'fifo' is a device, a pipe or a socket, not a file. Give the path of a file."
    )
    assert await desk.fails("Read", file_path="dir/bin") == (
        "'dir/bin' is binary (6 bytes), and Read shows text, images, notebooks and PDF. Look at it"
        " with a command."
    )


async def test_a_path_that_can_name_nothing_is_refused_in_words(desk: Desk) -> None:
    assert await desk.fails("Read", file_path="") == "The path is empty. Give one."
    assert await desk.fails("Read", file_path="a\0b") == (
        "The path has a NUL character in it. Give it without one."
    )
    assert await desk.fails("Read", file_path="~/a") == (
        "'~/a' starts with ~, which is not expanded. Give an absolute path."
    )


async def test_what_the_system_refuses_is_passed_on(desk: Desk) -> None:
    long = "x" * 300
    assert await desk.fails("Read", file_path=long) == (
        f"This did not work: '{desk.path}/{long}': File name too long. Try another path, or tell"
        " the user."
    )


async def test_an_input_that_does_not_fit_is_refused_in_words(desk: Desk) -> None:
    assert await desk.fails("Read", file_path="a", offset=0) == (
        "The input of Read does not fit: Expected `int` >= 1 - at `$.offset`."
    )
    desk.put("a.txt", "a")
    assert await desk.fails("Read", file_path="a.txt", pages="1") == (
        "'a.txt' is no PDF, and pages is for PDF only. Use offset and limit."
    )
