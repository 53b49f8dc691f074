"""Checks of what people send through a client: messages, answers, interrupts and cancels."""

import anyio

from noeta.core import events as e
from noeta.core.message import Text, ToolResult, UserMessage, text_of
from noeta.core.model import Reply
from noeta.core.store import NoSuchTask, TaskOver
from noeta.host.client import (
    MESSAGE_BYTES_MAX,
    AlreadySettled,
    Client,
    PromptRefused,
)
from noeta.testing.client_maker import (
    BOUND_SECONDS,
    ClientMaker,
    Held,
    HeldTool,
    Play,
    asks_first,
    at_rest,
    events,
    refused,
    replies_of,
    request,
    until,
    watched,
)
from noeta.testing.function_model import FunctionModel, ask_for, in_turn, say

HOLD_THEN_DONE = (ask_for(("Hold", {})), say("done"))


async def a_message_is_answered_in_the_next_turn(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    task_id = await client.create(request("first"))
    seen = (await at_rest(client, task_id)).seq
    await client.send(task_id, "second")
    await at_rest(client, task_id, after=seen)
    assert replies_of(await events(client, task_id)) == ["one", "two"]


async def a_message_with_a_key_is_sent_once(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    task_id = await client.create(request(None))
    for _ in range(2):
        await client.send(task_id, "hello", key="k")
    seen = (await until(client, task_id, _is_reply)).seq
    await at_rest(client, task_id, after=seen)
    await client.send(task_id, "hello", key="k")
    log = await events(client, task_id)
    assert sum(isinstance(event, e.MessageReceived) for event in log) == 1


async def a_message_to_an_ended_task_is_refused(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    before = await watched(client, task_id)
    await refused(TaskOver, client.send(task_id, "more"))
    assert len(await client.log(task_id)) == sum(isinstance(u, type(before[0])) for u in before)


async def a_message_that_cannot_be_read_is_refused(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(None))
    for text in ("", " \n\t", "x" * (MESSAGE_BYTES_MAX + 1), "é" * (MESSAGE_BYTES_MAX // 2 + 1)):
        await refused(PromptRefused, client.send(task_id, text))
        await refused(PromptRefused, client.create(request(text)))
    assert [row.id for row in await client.tasks()] == [task_id]
    assert (await client.task(task_id)).posted_count == 0


async def the_largest_message_fits(make: ClientMaker) -> None:
    text = "x" * MESSAGE_BYTES_MAX
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(text))
    received = await until(client, task_id, lambda event: isinstance(event, e.MessageReceived))
    assert isinstance(received.event, e.MessageReceived)
    assert received.event.content == (Text(text),)


async def text_that_is_no_unicode_is_taken_with_marks_in_it(make: ClientMaker) -> None:
    """A shell may hand over any bytes; Python shows them as lone surrogates."""
    client = await make.open(Play(model=in_turn([say("one"), say("two")])))
    task_id = await client.create(request("caf\udce9"))
    seen = (await at_rest(client, task_id)).seq
    await client.send(task_id, "th\udce9")
    await at_rest(client, task_id, after=seen)
    log = await events(client, task_id)
    received = [text_of(ev.content) for ev in log if isinstance(ev, e.MessageReceived)]
    assert received == ["caf?", "th?"]
    assert (await client.task(task_id)).title == "caf?"


async def an_answered_call_runs(make: ClientMaker) -> None:
    hold = HeldTool()
    hold.go_on.set()
    client = await make.open(_asking(hold))
    task_id = await client.create(request())
    call_id = await _parked(client, task_id)
    assert hold.effects == []
    await client.answer(task_id, call_id, allow=True)
    await until(client, task_id, lambda event: isinstance(event, e.TurnEnded))
    assert hold.effects == [f"{task_id}:{call_id}"]


async def a_denied_call_does_not_run_and_the_model_reads_why(make: ClientMaker) -> None:
    hold = HeldTool()
    hold.go_on.set()
    model = in_turn(HOLD_THEN_DONE)
    client = await make.open(Play(model=model, tools=[hold.tool], gates=[asks_first]))
    task_id = await client.create(request())
    call_id = await _parked(client, task_id)
    await client.answer(task_id, call_id, allow=False, reason="not on a Friday")
    await until(client, task_id, lambda event: isinstance(event, e.TurnEnded))
    assert hold.effects == []
    told = model.requests[-1].messages[-1]
    assert isinstance(told, UserMessage)
    (result,) = told.content
    assert isinstance(result, ToolResult)
    assert result.is_error
    assert "not on a Friday" in text_of(result.content)


async def a_call_that_waits_for_no_answer_takes_none(make: ClientMaker) -> None:
    hold = HeldTool()
    hold.go_on.set()
    client = await make.open(_asking(hold))
    task_id = await client.create(request())
    call_id = await _parked(client, task_id)
    await refused(AlreadySettled, client.answer(task_id, "c99", allow=True))
    await client.answer(task_id, call_id, allow=True)
    seen = (await until(client, task_id, lambda event: isinstance(event, e.TurnEnded))).seq
    await at_rest(client, task_id, after=seen)
    before = await client.log(task_id)
    await refused(AlreadySettled, client.answer(task_id, call_id, allow=False))
    assert await client.log(task_id) == before
    assert (await client.task(task_id)).inbox_count == 0


async def of_two_answers_the_first_counts(make: ClientMaker) -> None:
    """Also while nobody runs the task, and whichever client each comes through."""
    hold = HeldTool()
    hold.go_on.set()
    client = await make.open(_asking(hold))
    task_id = await client.create(request())
    call_id = await _parked(client, task_id)
    await make.kill(client)
    one, two = [await make.open(_asking(hold)) for _ in range(2)]
    await one.answer(task_id, call_id, allow=True)
    await refused(AlreadySettled, one.answer(task_id, call_id, allow=False))
    await refused(AlreadySettled, two.answer(task_id, call_id, allow=False))
    await two.attach(task_id)
    await until(two, task_id, lambda event: isinstance(event, e.TurnEnded))
    answers = [x for x in await events(two, task_id) if isinstance(x, e.AnswerReceived)]
    assert [(answer.allow, answer.applied) for answer in answers] == [(True, True)]
    assert len(hold.effects) == 1


async def of_answers_at_the_same_time_one_counts(make: ClientMaker) -> None:
    hold = HeldTool()
    hold.go_on.set()
    client = await make.open(_asking(hold))
    other = await make.open(_asking(hold))
    task_id = await client.create(request())
    call_id = await _parked(client, task_id)
    taken: list[bool] = []

    async def answer(through: Client, allow: bool) -> None:
        try:
            await through.answer(task_id, call_id, allow=allow)
        except AlreadySettled:
            return
        taken.append(allow)

    with anyio.fail_after(BOUND_SECONDS):
        async with anyio.create_task_group() as group:
            for through, allow in ((client, True), (other, False)) * 2:
                group.start_soon(answer, through, allow)
    await until(client, task_id, lambda event: isinstance(event, e.TurnEnded))
    assert len(taken) == 1
    assert len(hold.effects) == sum(taken)


async def an_interrupt_stops_the_turn_and_keeps_the_streamed_text(make: ClientMaker) -> None:
    model = Held(say("never"), said=("half ", "a word"))
    client = await make.open(Play(model=model))
    task_id = await client.create(request(kind="interactive"))
    with anyio.fail_after(BOUND_SECONDS):
        await model.asked.wait()
    await client.interrupt(task_id)
    seen = (await at_rest(client, task_id)).seq
    log = await events(client, task_id)
    assert replies_of(log) == ["half a word"]
    assert [ev.outcome for ev in log if isinstance(ev, e.TurnEnded)] == ["interrupted"]
    # It is over with that: the next message is answered as any other.
    model.go_on.set()
    await client.send(task_id, "again")
    await at_rest(client, task_id, after=seen)
    assert replies_of(await events(client, task_id)) == ["half a word", "never"]


async def an_interrupt_stops_a_running_call(make: ClientMaker) -> None:
    hold = HeldTool()
    client = await make.open(Play(model=in_turn(HOLD_THEN_DONE), tools=[hold.tool]))
    task_id = await client.create(request())
    with anyio.fail_after(BOUND_SECONDS):
        await hold.entered.wait()
    await client.interrupt(task_id)
    await at_rest(client, task_id)
    log = await events(client, task_id)
    assert [ev.reason for ev in log if isinstance(ev, e.ToolFinished)] == ["interrupted"]
    assert hold.effects == []


async def an_interrupt_without_an_open_turn_changes_nothing(make: ClientMaker) -> None:
    model = in_turn([say("one"), say("two")])
    client = await make.open(Play(model=model))
    task_id = await client.create(request("first"))
    seen = (await at_rest(client, task_id)).seq
    await client.interrupt(task_id)
    await client.send(task_id, "second")
    ended = await until(client, task_id, lambda ev: isinstance(ev, e.TurnEnded), after=seen)
    assert isinstance(ended.event, e.TurnEnded)
    assert ended.event.outcome == "done"
    log = await events(client, task_id)
    assert replies_of(log) == ["one", "two"]
    assert not any(isinstance(event, e.Noted) for event in log)
    # The model is not told of it either.
    texts = [m.content for m in model.requests[-1].messages if isinstance(m, UserMessage)]
    assert texts == [(Text("first"),), (Text("second"),)]


async def an_interrupt_of_an_ended_task_changes_nothing(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request(kind="one_shot"))
    await watched(client, task_id)
    before = await client.task(task_id)
    await client.interrupt(task_id)
    assert await client.task(task_id) == before


async def a_cancel_ends_the_task_and_a_second_is_harmless(make: ClientMaker) -> None:
    model = Held(say("never"))
    client = await make.open(Play(model=model))
    task_id = await client.create(request())
    with anyio.fail_after(BOUND_SECONDS):
        await model.asked.wait()
    await client.cancel(task_id, "not needed any more")
    await client.cancel(task_id)
    await watched(client, task_id)
    ended = (await events(client, task_id))[-1]
    assert isinstance(ended, e.TaskEnded)
    assert (ended.outcome, ended.detail) == ("cancelled", "not needed any more")
    before = await client.task(task_id)
    assert (before.status, before.outcome) == ("ended", "cancelled")
    await client.cancel(task_id)
    assert await client.task(task_id) == before
    await refused(TaskOver, client.send(task_id, "more"))


async def a_waiting_task_can_be_cancelled(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([say("hi")])))
    task_id = await client.create(request())
    await at_rest(client, task_id)
    await client.cancel(task_id)
    await watched(client, task_id)
    assert (await client.task(task_id)).outcome == "cancelled"


async def nothing_is_sent_to_what_is_not_there(make: ClientMaker) -> None:
    client = await make.open(Play(model=in_turn([])))
    for task_id in ("nosuch", "", "../x", "a b", "x" * 10_000):
        await refused(NoSuchTask, client.send(task_id, "hello"))
        await refused(NoSuchTask, client.answer(task_id, "c1", allow=True))
        await refused(NoSuchTask, client.interrupt(task_id))
        await refused(NoSuchTask, client.cancel(task_id))
        await refused(NoSuchTask, client.attach(task_id))
        await refused(NoSuchTask, client.task(task_id))
    assert list(await client.tasks()) == []


def _asking(hold: HeldTool) -> Play:
    replies: tuple[Reply, ...] = HOLD_THEN_DONE
    model: FunctionModel = in_turn(replies)
    return Play(model=model, tools=[hold.tool], gates=[asks_first])


async def _parked(client: Client, task_id: str) -> str:
    """The call that waits, once the task is at rest with it."""
    await at_rest(client, task_id)
    (call_id,) = [
        event.call_id for event in await events(client, task_id) if isinstance(event, e.CallParked)
    ]
    return call_id


def _is_reply(event: e.Event) -> bool:
    return isinstance(event, e.ModelReplied)


POST_CHECKS = (
    a_message_is_answered_in_the_next_turn,
    a_message_with_a_key_is_sent_once,
    a_message_to_an_ended_task_is_refused,
    a_message_that_cannot_be_read_is_refused,
    the_largest_message_fits,
    text_that_is_no_unicode_is_taken_with_marks_in_it,
    an_answered_call_runs,
    a_denied_call_does_not_run_and_the_model_reads_why,
    a_call_that_waits_for_no_answer_takes_none,
    of_two_answers_the_first_counts,
    of_answers_at_the_same_time_one_counts,
    an_interrupt_stops_the_turn_and_keeps_the_streamed_text,
    an_interrupt_stops_a_running_call,
    an_interrupt_without_an_open_turn_changes_nothing,
    an_interrupt_of_an_ended_task_changes_nothing,
    a_cancel_ends_the_task_and_a_second_is_harmless,
    a_waiting_task_can_be_cancelled,
    nothing_is_sent_to_what_is_not_there,
)
