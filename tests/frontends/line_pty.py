"""A terminal for tests: a real pseudo-terminal whose other end the test types at and reads."""

import os
import pty
import re
import termios
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import anyio

from noeta.frontends.line import Terminal

PATIENCE_SECONDS = 10.0


class Screen:
    """The person's end."""

    def __init__(self, master: int, slave: int, terminal: Terminal) -> None:
        self._master = master
        self.slave = slave
        self.terminal = terminal
        self.text = ""
        """All that was shown, keys typed included."""
        self.left = anyio.Event()
        """Set by the test when the program has left."""
        self._seen = 0

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    async def expect(self, text: str) -> None:
        """Wait until the text is shown, after whatever was expected before."""
        with anyio.move_on_after(PATIENCE_SECONDS):
            while (at := self.text.find(text, self._seen)) < 0:
                await self._read()
            self._seen = at + len(text)
            return
        raise AssertionError(f"{text!r} was not shown after:\n{self.text}")

    async def rest(self) -> None:
        """Read what is left, once nothing is written any more."""
        marker = "<end of the test>"
        os.write(self.slave, marker.encode())
        await self.expect(marker)
        self.text = self.text.removesuffix(marker)

    async def _read(self) -> None:
        await anyio.wait_readable(self._master)
        self.text += os.read(self._master, 65536).decode().replace("\r\n", "\n")


@contextmanager
def screen(environ: Mapping[str, str], columns: int = 80) -> Iterator[Screen]:
    """A terminal of so many columns; without colours unless TERM is given."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    with ExitStack() as stack:
        stack.callback(os.close, master)
        stdin, stdout, stderr = (
            stack.enter_context(os.fdopen(os.dup(slave), mode, encoding="utf-8"))
            for mode in ("r", "w", "w")
        )
        stack.callback(os.close, slave)
        yield Screen(master, slave, Terminal(stdin, stdout, stderr, environ))


def plain(text: str) -> str:
    """The text without its colours."""
    return re.sub("\x1b\\[[0-9]*m", "", text)
