"""The writer's queue: group commit, renewals first, and writes that outlive a cancellation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.store import (
    Append,
    Claim,
    CommitUnknown,
    Conflict,
    NewTask,
    StoreUnavailable,
)
from noeta.testing.fake_clock import FakeClock
from noeta.testing.store_maker import bodies, running
from tests.backends.sqlite_faults import Gate

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def gated(
    tmp_path: Path, write_seconds: float = 15.0
) -> AsyncIterator[tuple[Gate, SqliteStore]]:
    """A store in a file whose commits pass a gate."""
    gate = Gate()
    store = await SqliteStore.open(
        tmp_path / "store.db",
        clock=FakeClock(),
        write_seconds=write_seconds,
        connection_class=gate.connections(),
    )
    try:
        yield gate, store
    finally:
        gate.open()
        await store.close()


async def append_one(store: SqliteStore, claim: Claim, seq: int = 1) -> None:
    """One event."""
    await store.append(claim, Append(expected_seq=seq, events=(b"e",)))


async def reached(gate: Gate) -> None:
    """Wait until the writer stands at the gate."""
    assert await anyio.to_thread.run_sync(gate.reached.wait, 10)


async def queued(store: SqliteStore, count: int) -> None:
    """Wait until so many jobs lie in the queue."""
    with anyio.fail_after(10):
        while len(store._writer._queue) < count:
            await anyio.sleep(0.001)


async def test_queued_appends_share_a_commit(tmp_path: Path) -> None:
    """Eight tasks' appends in one commit, each with its own verdict."""
    async with gated(tmp_path) as (gate, store):
        claims = [await running(store, f"t{index}") for index in range(9)]
        refusals: list[str] = []

        async def write(claim: Claim, takes: tuple[int, ...]) -> None:
            # An absent item is noticed late, when the event has been written already.
            try:
                await store.append(claim, Append(expected_seq=1, events=(b"e",), takes=takes))
            except Conflict:
                refusals.append(claim.task_id)

        before = store.counters.commits
        gate.shut()
        async with anyio.create_task_group() as group:
            group.start_soon(write, claims[0], ())
            await reached(gate)
            for index, claim in enumerate(claims[1:], 1):
                group.start_soon(write, claim, (99,) if index == 4 else ())
            await queued(store, 8)
            assert store.counters.commits == before
            gate.open()
        assert store.counters.commits == before + 2
        assert refusals == ["t4"]
        logs = [await bodies(store, claim.task_id) for claim in claims]
        assert [len(log) for log in logs] == [2, 2, 2, 2, 1, 2, 2, 2, 2]


async def test_a_lone_append_needs_no_savepoint(tmp_path: Path) -> None:
    """Four statements: begin, one that checks and changes, the event, commit."""
    async with gated(tmp_path) as (gate, store):
        claim = await running(store)
        gate.statements.clear()
        await append_one(store, claim)
        verbs = [sql.split()[0] for sql in gate.statements]
        assert verbs == ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


async def test_an_idle_claim_takes_no_lock(tmp_path: Path) -> None:
    """It looks, and begins no transaction."""
    async with gated(tmp_path) as (gate, store):
        await running(store)
        gate.statements.clear()
        assert await store.claim("w2", ("default",), 30) is None
        assert [sql.split()[0] for sql in gate.statements] == ["SELECT"]


async def test_renewals_go_ahead_of_queued_writes(tmp_path: Path) -> None:
    """A lease must not run out behind a queue of appends."""
    async with gated(tmp_path) as (gate, store):
        claims = [await running(store, f"t{index}") for index in range(3)]
        gate.shut()
        async with anyio.create_task_group() as group:
            group.start_soon(append_one, store, claims[0])
            await reached(gate)
            for claim in claims[1:]:
                group.start_soon(append_one, store, claim)
            await queued(store, 2)
            group.start_soon(anyio.to_thread.run_sync, store.renew_all, claims, 30.0)
            await queued(store, 3)
            gate.open()
        second = gate.statements[gate.statements.index("COMMIT") + 1 :]
        updates = [sql for sql in second if sql.lstrip().startswith("UPDATE")]
        assert "SET lease_until" in updates[0]
        assert len(updates) == 3


async def test_a_cancelled_write_is_finished_first(tmp_path: Path) -> None:
    """By a scope: the caller has its answer, and its next wait is cancelled."""
    async with gated(tmp_path) as (gate, store):
        claim = await running(store)
        gate.shut()
        answered = False

        async def write() -> None:
            nonlocal answered
            await append_one(store, claim)
            answered = True
            await anyio.sleep(60)

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(write)
                await reached(gate)
                group.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.02)
                    assert not answered
                    gate.open()
        assert answered
        assert await bodies(store) == [b"first", b"e"]


async def test_a_task_cancelled_from_asyncio_finishes_its_write(tmp_path: Path) -> None:
    """However often it is cancelled; then the cancellation is raised, never swallowed."""
    async with gated(tmp_path) as (gate, store):
        claim = await running(store)
        gate.shut()
        loop = asyncio.get_running_loop()
        task = loop.create_task(append_one(store, claim))
        await reached(gate)
        for _ in range(3):
            task.cancel()
            await anyio.sleep(0.005)
        assert not task.done()
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await bodies(store) == [b"first", b"e"]


async def test_a_write_past_its_deadline_is_unknown(tmp_path: Path) -> None:
    """What was begun may land; what still lay in the queue is taken back and never does."""
    async with gated(tmp_path, write_seconds=0.3) as (gate, store):
        claim, other = await running(store), await running(store, "t2")
        gate.shut()
        outcomes: dict[str, str] = {}

        async def write(claim: Claim) -> None:
            try:
                await append_one(store, claim)
            except (CommitUnknown, StoreUnavailable) as error:
                outcomes[claim.task_id] = type(error).__name__

        async with anyio.create_task_group() as group:
            group.start_soon(write, claim)
            await reached(gate)
            group.start_soon(write, other)
        assert outcomes == {"t1": "CommitUnknown", "t2": "StoreUnavailable"}
        gate.open()
        await store.create(NewTask(id="t3", kind="one_shot", queue="default"))
        assert await bodies(store, "t1") == [b"first", b"e"]
        assert await bodies(store, "t2") == [b"first"]


async def test_closing_finishes_queued_writes(tmp_path: Path) -> None:
    """And then refuses new ones."""
    async with gated(tmp_path) as (gate, store):
        claim, other = await running(store), await running(store, "t2")
        gate.shut()
        async with anyio.create_task_group() as group:
            group.start_soon(append_one, store, claim)
            await reached(gate)
            group.start_soon(append_one, store, other)
            await queued(store, 1)
            group.start_soon(store.close)
            await anyio.sleep(0.01)
            gate.open()
        with pytest.raises(StoreUnavailable, match="is closed"):
            await append_one(store, claim, 2)
        again = await SqliteStore.open(tmp_path / "store.db", clock=FakeClock())
        assert [len(await bodies(again, name)) for name in ("t1", "t2")] == [2, 2]
        await again.close()
