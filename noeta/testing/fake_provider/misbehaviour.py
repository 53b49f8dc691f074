"""What a provider does on a bad day, as one value whose fields can be combined.

A misbehaviour is given to `FakeProvider.misbehave`, in a turn, in a script file, or in the request
header `x-fake-misbehave`, as `status=429; retry_after=2` (`parse_misbehaviour`).
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

import msgspec

EarlyEnd = Literal["stall", "reset", "close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Misbehaviour:
    """Each field disturbs one thing; as it stands, it disturbs nothing."""

    # Another answer than the model's.
    status: int | None = None
    """Refuse with this status and the dialect's error body."""
    error_type: str | None = None
    """The error's type, of `status` or `error_after`; without it, what goes with the status."""
    message: str | None = None
    """The error's text."""
    retry_after: str | None = None
    """The header as it stands: `0`, `2`, `1.5`, an HTTP date, rubbish, `999999`."""
    retry_after_ms: str | None = None
    should_retry: bool | None = None
    """The header `x-should-retry`, which the SDKs obey."""
    spend_cap: bool = False
    """A 429 that no waiting mends, without `retry-after`."""
    html: bool = False
    """A proxy's page in place of the answer; `status` is its status, 200 without one."""
    empty: bool = False
    """An empty body; `status` goes with it, 200 without one."""
    content_type: str | None = None
    """Of the answer, in place of the right one."""

    # Inside an answer that begins well.
    error_after: int | None = None
    """An error event after so many events of the stream."""
    failed_response: bool = False
    """Responses: the error of `error_after` is a `response.failed`, not an `error`."""
    pings_only: bool = False
    """Pings, `delay_seconds` apart, and never an answer."""
    truncate_json: bool = False
    """The second half of every tool input is missing."""
    arguments_bytes: int = 0
    """Every tool input is padded to this size."""
    duplicate_stop: bool = False
    """`message_stop`, `response.completed` or `[DONE]` comes twice."""
    missing_stop: bool = False
    """It does not come at all."""
    tool_name: str | None = None
    """Every call has this name, such as one that no pattern allows."""
    tool_id: str | None = None
    """Every call has this id, so two of a turn have the same."""
    id_on: Literal["first", "every", "none"] = "first"
    """Chat: the fragments of a tool call that carry its id and name."""
    missing_index: bool = False
    """Chat: fragments of tool calls have no index."""
    arguments_object: bool = False
    """Chat: a tool's arguments are an object in one piece, not a string."""
    reasoning_content: bool = False
    """Chat: thinking is streamed in this field, as compatible servers do."""

    # On the wire. Positions count bytes of the body.
    crlf: bool = False
    """Lines end with CR LF."""
    split_at: tuple[int, ...] = ()
    """The body arrives in pieces cut here; negative ones count from its end."""
    chunk_bytes: int = 0
    """The body arrives in pieces of this size; 1 is byte by byte."""
    delay_seconds: float = 0.0
    """Between pieces; without `split_at` and `chunk_bytes` an event is a piece."""
    slow_headers_seconds: float = 0.0
    """Before the first byte."""
    close_first: bool = False
    """The connection is closed before any byte."""
    then: EarlyEnd | None = None
    """How the answer ends early: nothing more comes, RST, or FIN without the end of the body."""
    at_byte: int | None = None
    """Where: after so many bytes of the body; 0 is after the headers, negative from the end."""
    in_event: int | None = None
    """Where: in the middle of this event, the first being 0. Without both: in mid-body."""

    @property
    def replaces_answer(self) -> bool:
        """No turn is played."""
        return self.status is not None or self.html or self.empty or self.spend_cap


BEHAVES = Misbehaviour()

_NAMES = [f.name for f in fields(Misbehaviour)]


class BadMisbehaviour(ValueError):
    """A misbehaviour that was written down has a mistake; the text says which."""


def misbehaviour_from(value: object) -> Misbehaviour:
    """The misbehaviour that a script file or a header names. Raises BadMisbehaviour."""
    if not isinstance(value, dict):
        raise BadMisbehaviour(f"a misbehaviour is a mapping such as {{status: 529}}, not {value!r}")
    unknown = sorted(set(map(str, value)) - set(_NAMES))
    if unknown:
        raise BadMisbehaviour(
            f"{unknown[0]!r} is no misbehaviour; there are: {', '.join(sorted(_NAMES))}"
        )
    # A header is text, though YAML reads `2` as a number.
    told = {
        name: str(each) if name.startswith("retry_after") and each is not None else each
        for name, each in value.items()
    }
    try:
        return msgspec.convert(told, Misbehaviour, strict=False)
    except msgspec.ValidationError as error:
        raise BadMisbehaviour(f"misbehaviour {value!r}: {error}") from error


def parse_misbehaviour(text: str) -> Misbehaviour:
    """The value of `x-fake-misbehave`: `name=value; name=value`. Raises BadMisbehaviour.

    A name alone means true; positions of `split_at` are parted by commas.
    """
    value: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        name, equals, said = part.partition("=")
        key = name.strip().replace("-", "_")
        value[key] = said.strip() if equals else "true"
        if key == "split_at":
            value[key] = said.split(",")
    return misbehaviour_from(value)
