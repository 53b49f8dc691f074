"""The sqlite store: one file, any number of processes on one machine, one writer to each task.

This page checks arguments, hands the work to the writer's or the reader's lane and waits for
it. What the work is stands in `sqlite_write`, `sqlite_claim` and `sqlite_read`; how commits are
made in `sqlite_writer`; who writes next in `sqlite_lock`. `:memory:` serves tests and the
simulation, on one connection.
"""

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from sqlite3 import Connection
from typing import TypeVar

from noeta.backends.stores import arguments, sqlite_claim, sqlite_inbox, sqlite_read, sqlite_write
from noeta.backends.stores.sqlite_feed import Feed
from noeta.backends.stores.sqlite_lane import (
    Executor,
    Job,
    ThreadExecutor,
    wait_for,
    wait_in_thread,
    wait_shielded,
)
from noeta.backends.stores.sqlite_lock import LOCK_SECONDS
from noeta.backends.stores.sqlite_lone import Lone
from noeta.backends.stores.sqlite_open import Source
from noeta.backends.stores.sqlite_reader import Reader
from noeta.backends.stores.sqlite_writer import Counters, Writer
from noeta.core import ids
from noeta.core.clock import Clock
from noeta.core.store import (
    Append,
    Appended,
    Change,
    Changed,
    Claim,
    CommitUnknown,
    InboxItem,
    NewTask,
    Post,
    StoredEvent,
    StoreUnavailable,
)
from noeta.core.task import Status, TaskRow

T = TypeVar("T")

WRITE_SECONDS = 15.0
"""How long a caller waits for a write; longer than the lock, so that its holder gets named."""


