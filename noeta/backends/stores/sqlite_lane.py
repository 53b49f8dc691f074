"""Where the store's blocking work runs: lanes, and the jobs that go down them.

A lane runs its work in order, one piece at a time. By default it is a thread; inline (the
simulation, quick tests) it is the caller. A job carries an answer back to whoever waits: an
asyncio task through its loop, or a thread through an event.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from sqlite3 import Connection
from typing import Any, Generic, Protocol, TypeVar, cast

import anyio

from noeta.core.store import Change, StoreUnavailable

T = TypeVar("T")


class Lane(Protocol):
    """One line of work."""

    def wake(self) -> None:
        """Have the lane's work called soon; at least once after this call."""

    def close(self) -> None:
        """Wait for the work in hand, then call it no more."""


class Executor(Protocol):
    """What makes lanes; the store's only way to wait."""

    inline: bool
    """Whether `wake` returns only when the work is done."""

    def lane(self, name: str, work: Callable[[], None]) -> Lane:
        """A lane that calls `work`."""


class ThreadExecutor:
    """A thread for each lane: the ordinary way."""

    inline = False

    def lane(self, name: str, work: Callable[[], None]) -> Lane:
        """Start a thread that waits to be woken."""
        return _ThreadLane(name, work)


class InlineExecutor:
    """No threads: work runs in the caller, so a simulation decides when."""

    inline = True

    def lane(self, name: str, work: Callable[[], None]) -> Lane:
        """A lane that calls its work at once."""
        return _InlineLane(work)


class _ThreadLane:
    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._work = work
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        # A daemon: a program that forgets to close still ends, and sqlite needs no farewell.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._wakes.put(True)

    def close(self) -> None:
        self._wakes.put(False)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while self._wakes.get():
            self._work()


class _InlineLane:
    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._is_working = False

    def wake(self) -> None:
        # Work drains a queue, so a job that is queued from inside it is seen by the outer call.
        if self._is_working:
            return
        self._is_working = True
        try:
            self._work()
        finally:
            self._is_working = False

    def close(self) -> None:
        pass


class Job(Generic[T]):
    """Something to be done with a connection, and its answer."""

    __slots__ = ("_answer", "_error", "changed", "is_done", "is_outside", "notify", "run", "search")

    def __init__(
        self,
        run: Callable[[Connection, float], T],
        *,
        search: Callable[[Connection, float], bool] | None = None,
        changed: Callable[[T], tuple[Change, ...]] | None = None,
        is_outside: bool = False,
    ) -> None:
        self.run = run
        """Does it; gets the store's present instant."""
        self.search = search
        """Looks, outside a transaction, whether there is anything to do; False answers None."""
        self.changed = changed
        """What an answer says was changed."""
        self.is_outside = is_outside
        """Whether it runs outside a transaction."""
        self.notify: Callable[[], object] | None = None
        """Called once the answer is there, on the lane."""
        self.is_done = False
        self._answer: T | None = None
        self._error: BaseException | None = None

    def succeed(self, answer: T | None) -> None:
        """Give the answer, without telling yet."""
        self._answer = answer
        self.is_done = True

    def fail(self, error: BaseException) -> None:
        """Give an error for an answer, without telling yet."""
        self._error = error
        self.is_done = True

    def tell(self) -> None:
        """Let go whoever waits for the answer."""
        if self.notify is not None:
            self.notify()

    def answer(self) -> T:
        """What it gave, or raise what it raised."""
        assert self.is_done
        if self._error is not None:
            raise self._error
        return cast("T", self._answer)


AnyJob = Job[Any]


class _Waiter:
    """An asyncio task's side of a job; its future is renewed when a cancellation spends it."""

    __slots__ = ("_future", "_loop")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    def wake_soon(self) -> None:
        """Wake the task; from any thread."""
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def once(self) -> None:
        """Wait until woken or cancelled."""
        if self._future.done():
            self._future = self._loop.create_future()
        await self._future


async def wait_for(job: Job[T], submit: Callable[[Job[T]], None]) -> T:
    """Submit and wait; a cancellation leaves the job to itself (reads)."""
    waiter = _Waiter()
    job.notify = waiter.wake_soon
    submit(job)
    while not job.is_done:
        await waiter.once()
    return job.answer()


async def wait_shielded(job: Job[T], submit: Callable[[Job[T]], None], seconds: float) -> T | None:
    """Submit and wait, past any cancellation, until it is done or `seconds` are over.

    Returns with `job.is_done` False when they are. A cancellation by an anyio scope is left for
    the caller's next await; one by `task.cancel()` cannot be put off so, and is raised when the
    job is done.
    """
    waiter = _Waiter()
    job.notify = waiter.wake_soon
    cancelled: asyncio.CancelledError | None = None
    submit(job)
    with anyio.move_on_after(seconds, shield=True) as scope:
        while not job.is_done:
            try:
                await waiter.once()
            except asyncio.CancelledError as error:
                if scope.cancel_called:
                    raise
                cancelled = error
    if cancelled is not None:
        raise cancelled
    return job.answer() if job.is_done else None


def wait_in_thread(job: Job[T], submit: Callable[[Job[T]], None], seconds: float) -> T:
    """Submit and block the calling thread; StoreUnavailable when it takes too long."""
    done = threading.Event()
    job.notify = done.set
    submit(job)
    if not done.wait(seconds) and not job.is_done:
        raise StoreUnavailable(f"the store did not answer within {seconds:g} s; try again")
    return job.answer()
