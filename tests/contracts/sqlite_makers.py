"""Makers of sqlite stores for the contract: in memory without threads, and in a file with them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lane import Executor, InlineExecutor, ThreadExecutor
from noeta.backends.stores.sqlite_lone import Lone
from noeta.core.store import Store
from noeta.testing.fake_clock import FakeClock


class SqliteMaker:
    """A `StoreMaker` over one path."""

    def __init__(
        self,
        path: str | Path,
        *,
        executor: Executor,
        store_class: type[SqliteStore] = SqliteStore,
        lone: Lone | None = None,
    ) -> None:
        self._lone = lone
        self.clock = FakeClock()
        self.handles: list[SqliteStore] = []
        self._path = path
        self._executor = executor
        self._store_class = store_class

    async def open(self) -> Store:
        """Another handle; in memory the same one, as no other process could see it."""
        return await self.open_sqlite()

    async def open_sqlite(self) -> SqliteStore:
        """`open`, with its own type."""
        if self._path == ":memory:" and self.handles:
            return self.handles[0]
        store = await self._store_class.open(
            self._path, clock=self.clock, executor=self._executor, lone=self._lone
        )
        self.handles.append(store)
        return store

    async def reopen(self) -> Store:
        """All handles closed and the file opened again; memory cannot be."""
        if self._path != ":memory:":
            await self.close()
        return await self.open()

    def advance(self, seconds: float) -> None:
        """Move the clock that all handles share."""
        self.clock.advance(seconds)

    async def close(self) -> None:
        """Close every handle."""
        while self.handles:
            await self.handles.pop().close()


MakeIt = Callable[[Path], AbstractAsyncContextManager[SqliteMaker]]


@asynccontextmanager
async def memory_maker(
    _directory: Path, store_class: type[SqliteStore] = SqliteStore
) -> AsyncIterator[SqliteMaker]:
    """`:memory:`, run in the caller."""
    maker = SqliteMaker(":memory:", executor=InlineExecutor(), store_class=store_class)
    try:
        yield maker
    finally:
        await maker.close()


@asynccontextmanager
async def file_maker(
    directory: Path, store_class: type[SqliteStore] = SqliteStore
) -> AsyncIterator[SqliteMaker]:
    """A file, with a writer and a reader thread for each handle."""
    maker = SqliteMaker(directory / "store.db", executor=ThreadExecutor(), store_class=store_class)
    try:
        yield maker
    finally:
        await maker.close()


class AlwaysLone(Lone):
    """Has every append written in the caller's thread, when nobody else writes."""

    def may(self, task_id: str) -> bool:
        """Always."""
        return True


@asynccontextmanager
async def lone_maker(
    directory: Path, store_class: type[SqliteStore] = SqliteStore
) -> AsyncIterator[SqliteMaker]:
    """A file, with the appends of a task that is always alone."""
    maker = SqliteMaker(
        directory / "store.db",
        executor=ThreadExecutor(),
        store_class=store_class,
        lone=AlwaysLone(),
    )
    try:
        yield maker
    finally:
        await maker.close()
