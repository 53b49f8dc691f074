"""Reading beside the writer: a connection and a lane of its own, each read on one snapshot.

In WAL mode a reader never waits for a writer. `:memory:` and the inline executor have one
connection, so there the writer runs the reads.
"""

import sqlite3
from collections import deque
from sqlite3 import Connection

from noeta.backends.stores.sqlite_lane import AnyJob, Executor
from noeta.backends.stores.sqlite_open import Source, unavailable
from noeta.core.errors import NoetaError
from noeta.core.store import StoreUnavailable


def run_outside(connection: Connection, path: str, now: float, job: AnyJob) -> None:
    """Run one job outside any transaction; its error becomes its answer."""
    try:
        job.succeed(job.run(connection, now))
    except NoetaError as error:
        job.fail(error)
    except sqlite3.Error as error:
        job.fail(unavailable(path, error))


class Reader:
    """Runs reads in order, on its own connection."""

    def __init__(self, source: Source, executor: Executor) -> None:
        self._source = source
        self._queue: deque[AnyJob] = deque()
        self._connection: Connection | None = None
        self._closing: AnyJob | None = None
        self._lane = executor.lane("noeta-sqlite-reader", self._drain)

    def submit(self, job: AnyJob) -> None:
        """Queue a read."""
        if self._closing is not None:
            raise StoreUnavailable(f"the store {self._source.path} is closed")
        self._queue.append(job)
        self._lane.wake()

    def submit_close(self, job: AnyJob) -> None:
        """Close after what is queued, then tell `job`; its `run` is not called."""
        self._closing = job
        self._lane.wake()

    def close_lane(self) -> None:
        """End the lane."""
        self._lane.close()

    def _drain(self) -> None:
        while self._queue:
            job = self._queue.popleft()
            try:
                if self._connection is None:
                    self._connection = self._source.connect()
                run_outside(self._connection, self._source.path, 0.0, job)
            except sqlite3.Error as error:
                job.fail(unavailable(self._source.path, error))
            job.tell()
        if self._closing is not None and not self._closing.is_done:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._closing.succeed(None)
            self._closing.tell()
