"""The one writer of a process: a queue, and commits that carry many tasks' writes.

Whatever lies in the queue when the writer turns to it goes into one transaction, a savepoint
each, and nobody is answered before the COMMIT (group commit: at eight tasks three times the
commits a second). A lone write is a plain transaction and never waits for company. One write's
refusal rolls back that write; a transaction that fails, fails for all its members.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection

from noeta.backends.stores.sqlite_lane import AnyJob, Executor
from noeta.backends.stores.sqlite_open import Source, unavailable
from noeta.core.clock import Clock
from noeta.core.errors import NoetaError
from noeta.core.store import Change, CommitUnknown, StoreUnavailable

BATCH_JOBS_MAX = 64
"""Bounds how long one transaction holds the file."""

_NOTHING_LANDED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY})
"""Errors of COMMIT after which a roll-back leaves nothing: the commit record was not written.
After an IO error it may lie in the WAL whole, for a recovery to find: that is unknown."""


@dataclass(slots=True)
class Counters:
    """What a store has done, for tests and people."""

    commits: int = 0
    """Transactions that wrote something."""
    writes: int = 0
    """Writes answered without an error."""


class Writer:
    """Runs jobs on the writing connection, in the order of the queue."""

    def __init__(
        self,
        source: Source,
        executor: Executor,
        clock: Clock,
        on_commit: Callable[[list[Change]], None],
        on_timed: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """on_commit hears what was changed, on_timed how many seconds each commit took."""
        self.counters = Counters()
        self._source = source
        self._clock = clock
        self._on_commit = on_commit
        self._on_timed = on_timed
        self._working = threading.Lock()
        """Held by the thread that uses the connection."""
        self._queue: deque[AnyJob] = deque()
        self._outside: deque[AnyJob] = deque()
        self._connection: Connection | None = None
        self._closing: AnyJob | None = None
        self._lane = executor.lane("noeta-sqlite-writer", self._drain)

    def submit(self, job: AnyJob) -> None:
        """Queue a write."""
        self._put(job, self._queue.append)

    def submit_first(self, job: AnyJob) -> None:
        """Queue a write ahead of all others."""
        self._put(job, self._queue.appendleft)

    def submit_outside(self, job: AnyJob) -> None:
        """Queue a job for the same connection, outside any transaction."""
        self._put(job, self._outside.append)

    def write_here(self, job: AnyJob) -> bool:
        """Write in the calling thread; False, and nothing is done, when anyone else writes or
        waits, in this process or another."""
        if self._queue or self._outside or self._closing is not None:
            return False
        if not self._working.acquire(blocking=False):
            return False
        try:
            connection = self._connection
            if connection is None or connection.in_transaction:
                return False
            if not self._source.lock.try_hold():
                return False
            try:
                self._answer([job], partial(self._transact, connection))
            finally:
                self._source.lock.let_go()
        finally:
            self._working.release()
        return True

    def submit_close(self, job: AnyJob) -> None:
        """Close after what is queued, then tell `job`; its `run` is not called."""
        self._closing = job
        self._lane.wake()

    def withdraw(self, job: AnyJob) -> bool:
        """Take a job back; False when it has been begun."""
        try:
            self._queue.remove(job)
        except ValueError:
            return False
        return True

    def close_lane(self) -> None:
        """End the lane after its last job."""
        self._lane.close()

    def _put(self, job: AnyJob, put: Callable[[AnyJob], None]) -> None:
        if self._closing is not None:
            raise StoreUnavailable(f"the store {self._source.path} is closed")
        put(job)
        self._lane.wake()

    def _drain(self) -> None:
        while self._queue or self._outside:
            batch = self._next_batch()
            with self._working:
                self._answer(batch, self._run)
            for job in batch:
                job.tell()
        if self._closing is not None and not self._closing.is_done:
            with self._working:
                self._close(self._closing)

    def _answer(self, batch: list[AnyJob], run: Callable[[list[AnyJob]], None]) -> None:
        """Run a batch; every job of it has an answer or an error afterwards."""
        try:
            run(batch)
        except NoetaError as error:
            _fail_all(batch, error)
        except sqlite3.Error as error:
            _fail_all(batch, unavailable(self._source.path, error))
        except Exception as error:  # A boundary: a defect must reach its caller, not a thread.
            _fail_all(batch, error)

    def _next_batch(self) -> list[AnyJob]:
        """One job to run outside, or all writes that wait, up to the bound."""
        if self._outside:
            return [self._outside.popleft()]
        batch: list[AnyJob] = []
        try:
            while len(batch) < BATCH_JOBS_MAX:
                batch.append(self._queue.popleft())
        except IndexError:
            pass  # Also when a caller took its job back just now.
        return batch

    def _run(self, batch: list[AnyJob]) -> None:
        if self._connection is None:
            self._connection = self._source.open()
        if self._connection.in_transaction:
            # A roll-back failed before: nothing may be read or written through what it left.
            self._connection.execute("ROLLBACK")
        now = self._clock.wall()
        writes: list[AnyJob] = []
        for job in batch:
            if job.is_outside:
                job.succeed(job.run(self._connection, now))
            elif job.search is not None and not job.search(self._connection, now):
                job.succeed(None)  # An idle claim costs a look, and no lock.
            else:
                writes.append(job)
        if writes:
            with self._source.lock.held():
                self._transact(self._connection, writes)

    def _transact(self, connection: Connection, jobs: list[AnyJob]) -> None:
        """Write all of it in one transaction, under the lock, and give the answers."""
        with write_tx(connection, self._source.path, self._on_timed):
            now = self._clock.wall()
            before = connection.total_changes
            alone = len(jobs) == 1
            answers = [_attempt(connection, job, now, alone) for job in jobs]
            wrote = connection.total_changes != before
        self.counters.commits += wrote
        changed: dict[Change, None] = {}
        for job, (answer, error) in zip(jobs, answers, strict=True):
            if error is not None:
                job.fail(error)
                continue
            job.succeed(answer)
            self.counters.writes += 1
            if job.changed is not None:
                changed.update(dict.fromkeys(job.changed(answer)))
        if changed:
            self._on_commit(list(changed))

    def _close(self, job: AnyJob) -> None:
        try:
            if self._connection is not None:
                self._source.close(self._connection)
                self._connection = None
            job.succeed(None)
        except NoetaError as error:
            job.fail(error)
        job.tell()


def _attempt(
    connection: Connection, job: AnyJob, now: float, alone: bool
) -> tuple[object, NoetaError | None]:
    """Run one member; its refusal undoes what it did and leaves the others."""
    connection.execute("SAVEPOINT one") if not alone else None
    try:
        answer = job.run(connection, now)
    except NoetaError as error:
        if alone:
            raise
        connection.execute("ROLLBACK TO one")
        connection.execute("RELEASE one")
        return None, error
    if not alone:
        connection.execute("RELEASE one")
    return answer, None


@contextmanager
def write_tx(
    connection: Connection, path: str, on_timed: Callable[[float], None] = lambda seconds: None
) -> Iterator[None]:
    """One write transaction; whatever happens inside, none stays open.

    on_timed hears how long a COMMIT took that succeeded.

    Raises StoreUnavailable when nothing was written, CommitUnknown when COMMIT may have landed.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
    except BaseException:
        _roll_back(connection)
        raise
    started_at = time.monotonic()
    try:
        connection.execute("COMMIT")
        on_timed(time.monotonic() - started_at)
    except sqlite3.Error as error:
        was_open = connection.in_transaction
        rolled_back = _roll_back(connection)
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if was_open and rolled_back and code in _NOTHING_LANDED:
            raise unavailable(path, error) from error
        raise CommitUnknown(
            f"{path}: the commit was cut off ({error}); read the log to see whether it landed"
        ) from error


def _roll_back(connection: Connection) -> bool:
    if connection.in_transaction:
        try:
            connection.execute("ROLLBACK")
        except sqlite3.Error:
            return False
    return True


def _fail_all(jobs: list[AnyJob], error: Exception) -> None:
    """Give each job that has no answer yet an error of its own: they go to different tasks."""
    for job in jobs:
        if not job.is_done:
            own = type(error)(*error.args)
            own.__cause__ = error.__cause__ or error
            job.fail(own)
