"""The chat as a process with a terminal of its own, where Ctrl-C is a key."""

import os
import sys
import termios
from pathlib import Path

import anyio
import pytest

from tests.frontends.line_client import TASK
from tests.frontends.line_pty import screen

pytestmark = pytest.mark.anyio

_PROGRAM = """
import fcntl, sys, termios
import anyio
from noeta.core.model import TextDelta
from noeta.frontends.line import Terminal, chat
from tests.frontends.line_client import REQUEST, FakeClient, called, rest

fcntl.ioctl(0, termios.TIOCSCTTY, 0)

async def main():
    client = FakeClient([[called(), TextDelta("I thi")]], interrupts=[rest("interrupted")])
    return await chat(client, REQUEST, terminal=Terminal.standard())

sys.exit(anyio.run(main))
"""


async def test_ctrl_c_is_a_key_that_interrupts_and_then_leaves() -> None:
    """And the terminal is left as it was found."""
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root), "TERM": "dumb"}
    with screen(environ) as person, anyio.fail_after(30):
        before = termios.tcgetattr(person.slave)
        async with await anyio.open_process(
            [sys.executable, "-c", _PROGRAM],
            stdin=person.slave,
            stdout=person.slave,
            stderr=person.slave,
            start_new_session=True,
            cwd=root,
            env=environ,
        ) as process:
            await person.expect("\n> ")
            person.type("half a line\x03")
            await person.expect("- Ctrl-C again leaves\n> ")
            person.type("go\n")
            await person.expect("  I thi")
            person.type("\x03")
            await person.expect("interrupting; Ctrl-C again leaves\n")
            await person.expect("Say how to go on.\n> ")
            person.type("\x03")
            await person.expect(f"Carry on with: noeta --resume {TASK}\n")
            assert await process.wait() == 130
        assert termios.tcgetattr(person.slave) == before
        assert "Traceback" not in person.text
