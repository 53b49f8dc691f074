"""A session: one client, one task, one terminal, and all that happens merged into one stream.

A single consumer takes one happening after another; the parts that listen (to the task, to
signals, to the keyboard) only put something in. So nothing is written out of order, and the
second Ctrl-C leaves whatever the consumer waits for.
"""

import math
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial

import anyio
from anyio.abc import TaskGroup

from noeta.core.errors import NoetaError
from noeta.core.progress import Progress
from noeta.frontends.line.sanitize import one_line
from noeta.frontends.line.terminal import Terminal
from noeta.host.client import CaughtUp, Client, Entry, PromptRefused

USAGE = 2
PRESSES_SECONDS = 1.0
"""Two Ctrl-C within this leave, whatever ended in between."""
LEFT = 130
TERMINATED = 143
_HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Reading:
    """One read from the keyboard: for a message, or for the answer of one call."""

    call_id: str | None
    scope: anyio.CancelScope


@dataclass(frozen=True, slots=True)
class LineTyped:
    """What a read gave; text is None at the end of the input."""

    text: str | None
    reading: Reading


@dataclass(frozen=True, slots=True)
class Pressed:
    """The first Ctrl-C; whether it stops a turn."""

    interrupts: bool


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing more is heard of the task; error is None when nobody says why."""

    error: NoetaError | None


Happening = Entry | Progress | CaughtUp | LineTyped | Pressed | Lost


class Session:
    """What the chat and the one prompt share."""

    def __init__(self, client: Client, terminal: Terminal) -> None:
        self.client = client
        self.terminal = terminal
        self.task_id: str | None = None
        self.busy = False
        """A turn goes on, or a message of ours waits for one."""
        self._inlet, self._outlet = anyio.create_memory_object_stream[Happening](math.inf)
        self._scope = anyio.CancelScope()
        self._group: TaskGroup | None = None
        self._pressed = False
        self._pressed_at = 0.0
        self._turn_settled = False
        """Since the press; the next one then counts as the second for a moment only."""
        self._code: int | None = None

    async def run(self, work: Callable[[], Awaitable[int]]) -> int:
        """The exit code of the work, or of whatever ended it early."""
        code = 1
        with self._inlet, self._outlet, anyio.open_signal_receiver(*_HEARD) as signals:
            async with anyio.create_task_group() as group:
                self._group = group
                group.start_soon(self._listen, signals)
                with self._scope:
                    code = await self._guard(work)
                group.cancel_scope.cancel()
        return code if self._code is None else self._code

    @property
    def was_left(self) -> bool:
        """A signal ended the work."""
        return self._code is not None

    async def next(self) -> Happening:
        """The next thing that happened."""
        return await self._outlet.receive()

    async def catch_up(self, task_id: str, each: Callable[[Entry], None]) -> None:
        """Watch a task and hand over all that is recorded; what is live comes after."""
        await self.client.task(task_id)
        self.watch(task_id)
        while not isinstance(happening := await self.next(), CaughtUp):
            if isinstance(happening, Entry):
                each(happening)
            elif isinstance(happening, Lost):
                raise self.why(happening)

    def why(self, lost: Lost) -> NoetaError:
        """The error that ends the session."""
        return lost.error or NoetaError(f"task {self.task_id} is out of sight")

    async def complain(self, error: NoetaError | str) -> None:
        """A sentence on stderr; nobody is told when nobody reads it."""
        try:
            await self.terminal.err.write(f"noeta: {one_line(str(error), 1000)}\n")
        except OSError:
            return

    async def is_at_rest(self, seq: int) -> bool:
        """Whether the wait recorded at seq still holds: nothing came after it.

        Without this look, a message sent just as a turn ended would seem answered.
        """
        assert self.task_id is not None
        row = await self.client.task(self.task_id)
        return row.last_seq <= seq and row.inbox_count == 0

    def forget_press(self) -> None:
        """Something was typed since: the next Ctrl-C is a first one again."""
        self._pressed = False

    def turn_settled(self) -> None:
        """The turn ended since the press: a second one leaves only if it follows at once."""
        self._turn_settled = True

    def _is_second_press(self) -> bool:
        if not self._pressed:
            return False
        at_once = anyio.current_time() - self._pressed_at < PRESSES_SECONDS
        return at_once or not self._turn_settled

    # What listens ------------------------------------------------------------------------

    def watch(self, task_id: str) -> None:
        """Take the task's updates in from its first entry on."""
        self.task_id = task_id
        self._spawn(partial(self._watch, task_id))

    def read(self, call_id: str | None) -> Reading:
        """Begin to read a message, or the answer for a call."""
        reading = Reading(call_id, anyio.CancelScope())
        self._spawn(partial(self._read, reading))
        return reading

    def _spawn(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        assert self._group is not None, "the session runs"
        self._group.start_soon(work)

    async def _watch(self, task_id: str) -> None:
        error: NoetaError | None = None
        try:
            async with self.client.watch(task_id) as updates:
                async for update in updates:
                    await self._inlet.send(update)
        except NoetaError as caught:
            error = caught
        await self._inlet.send(Lost(error))

    async def _read(self, reading: Reading) -> None:
        typed = self.terminal.typed
        with reading.scope:
            text = await (typed.message() if reading.call_id is None else typed.line())
            # Without a wait between: a line that was taken is never lost to a cancel.
            self._inlet.send_nowait(LineTyped(text, reading))

    async def _listen(self, signals: AsyncIterator[signal.Signals]) -> None:
        """The first Ctrl-C asks, the second leaves; any other signal leaves."""
        async for number in signals:
            if number != signal.SIGINT:
                self._leave(TERMINATED)
            elif self._is_second_press():
                self._leave(LEFT)
            else:
                self._pressed, self._turn_settled = True, False
                self._pressed_at = anyio.current_time()
                # Beside this loop: an interrupt may take a while, the second Ctrl-C may not.
                self._spawn(self._press)

    async def _press(self) -> None:
        interrupts = self.busy and self.task_id is not None
        self._inlet.send_nowait(Pressed(interrupts))
        if interrupts and self.task_id is not None:
            try:
                await self.client.interrupt(self.task_id)
            except NoetaError as error:
                self._inlet.send_nowait(Lost(error))

    def _leave(self, code: int) -> None:
        self._code = code
        self._scope.cancel()

    async def _guard(self, work: Callable[[], Awaitable[int]]) -> int:
        try:
            return await work()
        except BrokenPipeError:
            # Whoever read our output has gone, and with them the one to tell.
            return 1
        except OSError as error:
            await self.complain(f"the output could not be written: {error}")
            return 1
        except NoetaError as error:
            await self.complain(error)
            return USAGE if isinstance(error, PromptRefused) else 1
