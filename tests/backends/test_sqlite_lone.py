"""When an append is written in the caller's thread, and when it is not."""

import sqlite3
import threading
from pathlib import Path

import anyio

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lone import COMMIT_SECONDS_MAX, LONE_SECONDS, Lone
from noeta.core.store import Append, Claim
from noeta.testing.fake_clock import FakeClock
from noeta.testing.store_maker import running
from tests.contracts.sqlite_makers import AlwaysLone


def lone_at(clock: FakeClock) -> Lone:
    lone = Lone(clock.monotonic)
    lone.took(COMMIT_SECONDS_MAX / 2)
    return lone


def test_a_task_that_has_appended_alone_for_a_while_is_alone() -> None:
    clock = FakeClock()
    lone = lone_at(clock)
    assert not lone.may("t1")
    clock.advance(2 * LONE_SECONDS)
    assert lone.may("t1")


def test_another_tasks_append_ends_it() -> None:
    clock = FakeClock()
    lone = lone_at(clock)
    lone.may("t1")
    clock.advance(2 * LONE_SECONDS)
    assert not lone.may("t2")
    assert not lone.may("t1")


def test_a_slow_commit_ends_it_until_one_is_quick_again() -> None:
    clock = FakeClock()
    lone = lone_at(clock)
    lone.may("t1")
    clock.advance(2 * LONE_SECONDS)
    lone.took(COMMIT_SECONDS_MAX)
    assert not lone.may("t1")
    lone.took(COMMIT_SECONDS_MAX / 2)
    assert lone.may("t1")


class Threads:
    """Which threads commit."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def connection_class(self) -> type[sqlite3.Connection]:
        seen = self.seen

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *args: object) -> sqlite3.Cursor:
                if sql == "COMMIT":
                    seen.append(threading.get_ident())
                return super().execute(sql, *args)  # type: ignore[arg-type]  # passed on

        return Watched


async def append_one(store: SqliteStore, claim: Claim, seq: int) -> None:
    await store.append(claim, Append(expected_seq=seq, events=(b"e",)))


async def test_a_lone_append_is_committed_in_the_callers_thread(tmp_path: Path) -> None:
    threads = Threads()
    store = await SqliteStore.open(
        tmp_path / "s.db",
        clock=FakeClock(),
        connection_class=threads.connection_class(),
        lone=AlwaysLone(),
    )
    try:
        claim = await running(store)
        threads.seen.clear()
        await append_one(store, claim, 1)
        assert threads.seen == [threading.get_ident()]
    finally:
        await store.close()


async def test_an_append_while_another_process_holds_the_file_waits_in_the_thread(
    tmp_path: Path,
) -> None:
    """The loop must not stand still for it."""
    threads = Threads()
    store = await SqliteStore.open(
        tmp_path / "s.db",
        clock=FakeClock(),
        connection_class=threads.connection_class(),
        lone=AlwaysLone(),
    )
    other = await SqliteStore.open(tmp_path / "s.db", clock=FakeClock())
    try:
        claim = await running(store)
        threads.seen.clear()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                with other._source.lock.held():
                    group.start_soon(append_one, store, claim, 1)
                    await anyio.sleep(0.01)
                    assert threads.seen == []
        assert len(threads.seen) == 1
        assert threads.seen != [threading.get_ident()]
    finally:
        await other.close()
        await store.close()
