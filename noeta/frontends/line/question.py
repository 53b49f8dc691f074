"""The question a parked call asks, and what a typed line answers. Pure.

What is allowed is what was shown: every value stands there whole, as it would be used, or the
question says how much of it is hidden and how to see it.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal

import msgspec

from noeta.core.events import CallParked
from noeta.frontends.line.paint import Line
from noeta.frontends.line.render import trouble
from noeta.frontends.line.sanitize import one_line, rows

ROWS_MAX = 40
"""What fits a screen with its question."""
_BAR = "  | "
_DEEPER = _BAR + "  "
_PLAIN_KEY = re.compile(r"[\w.-]{1,40}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a typed line says; `unclear` asks again, `all` shows what was hidden."""

    does: Literal["allow", "deny", "unclear", "all"]
    reason: str = ""


def ask(name: str, parked: CallParked, width: int, *, whole: bool = False) -> list[Line]:
    """The question without the line that is answered."""
    reason = one_line(parked.reason, 300)
    because = f": {reason}" if reason else ""
    lines = [Line(f"? {one_line(name, 80)} needs your leave{because}", "strong")]
    shown = _input_rows(bytes(parked.input), max(width, 20))
    hidden = 0 if whole else len(shown) - ROWS_MAX
    if hidden <= 0:
        return [*lines, *map(Line, shown)]
    letters = sum(len(row) for row in shown[ROWS_MAX:])
    note = f"{hidden:,} more rows ({letters:,} characters) are NOT shown; type `all` to see them"
    return [*lines, *map(Line, shown[:ROWS_MAX]), trouble(note)]


PROMPT = Line("Allow? [y]es / [n]o / or type why not: ", "strong")


def read(text: str) -> Answer:
    """What the line says. Whatever is no clear yes is none."""
    word = text.strip()
    match word.lower():
        case "y" | "yes":
            return Answer("allow")
        case "n" | "no":
            return Answer("deny")
        case "":
            return Answer("unclear")
        case "all":
            return Answer("all")
        case _:
            return Answer("deny", word)


def _input_rows(raw: bytes, width: int) -> list[str]:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        text = raw.decode("utf-8", errors="replace")
        return [_BAR + row for row in rows(text, width - len(_BAR))]
    found: list[str] = []
    for key, part in value.items():
        found += _value_rows(key, part, width)
    return found or [f"{_BAR}(no input)"]


def _value_rows(key: str, value: object, width: int) -> list[str]:
    """`key: value` on a row where it fits, else the value below, further in."""
    label = key if _PLAIN_KEY.match(key) else json.dumps(key)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    short = rows(f"{label}: {text}", width - len(_BAR))
    if len(short) == 1:
        return [_BAR + short[0]]
    head = [_BAR + row for row in rows(f"{label}:", width - len(_BAR))]
    return [*head, *(_DEEPER + row for row in rows(text, width - len(_DEEPER)))]
