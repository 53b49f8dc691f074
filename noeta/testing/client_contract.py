"""The client's contract as checks: plain async functions over a maker, all in `CHECKS`.

A client is done when each of them passes, whatever lies between it and the worker. A check opens
the clients it needs from a fresh maker and holds the rule that its name says; none needs pytest.
What a client shows is in `client_watch_checks`, what people send in `client_post_checks`, and
here is which tasks there are and who runs them.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_client(check: Check) -> None:
        async with my_maker() as make:
            await check(make)
"""

from collections.abc import Awaitable, Callable

import anyio

from noeta.core import codec
from noeta.core import events as e
from noeta.core.store import NewTask, NoSuchTask
from noeta.host.client import AmbiguousId, Client
from noeta.testing.client_maker import (
    BOUND_SECONDS,
    ClientMaker,
    Held,
    HeldTool,
    Play,
    at_rest,
    events,
    let_go,
    live_text_of,
    refused,
    replies_of,
    request,
    until,
    watched,
)
from noeta.testing.client_post_checks import HOLD_THEN_DONE, POST_CHECKS
from noeta.testing.client_watch_checks import WATCH_CHECKS
from noeta.testing.function_model import in_turn, say

__all__ = ["CHECKS", "Check", "ClientMaker"]

Check = Callable[[ClientMaker], Awaitable[None]]

AT_ONCE_SECONDS = 5.0
"""Less than a worker waits between two looks of its own."""
LEFT_ALONE_SECONDS = 0.3
"""A worker that wrongly takes a task does so within milliseconds of being told of it."""


async def a_created_task_runs_at_once_and_its_answer_is_watched(make: ClientMaker) -> None:
    model = in_turn([say("hello yourself")])
    client = await make.open(Play(model=model))
    task_id = await client.create(request("hello\nand more", kind="one_shot", cwd="/tmp"))
    updates = await watched(client, task_id)
    assert live_text_of(updates) in ("hello yourself", "")
    log = await events(client, task_id)
    assert replies_of(log) == ["hello yourself"]
    assert log[0] == e.TaskCreated(task_id=task_id, kind="one_shot", cwd="/tmp", model="m")
    row = await client.task(task_id)
    assert (row.id, row.root, row.status, row.outcome) == (task_id, task_id, "ended", "done")
    assert (row.title, row.cwd, row.kind) == ("hello", "/tmp", "one_shot")


async def a_task_without_a_prompt_waits_for_one(make: ClientMaker) -> None:
    model = in_turn([say("hi")])
    client = await make.open(Play(model=model))
    task_id = await client.create(request(None))
    await at_rest(client, task_id)
    assert model.requests == []
    await client.send(task_id, "hello")
    await until(client, task_id, lambda event: isinstance(event, e.TurnEnded))
    assert replies_of(await events(client, task_id)) == ["hi"]


async def the_first_letters_of_an_id_find_its_task(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([])))
    await _put(make, "abc1")
    await _put(make, "abd1")
    assert [await client.find(prefix) for prefix in ("abc", "abc1", "abd")] == [
        "abc1",
        "abc1",
        "abd1",
    ]
    ambiguous = await refused(AmbiguousId, client.find("ab"))
    assert "abc1" in str(ambiguous)
    assert "abd1" in str(ambiguous)
    for prefix in ("b", "bc1", "abc1x", "../x", "ABC", "%", "_", "x" * 10_000):
        await refused(NoSuchTask, client.find(prefix))


async def an_empty_id_finds_nothing(make: ClientMaker) -> None:
    """Not the only task there is, either."""
    client = await make.open(Play(model=in_turn([])))
    await _put(make, "abc1")
    await refused(NoSuchTask, client.find(""))


