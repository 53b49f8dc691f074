"""Lines with a tone, and the colours a tone has where colours are wanted. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "faint", "strong", "error"]

_COLOURS: dict[Tone, str] = {
    "plain": "",
    "faint": "\x1b[2m",
    "strong": "\x1b[1m",
    "error": "\x1b[31m",
}
_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Line:
    """One row without its newline, cleaned already."""

    text: str
    tone: Tone = "plain"


def paint(lines: Iterable[Line], *, colour: bool) -> str:
    """The lines as they are written."""
    return "".join(paint_one(line, colour=colour) + "\n" for line in lines)


def paint_one(line: Line, *, colour: bool) -> str:
    """One line without a newline: a prompt."""
    code = _COLOURS[line.tone] if colour else ""
    return f"{code}{line.text}{_RESET}" if code else line.text
