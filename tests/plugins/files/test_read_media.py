"""Read of what is no plain text: images, notebooks, PDF."""

import base64
import json
import os
import sys
from types import ModuleType

import pytest

from noeta.core.message import Media
from tests.plugins.files.desk import Desk

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n\0rest",
    "image/jpeg": b"\xff\xd8\xff\xe0rest",
    "image/gif": b"GIF89a\0rest",
    "image/webp": b"RIFF\0\0\0\0WEBPrest",
}


@pytest.mark.parametrize("media_type", IMAGES)
async def test_an_image_is_known_by_its_first_bytes_and_shown(desk: Desk, media_type: str) -> None:
    data = IMAGES[media_type]
    desk.put("picture", data)
    output = await desk.call("Read", file_path="picture")
    assert output.media == (Media(media_type=media_type, data=base64.b64encode(data).decode()),)
    assert output.text == f"'picture': {media_type}, {len(data)} bytes."


async def test_an_image_too_large_for_providers_is_refused(desk: Desk) -> None:
    os.truncate(desk.put("a.png", IMAGES["image/png"]), 4_000_000)
    assert await desk.fails("Read", file_path="a.png") == (
        "The image 'a.png' has 4000000 bytes, and at most 3750000 can be shown. Make a smaller copy"
        " with a command and read that."
    )


async def test_a_notebook_comes_as_its_cells_with_their_outputs(desk: Desk) -> None:
    picture = {"image/png": "QUJD\n", "text/plain": ["<Figure>"]}
    trace = {"output_type": "error", "traceback": ["\x1b[31mNo\x1b[0m", "luck"]}
    code = {
        "cell_type": "code",
        "id": "x1",
        "execution_count": 3,
        "source": ["a = 1\n", "a"],
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["hi\n"]},
            {"output_type": "display_data", "data": picture},
            trace,
            {"output_type": "display_data", "data": {"application/x": {"y": 1}}},
        ],
    }
    prose = {"cell_type": "markdown", "source": "# Title", "metadata": {}}
    desk.put("a.ipynb", json.dumps({"cells": [prose, code], "nbformat": 4}))
    output = await desk.call("Read", file_path="a.ipynb")
    lines = [line.partition("\t")[2] for line in output.text.split("\n")]
    assert lines == [
        "[cell 0: markdown]",
        "# Title",
        "[cell 1: code, id x1, run 3]",
        "a = 1",
        "a",
        "[output of cell 1]",
        "hi",
        "[output of cell 1]",
        "[image/png, image 1 below]",
        "<Figure>",
        "[output of cell 1]",
        "No",
        "luck",
        "[output of cell 1]",
        "[application/x]",
    ]
    assert output.media == (Media(media_type="image/png", data="QUJD"),)


async def test_a_notebook_that_is_none_is_refused_in_words(desk: Desk) -> None:
    desk.put("a.ipynb", "{}")
    assert await desk.fails("Read", file_path="a.ipynb") == (
        "'a.ipynb' is no valid notebook: Object missing required field `cells`. Look into it with"
        " Grep or a command."
    )
    desk.put("b.ipynb", "x")
    os.truncate(desk.path / "b.ipynb", 40_000_000)
    assert (await desk.fails("Read", file_path="b.ipynb")).startswith("'b.ipynb' is binary")
    desk.put("b.ipynb", b" " * 34_000_000)
    assert await desk.fails("Read", file_path="b.ipynb") == (
        "'b.ipynb' has 34000000 bytes, and this works up to 33554432. Use a command."
    )


class _Page:
    def __init__(self, number: int) -> None:
        self.number = number

    def extract_text(self) -> str:
        return f"text {self.number}"


class _Reader:
    def __init__(self, stream: object) -> None:
        assert hasattr(stream, "read")
        data = stream.read()
        if b"broken" in data:
            raise ValueError("no xref")
        self.pages = [_Page(n) for n in range(1, int(data.split()[1]) + 1)]


@pytest.fixture
def pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pypdf whose documents say how many pages they have."""
    module = ModuleType("pypdf")
    module.__dict__["PdfReader"] = _Reader
    monkeypatch.setitem(sys.modules, "pypdf", module)


@pytest.mark.usefixtures("pypdf")
async def test_a_pdf_comes_as_the_text_of_the_asked_pages(desk: Desk) -> None:
    desk.put("a.pdf", b"%PDF-1.7 12 ")
    assert await desk.says("Read", file_path="a.pdf", pages="2-3") == (
        "     1\t[page 2 of 12]\n     2\ttext 2\n     3\t[page 3 of 12]\n     4\ttext 3"
    )
    assert "text 12" in await desk.says("Read", file_path="a.pdf", pages="12")
    desk.put("b.pdf", b"%PDF-1.7 1 ")
    assert await desk.says("Read", file_path="b.pdf") == "     1\t[page 1 of 1]\n     2\ttext 1"


@pytest.mark.usefixtures("pypdf")
async def test_pages_that_cannot_be_are_refused_in_words(desk: Desk) -> None:
    desk.put("a.pdf", b"%PDF-1.7 12 ")
    assert await desk.fails("Read", file_path="a.pdf") == (
        "'a.pdf' has 12 pages, and only up to 10 are read at once unasked. Give a range in pages,"
        " such as '1-5'."
    )
    assert await desk.fails("Read", file_path="a.pdf", pages="5-1") == (
        "pages '5-1' is no page range. Give one such as '3' or '1-5'."
    )
    assert await desk.fails("Read", file_path="a.pdf", pages="1-21") == (
        "21 pages were asked for, and one read gives at most 20. Ask for fewer."
    )
    assert await desk.fails("Read", file_path="a.pdf", pages="10-13") == (
        "'a.pdf' has 12 pages; pages '10-13' goes past its end. Give a smaller range."
    )
    desk.put("b.pdf", b"%PDF-1.7 broken")
    assert await desk.fails("Read", file_path="b.pdf") == (
        "'b.pdf' cannot be read as a PDF: ValueError: no xref. Try the command pdftotext."
    )


async def test_without_pypdf_a_pdf_is_refused_with_what_to_install(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    desk.put("a.pdf", b"%PDF-1.7 12 ")
    assert await desk.fails("Read", file_path="a.pdf") == (
        "'a.pdf' is a PDF, and pypdf, which reads those, is not installed. Try the command"
        " pdftotext, or ask the user for: pip install 'noeta[web-tools]'"
    )
