"""What is posted while a task runs or waits: messages, interrupts, cancels, answers, shutdown."""

from collections.abc import Callable

import anyio
import msgspec

from noeta.core import codec, texts
from noeta.core import events as e
from noeta.core import item as i
from noeta.core.context import Request
from noeta.core.message import Text, ToolCall, ToolResult, UserMessage, text_of
from noeta.core.model import Delta, Reply, TextDelta
from noeta.core.plugin import Allow, Ask, Deny, GateCall, Verdict
from noeta.core.runner.runtime import Runtime
from noeta.core.view import TaskView
from noeta.testing.function_model import FunctionModel, ask_for, in_turn, say
from tests.core.scene import TASK, Scene, scene

NOTHING = ask_for(("Do", {"x": 1}))


class SlowModel:
    """Streams some text, then waits to be let go."""

    def __init__(self, reply: Reply, said: str = "") -> None:
        self.asked = anyio.Event()
        self.go_on = anyio.Event()
        self._reply = reply
        self._said = said

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        if self._said:
            on_delta(TextDelta(self._said))
        self.asked.set()
        await self.go_on.wait()
        return self._reply


async def run_and(s: Scene, meanwhile: Callable[[Runtime], object]) -> None:
    """Run a worker until it has nothing to do, with something going on beside it."""
    worker = s.worker()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run_once)
            await meanwhile(worker)  # type: ignore[misc]  # every caller gives a coroutine function


def results(log: list[e.Event]) -> list[e.ToolFinished]:
    return [event for event in log if isinstance(event, e.ToolFinished)]


# Messages -----------------------------------------------------------------------------------


async def test_a_message_sent_during_a_model_call_is_read_by_the_next_one() -> None:
    slow = SlowModel(say("first"))
    async with scene(slow) as s:
        await s.create("go")

        async def send(worker: Runtime) -> None:
            await slow.asked.wait()
            await s.say("and this")
            s.model = in_turn([say("first"), say("second")])
            slow.go_on.set()

        await run_and(s, send)
        kinds = await s.kinds()
        assert kinds.count("MessageReceived") == 2
        assert kinds.count("TurnEnded") == 1
        assert kinds.index("ModelReplied") < kinds.index("MessageReceived", 5)
        assert kinds[-3:] == ["ModelReplied", "TurnEnded", "TaskEnded"]
        replied = [ev for ev in await s.events() if isinstance(ev, e.ModelReplied)]
        assert replied[-1].content == (Text("second"),)


async def test_a_message_sent_while_a_call_runs_goes_with_its_result() -> None:
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")

        async def send(worker: Runtime) -> None:
            await s.stage.entered.wait()
            await s.say("hurry")
            s.stage.go_on.set()

        await run_and(s, send)
        model = s.model
        assert isinstance(model, FunctionModel)
        assert model.requests[-1].messages[-1] == UserMessage(
            (ToolResult(call_id="c1", content=(Text("did 0"),)), Text("hurry"))
        )
        kinds = await s.kinds()
        assert kinds.index("ToolFinished") < kinds.index("MessageReceived", 5)


async def test_a_message_posted_just_before_the_hand_back_is_taken_not_lost() -> None:
    """The wait is refused in the same transaction that would have handed the task back."""
    async with scene(in_turn([say("one"), say("two")])) as s:
        await s.create("go", kind="interactive")
        original = s.store.append
        posted = False

        async def post_first(claim: object, append: object) -> object:
            nonlocal posted
            if not posted and (b'"TurnEnded"' in b"".join(append.events)):  # type: ignore[attr-defined]  # an Append
                posted = True
                await s.say("one more")
            return await original(claim, append)  # type: ignore[arg-type]  # passed through

        s.store.append = post_first  # type: ignore[assignment,method-assign]  # a race, on purpose
        await s.run()
        kinds = await s.kinds()
        assert kinds.count("MessageReceived") == 2
        assert kinds[-1] == "Waiting"
        assert kinds.count("Waiting") == 1
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.inbox_count) == ("waiting", 0)


async def test_a_message_to_a_one_shot_task_that_is_about_to_end_is_answered() -> None:
    slow = SlowModel(say("first"))
    async with scene(slow) as s:
        await s.create("go")

        async def send(worker: Runtime) -> None:
            await slow.asked.wait()
            slow.go_on.set()
            await s.say("wait!")

        s.model = slow
        await run_and(s, send)
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.inbox_count) == ("ended", 0)


# Interrupts and cancels ---------------------------------------------------------------------


