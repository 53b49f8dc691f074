"""Checks of a store's inboxes: nothing posted is lost, taken twice, or keeps a task asleep."""

import anyio

from noeta.core.ids import BadId
from noeta.core.store import (
    Append,
    Conflict,
    End,
    InboxNotEmpty,
    ItemKind,
    Keep,
    NewItem,
    NoSuchTask,
    Post,
    Store,
    TaskOver,
    Wait,
)
from noeta.testing.store_maker import (
    CANCEL,
    StoreMaker,
    bodies,
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


async def a_post_wakes_a_waiting_task(make: StoreMaker) -> None:
    """At once, whatever timer it had, and from another handle."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    later = store.now() + 1000
    await store.append(claim, Append(expected_seq=1, move=Wait(ready_at=later)))
    assert await taken(store) is None
    assert await post(other, message())
    row = await row_of(store)
    assert (row.status, row.ready_at, row.inbox_count) == ("ready", None, 1)
    again = await taken(store)
    assert again is not None and again.epoch == 2


async def a_wait_looks_at_the_inbox(make: StoreMaker) -> None:
    """What came before the hand-back refuses it; taken in the same append, it does not."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    await post(other, message())
    for move in (Wait(), Wait(ready_at=store.now() + 5)):
        late = store.append(claim, Append(expected_seq=1, events=(b"e",), move=move))
        await refused_whole(store, InboxNotEmpty, late)
    (item,) = await store.inbox("t1")
    wait = Append(expected_seq=1, events=(b"e",), takes=(item.id,), move=Wait())
    assert (await store.append(claim, wait)).status == "waiting"
    assert await bodies(store) == [b"first", b"e"]


async def a_wait_looks_after_its_own_posts(make: StoreMaker) -> None:
    """A post to oneself beside a wait is a wake too."""
    store = await make.open()
    claim = await running(store)
    to_itself = (Post(task_id="t1", item=report()),)
    own = Append(expected_seq=1, events=(b"e",), posts=to_itself, move=Wait())
    await refused_whole(store, InboxNotEmpty, store.append(claim, own))
    ready = Append(expected_seq=1, posts=to_itself, move=Wait(or_ready=True))
    assert (await store.append(claim, ready)).status == "ready"
    assert (await row_of(store)).inbox_count == 1


async def a_worker_that_leaves_hands_back_ready(make: StoreMaker) -> None:
    """`or_ready` never refuses: ready when the inbox holds something, else waiting."""
    store = await make.open()
    quiet, called = await running(store, "quiet"), await running(store, "called")
    for claim in (quiet, called):
        await store.append(claim, Append(expected_seq=1, move=Keep()))
    await post(store, message(), "called")
    wakes_at = store.now() + 50
    leave = Append(expected_seq=1, events=(b"lost",), move=Wait(ready_at=wakes_at, or_ready=True))
    assert (await store.append(quiet, leave)).status == "waiting"
    assert (await store.append(called, leave)).status == "ready"
    row = await row_of(store, "quiet")
    assert (row.status, row.ready_at, row.owner) == ("waiting", wakes_at, None)
    row = await row_of(store, "called")
    assert (row.status, row.ready_at, row.owner, row.last_seq) == ("ready", None, None, 2)


async def a_post_racing_a_wait_is_never_lost(make: StoreMaker) -> None:
    """Either the wait is refused, or the post finds the task waiting and wakes it."""
    store, other = await make.open(), await make.open()
    claim = await running(store)
    refusals = 0

    async def wait() -> None:
        nonlocal refusals
        try:
            await store.append(claim, Append(expected_seq=1, move=Wait()))
        except InboxNotEmpty:
            refusals += 1

    for index in range(20):
        async with anyio.create_task_group() as group:
            first, second = (wait, other) if index % 2 else (other, wait)
            for one in (first, second):
                group.start_soon(wait) if one is wait else group.start_soon(post, other, message())
        row = await row_of(store)
        assert row.inbox_count == 1
        assert row.status in ("running", "ready"), "a wake was lost"
        if row.status == "ready":
            again = await taken(store)
            assert again is not None
            claim = again
        takes = tuple(item.id for item in await store.inbox("t1"))
        await store.append(claim, Append(expected_seq=1, takes=takes))
    assert 0 <= refusals <= 20


async def an_append_wakes_whom_it_posts_to(make: StoreMaker) -> None:
    """A waiting task is ready, a kept one stays with its claim, and both inboxes say so."""
    store = await make.open()
    claim = await running(store)
    waits, keeps = await running(store, "waits"), await running(store, "keeps")
    await store.append(waits, Append(expected_seq=1, move=Wait()))
    await store.append(keeps, Append(expected_seq=1, move=Keep(ready_at=store.now() + 9)))
    posts = tuple(Post(task_id=name, item=report()) for name in ("waits", "keeps"))
    await store.append(claim, Append(expected_seq=1, posts=posts))
    assert (await row_of(store, "waits")).status == "ready"
    row = await row_of(store, "keeps")
    assert (row.status, row.owner, row.inbox_count) == ("kept", "w1", 1)
    appended = await store.append(keeps, Append(expected_seq=1))
    assert appended.inbox_count == 1


async def items_come_in_the_order_of_posting(make: StoreMaker) -> None:
    """And an id is never used again, so a late take cannot hit another item."""
    store = await make.open()
    claim = await running(store)
    for index in range(3):
        make.advance(1)
        await post(store, message(b"%d" % index))
    items = await store.inbox("t1")
    assert [item.body for item in items] == [b"0", b"1", b"2"]
    assert [item.kind for item in items] == ["message"] * 3
    assert items[-1].posted_at == store.now() and items[-1].sender == "person"
    ids = [item.id for item in items]
    assert ids == sorted(set(ids))
    await store.append(claim, Append(expected_seq=1, events=(b"e",), takes=tuple(ids)))
    await post(store, message(b"3"))
    (item,) = await store.inbox("t1")
    assert item.id > ids[-1]


async def an_item_is_taken_once(make: StoreMaker) -> None:
    """A second take is a conflict, and its append writes nothing."""
    store = await make.open()
    claim = await running(store)
    await post(store, message())
    (item,) = await store.inbox("t1")
    take = Append(expected_seq=1, events=(b"took",), takes=(item.id,))
    assert (await store.append(claim, take)).inbox_count == 0
    again = Append(expected_seq=2, events=(b"took",), takes=(item.id,))
    await refused_whole(store, Conflict, store.append(claim, again))
    row = await row_of(store)
    assert (row.posted_count, row.taken_count) == (1, 1)


async def a_refused_append_takes_nothing(make: StoreMaker) -> None:
    """The take belongs to the append: what it did not write down is still to be read."""
    store = await make.open()
    claim = await running(store)
    await post(store, message())
    (item,) = await store.inbox("t1")
    wrong = Append(expected_seq=7, events=(b"took",), takes=(item.id,))
    await refused(Conflict, store.append(claim, wrong))
    assert list(await store.inbox("t1")) == [item]
    right = Append(expected_seq=1, events=(b"took",), takes=(item.id,), move=Wait())
    assert (await store.append(claim, right)).status == "waiting"


async def a_repeated_key_is_dropped(make: StoreMaker) -> None:
    """Also once its item was taken, and for each task by itself."""
    store = await make.open()
    claim = await running(store)
    await running(store, "t2")
    assert await post(store, message(key="k"))
    assert not await post(store, message(b"other", key="k"))
    assert await post(store, message(key="k"), "t2")
    assert await post(store, message(key="K"))
    items = await store.inbox("t1")
    takes = tuple(item.id for item in items)
    assert [item.key for item in items] == ["k", "K"]
    await store.append(claim, Append(expected_seq=1, takes=takes, move=Wait()))
    assert not await post(store, message(key="k"))
    row = await row_of(store)
    assert (row.status, row.inbox_count) == ("waiting", 0)


async def an_append_drops_repeated_keys(make: StoreMaker) -> None:
    """In its posts as in a post: a hand-back that runs again reports once."""
    store = await make.open()
    claim = await running(store)
    parent = await running(store, "parent")
    again = Append(expected_seq=1, posts=(Post(task_id="parent", item=report(key="k")),) * 2)
    await store.append(claim, again)
    (item,) = await store.inbox("parent")
    take = Append(expected_seq=1, takes=(item.id,), move=Wait())
    await store.append(parent, take)
    await store.append(claim, again)
    assert (await row_of(store, "parent")).status == "waiting"


async def an_ended_task_takes_no_message(make: StoreMaker) -> None:
    """People are told; reports and notices are dropped in silence."""
    store = await make.open()
    claim = await running(store)
    assert await post(store, message(key="k"))
    ended = Append(expected_seq=1, move=End(outcome="failed", despite_inbox=True))
    await store.append(claim, ended)
    kinds: tuple[ItemKind, ...] = ("message", "answer")
    for kind in kinds:
        item = NewItem(kind=kind, body=b"")
        await refused_whole(store, TaskOver, post(store, item))
        await refused(NoSuchTask, post(store, item, "absent"))
    kinds = ("interrupt", "cancel", "notice", "report")
    for kind in kinds:
        assert await post(store, NewItem(kind=kind, body=b""))
        assert await post(store, NewItem(kind=kind, body=b""), "absent")
    assert len(await store.inbox("t1")) == 1
    assert not (await row_of(store)).cancelled
    # The repeat of a message that was accepted is a repeat, not a refusal.
    assert not await post(store, message(key="k"))


async def an_append_may_post_to_nobody(make: StoreMaker) -> None:
    """A report to an ended or missing parent is dropped, and the append lands."""
    store = await make.open()
    claim = await running(store)
    ended = await running(store, "ended")
    await store.append(ended, Append(expected_seq=1, move=End(outcome="done")))
    before = await row_of(store, "ended")
    posts = tuple(Post(task_id=name, item=report(key="k")) for name in ("ended", "absent"))
    await store.append(claim, Append(expected_seq=1, events=(b"e",), posts=posts))
    assert await bodies(store) == [b"first", b"e"]
    assert await row_of(store, "ended") == before and not await store.inbox("ended")


async def an_end_looks_at_the_inbox(make: StoreMaker) -> None:
    """An accepted message is read before its task ends; a failed task's end does not look."""
    store = await make.open()
    claim = await running(store)
    own = Append(
        expected_seq=1, posts=(Post(task_id="t1", item=report()),), move=End(outcome="done")
    )
    await refused_whole(store, InboxNotEmpty, store.append(claim, own))
    await post(store, message())
    end = Append(expected_seq=1, events=(b"end",), move=End(outcome="done"))
    await refused_whole(store, InboxNotEmpty, store.append(claim, end))
    failed = Append(expected_seq=1, move=End(outcome="failed", despite_inbox=True))
    assert (await store.append(claim, failed)).status == "ended"


async def a_cancel_marks_the_row(make: StoreMaker) -> None:
    """It wakes a waiting task, and its owner hears of it with the next append."""
    store = await make.open()
    claim, waits = await running(store), await running(store, "waits")
    await store.append(waits, Append(expected_seq=1, move=Wait()))
    for name in ("t1", "waits"):
        await post(store, CANCEL, name)
        assert (await row_of(store, name)).cancelled
    assert (await row_of(store, "waits")).status == "ready"
    assert (await store.append(claim, Append(expected_seq=1))).cancelled
    await running(store, "t2")
    cancel = (Post(task_id="t2", item=CANCEL), Post(task_id="t1", item=report()))
    await store.append(claim, Append(expected_seq=1, posts=cancel))
    assert (await row_of(store, "t2")).cancelled


async def bad_ids_and_keys_are_refused(make: StoreMaker) -> None:
    """Before anything is written; an empty key would swallow all later posts."""
    store = await make.open()
    claim = await running(store)
    for bad in ("", "../x", "A", "a b", "a'b", "x" * 201):
        await refused(BadId, store.create(new_task(bad)))
        await refused(BadId, post(store, message(), bad))
        await refused(BadId, store.read(bad))
        posts = (Post(task_id=bad, item=report()),)
        await refused(BadId, store.append(claim, Append(expected_seq=1, posts=posts)))
        children = (new_task(bad),)
        await refused(BadId, store.append(claim, Append(expected_seq=1, children=children)))
    await refused(BadId, post(store, message(key="")))
    posts = (Post(task_id="t1", item=report(key="")),)
    await refused(BadId, store.append(claim, Append(expected_seq=1, posts=posts)))
    await refused(BadId, store.create(new_task("t2", queue="")))
    await refused(BadId, store.create(new_task("t2", items=(message(key=""),))))
    await refused(BadId, store.claim("", ("default",), 30))
    assert [row.id for row in await store.rows()] == ["t1"]
    assert not await store.inbox("t1")


async def a_kept_task_sees_what_comes(make: StoreMaker) -> None:
    """A post leaves it with its owner, whose renewals go on and whose row shows the item."""
    store: Store = await make.open()
    claim = await running(store)
    await store.append(claim, Append(expected_seq=1, move=Keep()))
    await post(store, message())
    row = await row_of(store)
    assert (row.status, row.owner, row.inbox_count) == ("kept", "w1", 1)
    assert await store.renew(claim, 30) is not None
    (item,) = await store.inbox("t1")
    took = await store.append(claim, Append(expected_seq=1, events=(b"e",), takes=(item.id,)))
    assert (took.status, took.inbox_count) == ("running", 0)


INBOX_CHECKS = (
    a_post_wakes_a_waiting_task,
    a_wait_looks_at_the_inbox,
    a_wait_looks_after_its_own_posts,
    a_worker_that_leaves_hands_back_ready,
    a_post_racing_a_wait_is_never_lost,
    an_append_wakes_whom_it_posts_to,
    items_come_in_the_order_of_posting,
    an_item_is_taken_once,
    a_refused_append_takes_nothing,
    a_repeated_key_is_dropped,
    an_append_drops_repeated_keys,
    an_ended_task_takes_no_message,
    an_append_may_post_to_nobody,
    an_end_looks_at_the_inbox,
    a_cancel_marks_the_row,
    bad_ids_and_keys_are_refused,
    a_kept_task_sees_what_comes,
)
