"""Checks of a store's claims: who gets a task, who keeps it, and who has lost it."""

import dataclasses
from functools import partial

import anyio
import anyio.to_thread

from noeta.core.store import Append, Claim, Conflict, End, Keep, Store, Wait
from noeta.testing.store_maker import (
    LEASE_SECONDS,
    QUEUES,
    StoreMaker,
    message,
    new_task,
    post,
    refused,
    refused_whole,
    row_of,
    running,
    taken,
)


async def a_ready_task_is_claimed_by_one(make: StoreMaker) -> None:
    """The claim names the owner, and nobody else gets the task."""
    store, other = await make.open(), await make.open()
    await store.create(new_task())
    claim = await taken(store)
    assert claim is not None
    assert (claim.task_id, claim.owner, claim.epoch, claim.last_seq) == ("t1", "w1", 1, 1)
    assert claim.lease_until == store.now() + LEASE_SECONDS
    row = await row_of(other)
    assert (row.status, row.owner, row.owner_epoch) == ("running", "w1", 1)
    assert await taken(other, "w2") is None


async def every_claim_adds_one_to_the_epoch(make: StoreMaker) -> None:
    """Also when the same worker claims again."""
    store = await make.open()
    await store.create(new_task())
    for epoch in (1, 2, 3):
        claim = await taken(store)
        assert claim is not None and claim.epoch == epoch
        await store.release(claim)
        assert (await row_of(store)).owner_epoch == epoch


async def the_earliest_due_task_is_claimed_first(make: StoreMaker) -> None:
    """By ready_at, else by creation; across queues and across ready and waiting."""
    store = await make.open()
    late = await running(store, "late")
    await store.append(late, Append(expected_seq=1, move=Wait(ready_at=store.now() + 15)))
    make.advance(10)
    await store.create(new_task("early", queue="other"))
    make.advance(1)
    await store.create(new_task("middle"))
    make.advance(10)
    order = [await store.claim("w1", ("default", "other"), LEASE_SECONDS) for _ in range(4)]
    assert [claim and claim.task_id for claim in order] == ["early", "middle", "late", None]


async def only_the_queues_asked_for_are_claimed(make: StoreMaker) -> None:
    """A task of this host's queue is not for a worker of `default`."""
    store = await make.open()
    await store.create(new_task("here", queue="local:host"))
    assert await taken(store) is None
    assert await store.claim("w1", (), LEASE_SECONDS) is None
    claim = await store.claim("w1", ("default", "local:host"), LEASE_SECONDS)
    assert claim is not None and claim.task_id == "here"


async def a_claim_can_be_limited_to_one_tree(make: StoreMaker) -> None:
    """`root` finds the tree's tasks only, also lapsed ones and those of dead owners."""
    store = await make.open()
    await store.create(new_task("a"))
    make.advance(1)
    await store.create(new_task("b"))
    await store.create(new_task("b.c1.1", root="b", parent="b"))
    got = [await taken(store, root="b") for _ in range(3)]
    assert {claim.task_id for claim in got if claim} == {"b", "b.c1.1"} and got[2] is None
    assert (await row_of(store, "a")).status == "ready"
    make.advance(LEASE_SECONDS + 1)
    again = await taken(store, "w2", root="b", dead=("w1",))
    assert again is not None and again.task_id in ("b", "b.c1.1")
    assert await taken(store, "w2", root="none") is None


async def a_wait_is_claimed_when_it_is_due(make: StoreMaker) -> None:
    """Not before `ready_at`, and never by itself without one."""
    store = await make.open()
    timed, idle = await running(store, "timed"), await running(store, "idle")
    wakes_at = store.now() + 10
    await store.append(timed, Append(expected_seq=1, move=Wait(ready_at=wakes_at)))
    await store.append(idle, Append(expected_seq=1, move=Wait()))
    assert (await row_of(store, "timed")).ready_at == wakes_at
    make.advance(9)
    assert await taken(store) is None
    make.advance(1)
    claim = await taken(store)
    assert claim is not None and (claim.task_id, claim.epoch) == ("timed", 2)
    make.advance(100_000)
    again = await taken(store)
    assert again is not None and again.task_id == "timed"
    assert await taken(store) is None