async def test_an_interrupt_in_a_model_call_keeps_the_text_that_came() -> None:
    slow = SlowModel(say("never"), said="half a thou")
    async with scene(slow) as s:
        await s.create("go", kind="interactive")

        async def interrupt(worker: Runtime) -> None:
            await slow.asked.wait()
            await s.post("interrupt", i.InterruptBody())

        await run_and(s, interrupt)
        assert (await s.events())[-5:] == [
            e.InterruptReceived(item=2),
            e.ModelReplied(content=(Text("half a thou"),), stop="interrupted"),
            e.Noted(reason="interrupted", text=texts.TURN_INTERRUPTED),
            e.TurnEnded(outcome="interrupted"),
            e.Waiting(why="message"),
        ]


async def test_an_interrupt_stops_running_calls_and_closes_every_open_one() -> None:
    replies = [ask_for(("Hold", {}), ("Do", {})), say("on with it")]
    async with scene(in_turn(replies)) as s:
        await s.create("go", kind="interactive")

        async def interrupt(worker: Runtime) -> None:
            await s.stage.entered.wait()
            await s.post("interrupt", i.InterruptBody())

        await run_and(s, interrupt)
        assert [(r.call_id, r.reason, text_of(r.content)) for r in results(await s.events())] == [
            ("c1", "interrupted", texts.CALL_INTERRUPTED),
            ("c2", "interrupted", texts.CALL_NOT_STARTED),
        ]
        assert s.stage.effects == []
        await s.say("go on")
        await s.run()
        assert (await s.kinds())[-1] == "Waiting"


async def test_a_message_after_an_interrupt_opens_the_next_turn() -> None:
    slow = SlowModel(say("never"), said="half")
    async with scene(slow) as s:
        await s.create("go", kind="interactive")

        async def interrupt(worker: Runtime) -> None:
            await slow.asked.wait()
            await s.say("something else")
            await s.post("interrupt", i.InterruptBody())
            s.model = FunctionModel(lambda request: say("sure"))

        await run_and(s, interrupt)
        kinds = await s.kinds()
        assert kinds.index("TurnEnded") < kinds.index("MessageReceived", 5)
        assert kinds.count("TurnEnded") == 2


