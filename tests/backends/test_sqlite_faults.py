"""The n-th failure loop: whichever statement fails, the answer is true and the store goes on."""

from collections.abc import Awaitable, Callable

import pytest

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lane import InlineExecutor
from noeta.core.store import (
    Append,
    Claim,
    CommitUnknown,
    End,
    Keep,
    NewItem,
    NewTask,
    Post,
    Store,
    StoreUnavailable,
    Wait,
)
from noeta.testing.fake_clock import FakeClock
from noeta.testing.store_maker import Dump, dump
from tests.backends.sqlite_faults import Faults, faulty_connections

pytestmark = pytest.mark.anyio

Step = Callable[[Store], Awaitable[object]]

MESSAGE = NewItem(kind="message", body=b"hello", key="k")


async def held(store: Store, task_id: str = "t1") -> Claim:
    """The claim that the row shows: what a worker has after a create or claim that landed."""
    row = await store.row(task_id)
    assert row is not None
    assert row.owner is not None
    return Claim(
        task_id=task_id, owner=row.owner, epoch=row.owner_epoch, lease_until=0.0, last_seq=0
    )


def create(task_id: str, **options: object) -> Step:
    """A step that creates."""
    task = NewTask(
        id=task_id, kind="one_shot", queue="default", events=(b"a", b"b"), items=(MESSAGE,)
    )
    return lambda store: store.create(task, **options)  # type: ignore[arg-type] # test values


def append(task_id: str, **fields: object) -> Step:
    """A step that appends."""

    async def step(store: Store) -> object:
        wanted = Append(**fields)  # type: ignore[arg-type] # test values
        return await store.append(await held(store, task_id), wanted)

    return step


async def release(store: Store) -> object:
    """A step that gives a task back."""
    await store.release(await held(store, "t2"))
    return None


async def renew(store: Store) -> object:
    """A step that renews, one and all."""
    claim = await held(store)
    return await store.renew(claim, 50), store.renew_all([claim], 60)


CHILD = NewTask(id="t1.c1.1", kind="one_shot", queue="q", root="t1", events=(b"x",))
STEPS: tuple[Step, ...] = (
    create("t1", worker="w1", lease_seconds=30),
    create("t2"),
    lambda store: store.claim("w2", ("default",), 30),
    lambda store: store.post(Post(task_id="t2", item=NewItem(kind="report", body=b"r", key="r"))),
    append(
        "t1",
        expected_seq=2,
        events=(b"c", b"d"),
        takes=(1,),
        posts=(Post(task_id="t2", item=MESSAGE), Post(task_id="t1", item=MESSAGE)),
        children=(CHILD,),
        title="t",
        move=Keep(ready_at=5.0),
    ),
    renew,
    lambda store: store.adopt("w2", (), 30),
    release,
    lambda store: store.claim("w3", ("default",), 30, dead=("w1",), root="t2"),
    append("t2", expected_seq=2, takes=(1, 2), move=Wait(ready_at=9.0)),
    append("t1", expected_seq=4, events=(b"end",), move=End(outcome="done")),
)


async def play(
    faults: Faults, at: int = 0, kind: str = "full", *, times: int = 1, is_late: bool = False
) -> tuple[Dump, list[type[Exception]]]:
    """Take every step, again while it says that nothing was written; the outcome and errors."""
    store = await SqliteStore.open(
        ":memory:",
        clock=FakeClock(),
        executor=InlineExecutor(),
        connection_class=faulty_connections(faults),
    )
    faults.arm(at, kind, times=times, is_late=is_late)
    errors: list[type[Exception]] = []
    for step in STEPS:
        while (error := await error_of(step, store)) is not None:
            errors.append(type(error))
            connection = store._writer._connection
            assert connection is not None
            # Only a ROLLBACK that failed too may leave one, until the next call.
            assert times == 2 or not connection.in_transaction
            assert error.__cause__ is not None
            if is_late and faults.failed[-1] == "COMMIT":
                break
    faults.at = 0
    seen = await dump(store)
    await store.close()
    return seen, errors


async def error_of(step: Step, store: Store) -> Exception | None:
    """What a step failed with, if it did."""
    try:
        await step(store)
    except (StoreUnavailable, CommitUnknown) as error:
        return error
    return None


async def statements_count() -> int:
    """How many statements the whole script takes, without those of the dump after it."""
    faults = Faults()
    seen, _ = await play(faults)
    return faults.count - 1 - 2 * len(seen)


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("kind", ["full", "locked", "io"])
async def test_any_failing_statement_is_answered_truly(kind: str, times: int) -> None:
    """StoreUnavailable means that nothing landed: the same step then ends in the same store.

    Twice: the ROLLBACK after it fails too, and no transaction stays open for the next step.
    """
    faults = Faults()
    expected, errors = await play(faults)
    assert errors == []
    count = await statements_count()
    assert count > 60
    for at in range(1, count + 1):
        seen, errors = await play(faults, at, kind, times=times)
        at_commit = faults.failed[0] == "COMMIT"
        unknown = at_commit and (kind == "io" or times == 2)
        assert errors[:1] == [CommitUnknown if unknown else StoreUnavailable], faults.failed
        assert seen == expected, f"after {faults.failed} at statement {at}"


@pytest.mark.parametrize("kind", ["full", "locked", "io"])
async def test_a_commit_whose_answer_was_lost_is_unknown(kind: str) -> None:
    """It landed, so saying "nothing was written" would be a lie, whatever the error."""
    faults = Faults()
    expected, _ = await play(faults)
    count = await statements_count()
    lost = 0
    for at in range(1, count + 1):
        seen, errors = await play(faults, at, kind, is_late=True)
        if faults.failed == ["COMMIT"]:
            lost += 1
            assert errors == [CommitUnknown]
            assert seen == expected
    assert lost >= len(STEPS)
