"""What a step writes, in which appends, and in which order."""

from collections.abc import Callable

from noeta.backends.models.scripted import ScriptedModel
from noeta.core import events as e
from noeta.core import item as i
from noeta.core import texts
from noeta.core.message import Text, UserMessage, text_of
from noeta.core.model import ModelError, Reply
from noeta.core.progress import Retrying
from noeta.core.store import Append
from noeta.testing.function_model import FunctionModel, ask_for, in_turn, say
from tests.core.scene import TASK, Scene, scene

TURN_START = ["TaskCreated", "PluginsPinned", "PromptSet", "MessageReceived", "ModelCalled"]


async def writes_of(s: Scene) -> int:
    """Appends a worker makes on the scene's task: commits but for its claim."""
    before = s.store.counters.commits
    await s.run()
    return s.store.counters.commits - before - 1


async def test_a_step_costs_two_commits() -> None:
    """`[ToolFinished, ModelCalled]` and `[ModelReplied, ToolStarted]`, whatever the number of
    steps; the turn's first and last append are those of its first call and last reply."""
    for steps in (0, 1, 5):
        replies = [ask_for(("Do", {"x": n})) for n in range(steps)]
        async with scene(in_turn([*replies, say("done")])) as s:
            await s.create("go")
            assert await writes_of(s) == 2 + 2 * steps
            assert s.stage.effects == [f"{TASK}:c{n + 1}" for n in range(steps)]


async def test_each_call_that_waits_its_turn_costs_one_commit_more() -> None:
    replies = [ask_for(("Do", {"x": 1}), ("Do", {"x": 2}), ("Do", {"x": 3})), say("done")]
    async with scene(in_turn(replies)) as s:
        await s.create("go")
        assert await writes_of(s) == 2 + 2 + 2
        assert (await s.kinds())[5:12] == [
            "ModelReplied",
            "ToolStarted",
            "ToolFinished",
            "ToolStarted",
            "ToolFinished",
            "ToolStarted",
            "ToolFinished",
        ]


async def test_the_log_of_a_turn_reads_in_order() -> None:
    async with scene(in_turn([ask_for(("Do", {"x": 1}), text="so"), say("done")])) as s:
        await s.create("go")
        await s.run()
        assert await s.kinds() == [
            *TURN_START,
            "ModelReplied",
            "ToolStarted",
            "ToolFinished",
            "ModelCalled",
            "ModelReplied",
            "TurnEnded",
            "TaskEnded",
        ]
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.outcome) == ("ended", "done")


