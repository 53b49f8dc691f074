"""Notebooks as text: each cell with what it put out. Pure.

Only nbformat 4 is read; what is missing or odd in a cell is passed over, not refused.
"""

import re

import msgspec

from noeta.core.message import Media
from noeta.core.tool import InvalidInput
from noeta.plugins.files import texts
from noeta.plugins.files.picture import IMAGE_BYTES_MAX

IMAGES_MAX = 10
"""Images of one notebook that are shown."""
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
OUTPUT_CHARS_MAX = 10_000
"""Of one output."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

Lines = str | list[str]
"""Text in a notebook: whole or in pieces."""


class Output(msgspec.Struct):
    """What a cell put out: a stream's text, an error's traceback or data by media type."""

    output_type: str = ""
    text: Lines = ""
    traceback: Lines = ""
    ename: str = ""
    evalue: str = ""
    data: dict[str, object] = {}


class Cell(msgspec.Struct):
    """One cell."""

    cell_type: str = ""
    id: str = ""
    source: Lines = ""
    outputs: list[Output] = []
    execution_count: int | None = None


class Notebook(msgspec.Struct):
    """A notebook's cells."""

    cells: list[Cell]


def render(data: bytes, path: str) -> tuple[str, tuple[Media, ...]]:
    """The notebook as text, and the images its cells put out. Raises InvalidInput."""
    try:
        book = msgspec.json.decode(data, type=Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(texts.broken_notebook(path, str(error))) from error
    media: list[Media] = []
    parts = [_cell(number, cell, media) for number, cell in enumerate(book.cells)]
    return "\n".join(parts), tuple(media)


def _cell(number: int, cell: Cell, media: list[Media]) -> str:
    run = f", run {cell.execution_count}" if cell.execution_count is not None else ""
    name = f", id {cell.id}" if cell.id else ""
    parts = [f"[cell {number}: {cell.cell_type}{name}{run}]", _joined(cell.source)]
    for output in cell.outputs:
        text = _output(output, media)
        if len(text) > OUTPUT_CHARS_MAX:
            left = len(text) - OUTPUT_CHARS_MAX
            text = f"{text[:OUTPUT_CHARS_MAX]}\n[cut: {left} more characters]"
        parts.append(f"[output of cell {number}]\n{text}")
    return "\n".join(part.rstrip("\n") for part in parts)


def _output(output: Output, media: list[Media]) -> str:
    if output.output_type == "error":
        trace = _joined(output.traceback, "\n") or f"{output.ename}: {output.evalue}"
        return _COLOUR.sub("", trace)
    if output.text:
        return _COLOUR.sub("", _joined(output.text))
    shown = [_image(kind, output.data[kind], media) for kind in IMAGE_TYPES if kind in output.data]
    plain = output.data.get("text/plain")
    if isinstance(plain, str | list):
        shown.append(_joined([str(piece) for piece in plain]))
    return "\n".join(shown) or f"[{', '.join(output.data) or 'nothing'}]"


def _image(kind: str, value: object, media: list[Media]) -> str:
    data = "".join(str(piece) for piece in value) if isinstance(value, list) else str(value)
    data = "".join(data.split())
    if len(media) >= IMAGES_MAX or len(data) > IMAGE_BYTES_MAX * 4 // 3:
        return f"[{kind}, not shown]"
    media.append(Media(media_type=kind, data=data))
    return f"[{kind}, image {len(media)} below]"


def _joined(text: Lines, between: str = "") -> str:
    return text if isinstance(text, str) else between.join(text)
