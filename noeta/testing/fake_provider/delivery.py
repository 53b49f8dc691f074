"""How an answer goes over the wire: in one piece, or in the pieces and with the end asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import anyio

from noeta.testing.fake_provider.http_wire import WAIT_SECONDS_MAX, Connection
from noeta.testing.fake_provider.misbehaviour import Misbehaviour

PING_SECONDS = 0.02
"""Between pings, when nothing else is said."""

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer before it is disturbed."""

    status: int
    parts: Sequence[bytes]
    """The body: the events of a stream, or one part."""
    streamed: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    ping: bytes = b""
    """What this dialect sends to keep a stream alive."""


async def deliver(connection: Connection, answer: Answer, how: Misbehaviour) -> str:
    """Send it, disturbed as asked; how it ended, as `Asked.outcome` says it. Raises Gone.

    Each piece is a chunk of HTTP's own, so that a client's HTTP library hands on the same
    pieces, whatever TCP makes of them.
    """
    if how.slow_headers_seconds and await connection.is_gone_within(how.slow_headers_seconds):
        return "gone"
    if how.close_first:
        return "close"
    await connection.write(_head(answer))
    if how.pings_only:
        return await _ping(connection, answer.ping, how.delay_seconds or PING_SECONDS)
    body = b"".join(answer.parts)
    end = _end(answer.parts, how)
    pieces = _pieces(answer, body[:end], how)
    if answer.streamed:
        pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
        if how.then is None:
            pieces.append(b"0\r\n\r\n")
    if how.delay_seconds:
        for piece in pieces:
            await connection.write(piece)
            await anyio.sleep(how.delay_seconds)
    else:
        await connection.write(b"".join(pieces))
    if how.then == "stall":
        gone = await connection.is_gone_within(WAIT_SECONDS_MAX)
        return "gone" if gone else "stall"
    return how.then or "sent"


async def _ping(connection: Connection, ping: bytes, seconds: float) -> str:
    with anyio.move_on_after(WAIT_SECONDS_MAX):
        while True:
            await connection.write(b"%x\r\n%s\r\n" % (len(ping), ping))
            if await connection.is_gone_within(seconds):
                return "gone"
    return "stall"


def _head(answer: Answer) -> bytes:
    headers = dict(answer.headers)
    if answer.streamed:
        headers["transfer-encoding"] = "chunked"
    else:
        headers["content-length"] = str(sum(map(len, answer.parts)))
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Error')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _end(parts: Sequence[bytes], how: Misbehaviour) -> int | None:
    """The byte after which it ends early; None when it does not."""
    if how.then is None:
        return None
    if how.at_byte is not None:
        return how.at_byte
    if how.in_event is not None and how.in_event < len(parts):
        before = sum(map(len, parts[: how.in_event]))
        return before + len(parts[how.in_event]) // 2
    return sum(map(len, parts)) // 2


def _pieces(answer: Answer, body: bytes, how: Misbehaviour) -> list[bytes]:
    if how.chunk_bytes:
        return [body[at : at + how.chunk_bytes] for at in range(0, len(body), how.chunk_bytes)]
    if how.split_at:
        cuts = sorted({at % len(body) if body else 0 for at in how.split_at})
        edges = [0, *cuts, len(body)]
        return [body[a:b] for a, b in pairwise(edges)]
    if how.delay_seconds and answer.streamed:
        whole = []
        for part in answer.parts:
            whole.append(body[: len(part)])
            body = body[len(part) :]
        return whole
    return [body]
