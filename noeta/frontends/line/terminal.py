"""The terminal: what is typed, what is written, and what it can show.

It is left as it was found: no raw mode, no cursor movement, no alternate screen. Colours are the
only escape sequences ever written, and only to a terminal that wants them.
"""

import errno
import os
import stat
import sys
from collections.abc import Mapping
from typing import TextIO

import anyio

from noeta.frontends.line.typed import Typed, descriptor_of

WRITE_BYTES_MAX = 1024
"""A pipe or terminal that is ready takes this much without blocking the event loop."""
WIDTH_MIN = 20
"""A terminal that says less does not know its width."""


class Terminal:
    """Three streams, real or in memory; None is a stream that is closed."""

    def __init__(
        self,
        stdin: TextIO | None,
        stdout: TextIO | None,
        stderr: TextIO | None,
        environ: Mapping[str, str],
    ) -> None:
        colour = not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"
        self.typed = Typed(stdin)
        self.out = Output(stdout, colour=colour)
        self.err = Output(stderr, colour=colour)

    @classmethod
    def standard(cls) -> "Terminal":
        """The process's own."""
        return cls(sys.stdin, sys.stdout, sys.stderr, os.environ)

    @property
    def can_ask(self) -> bool:
        """A person sees what is written and can answer."""
        return self.typed.is_tty and self.out.is_tty


class Output:
    """A stream that is written to as fast as its reader reads, while the event loop goes on."""

    def __init__(self, stream: TextIO | None, *, colour: bool) -> None:
        self._stream = stream
        self._fd = descriptor_of(stream)
        self.is_tty = self._fd is not None and os.isatty(self._fd)
        self.colour = colour and self.is_tty
        self._waits = self._fd is not None and not stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    @property
    def width(self) -> int | None:
        """Columns that may be written to, as they are now; None where it is no terminal."""
        if self._fd is None or not self.is_tty:
            return None
        try:
            columns = os.get_terminal_size(self._fd).columns
        except OSError:
            return None
        # The last column stays free: some terminals wrap as soon as it is written.
        return columns - 1 if columns >= WIDTH_MIN else None

    async def write(self, text: str) -> None:
        """Write it all. Raises BrokenPipeError when nobody reads it any more."""
        if self._stream is None or not text:
            return
        if self._fd is None:
            self._stream.write(text)
            return
        # What was printed before comes before.
        self._stream.flush()
        left = memoryview(text.encode(self._encoding, errors="backslashreplace"))
        while left:
            left = left[await self._some(self._fd, left[:WRITE_BYTES_MAX]) :]

    async def _some(self, fd: int, data: memoryview) -> int:
        if self._waits:
            try:
                await anyio.wait_writable(fd)
            except PermissionError:
                # epoll refuses /dev/null and its like, which never block.
                self._waits = False
        try:
            return os.write(fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno == errno.EIO:
                raise BrokenPipeError(*error.args) from error
            raise