async def a_lapsed_lease_is_reclaimed(make: StoreMaker) -> None:
    """And the old owner has lost: it may not write, renew or release."""
    store, other = await make.open(), await make.open()
    old = await running(store)
    make.advance(LEASE_SECONDS - 1)
    assert await taken(other, "w2") is None
    make.advance(1)
    new = await taken(other, "w2")
    assert new is not None and (new.owner, new.epoch, new.last_seq) == ("w2", 2, 1)
    await refused_whole(store, Conflict, store.append(old, Append(expected_seq=1)))
    await refused_whole(store, Conflict, store.release(old))
    assert await store.renew(old, LEASE_SECONDS) is None
    assert (await other.append(new, Append(expected_seq=1, events=(b"e",)))).last_seq == 2


async def a_live_lease_is_never_taken(make: StoreMaker) -> None:
    """Neither a running task's nor a kept one's, whatever its timer says."""
    store = await make.open()
    await running(store, "runs")
    kept = await running(store, "keeps")
    soon = store.now() + 5
    await store.append(kept, Append(expected_seq=1, move=Keep(ready_at=soon)))
    make.advance(LEASE_SECONDS - 1)
    assert await taken(store, "w2") is None


async def a_lapsed_kept_wait_is_reclaimed(make: StoreMaker) -> None:
    """A kept wait stays with its claim only as long as it is renewed."""
    store = await make.open()
    kept = await running(store)
    kept_row = await store.append(kept, Append(expected_seq=1, events=(b"e",), move=Keep()))
    assert kept_row.status == "kept"
    make.advance(LEASE_SECONDS)
    claim = await taken(store, "w2")
    assert claim is not None and (claim.epoch, claim.last_seq) == (2, 2)
    assert (await row_of(store)).status == "running"
    await refused_whole(store, Conflict, store.append(kept, Append(expected_seq=2)))


async def a_dead_owner_is_expired_at_once(make: StoreMaker) -> None:
    """Owners that the caller proved dead lose running and kept tasks; the living keep theirs."""
    store = await make.open()
    await running(store, "runs", "dead")
    kept = await running(store, "keeps", "dead")
    await store.append(kept, Append(expected_seq=1, move=Keep()))
    await running(store, "lives", "alive")
    got = [await taken(store, "w2", dead=("dead", "unknown")) for _ in range(3)]
    assert {claim.task_id for claim in got if claim} == {"runs", "keeps"} and got[2] is None


async def claims_at_once_never_share_a_task(make: StoreMaker) -> None:
    """Two handles claim as fast as they can: each task goes to one of them."""
    store, other = await make.open(), await make.open()
    for index in range(12):
        await store.create(new_task(f"t{index}"))
    claims: list[Claim] = []

    async def take(handle: Store, worker: str) -> None:
        while (claim := await taken(handle, worker)) is not None:
            claims.append(claim)

    async with anyio.create_task_group() as group:
        for handle, worker in ((store, "w1"), (store, "w2"), (other, "w3"), (other, "w4")):
            group.start_soon(take, handle, worker)
    assert sorted(claim.task_id for claim in claims) == sorted(f"t{i}" for i in range(12))
    assert {claim.epoch for claim in claims} == {1}


async def adopting_is_claiming_anew(make: StoreMaker) -> None:
    """What is mine and unknown to me gets a new epoch; the rest is left alone."""
    store = await make.open()
    known = await running(store, "known")
    lost = await running(store, "lost")
    kept = await running(store, "kept")
    await store.append(kept, Append(expected_seq=1, move=Keep()))
    theirs = await running(store, "theirs", "w2")
    back = await running(store, "back")
    await store.release(back)
    make.advance(1)
    adopted = await store.adopt("w1", ("known",), LEASE_SECONDS)
    assert {(claim.task_id, claim.epoch) for claim in adopted} == {("lost", 2), ("kept", 2)}
    assert all(claim.lease_until == store.now() + LEASE_SECONDS for claim in adopted)
    await refused_whole(store, Conflict, store.append(lost, Append(expected_seq=1)))
    for claim in (known, theirs, *adopted):
        await store.append(claim, Append(expected_seq=1))
    assert await store.adopt("w1", ("known", "lost", "kept"), LEASE_SECONDS) == []


async def renewing_extends_the_lease(make: StoreMaker) -> None:
    """By the store's clock; the epoch stays."""
    store = await make.open()
    claim = await running(store)
    make.advance(20)
    renewed = await store.renew(claim, LEASE_SECONDS)
    assert renewed is not None
    assert (renewed.epoch, renewed.lease_until) == (1, store.now() + LEASE_SECONDS)
    make.advance(20)
    assert await taken(store, "w2") is None
    assert (await row_of(store)).lease_until == renewed.lease_until


