"""What the fake model says: one turn, the same for every dialect, and how the provider then stops.

A turn is plain values. The dialect writers (`anthropic_stream`, `chat_stream`,
`responses_stream`) turn it into what goes over the wire; a dialect leaves out what it has no
words for, as the real one does: Chat Completions has no thinking.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from noeta.testing.fake_provider.misbehaviour import Misbehaviour

Json: TypeAlias = dict[str, Any]
"""A JSON object as it came. What a request may hold is what is being checked, so it has no type."""

Stop: TypeAlias = Literal[
    "auto", "end", "calls", "length", "stop_sequence", "pause", "refusal", "context"
]
"""`auto`: `calls` when there are calls, `refusal` when there is a refusal, else `end`.

Only Messages can say `pause`, `stop_sequence` and `context` (the window is full); the others say
what is nearest.
"""


@dataclass(frozen=True, slots=True)
class Text:
    """Words for the user."""

    text: str
    citations: tuple[Mapping[str, Any], ...] = ()
    """As Messages has them; the other dialects leave them out."""


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning. It is signed, and refused when it comes back altered."""

    text: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """Reasoning that only the provider can read."""

    hidden: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. Calls of one turn are made in parallel."""

    tool: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    """Without one, the fake makes one that no other call of the conversation has."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declines, with this explanation."""

    text: str


Block: TypeAlias = Text | Thinking | Redacted | Call | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One reply of the model."""

    blocks: tuple[Block, ...] = ()
    stop: Stop = "auto"
    usage: Mapping[str, int] = field(default_factory=dict)
    """Overrides of `Counted`, by the names of its fields."""
    misbehave: tuple[Misbehaviour, ...] = ()
    """The n-th request for this turn in a conversation gets the n-th; then it behaves."""
    piece_chars: int = 24
    """The longest fragment of text or JSON in one event."""

    @property
    def stopped(self) -> Stop:
        """Why it stops; never `auto`."""
        if self.stop != "auto":
            return self.stop
        if any(isinstance(block, Refusal) for block in self.blocks):
            return "refusal"
        return "calls" if any(isinstance(block, Call) for block in self.blocks) else "end"


def say(*blocks: Block | str, **fields: Any) -> Turn:
    """A turn of these blocks; a string is text. Fields are those of `Turn`."""
    return Turn(
        blocks=tuple(Text(block) if isinstance(block, str) else block for block in blocks),
        **fields,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a request cost, in tokens."""

    input_tokens: int
    """All of the prompt, read from cache or not."""
    read_tokens: int = 0
    written_5m_tokens: int = 0
    written_1h_tokens: int = 0
    output_tokens: int = 0
    """Thinking included."""
    thinking_tokens: int = 0

    @property
    def written_tokens(self) -> int:
        """Put into the cache, for any time."""
        return self.written_5m_tokens + self.written_1h_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """All that a writer needs: a turn with ids, what it cost, and how it is to be disturbed."""

    id: str
    """Without the dialect's prefix."""
    model: str
    turn: Turn
    counted: Counted
    body: Json
    """The request."""
    quirks: Misbehaviour
    call_ids: tuple[str, ...]
    """One for each call of the turn, in order, as they go over the wire."""
    thinking: Literal["shown", "omitted", "off"] = "shown"
    """Messages: what is sent of the turn's thinking. Omitted thinking is a signature alone."""
    created_at: int = 1_767_225_600
    """Unix seconds. It stands still, so that one script gives the same bytes each time."""


def arguments_of(call: Call, quirks: Misbehaviour) -> str:
    """A call's input as the JSON text that is streamed, disturbed if that is asked for."""
    value = dict(call.input)
    if quirks.arguments_bytes:
        value["padding"] = ""
        missing = quirks.arguments_bytes - len(compact(value).encode())
        value["padding"] = "x" * max(0, missing)
    text = compact(value)
    return text[: len(text) // 2] if quirks.truncate_json else text


def compact(value: object) -> str:
    """JSON as providers write it: no spaces, no escapes that are not needed, order kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pieces(text: str, size: int) -> list[str]:
    """The text in fragments; none for an empty one."""
    # A fragment of 5 MB arguments must not be 24 characters: that would be 200,000 events.
    size = max(size, len(text) // 2000)
    return [text[at : at + size] for at in range(0, len(text), size)]