async def test_an_interactive_task_waits_after_its_turn() -> None:
    async with scene(in_turn([say("one"), say("two")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.owner) == ("waiting", None)
        await s.say("again")
        await s.run()
        assert (await s.kinds())[-5:] == [
            "MessageReceived",
            "ModelCalled",
            "ModelReplied",
            "TurnEnded",
            "Waiting",
        ]


async def test_a_claim_with_nothing_to_do_writes_no_second_wait() -> None:
    async with scene(in_turn([say("one")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        log = await s.events()
        # Somebody takes what was posted and hands the task back as ready.
        await s.post("notice", i.NoticeBody("never mind"))
        claim = await s.store.claim("other", ("default",), 30.0)
        assert claim is not None
        items = await s.store.inbox(TASK)
        takes = tuple(item.id for item in items)
        await s.store.append(claim, Append(expected_seq=claim.last_seq, takes=takes))
        await s.store.release(claim)
        await s.run()
        assert await s.events() == log
        row = await s.store.row(TASK)
        assert row is not None
        assert row.status == "waiting"


async def test_a_cut_reply_is_continued_and_the_third_in_a_row_fails_the_turn() -> None:
    cut = Reply(content=(Text("bit"),), stop="cut")
    async with scene(in_turn([cut, cut, cut])) as s:
        await s.create("go")
        await s.run()
        log = await s.events()
        assert [ev.reason for ev in log if isinstance(ev, e.Noted)] == ["cut", "cut"]
        assert log[-2] == e.TurnEnded(
            outcome="llm_truncated", detail=texts.CUT_TOO_OFTEN.format(count=3)
        )
        assert isinstance(log[-1], e.TaskEnded)
        assert (log[-1].outcome, log[-1].reason) == ("failed", "llm_truncated")


async def test_cut_replies_only_count_in_a_row() -> None:
    cut = Reply(content=(Text("bit"),), stop="cut")
    calls = ask_for(("Do", {}))
    async with scene(in_turn([cut, cut, calls, cut, cut, say("done")])) as s:
        await s.create("go")
        await s.run()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_an_empty_reply_is_asked_again_and_the_third_ends_the_turn_unanswered() -> None:
    model = FunctionModel(lambda request: Reply(content=(), stop="end"))
    async with scene(model) as s:
        await s.create("go")
        await s.run()
        log = await s.events()
        assert len(model.requests) == texts.MAX_EMPTY_REPLIES
        assert model.requests[-1].messages[-1] == UserMessage(
            (Text("go"), Text(texts.EMPTY_NOTE), Text(texts.EMPTY_NOTE))
        )
        assert isinstance(log[-1], e.TaskEnded)
        assert log[-1].reason == "no_answer"


async def test_transient_errors_are_tried_again_and_shown() -> None:
    failures = [ModelError("busy", kind="transient", retry_after=0.0)] * 2

    def answer(request: object) -> Reply:
        if failures:
            raise failures.pop()
        return say("done")

    async with scene(FunctionModel(answer)) as s:
        await s.create("go")
        await s.run()
        shown = [p for p in s.progress if isinstance(p, Retrying)]
        assert [(p.attempt, p.attempts_max, p.error) for p in shown] == [
            (2, 9, "busy"),
            (3, 9, "busy"),
        ]
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")
        assert sum(kind == "ModelCalled" for kind in await s.kinds()) == 1


async def test_the_ninth_failed_attempt_fails_the_turn() -> None:
    model = FunctionModel(_raise(ModelError("busy", kind="transient", retry_after=0.0)))
    async with scene(model) as s:
        await s.create("go", kind="interactive")
        await s.run()
        assert len(model.requests) == 9
        ended = [ev for ev in await s.events() if isinstance(ev, e.TurnEnded)]
        assert [(ev.outcome, "busy" in ev.detail) for ev in ended] == [("llm_error", True)]
        row = await s.store.row(TASK)
        assert row is not None
        assert row.status == "waiting"


async def test_other_errors_are_not_tried_again() -> None:
    model = FunctionModel(_raise(ModelError("wrong key", kind="auth")))
    async with scene(model) as s:
        await s.create("go")
        await s.run()
        assert len(model.requests) == 1
        assert (await s.events())[-1] == e.TaskEnded(
            outcome="failed", reason="llm_error", detail="wrong key"
        )


async def test_a_call_whose_input_is_no_object_never_enters_the_log() -> None:
    bad = ask_for(("Do", [1]))
    replies = [bad, say("done")]
    async with scene(FunctionModel(lambda request: replies.pop(0))) as s:
        await s.create("go")
        await s.run()
        assert "ToolStarted" not in await s.kinds()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_a_tool_that_raises_is_an_error_result() -> None:
    async with scene(in_turn([ask_for(("Boom", {})), say("done")])) as s:
        await s.create("go")
        await s.run()
        (finished,) = [ev for ev in await s.events() if isinstance(ev, e.ToolFinished)]
        assert (finished.is_error, finished.reason) == (True, "failed")
        assert "no such luck" in text_of(finished.content)


async def test_an_unknown_tool_or_a_wrong_input_is_answered_without_a_start() -> None:
    replies = [ask_for(("Nope", {}), ("Do", {"x": "one"})), say("done")]
    async with scene(in_turn(replies)) as s:
        await s.create("go")
        await s.run()
        finished = [ev for ev in await s.events() if isinstance(ev, e.ToolFinished)]
        assert [ev.reason for ev in finished] == ["invalid", "invalid"]
        assert "Boom, Do, Hold, Look" in text_of(finished[0].content)
        assert "$.x" in text_of(finished[1].content)
        assert "ToolStarted" not in await s.kinds()
        assert s.stage.effects == []


async def test_a_refusal_ends_the_turn() -> None:
    refusal = Reply(content=(Text("no"),), stop="refusal")
    async with scene(in_turn([refusal])) as s:
        await s.create("go")
        await s.run()
        assert (await s.events())[-2] == e.TurnEnded(outcome="refused")


async def test_call_ids_are_ours_and_unique_over_the_task() -> None:
    replies = [ask_for(("Do", {}), ("Do", {})), ask_for(("Do", {})), say("done")]
    async with scene(in_turn(replies)) as s:
        await s.create("go")
        await s.run()
        assert s.stage.effects == [f"{TASK}:c1", f"{TASK}:c2", f"{TASK}:c3"]


async def test_the_prompt_is_logged_when_it_changes_and_only_then() -> None:
    async with scene(in_turn([say("one"), say("two"), say("three")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.say("again")
        await s.run()
        assert sum(kind == "PromptSet" for kind in await s.kinds()) == 1
        s.stage.__class__ = type("Fewer", (type(s.stage),), {"tools": lambda self: []})
        await s.say("again")
        await s.run()
        assert sum(kind == "PromptSet" for kind in await s.kinds()) == 2


def _raise(error: ModelError) -> Callable[[object], Reply]:
    def answer(request: object) -> Reply:
        raise error

    return answer


async def test_a_paused_reply_is_continued_in_the_message_it_began() -> None:
    steps = [{"text": "first half,", "stop": "pause"}, {"text": "second half"}, {"text": "third"}]
    async with scene(ScriptedModel.from_steps(steps)) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.say("more")
        await s.run()
        said = [ev.content for ev in await s.events() if isinstance(ev, e.ModelReplied)]
        assert said == [(Text("first half,"),), (Text("second half"),), (Text("third"),)]


async def test_a_message_may_choose_the_model_from_its_turn_on() -> None:
    async with scene(in_turn([say("one"), say("two"), say("three")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.post("message", i.MessageBody("again", model="m2"))
        await s.run()
        await s.say("and again")
        await s.run()
        called = [ev.model for ev in await s.events() if isinstance(ev, e.ModelCalled)]
        assert called == ["m", "m2", "m2"]


async def test_a_task_stops_at_its_cost_cap_before_the_next_call() -> None:
    async with scene(in_turn([ask_for(("Do", {})), say("done")])) as s:
        s.cost = 0.5
        await s.create("go", kind="interactive", max_cost_usd=0.5)
        await s.run()
        log = await s.events()
        assert s.stage.effects == [f"{TASK}:c1"]
        ended = next(ev for ev in log if isinstance(ev, e.TurnEnded))
        assert (ended.outcome, "$0.5000" in ended.detail) == ("cost_limit", True)
        assert [ev.cost_usd for ev in log if isinstance(ev, e.ModelReplied)] == [0.5]


async def test_a_one_shot_task_that_waits_on_failure_goes_on_with_the_next_message() -> None:
    replies: list[Reply | ModelError] = [ModelError("wrong key", kind="auth"), say("done")]

    def answer(request: object) -> Reply:
        reply = replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        return reply

    async with scene(FunctionModel(answer)) as s:
        await s.create("go", on_failure="wait")
        await s.run()
        assert (await s.events())[-1] == e.Waiting(why="message")
        await s.say("go on")
        await s.run()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_a_reply_without_its_usage_has_an_unknown_cost_and_ends_what_has_a_cap() -> None:
    untold = Reply(content=ask_for(("Do", {})).content, stop="calls", usage=None)
    for cap, outcome in ((None, "done"), (1.0, "cost_limit")):
        async with scene(in_turn([untold, say("done")])) as s:
            s.cost = 0.25
            await s.create("go", kind="interactive", max_cost_usd=cap)
            await s.run()
            log = await s.events()
            assert next(ev for ev in log if isinstance(ev, e.ModelReplied)).cost_usd is None
            assert next(ev for ev in log if isinstance(ev, e.TurnEnded)).outcome == outcome