async def renewing_checks_owner_and_status(make: StoreMaker) -> None:
    """The epoch alone proves nothing: a hand-back leaves it as it was."""
    store = await make.open()
    waiting, released = await running(store, "a"), await running(store, "b")
    ended, held = await running(store, "c"), await running(store, "d")
    await store.append(waiting, Append(expected_seq=1, move=Wait()))
    await store.release(released)
    await store.append(ended, Append(expected_seq=1, move=End(outcome="done")))
    forged = dataclasses.replace(held, owner="w2")
    for claim in (waiting, released, ended, forged):
        assert await store.renew(claim, LEASE_SECONDS) is None, f"renewed {claim.task_id}"
    assert [(await row_of(store, name)).lease_until for name in "abc"] == [None, None, None]


async def a_lapsed_lease_that_nobody_took_still_holds(make: StoreMaker) -> None:
    """It may be renewed and may write: holding is no comparison with a clock."""
    store = await make.open()
    claim = await running(store)
    make.advance(LEASE_SECONDS * 100)
    await store.append(claim, Append(expected_seq=1, events=(b"e",)))
    assert await store.renew(claim, LEASE_SECONDS) is not None
    assert await taken(store, "w2") is None


async def a_claim_handed_back_may_not_write(make: StoreMaker) -> None:
    """Its epoch and seq are still the row's, and its lease had time left."""
    store = await make.open()
    waiting, released = await running(store, "a"), await running(store, "b")
    ended = await running(store, "c")
    await store.append(waiting, Append(expected_seq=1, move=Wait()))
    await store.release(released)
    await store.append(ended, Append(expected_seq=1, move=End(outcome="done")))
    for claim in (waiting, released, ended):
        late = store.append(claim, Append(expected_seq=1, events=(b"late",)))
        await refused_whole(store, Conflict, late)


async def what_is_to_be_skipped_is_not_claimed(make: StoreMaker) -> None:
    """Whether it is ready, due or lapsed; others are."""
    store = await make.open()
    await running(store, "mine")
    make.advance(LEASE_SECONDS + 1)
    await store.create(new_task("ready"))
    assert await taken(store, "w1", skip=("mine", "ready")) is None
    claim = await taken(store, "w1", skip=("mine",))
    assert claim is not None
    assert claim.task_id == "ready"
    assert await taken(store, "w1", skip=("mine",)) is None
    again = await taken(store, "w1")
    assert again is not None
    assert (again.task_id, again.epoch) == ("mine", 2)


async def renew_all_extends_what_a_worker_holds(make: StoreMaker) -> None:
    """From any thread: running and kept ones of those it names, nothing handed back."""
    store = await make.open()
    runs = await running(store, "runs")
    given_up = await running(store, "given-up")
    kept = await running(store, "keeps")
    await store.append(kept, Append(expected_seq=1, move=Keep()))
    waits = await running(store, "waits")
    await store.append(waits, Append(expected_seq=1, move=Wait()))
    theirs = await running(store, "theirs", "w2")
    make.advance(20)
    mine = [runs, kept, waits]
    held = await anyio.to_thread.run_sync(partial(store.renew_all, mine, LEASE_SECONDS))
    assert held == {("runs", 1), ("keeps", 1)}
    leases = [(await row_of(store, name)).lease_until for name in ("runs", "keeps")]
    assert leases == [store.now() + LEASE_SECONDS] * 2
    assert (await row_of(store, "theirs")).lease_until == theirs.lease_until
    assert (await row_of(store, "waits")).lease_until is None
    assert (await row_of(store, "given-up")).lease_until == given_up.lease_until
    assert store.renew_all(mine, LEASE_SECONDS) == held
    assert store.renew_all([], LEASE_SECONDS) == frozenset()


async def a_released_task_is_ready(make: StoreMaker) -> None:
    """At once, and without an owner."""
    store = await make.open()
    claim = await running(store)
    await store.release(claim)
    row = await row_of(store)
    assert (row.status, row.owner, row.lease_until, row.ready_at) == ("ready", None, None, None)
    again = await taken(store, "w2")
    assert again is not None and again.epoch == 2


