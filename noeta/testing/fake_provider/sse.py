"""Server-sent events, as one dialect or another writes them."""

from dataclasses import dataclass
from typing import Any

from noeta.testing.fake_provider.turn import compact


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream."""

    data: dict[str, Any] | str
    """A string is written as it is, such as `[DONE]`."""
    name: str | None = None


def encode(event: Event, *, crlf: bool = False) -> bytes:
    """Its bytes."""
    newline = "\r\n" if crlf else "\n"
    data = event.data if isinstance(event.data, str) else compact(event.data)
    lines = [f"event: {event.name}"] if event.name else []
    return newline.join([*lines, f"data: {data}", "", ""]).encode()


def comment(text: str) -> bytes:
    """A line that every reader skips."""
    return f": {text}\n\n".encode()
