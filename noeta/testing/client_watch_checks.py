"""Checks of what a client shows: watches and logs."""

import anyio

from noeta.core import codec
from noeta.core import events as e
from noeta.core.model import TextDelta
from noeta.core.store import NewTask, NoSuchTask
from noeta.host.client import Client, Entry, Update
from noeta.testing.client_maker import (
    BOUND_SECONDS,
    ClientMaker,
    Held,
    Play,
    at_rest,
    caught_up_count,
    entries_of,
    live_text_of,
    refused,
    replies_of,
    request,
    until,
    watched,
)
from noeta.testing.function_model import in_turn, say

NEWER = b'{"type":"FromTheFuture","what":1}'


async def a_watch_gives_every_entry_once_in_order(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    updates = await watched(client, task_id)
    entries = entries_of(updates)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert entries == list(await client.log(task_id))
    assert isinstance(entries[-1].event, e.TaskEnded)
    assert caught_up_count(updates) == 1


async def a_watch_of_an_ended_task_gives_it_whole_and_ends(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    await watched(client, task_id)
    updates = await watched(client, task_id)
    assert entries_of(updates) == list(await client.log(task_id))
    assert (caught_up_count(updates), live_text_of(updates)) == (1, "")


async def a_watch_goes_on_after_a_seq(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    task_id = await client.create(request())
    seen = (await at_rest(client, task_id)).seq
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id, after=seen) as updates:
            await client.send(task_id, "more")
            await client.cancel(task_id)
            rest = [update async for update in updates]
    entries = entries_of(rest)
    assert [entry.seq for entry in entries] == list(range(seen + 1, seen + 1 + len(entries)))
    assert caught_up_count(rest) == 1


async def catching_up_comes_after_what_is_recorded_and_before_what_is_not(
    make: ClientMaker,
) -> None:
    model = Held(say("done"))
    client = await make.open(Play(model=model))
    task_id = await client.create(request(kind="one_shot"))
    await _asked(model)
    recorded = len(await client.log(task_id))
    seen: list[Update] = []
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id) as updates:
            async for update in updates:
                seen.append(update)
                if caught_up_count(seen):
                    model.go_on.set()
    at = next(index for index, update in enumerate(seen) if not isinstance(update, Entry))
    assert (at, caught_up_count(seen[: at + 1])) == (recorded, 1)
    assert entries_of(seen) == list(await client.log(task_id))


async def live_text_comes_after_its_call_and_before_its_reply(make: ClientMaker) -> None:
    model = Held(say("half a word"), said=("half ", "a word"))
    client = await make.open(Play(model=model))
    task_id = await client.create(request(None, kind="one_shot"))
    live = ""
    seen: list[Update] = []
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id) as updates:
            await client.send(task_id, "go")
            async for update in updates:
                seen.append(update)
                if isinstance(update, TextDelta):
                    live += update.text
                    # Only now may the model answer: the text was there while it was not.
                    if live == "half a word":
                        model.go_on.set()
    assert replies_of([x.event for x in await client.log(task_id) if x.event]) == [live]
    first = next(index for index, update in enumerate(seen) if isinstance(update, TextDelta))
    last = entries_of(seen[:first])[-1]
    assert isinstance(last.event, e.ModelCalled), "live text belongs to the call given before it"


async def two_watchers_see_the_same_log(make: ClientMaker) -> None:
    model = Held(say("done"))
    client = await make.open(Play(model=model))
    other = await make.open(Play(model=model))
    task_id = await client.create(request(kind="one_shot"))
    seen: list[list[Entry]] = []

    async def look(through: Client) -> None:
        seen.append(entries_of(await watched(through, task_id)))

    with anyio.fail_after(BOUND_SECONDS):
        async with anyio.create_task_group() as group:
            for through in (client, client, other):
                group.start_soon(look, through)
            await model.asked.wait()
            model.go_on.set()
    assert seen == [list(await client.log(task_id))] * 3


async def a_slow_watcher_loses_only_live_text(make: ClientMaker) -> None:
    said = [f"{number} " for number in range(5000)]
    model = Held(say("".join(said)), said=said)
    model.go_on.set()
    client = await make.open(Play(model=model))
    task_id = await client.create(request(None, kind="one_shot"))
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id) as updates:
            await client.send(task_id, "go")
            # The task is not held up by a watcher that does not read.
            await until(client, task_id, lambda event: isinstance(event, e.TaskEnded))
            seen = [update async for update in updates]
    assert entries_of(seen) == list(await client.log(task_id))
    assert "".join(said).startswith(live_text_of(seen))


async def leaving_a_watch_leaves_the_task_alone(make: ClientMaker) -> None:
    model = Held(say("done"))
    client = await make.open(Play(model=model))
    task_id = await client.create(request(kind="one_shot"))
    await until(client, task_id, lambda event: isinstance(event, e.ModelCalled))
    async with client.watch(task_id):
        pass
    model.go_on.set()
    assert isinstance(entries_of(await watched(client, task_id))[-1].event, e.TaskEnded)
    assert len(model.requests) == 1


async def what_is_not_there_cannot_be_watched(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([])))
    for task_id in ("nosuch", "", "../x", "x" * 10_000):
        await refused(NoSuchTask, client.watch(task_id).__aenter__())
        await refused(NoSuchTask, client.log(task_id))


async def a_log_is_read_in_pages(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    whole = entries_of(await watched(client, task_id))
    paged: list[Entry] = []
    while page := await client.log(task_id, after=len(paged), limit=2):
        assert len(page) <= 2
        paged += page
    assert paged == whole
    assert [codec.decode(entry.body) for entry in paged] == [entry.event for entry in whole]
    assert list(await client.log(task_id, after=10_000)) == []


async def an_entry_of_a_newer_version_hides_neither_log_nor_task(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([])))
    store = await make.store()
    created = e.TaskCreated(task_id="newer", kind="interactive", cwd="/", model="m")
    bodies = (codec.encode(created), NEWER, b"{broken")
    await store.create(NewTask(id="newer", kind="interactive", queue="elsewhere", events=bodies))
    entries = await client.log("newer")
    assert [entry.body for entry in entries] == list(bodies)
    assert [entry.event for entry in entries] == [created, None, None]
    assert [bool(entry.problem) for entry in entries] == [False, True, True]
    # One is mended by an upgrade, the other is not.
    assert ["newer" in entry.problem for entry in entries[1:]] == [True, False]
    assert [row.id for row in await client.tasks()] == ["newer"]
    async with client.watch("newer") as updates:
        assert [await anext(updates) for _ in range(3)] == list(entries)


async def _asked(model: Held) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        await model.asked.wait()


WATCH_CHECKS = (
    a_watch_gives_every_entry_once_in_order,
    a_watch_of_an_ended_task_gives_it_whole_and_ends,
    a_watch_goes_on_after_a_seq,
    catching_up_comes_after_what_is_recorded_and_before_what_is_not,
    live_text_comes_after_its_call_and_before_its_reply,
    two_watchers_see_the_same_log,
    a_slow_watcher_loses_only_live_text,
    leaving_a_watch_leaves_the_task_alone,
    what_is_not_there_cannot_be_watched,
    a_log_is_read_in_pages,
    an_entry_of_a_newer_version_hides_neither_log_nor_task,
)
