"""Lines that come in: from a terminal, a pipe, a file or, in tests, any text stream.

Nothing is lost when a read is cancelled: what came in stays here until a whole line is taken.
No threads: a terminal or a pipe is waited for, a regular file is always readable.
"""

import io
import os
import select
import stat
import termios
from collections import deque
from typing import TextIO

import anyio
import anyio.lowlevel

CHUNK_BYTES = 64 * 1024
LINE_BYTES_MAX = 16 * 1024 * 1024
"""More of a line is dropped: it is four times what a message may be, and is refused anyway."""
PASTE_SECONDS = 0.03
"""A terminal hands a pasted text over line by line; nobody types the next line this fast."""


class Typed:
    """The lines of one input, in order."""

    def __init__(self, stream: TextIO | None) -> None:
        self._fd = descriptor_of(stream)
        self._stream = stream if self._fd is None else None
        self._waits = self._fd is not None and _can_wait(self._fd)
        self.is_tty = self._fd is not None and os.isatty(self._fd)
        self._chunks: list[bytes] = []
        """The beginning of a line whose end has not come."""
        self._chunks_bytes = 0
        self._lines: deque[bytes] = deque()
        self._ahead: deque[str] = deque()
        self._draft: list[str] = []
        """Lines of a message that goes on."""
        self._ended = False

    async def line(self) -> str | None:
        """The next line without its end; None when there are no more."""
        while not self._lines:
            if self._ended:
                return None
            self._take(await self._read())
        return _text(self._lines.popleft())

    async def message(self) -> str | None:
        """The next message; None when there are no more.

        A line that ends in one backslash goes on in the next. Lines that come in one burst from
        a terminal were pasted and are one message.
        """
        if self._ahead:
            return self._ahead.popleft()
        while (line := await self.line()) is not None:
            self._draft.append(line)
            if not _goes_on(line) and not await self._more_pasted():
                break
        if not self._draft:
            return None
        lines, self._draft = self._draft, []
        return "\n".join(line[:-1] if _goes_on(line) else line for line in lines)

    def forget_draft(self) -> None:
        """Drop the lines of a message that was begun."""
        self._draft.clear()

    def set_aside(self) -> None:
        """Keep lines that were typed before now for messages, so that they answer no question."""
        if not self.is_tty or self._fd is None:
            return
        while not self._ended and _is_readable(self._fd):
            self._take(os.read(self._fd, CHUNK_BYTES))
        while self._lines:
            self._ahead.append(_text(self._lines.popleft()))

    def drop_unfinished(self) -> None:
        """Drop a line that was begun: its typist did not see the question it would answer."""
        if self.is_tty and self._fd is not None:
            termios.tcflush(self._fd, termios.TCIFLUSH)

    async def _more_pasted(self) -> bool:
        """Whether the next line of a paste is there."""
        if not self.is_tty:
            return False
        with anyio.move_on_after(PASTE_SECONDS):
            while not self._lines and not self._ended:
                self._take(await self._read())
        return bool(self._lines)

    async def _read(self) -> bytes:
        """Some bytes; none at the end."""
        if self._fd is None:
            await anyio.lowlevel.checkpoint()
            return b"" if self._stream is None else self._stream.readline().encode()
        while True:
            if self._waits:
                await anyio.wait_readable(self._fd)
            else:
                await anyio.lowlevel.checkpoint()
            try:
                return os.read(self._fd, CHUNK_BYTES)
            except BlockingIOError:
                # Somebody shares the file and was faster.
                await anyio.sleep(0.01)
            except OSError:
                # EIO: the terminal went away.
                return b""

    def _take(self, data: bytes) -> None:
        """Cut what came in into lines; only the new bytes are looked at."""
        if not data:
            self._ended = True
            if self._chunks:
                self._end_line(b"")
            return
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._end_line(end)
        self._begin(rest)

    def _begin(self, part: bytes) -> None:
        if part and self._chunks_bytes <= LINE_BYTES_MAX:
            self._chunks.append(part)
            self._chunks_bytes += len(part)

    def _end_line(self, end: bytes) -> None:
        self._begin(end)
        self._lines.append(b"".join(self._chunks))
        self._chunks.clear()
        self._chunks_bytes = 0


def descriptor_of(stream: TextIO | None) -> int | None:
    """The file descriptor to read; None for a stream in memory and for no stream."""
    if stream is None:
        return None
    try:
        return stream.fileno()
    except (io.UnsupportedOperation, ValueError):
        return None


def _can_wait(fd: int) -> bool:
    """Whether the event loop can tell when it is readable; epoll refuses files and /dev/null."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", errors="replace")


def _goes_on(line: str) -> bool:
    return line.endswith("\\") and not line.endswith("\\\\")