async def a_released_kept_wait_waits_on(make: StoreMaker) -> None:
    """With its timer; but it is ready when its inbox is not empty."""
    store = await make.open()
    quiet, called = await running(store, "quiet"), await running(store, "called")
    wakes_at = store.now() + 50
    for claim in (quiet, called):
        await store.append(claim, Append(expected_seq=1, move=Keep(ready_at=wakes_at)))
    await post(store, message(), "called")
    await store.release(quiet)
    await store.release(called)
    row = await row_of(store, "quiet")
    assert (row.status, row.ready_at, row.owner) == ("waiting", wakes_at, None)
    assert (await row_of(store, "called")).status == "ready"


async def a_stale_release_is_a_conflict(make: StoreMaker) -> None:
    """It takes nothing from the present owner, and nothing from a task that waits."""
    store = await make.open()
    old, waits = await running(store, "old"), await running(store, "waits")
    await store.append(waits, Append(expected_seq=1, move=Wait()))
    make.advance(LEASE_SECONDS)
    assert await taken(store, "w2") is not None
    for claim in (old, waits, dataclasses.replace(old, epoch=2)):
        await refused_whole(store, Conflict, store.release(claim))
    absent = dataclasses.replace(old, task_id="absent")
    await refused(Conflict, store.release(absent))


async def claims_without_progress_are_counted(make: StoreMaker) -> None:
    """Until an append writes events; a hand-back without any does not clear the count."""
    store = await make.open()
    await store.create(new_task())
    for count in (1, 2):
        claim = await taken(store)
        assert claim is not None and claim.claims_since_append == count
        await store.append(claim, Append(expected_seq=1, move=Wait(ready_at=store.now())))
    adopted = await taken(store)
    assert adopted is not None and adopted.claims_since_append == 3
    (adopted,) = await store.adopt("w1", (), LEASE_SECONDS)
    assert adopted.claims_since_append == 4
    await store.append(adopted, Append(expected_seq=1, events=(b"e",)))
    assert (await row_of(store)).claims_since_append == 0


async def a_kept_task_goes_on_under_its_claim(make: StoreMaker) -> None:
    """An append that goes on makes it running again, with the same epoch."""
    store = await make.open()
    claim = await running(store)
    await store.append(claim, Append(expected_seq=1, move=Keep(ready_at=store.now() + 5)))
    row = await row_of(store)
    assert (row.status, row.owner, row.lease_until) == ("kept", "w1", claim.lease_until)
    went = await store.append(claim, Append(expected_seq=1, events=(b"e",)))
    assert went.status == "running"
    row = await row_of(store)
    assert (row.status, row.owner_epoch, row.ready_at) == ("running", 1, None)


async def the_epoch_never_falls(make: StoreMaker) -> None:
    """Whatever happens to a task, the row's epoch only grows."""
    store = await make.open()
    seen = [0]

    async def look() -> None:
        seen.append((await row_of(store)).owner_epoch)

    await store.create(new_task())
    for move in (Wait(ready_at=0.0), Keep(), End(outcome="done")):
        claim = await taken(store)
        assert claim is not None
        await look()
        await store.append(claim, Append(expected_seq=1, move=move))
        await look()
        make.advance(LEASE_SECONDS)
    assert seen == sorted(seen) and seen[-1] == 3
    assert await store.claim("w1", QUEUES, LEASE_SECONDS, dead=("w1",)) is None


CLAIM_CHECKS = (
    a_ready_task_is_claimed_by_one,
    every_claim_adds_one_to_the_epoch,
    the_earliest_due_task_is_claimed_first,
    only_the_queues_asked_for_are_claimed,
    a_claim_can_be_limited_to_one_tree,
    a_wait_is_claimed_when_it_is_due,
    a_lapsed_lease_is_reclaimed,
    a_live_lease_is_never_taken,
    a_lapsed_kept_wait_is_reclaimed,
    a_dead_owner_is_expired_at_once,
    claims_at_once_never_share_a_task,
    adopting_is_claiming_anew,
    renewing_extends_the_lease,
    renewing_checks_owner_and_status,
    a_lapsed_lease_that_nobody_took_still_holds,
    a_claim_handed_back_may_not_write,
    what_is_to_be_skipped_is_not_claimed,
    renew_all_extends_what_a_worker_holds,
    a_released_task_is_ready,
    a_released_kept_wait_waits_on,
    a_stale_release_is_a_conflict,
    claims_without_progress_are_counted,
    a_kept_task_goes_on_under_its_claim,
    the_epoch_never_falls,
)
