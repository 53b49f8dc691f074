"""Checks of a store's tasks: how they are created and listed, and who is told of changes."""

import anyio

from noeta.core.store import (
    Append,
    Change,
    Claim,
    End,
    Post,
    Store,
    StoreUnavailable,
    TaskExists,
    Wait,
)
from noeta.testing.store_maker import (
    LEASE_SECONDS,
    StoreMaker,
    bodies,
    dump,
    message,
    new_task,
    post,
    refused,
    refused_whole,
    report,
    row_of,
    running,
    taken,
)

NOTICE_SECONDS = 5.0
"""A bound for tests; a store that takes so long to tell has not told."""


async def a_new_task_is_ready(make: StoreMaker) -> None:
    """Complete with its first events and items, and with all that its row lists."""
    store, other = await make.open(), await make.open()
    items = (message(b"one"), message(b"two", key="k"))
    task = new_task(title="a title", cwd="/work", events=(b"a", b"b"), items=items)
    assert await store.create(task) is None
    row = await row_of(other)
    assert (row.status, row.owner, row.owner_epoch, row.last_seq) == ("ready", None, 0, 2)
    assert (row.root, row.parent, row.queue, row.kind) == ("t1", None, "default", "interactive")
    assert (row.title, row.cwd, row.outcome, row.cancelled) == ("a title", "/work", None, False)
    assert (row.created_at, row.updated_at) == (store.now(), store.now())
    assert [event.epoch for event in await other.read("t1")] == [0, 0]
    assert [item.body for item in await other.inbox("t1")] == [b"one", b"two"]
    assert not await post(other, message(key="k"))


async def a_task_can_be_created_claimed(make: StoreMaker) -> None:
    """By its creator, in one commit, so that no other worker ever sees it ready."""
    store, other = await make.open(), await make.open()
    claim = await store.create(new_task(queue="default"), worker="w1", lease_seconds=20)
    assert claim == Claim(
        task_id="t1", owner="w1", epoch=1, lease_until=store.now() + 20, last_seq=1
    )
    assert await taken(other, "w2") is None
    row = await row_of(other)
    assert (row.status, row.owner, row.claims_since_append) == ("running", "w1", 1)
    assert [event.epoch for event in await other.read("t1")] == [1]
    make.advance(20)
    again = await taken(other, "w2")
    assert again is not None and again.claims_since_append == 2