async def an_id_is_found_though_others_begin_with_it(make: ClientMaker) -> None:
    """A child's id begins with its parent's; the tree is found by its root's first letters."""
    client = await make.open(Play(model=in_turn([])))
    await _put(make, "abc1")
    await _put(make, "abc1.c1.1", parent="abc1", root="abc1")
    assert await client.find("abc1") == "abc1"
    assert await client.find("ab") == "abc1"
    assert await client.find("abc1.c") == "abc1.c1.1"


async def tasks_are_listed_the_last_updated_first_and_roots_only(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    await _put(make, "old", cwd="/here")
    await _put(make, "old.c1.1", parent="old", root="old")
    await _put(make, "new", cwd="/there")
    task_id = await client.create(request(kind="one_shot"))
    await watched(client, task_id)
    assert [row.id for row in await client.tasks()] == [task_id, "new", "old"]
    assert [row.id for row in await client.tasks(limit=2)] == [task_id, "new"]
    assert [row.id for row in await client.tasks(cwd="/here")] == ["old"]
    assert [row.id for row in await client.tasks(statuses=["ended"])] == [task_id]
    assert [row.id for row in await client.tasks(statuses=["ready"])] == ["new", "old"]


async def a_task_of_a_dead_worker_is_carried_on_at_once(make: ClientMaker) -> None:
    """In the middle of a model call: it is made again, from the same bytes."""
    stuck = Held(say("never"))
    client = await make.open(Play(model=stuck))
    task_id = await client.create(request(kind="one_shot"))
    with anyio.fail_after(BOUND_SECONDS):
        await stuck.asked.wait()
    await make.kill(client)
    client = await make.open(Play(model=in_turn([say("done")])))
    row = await client.attach(task_id)
    assert row.id == task_id
    await watched(client, task_id)
    log = await events(client, task_id)
    assert replies_of(log) == ["done"]
    called = [event.request_digest for event in log if isinstance(event, e.ModelCalled)]
    assert len(called) == 2
    assert len(set(called)) == 1


async def who_died_meanwhile_is_found_out_when_it_matters(make: ClientMaker) -> None:
    """A client that has looked at other owners before looks again when it takes part."""
    stuck = Held(say("never"))
    client = await make.open(Play(model=stuck))
    other = await make.open(Play(model=in_turn([say("done")])))
    await watched(other, await other.create(request(kind="one_shot")))
    task_id = await client.create(request(kind="one_shot"))
    with anyio.fail_after(BOUND_SECONDS):
        await stuck.asked.wait()
    await make.kill(client)
    await other.attach(task_id)
    with anyio.fail_after(AT_ONCE_SECONDS):
        await watched(other, task_id)
    assert replies_of(await events(other, task_id)) == ["done"]


async def a_task_that_nobody_takes_part_in_is_not_run(make: ClientMaker) -> None:
    """Not by the worker that a message came through either, busy or idle."""
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    task_id = await client.create(request("first"))
    seen = (await at_rest(client, task_id)).seq
    await make.kill(client)
    other = await make.open(Play(model=in_turn([say("one"), say("two")])))
    await watched(other, await other.create(request(kind="one_shot")))
    await other.send(task_id, "second")
    await _left_alone(other, task_id, epoch=(await other.task(task_id)).owner_epoch)
    await other.attach(task_id)
    await at_rest(other, task_id, after=seen)
    assert replies_of(await events(other, task_id)) == ["one", "two"]


async def a_call_of_a_dead_worker_is_not_run_again(make: ClientMaker) -> None:
    hold = HeldTool()
    play = Play(model=in_turn(HOLD_THEN_DONE), tools=[hold.tool])
    client = await make.open(play)
    task_id = await client.create(request(kind="one_shot"))
    with anyio.fail_after(BOUND_SECONDS):
        await hold.entered.wait()
    await make.kill(client)
    hold.go_on.set()
    client = await make.open(play)
    await client.attach(task_id)
    await watched(client, task_id)
    log = await events(client, task_id)
    assert [ev.reason for ev in log if isinstance(ev, e.ToolFinished)] == ["unknown"]
    assert (hold.effects, replies_of(log)[-1]) == ([], "done")


async def a_task_that_a_live_worker_runs_is_left_to_it(make: ClientMaker) -> None:
    hold = HeldTool()
    play = Play(model=in_turn(HOLD_THEN_DONE), tools=[hold.tool])
    client = await make.open(play)
    other = await make.open(play)
    task_id = await client.create(request(kind="one_shot"))
    async with let_go(hold.go_on):
        with anyio.fail_after(BOUND_SECONDS):
            await hold.entered.wait()
        before = await other.attach(task_id)
        assert before.status == "running"
        await _left_alone(other, task_id, epoch=before.owner_epoch)
    await watched(other, task_id)
    entries = await other.log(task_id)
    assert {entry.epoch for entry in entries if entry.epoch} == {before.owner_epoch}
    assert hold.effects == [f"{task_id}:c1"]


async def taking_part_in_an_ended_task_changes_nothing(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    await watched(client, task_id)
    before = await client.log(task_id)
    assert (await client.attach(task_id)).status == "ended"
    assert await client.log(task_id) == before


async def a_message_through_one_client_is_answered_by_the_worker_of_another(
    make: ClientMaker,
) -> None:
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    other = await make.open(Play(model=in_turn([])))
    task_id = await client.create(request("first"))
    seen = (await at_rest(other, task_id)).seq
    await other.send(task_id, "second")
    await at_rest(other, task_id, after=seen)
    assert replies_of(await events(other, task_id)) == ["one", "two"]


async def tasks_of_two_clients_do_not_mix(make: ClientMaker) -> None:
    """A worker runs the tree that its own front end works on, and no other."""
    held = Held(say("mine"))
    client = await make.open(Play(model=held))
    other = await make.open(Play(model=in_turn([say("theirs")])))
    mine = await client.create(request(kind="one_shot"))
    theirs = await other.create(request(kind="one_shot"))
    await watched(client, theirs)
    held.go_on.set()
    await watched(other, mine)
    assert replies_of(await events(client, mine)) == ["mine"]
    assert replies_of(await events(client, theirs)) == ["theirs"]


async def _put(make: ClientMaker, task_id: str, **fields: object) -> None:
    """A task that no worker of the checks takes."""
    first = e.TaskCreated(task_id=task_id, kind="interactive", cwd="/", model="m")
    store = await make.store()
    task = NewTask(
        id=task_id,
        kind="interactive",
        queue="elsewhere",
        events=(codec.encode(first),),
        **fields,  # type: ignore[arg-type] # test values
    )
    await store.create(task)


async def _left_alone(client: Client, task_id: str, *, epoch: int) -> None:
    with anyio.move_on_after(LEFT_ALONE_SECONDS):
        while (await client.task(task_id)).owner_epoch == epoch:
            await anyio.sleep(0.02)
        raise AssertionError("another worker took the task")


CHECKS: tuple[Check, ...] = (
    a_created_task_runs_at_once_and_its_answer_is_watched,
    a_task_without_a_prompt_waits_for_one,
    the_first_letters_of_an_id_find_its_task,
    an_empty_id_finds_nothing,
    an_id_is_found_though_others_begin_with_it,
    tasks_are_listed_the_last_updated_first_and_roots_only,
    a_task_of_a_dead_worker_is_carried_on_at_once,
    who_died_meanwhile_is_found_out_when_it_matters,
    a_task_that_nobody_takes_part_in_is_not_run,
    a_call_of_a_dead_worker_is_not_run_again,
    a_task_that_a_live_worker_runs_is_left_to_it,
    taking_part_in_an_ended_task_changes_nothing,
    a_message_through_one_client_is_answered_by_the_worker_of_another,
    tasks_of_two_clients_do_not_mix,
    *WATCH_CHECKS,
    *POST_CHECKS,
)