class SqliteStore:
    """`noeta.core.store.Store` over one sqlite file."""

    def __init__(
        self,
        source: Source,
        *,
        clock: Clock,
        executor: Executor,
        write_seconds: float,
        lone: Lone,
    ) -> None:
        """Use `open`."""
        self._source = source
        self._clock = clock
        self._inline = executor.inline
        self._is_closed = False
        self._write_seconds = write_seconds
        self._feed = Feed(self._data_version, polls=not (source.is_memory or executor.inline))
        self._lone = lone
        self._writer = Writer(source, executor, clock, self._feed.tell, lone.took)
        shares_connection = source.is_memory or executor.inline
        self._reader = None if shares_connection else Reader(source, executor)

    @classmethod
    async def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Clock,
        executor: Executor | None = None,
        write_seconds: float = WRITE_SECONDS,
        lock_seconds: float = LOCK_SECONDS,
        connection_class: type[Connection] = Connection,
        mountinfo: str = "/proc/self/mountinfo",
        lone: Lone | None = None,
    ) -> "SqliteStore":
        """Open or create the store in a file, or one in `:memory:`.

        Makes the file's directory, not those above it. Raises StoreUnavailable: the message says
        what is wrong with the place and what to do.
        """
        source = Source(
            path,
            connection_class=connection_class,
            mountinfo=mountinfo,
            lock_seconds=lock_seconds,
        )
        store = cls(
            source,
            clock=clock,
            executor=executor or ThreadExecutor(),
            write_seconds=write_seconds,
            lone=lone or Lone(),
        )
        try:
            first = Job(_nothing, is_outside=True)
            await store._ask(first, store._writer.submit_outside)
        except BaseException:
            store._close_lanes()
            raise
        return store

    @property
    def counters(self) -> Counters:
        """What this handle has done so far."""
        return self._writer.counters

    def now(self) -> float:
        """The clock the store was given."""
        return self._clock.wall()

    async def create(
        self, task: NewTask, *, worker: str | None = None, lease_seconds: float | None = None
    ) -> Claim | None:
        """`Store.create`."""
        arguments.check_new_task(task)
        if worker is not None:
            arguments.check_lease(worker, lease_seconds or 0.0)
        return await self._write(
            Job(
                lambda connection, now: sqlite_write.create(
                    connection, now, task, worker, lease_seconds
                ),
                changed=lambda _: (Change(task.id, wakes=worker is None),),
            )
        )

    async def claim(
        self,
        worker: str,
        queues: Collection[str],
        lease_seconds: float,
        *,
        root: str | None = None,
        dead: Collection[str] = (),
        skip: Collection[str] = (),
    ) -> Claim | None:
        """`Store.claim`; an idle one takes no lock."""
        arguments.check_lease(worker, lease_seconds)
        arguments.check_queues(queues)
        return await self._write(
            Job(
                lambda connection, now: sqlite_claim.claim(
                    connection, now, worker, queues, lease_seconds, root, dead, skip
                ),
                search=lambda connection, now: (
                    sqlite_claim.find_claimable(connection, now, queues, root, dead, skip)
                    is not None
                ),
                changed=lambda claim: (
                    () if claim is None else (Change(claim.task_id, wakes=False),)
                ),
            )
        )

    async def adopt(self, worker: str, known: Collection[str], lease_seconds: float) -> list[Claim]:
        """`Store.adopt`."""
        arguments.check_lease(worker, lease_seconds)
        return await self._write(
            Job(
                lambda connection, now: sqlite_claim.adopt(
                    connection, now, worker, known, lease_seconds
                ),
                changed=lambda claims: tuple(
                    Change(claim.task_id, wakes=False) for claim in claims
                ),
            )
        )

    async def renew(self, claim: Claim, lease_seconds: float) -> Claim | None:
        """`Store.renew`."""
        arguments.check_lease(claim.owner, lease_seconds)
        return await self._write(
            Job(lambda connection, now: sqlite_claim.renew(connection, now, claim, lease_seconds)),
            first=True,
        )

    def renew_all(
        self, claims: Collection[Claim], lease_seconds: float
    ) -> frozenset[tuple[str, int]]:
        """`Store.renew_all`; waits at most as long as a write does."""
        if not claims:
            return frozenset()
        arguments.check_lease(next(iter(claims)).owner, lease_seconds)
        job = Job(
            lambda connection, now: sqlite_claim.renew_all(connection, now, claims, lease_seconds)
        )
        return wait_in_thread(job, self._writer.submit_first, self._write_seconds)

    async def release(self, claim: Claim) -> None:
        """`Store.release`."""
        await self._write(
            Job(
                lambda connection, now: sqlite_claim.release(connection, now, claim),
                changed=lambda _: (Change(claim.task_id),),
            )
        )

    async def append(self, claim: Claim, append: Append) -> Appended:
        """`Store.append`."""
        for post in append.posts:
            arguments.check_post(post)
        for child in append.children:
            arguments.check_new_task(child)
        others = (
            *(Change(post.task_id) for post in append.posts),
            *(Change(child.id) for child in append.children),
        )
        return await self._write(
            Job(
                lambda connection, now: sqlite_write.append(connection, now, claim, append),
                changed=lambda done: (
                    Change(claim.task_id, wakes=done.status == "ready"),
                    *others,
                ),
            ),
            here=self._lone.may(claim.task_id),
        )

    async def post(self, post: Post) -> bool:
        """`Store.post`."""
        arguments.check_post(post)
        return await self._write(
            Job(
                lambda connection, now: sqlite_inbox.put(connection, now, post, strict=True),
                changed=lambda is_new: (Change(post.task_id),) if is_new else (),
            )
        )

    async def read(
        self, task_id: str, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredEvent]:
        """`Store.read`."""
        ids.check_task_id(task_id)
        return await self._read(
            lambda connection, _now: sqlite_read.read(connection, task_id, after, limit)
        )

    async def inbox(self, task_id: str) -> Sequence[InboxItem]:
        """`Store.inbox`."""
        ids.check_task_id(task_id)
        return await self._read(lambda connection, _now: sqlite_read.inbox(connection, task_id))

    async def row(self, task_id: str) -> TaskRow | None:
        """`Store.row`."""
        ids.check_task_id(task_id)
        return await self._read(lambda connection, _now: sqlite_read.row(connection, task_id))

    async def rows(
        self,
        *,
        statuses: Collection[Status] | None = None,
        queues: Collection[str] | None = None,
        root: str | None = None,
        cwd: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
    ) -> Sequence[TaskRow]:
        """`Store.rows`."""
        return await self._read(
            lambda connection, _now: sqlite_read.rows(
                connection, statuses, queues, root, cwd, roots_only, limit
            )
        )

    def on_change(self, callback: Changed) -> AbstractContextManager[None]:
        """`Store.on_change`."""
        return self._feed.listening(callback)

    def _data_version(self) -> int:
        """A number that other processes' commits move, and ours do not: asked for on the
        writing connection. Blocks."""
        job: Job[int] = Job(
            lambda connection, _now: connection.execute("PRAGMA data_version").fetchone()[0],
            is_outside=True,
        )
        return wait_in_thread(job, self._writer.submit_outside, self._write_seconds)

    async def close(self) -> None:
        """`Store.close`; a second call has nothing to do."""
        if self._is_closed:
            return
        self._is_closed = True
        self._feed.close()
        if self._reader is not None:
            await self._ask(Job(_nothing), self._reader.submit_close)
        await self._ask(Job(_nothing), self._writer.submit_close)
        self._close_lanes()

    def _close_lanes(self) -> None:
        if self._reader is not None:
            self._reader.close_lane()
        self._writer.close_lane()

    async def _read(self, run: Callable[[Connection, float], T]) -> T:
        if self._reader is None:
            return await self._ask(Job(run, is_outside=True), self._writer.submit_outside)
        return await self._ask(Job(run), self._reader.submit)

    async def _ask(self, job: Job[T], submit: Callable[[Job[T]], None]) -> T:
        if self._inline:
            submit(job)
            return job.answer()
        return await wait_for(job, submit)

    async def _write(self, job: Job[T], *, first: bool = False, here: bool = False) -> T:
        """Have it written, past any cancellation; `here`: in this thread when that may be."""
        if here and not self._inline and self._writer.write_here(job):
            return job.answer()
        submit = self._writer.submit_first if first else self._writer.submit
        if self._inline:
            submit(job)
            return job.answer()
        await wait_shielded(job, submit, self._write_seconds)
        if job.is_done:
            return job.answer()
        if self._writer.withdraw(job):
            raise StoreUnavailable(
                f"{self._source.path} was busy for {self._write_seconds:g} s; nothing was written"
            )
        raise CommitUnknown(
            f"{self._source.path} did not answer within {self._write_seconds:g} s;"
            " read the log to see what landed"
        )


def _nothing(_connection: Connection, _now: float) -> None:
    """What opening and closing do beside opening and closing."""