async def a_repeated_create_changes_nothing(make: StoreMaker) -> None:
    """The id is the key: the creator has its claim again, and nobody else has one."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    await store.append(claim, Append(expected_seq=1, events=(b"more",)))
    before = await dump(store)
    make.advance(1)
    repeat = await other.create(new_task(), worker="w1", lease_seconds=LEASE_SECONDS)
    assert repeat is not None and (repeat.owner, repeat.epoch, repeat.last_seq) == ("w1", 1, 2)
    assert await other.create(new_task(), worker="w2", lease_seconds=LEASE_SECONDS) is None
    assert await other.create(new_task(items=(message(),))) is None
    assert await dump(store) == before
    make.advance(LEASE_SECONDS)
    assert await taken(store, "w1") is not None
    # Two hands on one claim would be two writers in one process.
    assert await store.create(new_task(), worker="w1", lease_seconds=LEASE_SECONDS) is None


async def another_task_under_an_id_is_refused(make: StoreMaker) -> None:
    """Other first events are another task, also when they begin or go on alike."""
    store = await make.open()
    await store.create(new_task(events=(b"a", b"b")))
    for events in ((b"a",), (b"a", b"c"), (b"a", b"b", b"c"), ()):
        await refused_whole(store, TaskExists, store.create(new_task(events=events)))


async def creates_at_once_make_one_task(make: StoreMaker) -> None:
    """Of several creators of one id, one has the claim."""
    store, other = await make.open(), await make.open()
    claims: list[Claim | None] = []

    async def make_it(handle: Store, worker: str) -> None:
        claims.append(await handle.create(new_task(), worker=worker, lease_seconds=9))

    async with anyio.create_task_group() as group:
        for handle, worker in ((store, "w1"), (other, "w2"), (store, "w3")):
            group.start_soon(make_it, handle, worker)
    (claim,) = [claim for claim in claims if claim is not None]
    assert (await row_of(store)).owner == claim.owner
    assert await bodies(store) == [b"first"]


async def rows_are_listed_by_last_change(make: StoreMaker) -> None:
    """What is given narrows, together; a renewal does not count as a change, nor does an append
    that lets the task go on."""
    store = await make.open()
    claim = await running(store, "a")
    make.advance(1)
    await store.create(new_task("b", queue="other", cwd="/b"))
    make.advance(1)
    await store.create(new_task("a.c1.1", root="a", parent="a", cwd="/b"))
    make.advance(1)
    await store.renew(claim, LEASE_SECONDS)

    async def listed(**wanted: object) -> list[str]:
        return [row.id for row in await store.rows(**wanted)]  # type: ignore[arg-type] # test values

    assert await listed() == ["a.c1.1", "b", "a"]
    assert await listed(limit=2) == ["a.c1.1", "b"]
    assert await listed(statuses=("running", "ended")) == ["a"]
    assert await listed(statuses=()) == []
    assert await listed(queues=("default",)) == ["a.c1.1", "a"]
    assert await listed(root="a") == ["a.c1.1", "a"]
    assert await listed(cwd="/b") == ["a.c1.1", "b"]
    assert await listed(roots_only=True) == ["b", "a"]
    assert await listed(cwd="/b", roots_only=True, queues=("other",)) == ["b"]
    await store.append(claim, Append(expected_seq=1, title="now"))
    assert await listed() == ["a.c1.1", "b", "a"]
    await store.append(claim, Append(expected_seq=1, move=Wait()))
    assert await listed() == ["a", "a.c1.1", "b"]
    make.advance(1)
    await post(store, message(), "b")
    assert await listed() == ["b", "a", "a.c1.1"]
    assert (await row_of(store, "a")).title == "now"


async def the_clock_is_the_stores(make: StoreMaker) -> None:
    """Every instant in a row or an entry is `now()`, which moves when the clock is moved."""
    store, other = await make.open(), await make.open()
    start = store.now()
    claim = await running(store)
    make.advance(12.5)
    assert store.now() == other.now() == start + 12.5
    await store.append(claim, Append(expected_seq=1, events=(b"e",), move=End(outcome="done")))
    row = await row_of(other)
    assert (row.created_at, row.updated_at, row.ended_at) == (start, start + 12.5, start + 12.5)
    assert [event.at for event in await other.read("t1")] == [start, start + 12.5]


async def every_commit_is_told(make: StoreMaker) -> None:
    """To listeners on the same handle and on another, while their context is open."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    await running(store, "t2")
    here: list[Change] = []
    there: list[Change] = []

    async def heard(told: list[Change], task_id: str) -> None:
        with anyio.fail_after(NOTICE_SECONDS):
            while not any(change.task_id in (None, task_id) for change in told):
                await anyio.sleep(0.005)
        told.clear()

    with store.on_change(here.append):
        with other.on_change(there.append):
            # The first poll of a listener only notes where things stand.
            await anyio.sleep(0.1)
            there.clear()
            await store.append(claim, Append(expected_seq=1, events=(b"e",)))
            await heard(here, "t1")
            await heard(there, "t1")
            await post(store, message(), "t2")
            await heard(here, "t2")
            await heard(there, "t2")
            posts = (Post(task_id="t2", item=report()),)
            child = new_task("t1.c1.1", root="t1")
            both = Append(expected_seq=2, posts=posts, children=(child,), move=Wait())
            await store.append(claim, both)
            names = {change.task_id for change in here}
            assert None in names or {"t1", "t2", "t1.c1.1"} <= names
        there.clear()
        await post(store, message(), "t2")
        await anyio.sleep(0.1)
    assert there == []


async def what_may_be_claimed_or_was_posted_to_wakes(make: StoreMaker) -> None:
    """And so does what only "something" is known of; a log that grows wakes nobody."""
    store = await make.open()
    told: list[Change] = []

    def woken(*named: str) -> bool:
        wakes = {change.task_id for change in told if change.wakes}
        told.clear()
        return None in wakes or wakes >= set(named)

    with store.on_change(told.append):
        await store.create(new_task("t2"))
        assert woken("t2")
        claim = await running(store, "t1")
        await store.append(claim, Append(expected_seq=1, events=(b"e",)))
        # Another handle's commit may be told as "something", ours is known.
        assert all(change.task_id is None for change in told if change.wakes)
        told.clear()
        await post(store, message(), "t1")
        assert woken("t1")
        await store.append(claim, Append(expected_seq=2, move=Wait(or_ready=True)))
        assert woken("t1")


async def a_closed_store_is_unavailable(make: StoreMaker) -> None:
    """What was queued is finished; later calls say so, and nothing hangs."""
    store = await make.open()
    claim = await running(store)
    await store.close()
    await refused(StoreUnavailable, store.append(claim, Append(expected_seq=1)))
    await refused(StoreUnavailable, store.row("t1"))
    try:
        store.renew_all([claim], LEASE_SECONDS)
    except StoreUnavailable:
        return
    raise AssertionError("a closed store renewed")


TASK_CHECKS = (
    a_new_task_is_ready,
    a_task_can_be_created_claimed,
    a_repeated_create_changes_nothing,
    another_task_under_an_id_is_refused,
    creates_at_once_make_one_task,
    rows_are_listed_by_last_change,
    the_clock_is_the_stores,
    every_commit_is_told,
    what_may_be_claimed_or_was_posted_to_wakes,
    a_closed_store_is_unavailable,
)
