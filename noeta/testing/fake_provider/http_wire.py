"""HTTP/1.1 over a bare socket: just enough to read requests, and full control of what is written.

An HTTP server library would not let go of a body half-way, reset a connection or promise that a
client sees a chunk end at a given byte; all of that is what a fake provider is for.
"""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

REQUEST_BYTES_MAX = 32 * 1024 * 1024
"""Anthropic refuses larger ones (413)."""
HEAD_BYTES_MAX = 256 * 1024
WAIT_SECONDS_MAX = 600.0
"""The longest that the fake sits still with nothing to do."""

_READ_BYTES = 256 * 1024
_TLS_HELLO = b"\x16"
_PLAIN_TEXT = b"This port speaks plain HTTP, not TLS."
_PLAIN = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (
    len(_PLAIN_TEXT),
    _PLAIN_TEXT,
)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in small letters; the last of a name counts."""
    body: bytes
    """Empty when it was too large to be kept."""
    too_large: bool = False


class Gone(Exception):
    """The client closed the connection, or speaks no HTTP."""


class Connection:
    """One client's socket."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._unread = b""

    async def read_request(self) -> HttpRequest | None:
        """The next request; None when the client has no more. Raises Gone."""
        head = await self._head()
        if head is None:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        parts = first.split(" ")
        if len(parts) != 3:
            raise Gone(f"no HTTP: {first[:40]!r}")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body, too_large = await self._chunked()
        else:
            body, too_large = await self._sized(headers.get("content-length", "0"))
        return HttpRequest(parts[0], parts[1], headers, body, too_large)

    async def write(self, data: bytes) -> None:
        """Send it all. Raises Gone."""
        try:
            await self._loop.sock_sendall(self._sock, data)
        except OSError as error:
            raise Gone("the client left while it was answered") from error

    async def is_gone_within(self, seconds: float) -> bool:
        """Wait so long, or until the client closes the connection."""
        with anyio.move_on_after(seconds):
            while True:
                try:
                    data = await self._loop.sock_recv(self._sock, _READ_BYTES)
                except OSError:
                    return True
                if not data:
                    return True
                self._unread += data
        return False

    def close(self) -> None:
        """End it in the ordinary way: FIN."""
        self._sock.close()

    def reset(self) -> None:
        """End it with RST: lingering for no time throws away what was not sent."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    async def _head(self) -> bytes | None:
        while (end := self._unread.find(b"\r\n\r\n")) < 0:
            if self._unread.startswith(_TLS_HELLO):
                await self.write(_PLAIN)
                raise Gone("the client began with TLS")
            if len(self._unread) > HEAD_BYTES_MAX:
                raise Gone("the headers are too long")
            data = await self._more()
            if not data and not self._unread:
                return None
            if not data:
                raise Gone("the client left in the middle of a request")
            self._unread += data
        head, self._unread = self._unread[:end], self._unread[end + 4 :]
        return head

    async def _sized(self, told: str) -> tuple[bytes, bool]:
        if not told.isdigit():
            raise Gone(f"content-length is {told[:40]!r}")
        size = int(told)
        parts, missing = [], size
        while missing:
            data = await self._take(missing)
            missing -= len(data)
            if size <= REQUEST_BYTES_MAX:
                parts.append(data)
        return b"".join(parts), size > REQUEST_BYTES_MAX

    async def _chunked(self) -> tuple[bytes, bool]:
        parts, total = [], 0
        while True:
            line = await self._line()
            size = int(line.split(b";")[0], 16)
            if size == 0:
                while await self._line():
                    pass
                break
            total += size
            while size:
                data = await self._take(size)
                size -= len(data)
                if total <= REQUEST_BYTES_MAX:
                    parts.append(data)
            await self._line()
        return b"".join(parts), total > REQUEST_BYTES_MAX

    async def _line(self) -> bytes:
        while (end := self._unread.find(b"\r\n")) < 0:
            if len(self._unread) > HEAD_BYTES_MAX:
                raise Gone("a line is too long")
            self._unread += await self._more() or _left()
        line, self._unread = self._unread[:end], self._unread[end + 2 :]
        return line

    async def _take(self, most: int) -> bytes:
        """At least one byte of the body, and at most so many."""
        if not self._unread:
            self._unread = await self._more() or _left()
        data, self._unread = self._unread[:most], self._unread[most:]
        return data

    async def _more(self) -> bytes:
        try:
            with anyio.fail_after(WAIT_SECONDS_MAX):
                return await self._loop.sock_recv(self._sock, _READ_BYTES)
        except (OSError, TimeoutError) as error:
            raise Gone("the client left") from error


def _left() -> bytes:
    raise Gone("the client left in the middle of a request")


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections; port 0 is a free one."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
        sock.listen(256)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
