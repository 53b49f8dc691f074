"""Checks of a store's appends: the fences, the log, and that an append is whole or nothing."""

import dataclasses

import anyio

from noeta.core.store import (
    Append,
    Claim,
    Conflict,
    End,
    InboxNotEmpty,
    Keep,
    NewTask,
    Post,
    Store,
    StoredEvent,
    TaskExists,
    Wait,
)
from noeta.testing.store_maker import (
    CANCEL,
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


async def events_are_numbered_without_gaps(make: StoreMaker) -> None:
    """In the order they were given, under the epoch and at the time of their append."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    at = [store.now()]
    for index in range(1, 4):
        make.advance(1)
        at.append(store.now())
        events = (b"a%d" % index, b"b%d" % index)
        appended = await store.append(claim, Append(expected_seq=index * 2 - 1, events=events))
        assert appended.last_seq == index * 2 + 1
    expected = [b"first", b"a1", b"b1", b"a2", b"b2", b"a3", b"b3"]
    assert list(await other.read("t1")) == [
        StoredEvent(seq=seq, epoch=1, at=at[seq // 2], body=body)
        for seq, body in enumerate(expected, 1)
    ]
    assert (await row_of(other)).last_seq == 7


async def a_log_is_read_in_pages(make: StoreMaker) -> None:
    """`after` and `limit` cut it; an unknown id has no log."""
    store = await make.open()
    claim = await running(store)
    await store.append(claim, Append(expected_seq=1, events=tuple(b"%d" % i for i in range(9))))
    pages = [await store.read("t1", after=after, limit=4) for after in (0, 4, 8, 10)]
    assert [[event.seq for event in page] for page in pages] == [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [9, 10],
        [],
    ]
    assert await store.read("t1", after=3) == await store.read("t1", after=3)
    assert list(await store.read("absent")) == [] and list(await store.inbox("absent")) == []
    assert await store.row("absent") is None


async def bodies_are_kept_byte_for_byte(make: StoreMaker) -> None:
    """Whatever they are: empty, not UTF-8, a NUL, a megabyte."""
    store = await make.open()
    claim = await running(store)
    odd = (b"", b"\x00", bytes(range(256)), b'{"a": 1}', b"x" * 1_000_000)
    await store.append(claim, Append(expected_seq=1, events=odd))
    await post(store, report(b"\xff\x00\xfe"))
    assert await bodies(store) == [b"first", *odd]
    assert [item.body for item in await store.inbox("t1")] == [b"\xff\x00\xfe"]


async def an_old_epoch_is_refused(make: StoreMaker) -> None:
    """Even when owner and seq are right (the same worker claimed twice)."""
    store = await make.open()
    old = await running(store)
    make.advance(LEASE_SECONDS)
    new = await taken(store, "w1")
    assert new is not None and new.owner == old.owner
    for epoch in (0, old.epoch, new.epoch + 1):
        stale = dataclasses.replace(new, epoch=epoch)
        late = store.append(stale, Append(expected_seq=1, events=(b"late",)))
        await refused_whole(store, Conflict, late)


async def another_owner_is_refused(make: StoreMaker) -> None:
    """Even when epoch and seq are right."""
    store = await make.open()
    forged = dataclasses.replace(await running(store), owner="w2")
    await refused_whole(store, Conflict, store.append(forged, Append(expected_seq=1)))
    absent = dataclasses.replace(forged, task_id="absent")
    await refused(Conflict, store.append(absent, Append(expected_seq=1)))


async def another_seq_is_refused(make: StoreMaker) -> None:
    """Behind the log's end or ahead of it; also for an append without events."""
    store = await make.open()
    claim = await running(store)
    await store.append(claim, Append(expected_seq=1, events=(b"e",)))
    for seq in (0, 1, 3):
        for events in ((), (b"x",)):
            wrong = store.append(claim, Append(expected_seq=seq, events=events))
            await refused_whole(store, Conflict, wrong)


async def of_two_racing_appends_one_lands(make: StoreMaker) -> None:
    """Each names the same last seq, through the same claim, from two handles."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    for seq in range(1, 9):
        landed: list[bytes] = []

        async def write(
            handle: Store, body: bytes, *, landed: list[bytes] = landed, seq: int = seq
        ) -> None:
            try:
                await handle.append(claim, Append(expected_seq=seq, events=(body,)))
            except Conflict:
                return
            landed.append(body)

        async with anyio.create_task_group() as group:
            group.start_soon(write, store, b"one")
            group.start_soon(write, other, b"two")
        assert len(landed) == 1
        assert (await store.read("t1"))[-1].body == landed[0]
        assert (await row_of(store)).last_seq == seq + 1


async def one_refusal_leaves_its_neighbours(make: StoreMaker) -> None:
    """Appends of several tasks may share a commit; each has its own verdict."""
    store = await make.open()
    claims = [await running(store, f"t{index}") for index in range(8)]
    refusals: list[str] = []

    async def write(claim: Claim, seq: int, takes: tuple[int, ...]) -> None:
        events, posts = (b"e",), (Post(task_id="t0", item=report()),)
        append = Append(expected_seq=seq, events=events, takes=takes, posts=posts)
        try:
            await store.append(claim, append)
        except Conflict:
            refusals.append(claim.task_id)

    async with anyio.create_task_group() as group:
        for index, claim in enumerate(claims):
            group.start_soon(write, claim, 7 if index == 2 else 1, (99,) if index == 5 else ())
    assert sorted(refusals) == ["t2", "t5"]
    seqs = [(await row_of(store, f"t{index}")).last_seq for index in range(8)]
    assert seqs == [2, 2, 1, 2, 2, 1, 2, 2]
    assert len(await store.inbox("t0")) == 6


async def _rich_scene(store: Store) -> tuple[Claim, Append]:
    """A claimed task and an append that does everything at once."""
    claim = await running(store)
    await running(store, "other", "w2")
    await post(store, message(b"question"))
    (item,) = await store.inbox("t1")
    return claim, Append(
        expected_seq=1,
        events=(b"e1", b"e2"),
        takes=(item.id,),
        posts=(Post(task_id="other", item=report(key="k")),),
        children=(
            new_task(
                "t1.c1.1",
                root="t1",
                parent="t1",
                parent_call="c1",
                events=(b"born", b"told"),
                items=(message(b"go"), message(b"on", key="k"), message(b"on", key="k")),
            ),
        ),
        title="a title",
        move=Wait(ready_at=store.now() + 5),
    )


async def an_append_lands_whole(make: StoreMaker) -> None:
    """Events, takes, posts, children with their events and items, title and move."""
    store, other = await make.open(), await make.open()
    claim, append = await _rich_scene(store)
    appended = await store.append(claim, append)
    assert (appended.last_seq, appended.inbox_count, appended.status) == (3, 0, "waiting")
    assert await bodies(other) == [b"first", b"e1", b"e2"]
    row = await row_of(other)
    assert (row.title, row.ready_at, row.owner) == ("a title", other.now() + 5, None)
    assert (row.posted_count, row.taken_count) == (1, 1)
    assert list(await other.inbox("t1")) == []
    assert [item.body for item in await other.inbox("other")] == [b"done"]
    child = await row_of(other, "t1.c1.1")
    assert (child.root, child.parent, child.parent_call) == ("t1", "t1", "c1")
    assert (child.status, child.owner_epoch, child.last_seq) == ("ready", 0, 2)
    assert child.inbox_count == 2
    assert await bodies(other, child.id) == [b"born", b"told"]
    assert [item.body for item in await other.inbox(child.id)] == [b"go", b"on"]


async def a_refused_append_changes_nothing(make: StoreMaker) -> None:
    """Whatever the reason, and whatever it would have done, to this task or another."""
    store = await make.open()
    claim, append = await _rich_scene(store)
    replace = dataclasses.replace
    await post(store, message(b"left"))
    items = [item.id for item in await store.inbox("t1")]
    to_itself = (*append.posts, Post(task_id="t1", item=report()))
    wrongs: list[tuple[type[Exception], Claim, Append]] = [
        (Conflict, replace(claim, epoch=2), append),
        (Conflict, replace(claim, owner="w2"), append),
        (Conflict, claim, replace(append, expected_seq=2)),
        (Conflict, claim, replace(append, takes=(*items, 99))),
        (Conflict, claim, replace(append, takes=(items[0], items[0]))),
        (InboxNotEmpty, claim, append),
        (InboxNotEmpty, claim, replace(append, takes=tuple(items), posts=to_itself)),
        (InboxNotEmpty, claim, replace(append, move=End(outcome="done"))),
        (TaskExists, claim, replace(append, children=(new_task("other", events=(b"no",)),))),
    ]
    for error, by, wrong in wrongs:
        await refused_whole(store, error, store.append(by, wrong))
    await post(store, CANCEL)
    items = [item.id for item in await store.inbox("t1")]
    cancelled = replace(append, takes=tuple(items))
    await refused_whole(store, Conflict, store.append(claim, cancelled))
    # Nor was the key of its post used up.
    await store.append(claim, replace(cancelled, children=()))
    assert len(await store.inbox("other")) == 1


async def a_log_of_garbage_hides_no_task(make: StoreMaker) -> None:
    """Lists and claims read rows, never logs."""
    store = await make.open()
    await store.create(new_task(events=(b"\xff not an event", b"")))
    assert [row.id for row in await store.rows()] == ["t1"]
    claim = await taken(store)
    assert claim is not None and claim.last_seq == 2
    await store.append(claim, Append(expected_seq=2, move=End(outcome="unreadable_log")))
    row = await row_of(store)
    assert (row.status, row.outcome, row.ended_at) == ("ended", "unreadable_log", store.now())


async def an_ended_task_stays_ended(make: StoreMaker) -> None:
    """Nobody claims it, at any time, and its claim is gone."""
    store = await make.open()
    claim = await running(store)
    end = Append(expected_seq=1, events=(b"end",), move=End(outcome="done"))
    assert (await store.append(claim, end)).status == "ended"
    make.advance(100_000)
    assert await taken(store, "w2", dead=("w1",)) is None
    assert await store.adopt("w1", (), LEASE_SECONDS) == []
    assert store.renew_all([claim], LEASE_SECONDS) == frozenset()
    row = await row_of(store)
    assert (row.owner, row.lease_until, row.ready_at, row.outcome) == (None, None, None, "done")


async def epochs_along_a_log_never_fall(make: StoreMaker) -> None:
    """Each entry carries the epoch of the claim that wrote it."""
    store = await make.open()
    await store.create(new_task())
    for seq in range(1, 5):
        claim = await taken(store)
        assert claim is not None and claim.last_seq == seq
        await store.append(claim, Append(expected_seq=seq, events=(b"e",), move=Keep()))
        make.advance(LEASE_SECONDS)
    assert [event.epoch for event in await store.read("t1")] == [0, 1, 2, 3, 4]


async def a_child_is_created_once(make: StoreMaker) -> None:
    """The same child again changes nothing; another under its id is refused."""
    store = await make.open()
    claim = await running(store)
    child: NewTask = new_task("t1.c1.1", root="t1", parent="t1", items=(message(),))
    await store.append(claim, Append(expected_seq=1, events=(b"e",), children=(child,)))
    before = (await dump(store))[1]
    make.advance(1)
    await store.append(claim, Append(expected_seq=2, events=(b"e",), children=(child,)))
    assert (await dump(store))[1] == before
    other = dataclasses.replace(child, events=(b"other",))
    again = store.append(claim, Append(expected_seq=3, children=(other,)))
    await refused_whole(store, TaskExists, again)


async def a_cancelled_task_creates_no_children(make: StoreMaker) -> None:
    """The mark is read in the append itself, so no child escapes."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    await post(other, CANCEL)
    born = Append(expected_seq=1, events=(b"e",), children=(new_task("t1.c1.1", root="t1"),))
    await refused_whole(store, Conflict, store.append(claim, born))
    appended = await store.append(claim, Append(expected_seq=1, events=(b"e",)))
    assert appended.cancelled and appended.inbox_count == 1


async def a_store_keeps_everything_when_reopened(make: StoreMaker) -> None:
    """What was answered is there again, to the byte, claims included."""
    store = await make.open()
    claim, append = await _rich_scene(store)
    await store.append(claim, append)
    await post(store, message(key="again"), "other")
    before = await dump(store)
    store = await make.reopen()
    assert await dump(store) == before
    assert await post(store, message(key="again"), "other") is False


LOG_CHECKS = (
    events_are_numbered_without_gaps,
    a_log_is_read_in_pages,
    bodies_are_kept_byte_for_byte,
    an_old_epoch_is_refused,
    another_owner_is_refused,
    another_seq_is_refused,
    of_two_racing_appends_one_lands,
    one_refusal_leaves_its_neighbours,
    an_append_lands_whole,
    a_refused_append_changes_nothing,
    a_log_of_garbage_hides_no_task,
    an_ended_task_stays_ended,
    epochs_along_a_log_never_fall,
    a_child_is_created_once,
    a_cancelled_task_creates_no_children,
    a_store_keeps_everything_when_reopened,
)
