"""Commands on this machine: the half of a call that the worker sees.

The other half is the guardian, one process per call, which starts the command, enforces its
limits and ends its whole tree. Here we write the order, send signs of life, wait for the report,
and, whatever happens, do not return before the guardian has.
"""

import errno
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import Process

from noeta.core.execenv import ExecEnvError, FileMissing, FileRefused

GUARDIAN = (
    "-ISE",
    "-c",
    "import sys; sys.path.append(sys.argv[1]); import guardian; guardian.run_as_script()",
    str(Path(__file__).parent),
)
"""Arguments for an isolated interpreter. Imported and not named as a script, since only what is
imported is kept compiled, and compiling takes 2 of the 15 ms that a guardian costs."""

ENDING_SECONDS = 8.0
"""What a guardian may take to end a tree: more than its own grace and patience together."""

Reason = Literal["exited", "timeout", "output_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One command, with nothing left to decide."""

    argv: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str]
    guardian_environ: Mapping[str, str]
    """The guardian's own: a command may be given an LD_PRELOAD that must not reach it."""
    timeout_seconds: float
    output_bytes_max: int
    silence_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the command ended; exactly one of exit_code and signal is set."""

    exit_code: int | None
    signal: int | None
    reason: Reason


async def run_guarded(order: Order, output: int) -> Ending:
    """Run a command with its output going to the descriptor; nothing of it is left afterwards.

    Raises FileMissing when the cwd is gone, ExecEnvError when the command could not be started
    or could not be watched to its end.
    """
    payload = _encode(order)
    guardian = await _start_guardian(order, output)
    report = _Report()
    try:
        # The guardian keeps the time. Ours is only for a guardian that was stopped or is stuck.
        with anyio.move_on_after(order.timeout_seconds + ENDING_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_give_signs_of_life, guardian, payload, order.silence_seconds)
                await report.read(guardian)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _see_it_end(guardian, report)
    return _ending(report.last_line, order)


class _Report:
    """What the guardian has told so far."""

    def __init__(self) -> None:
        self._heard = b""

    async def read(self, guardian: Process) -> None:
        """Listen until it hangs up, which it does by ending."""
        assert guardian.stdout is not None
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                self._heard += await guardian.stdout.receive()

    @property
    def group(self) -> int | None:
        """The command's process group; None before there is one and after it has ended."""
        lines = self._lines
        started = len(lines) == 1 and lines[0].startswith("started ")
        return int(lines[0].split()[1]) if started else None

    @property
    def last_line(self) -> str:
        return self._lines[-1] if self._lines else ""

    @property
    def _lines(self) -> list[str]:
        # The part after the last newline is nothing, or a line that death cut short.
        return self._heard.decode("ascii").split("\n")[:-1]


async def _start_guardian(order: Order, output: int) -> Process:
    # Shielded: a cancellation in the middle would leave us without a handle on the process.
    with anyio.CancelScope(shield=True):
        try:
            return await anyio.open_process(
                [sys.executable, *GUARDIAN],
                stderr=output,
                cwd="/",
                env=order.guardian_environ,
                start_new_session=True,
            )
        except OSError as error:
            raise ExecEnvError(f"no guardian could be started: {error}") from error
    raise AssertionError("a shielded scope does not swallow")


async def _give_signs_of_life(guardian: Process, payload: bytes, silence_seconds: float) -> None:
    """Send the order, then a byte now and then until cancelled."""
    assert guardian.stdin is not None
    # When it has hung up it is over; its report, or the lack of one, says how.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await guardian.stdin.send(payload)
        while True:
            await anyio.sleep(silence_seconds / 4)
            await guardian.stdin.send(b".")


async def _see_it_end(guardian: Process, report: _Report) -> None:
    """Hang up, and wait until the guardian has ended the tree; kill both when it does not."""
    assert guardian.stdin is not None
    assert guardian.stdout is not None
    with anyio.move_on_after(ENDING_SECONDS):
        await guardian.stdin.aclose()
        await report.read(guardian)
        await guardian.wait()
    if guardian.returncode is None:
        guardian.kill()
        await guardian.wait()
    await guardian.stdout.aclose()
    if report.group is not None:
        await _kill_group(report.group)


async def _kill_group(group: int) -> None:
    """End a group whose guardian was itself killed; its members are init's children by now."""
    for _ in range(50):
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            return
        await anyio.sleep(0.02)


def _ending(line: str, order: Order) -> Ending:
    match line.split():
        case ["exit", code, ("exited" | "timeout" | "output_limit") as reason]:
            return Ending(exit_code=int(code), signal=None, reason=reason)
        case ["signal", number, ("exited" | "timeout" | "output_limit") as reason]:
            return Ending(exit_code=None, signal=int(number), reason=reason)
        case ["exit" | "signal", _, "silence"]:
            raise ExecEnvError(
                f"{order.argv[0]!r} was killed: this worker stood still for more than"
                f" {order.silence_seconds} s"
            )
        case ["exit" | "signal", _, "hangup"]:
            raise ExecEnvError(f"{order.argv[0]!r} was killed: its guardian was told to stop")
        case ["failed", "cwd", number] if int(number) == errno.ENOENT:
            raise FileMissing(f"the working directory {order.cwd!r} does not exist")
        case ["failed", "cwd", number]:
            raise FileRefused(f"cannot work in {order.cwd!r}: {os.strerror(int(number))}")
        case ["failed", what, number]:
            raise ExecEnvError(f"{order.argv[0]!r}: {what} failed: {os.strerror(int(number))}")
        case _:
            raise ExecEnvError(f"the guardian of {order.argv[0]!r} died, and so did the command")


def _encode(order: Order) -> bytes:
    fields = [
        order.cwd,
        str(order.timeout_seconds),
        str(order.output_bytes_max),
        str(order.silence_seconds),
        str(os.getpid()),
        str(len(order.argv)),
        *order.argv,
        *(f"{name}={value}" for name, value in order.environ.items()),
    ]
    try:
        encoded = [os.fsencode(text) for text in fields]
    except UnicodeEncodeError as error:
        raise ExecEnvError(f"a command has text that cannot be handed over: {error}") from error
    if any(b"\0" in text for text in encoded):
        raise ExecEnvError("a command cannot have a NUL in its arguments or environment")
    body = b"\0".join(encoded)
    return b"%d\n%s" % (len(body), body)