async def test_an_interrupt_between_turns_changes_nothing() -> None:
    async with scene(in_turn([say("one"), say("two")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.post("interrupt", i.InterruptBody())
        await s.run()
        await s.say("again")
        await s.run()
        assert [ev.outcome for ev in await s.events() if isinstance(ev, e.TurnEnded)] == [
            "done",
            "done",
        ]


async def test_a_cancel_stops_the_turn_and_ends_the_task() -> None:
    async with scene(in_turn([ask_for(("Hold", {}))])) as s:
        await s.create("go", kind="interactive")

        async def cancel(worker: Runtime) -> None:
            await s.stage.entered.wait()
            await s.post("cancel", i.CancelBody("enough"))

        await run_and(s, cancel)
        log = await s.events()
        assert log[-1] == e.TaskEnded(outcome="cancelled", reason="cancelled", detail="enough")
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.outcome, row.cancelled) == ("ended", "cancelled", True)


# Approvals ----------------------------------------------------------------------------------


def asks(call: GateCall, view: TaskView) -> Verdict:
    return Ask("it does something") if call.name == "Do" else Allow()


async def parked_call(s: Scene) -> e.CallParked:
    (parked,) = [ev for ev in await s.events() if isinstance(ev, e.CallParked)]
    return parked


async def answer(s: Scene, *, allow: bool, digest: str | None = None, reason: str = "") -> None:
    parked = await parked_call(s)
    body = i.AnswerBody(
        call_id=parked.call_id,
        input_digest=digest or parked.input_digest,
        allow=allow,
        reason=reason,
    )
    await s.post("answer", body)


async def test_a_call_that_needs_leave_parks_and_runs_after_a_yes() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go")
        await s.run()
        assert (await s.events())[-1] == e.Waiting(why="answer")
        assert s.stage.effects == []
        await answer(s, allow=True)
        await s.run()
        assert s.stage.effects == [f"{TASK}:c1"]
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_a_no_and_its_reason_are_what_the_model_reads() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go")
        await s.run()
        await answer(s, allow=False, reason="use the other one")
        await s.run()
        (result,) = results(await s.events())
        assert (result.reason, "use the other one" in text_of(result.content)) == ("denied", True)
        assert s.stage.effects == []


async def test_an_answer_to_another_input_is_not_applied() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go")
        await s.run()
        await answer(s, allow=True, digest=codec.digest(b"something else"))
        await s.run()
        answers = [ev for ev in await s.events() if isinstance(ev, e.AnswerReceived)]
        assert [ev.applied for ev in answers] == [False]
        assert s.stage.effects == []
        assert (await s.events())[-1] == e.Waiting(why="answer")


async def test_an_answer_counts_once() -> None:
    replies = [NOTHING, ask_for(("Do", {"x": 1})), say("done")]
    async with scene(in_turn(replies), gates=(asks,)) as s:
        await s.create("go")
        await s.run()
        await answer(s, allow=True)
        await answer(s, allow=True)
        await s.run()
        assert s.stage.effects == [f"{TASK}:c1"]
        answers = [ev for ev in await s.events() if isinstance(ev, e.AnswerReceived)]
        assert [ev.applied for ev in answers] == [True, False]


async def test_where_nobody_can_be_asked_a_question_is_a_no() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go", on_ask="deny")
        await s.run()
        (result,) = results(await s.events())
        assert (result.reason, "nobody can be asked" in text_of(result.content)) == (
            "denied",
            True,
        )
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_a_deny_wins_over_an_ask_and_after_a_yes() -> None:
    verdicts: list[Verdict] = [Ask("first"), Deny("not now")]
    async with scene(
        in_turn([NOTHING, say("done")]), gates=(lambda call, view: verdicts.pop(0),)
    ) as s:
        await s.create("go")
        await s.run()
        await answer(s, allow=True)
        await s.run()
        (result,) = results(await s.events())
        assert (result.reason, "not now" in text_of(result.content)) == ("denied", True)


async def test_a_gate_that_raises_denies() -> None:
    def broken(call: GateCall, view: TaskView) -> Verdict:
        raise LookupError("gone")

    async with scene(in_turn([NOTHING, say("done")]), gates=(broken,)) as s:
        await s.create("go")
        await s.run()
        (result,) = results(await s.events())
        assert (result.reason, "gone" in text_of(result.content)) == ("denied", True)


async def test_a_rewritten_input_is_what_is_recorded_asked_and_run() -> None:
    def rewrite(call: GateCall, view: TaskView) -> Verdict:
        return Allow(input=msgspec.Raw(b'{"x": 9}'))

    async with scene(in_turn([NOTHING, say("done")]), gates=(rewrite, asks)) as s:
        await s.create("go")
        await s.run()
        assert bytes((await parked_call(s)).input) == b'{"x": 9}'
        await answer(s, allow=True)
        await s.run()
        (started,) = [ev for ev in await s.events() if isinstance(ev, e.ToolStarted)]
        assert bytes(started.input) == b'{"x": 9}'
        (result,) = results(await s.events())
        assert result.content == (Text("did 9"),)
        replied = next(ev for ev in await s.events() if isinstance(ev, e.ModelReplied))
        call = replied.content[0]
        assert isinstance(call, ToolCall)
        assert bytes(call.input) == b'{"x":1}'


async def test_a_message_to_a_task_that_waits_for_an_answer_leaves_the_call_parked() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go")
        await s.run()
        await s.say("are you there?")
        await s.run()
        assert (await s.kinds())[-2:] == ["MessageReceived", "Waiting"]
        await answer(s, allow=True)
        await s.run()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_an_interrupt_closes_a_parked_call() -> None:
    async with scene(in_turn([NOTHING, say("done")]), gates=(asks,)) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.post("interrupt", i.InterruptBody())
        await s.run()
        (result,) = results(await s.events())
        assert result.reason == "interrupted"
        assert (await s.events())[-1] == e.Waiting(why="message")


# Shutting down ------------------------------------------------------------------------------


async def stopped_in_hold(s: Scene) -> None:
    worker = s.worker()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(worker.run)
            await s.stage.entered.wait()
            worker.stop()


async def test_shutting_down_hands_a_running_task_back_as_ready_at_once() -> None:
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")
        await stopped_in_hold(s)
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.owner) == ("ready", None)
        await s.run()
        assert [r.reason for r in results(await s.events())] == ["unknown"]


async def test_shutting_down_writes_the_results_that_are_known() -> None:
    async with scene(in_turn([ask_for(("Hold", {}), ("Look", {})), say("done")])) as s:
        await s.create("go")
        await stopped_in_hold(s)
        assert [(r.call_id, r.reason) for r in results(await s.events())] == [("c2", "done")]


async def test_shutting_down_in_a_model_call_records_no_reply() -> None:
    slow = SlowModel(say("never"), said="half")
    async with scene(slow) as s:
        await s.create("go")
        worker = s.worker()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                await slow.asked.wait()
                worker.stop()
        assert (await s.kinds())[-1] == "ModelCalled"
        row = await s.store.row(TASK)
        assert row is not None
        assert row.status == "ready"


async def test_a_worker_at_its_limit_claims_no_more() -> None:
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")
        await s.create("go", task_id="t2")
        worker = s.worker(concurrency=1)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                await s.stage.entered.wait()
                await anyio.sleep(0.01)
                statuses = {row.id: row.status for row in await s.store.rows()}
                assert statuses == {TASK: "running", "t2": "ready"}
                worker.stop()
