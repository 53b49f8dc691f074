"""A server that answers each request with bytes it was given: for what no fake would do."""

import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import ByteStream, Listener, SocketAttribute
from anyio.streams.tls import TLSListener


@dataclass(slots=True)
class WireServer:
    """What it was asked, and what it answers next; the last answer is repeated.

    An answer is chunks to send, with pauses in seconds; then the connection is closed.
    """

    answers: list[Sequence[bytes | float]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Request line, headers in lower case, body."""
    url: str = ""

    async def handle(self, stream: ByteStream) -> None:
        async with stream:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                await self._serve(stream)

    async def _serve(self, stream: ByteStream) -> None:
        data = b""
        # A TLS greeting (22) ends in no blank line; a plain server answers it all the same.
        while b"\r\n\r\n" not in data and not data.startswith(b"\x16"):
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (each.partition(":") for each in lines)}
        while len(body) < int(headers.get("content-length", "0")):
            body += await stream.receive()
        self.requests.append((line, headers, body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        for part in answer:
            if isinstance(part, float):
                await anyio.sleep(part)
            else:
                await stream.send(part)


@asynccontextmanager
async def serving(
    *answers: Sequence[bytes | float], tls: ssl.SSLContext | None = None
) -> AsyncIterator[WireServer]:
    """A server on loopback that is gone when the block ends."""
    server = WireServer(list(answers))
    listener: Listener[ByteStream]
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as plain:
        listener = TLSListener(plain, tls) if tls is not None else plain
        port = plain.extra(SocketAttribute.local_port)
        server.url = f"http://127.0.0.1:{port}"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.handle)
            try:
                yield server
            finally:
                group.cancel_scope.cancel()


def response(status: int, body: bytes, content_type: str, *headers: str) -> list[bytes | float]:
    """A whole response."""
    head = [
        f"HTTP/1.1 {status} X",
        f"content-type: {content_type}",
        f"content-length: {len(body)}",
        "connection: close",
        *headers,
    ]
    return ["\r\n".join([*head, "", ""]).encode("latin-1") + body]


def stream(*parts: bytes | float, content_type: str = "text/event-stream") -> list[bytes | float]:
    """A response whose body ends with the connection, sent part by part."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n"
    return [head.encode(), *parts]


def sse(text: str) -> bytes:
    """Events from blocks of JSON lines: `type` names each event."""
    events = []
    for line in filter(None, map(str.strip, text.splitlines())):
        found = re.match(r'\{"type": ?"([\w.]+)"', line)
        events.append((f"event: {found[1]}\n" if found else "") + f"data: {line}\n\n")
    return "".join(events).encode()
