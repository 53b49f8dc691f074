"""Streams as bytes, and adapters that read them from memory: for splitting at every byte."""

from collections.abc import AsyncIterator, Sequence
from random import Random

import httpx2

from noeta.testing.fake_provider import (
    Call,
    Counted,
    Misbehaviour,
    Redacted,
    Refusal,
    Text,
    Thinking,
    Turn,
    anthropic_stream,
    chat_stream,
    responses_stream,
    say,
    sse,
)
from noeta.testing.fake_provider.turn import Reply
from tests.backends.wire_dialects import Dialect, Wire

WORDS = ("", "a", "two\nlines", "\u00e9\u4e2d\U0001f600", '"quoted\\"', " ", "x" * 90)
COUNTED = Counted(
    input_tokens=900,
    read_tokens=700,
    written_5m_tokens=100,
    output_tokens=40,
    thinking_tokens=7,
)
TURNS = {
    "text": say("Hello, \u00e9\u4e2d\U0001f600.\n\n\u2028Two lines."),
    "calls": say("I look.", Call("Read", {"path": "\u00e9"}), Call("Bash", {"n": [1, None]})),
    "no arguments": say(Call("List")),
    "thinking": say(Thinking("So \u00fc.\nThen."), "Yes.", Call("Read", {"a": {"b": "}"}})),
    "redacted": say(Thinking("Hm."), Redacted("hidden"), "Well."),
    "cut": say("And th", stop="length"),
    "refusal": say(Refusal("That I will not do.")),
    "two texts": say("One.", "Two."),
    "empty": say(),
}


def generated_turn(seed: int) -> Turn:
    """A turn drawn from a seed."""
    random = Random(seed)

    def word() -> str:
        return "".join(random.choice(WORDS) for _ in range(random.randint(1, 3)))

    blocks: list[Text | Thinking | Redacted | Call] = []
    for _ in range(random.randint(0, 4)):
        match random.randint(0, 3):
            case 0:
                blocks.append(Text(word() or "t"))
            case 1:
                blocks.append(Thinking(word() or "t"))
            case 2:
                blocks.append(Redacted(word()))
            case _:
                value = random.choice((1, None, 1.5, word(), [word()], {"k": word()}))
                blocks.append(Call(f"Tool{random.randint(1, 3)}", {word() or "k": value}))
    return say(*blocks, piece_chars=random.choice((1, 7, 24)))


def stream_of(
    dialect: Dialect, turn: Turn, quirks: Misbehaviour | None = None, *, crlf: bool = False
) -> bytes:
    """The body of a streamed reply."""
    body = {
        "thinking": {"type": "enabled"},
        "stream_options": {"include_usage": True},
        "include": ["reasoning.encrypted_content"],
    }
    calls = sum(isinstance(block, Call) for block in turn.blocks)
    reply = Reply(
        id="0123456789abcdef01234567",
        model=dialect.model,
        turn=turn,
        counted=COUNTED,
        body=body,
        quirks=quirks or Misbehaviour(),
        call_ids=tuple(f"call_{number}" for number in range(calls)),
        thinking="shown",
    )
    writer = {
        "anthropic": anthropic_stream.events,
        "openai-chat": chat_stream.events,
        "openai-responses": responses_stream.events,
    }[dialect.name]
    return b"".join(sse.encode(event, crlf=crlf) for event in writer(reply))


def in_memory(chunks: Sequence[bytes]) -> httpx2.AsyncClient:
    """A client whose every request is answered by a stream that comes in these pieces, as they
    are by then."""

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body())

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


def answered(wire: Wire, chunks: Sequence[bytes]) -> Wire:
    """The adapter, with the pieces for its next answer."""
    wire._http._client = in_memory(chunks)  # type: ignore[attr-defined]  # in place of a socket
    return wire
