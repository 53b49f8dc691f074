"""The scripted model does what docs/scripted-models.md says."""

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from noeta.backends.models.scripted import (
    CONVERSATIONS_MAX,
    ERRORS_MAX,
    ScriptedModel,
    ScriptError,
)
from noeta.core import texts
from noeta.core.context import Renderer, Request
from noeta.core.message import (
    AssistantMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserBlock,
    UserMessage,
)
from noeta.core.model import Delta, ModelError, Reply, TextDelta, ThinkingDelta
from noeta.core.state import TaskState

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/scripted-models.md").read_text(encoding="utf-8")
EXAMPLES = ("hello", "note", "bad-day")

Steps = list[dict[str, Any]]


class Talk:
    """A conversation with a model, as the runner would have it."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self.messages: list[Message] = []
        self.heard: list[Delta] = []
        self._renderer = Renderer()
        self._open: list[ToolCall] = []

    def user(self, text: str) -> None:
        self._tell(Text(text))

    def result(self, text: str, *, is_error: bool = False) -> None:
        call_id = self._open.pop(0).call_id if self._open else "unasked"
        self._tell(ToolResult(call_id=call_id, content=(Text(text),), is_error=is_error))

    async def reply(self) -> Reply:
        """The model's reply, now part of the conversation."""
        state = TaskState(model="scripted:test", messages=list(self.messages), reply="pause")
        reply = await self.model.call(self._renderer.render(state), self.heard.append)
        if reply.content:
            self.messages.append(AssistantMessage(reply.content))
        self._open = [block for block in reply.content if isinstance(block, ToolCall)]
        return reply

    async def ask(self, text: str) -> str:
        """The text of the reply to a message."""
        self.user(text)
        return said(await self.reply())

    def _tell(self, block: UserBlock) -> None:
        last = self.messages[-1] if self.messages else None
        if isinstance(last, UserMessage):
            self.messages[-1] = UserMessage((*last.content, block))
        else:
            self.messages.append(UserMessage((block,)))


def said(reply: Reply) -> str:
    return "".join(block.text for block in reply.content if isinstance(block, Text))


def inputs(reply: Reply) -> list[object]:
    return [
        msgspec.json.decode(block.input) for block in reply.content if isinstance(block, ToolCall)
    ]


def talk(steps: Steps) -> Talk:
    return Talk(ScriptedModel.from_steps(steps))


def request(
    messages: Sequence[Message], system: tuple[str, ...] = (), tools: tuple[ToolSpec, ...] = ()
) -> Request:
    return Request(model="m", system=system, tools=tools, messages=messages, digest="d")


def deaf(delta: Delta) -> None:
    """Hears nothing."""


def call(tool: str = "Bash", **values: object) -> dict[str, object]:
    return {"tool": tool, "input": values}


# Replies -----------------------------------------------------------------------------------


async def test_steps_are_played_from_the_top_one_a_reply() -> None:
    """docs: a list, played from the top."""
    t = talk([{"text": "one"}, {"text": "two"}])
    assert [await t.ask("a"), await t.ask("b")] == ["one", "two"]


async def test_text_is_streamed_word_by_word_and_loses_nothing() -> None:
    """docs: streamed word by word."""
    t = talk([{"text": "  I will\n\nlook. "}])
    reply = await t.ask("go")
    assert t.heard == [TextDelta("  I "), TextDelta("will\n\n"), TextDelta("look. ")]
    assert reply == "  I will\n\nlook. "


async def test_thinking_comes_before_the_text_and_is_the_requests_models() -> None:
    """docs: reasoning, streamed before the text."""
    t = talk([{"text": "yes", "thinking": "hm hm"}])
    t.user("go")
    reply = await t.reply()
    thought = reply.content[0]
    assert isinstance(thought, Thinking)
    assert (thought.model, thought.text) == ("scripted:test", "hm hm")
    assert t.heard == [ThinkingDelta("hm "), ThinkingDelta("hm"), TextDelta("yes")]


async def test_calls_are_parallel_and_each_has_an_id_of_its_own() -> None:
    """docs: a list of calls, asked for in parallel; input may be left out."""
    t = talk([{"calls": [call(command="ls"), {"tool": "Todo"}]}, {"calls": [call()]}])
    t.user("go")
    first = await t.reply()
    t.result("a")
    t.result("b")
    second = await t.reply()
    calls = [b for b in (*first.content, *second.content) if isinstance(b, ToolCall)]
    assert [c.name for c in calls] == ["Bash", "Todo", "Bash"]
    assert inputs(first) == [{"command": "ls"}, {}]
    assert first.stop == "calls"
    assert len({c.provider_id for c in calls}) == 3


@pytest.mark.parametrize("stop", ["cut", "refusal", "pause"])
async def test_a_step_can_stop_for_another_reason(stop: str) -> None:
    """docs: stop is cut, refusal or pause."""
    t = talk([{"text": "so far", "stop": stop}, {"text": "on"}])
    t.user("go")
    assert (await t.reply()).stop == stop
    # After a paused reply the request ends with the assistant's message.
    assert said(await t.reply()) == "on"


async def test_a_reply_without_calls_is_at_its_end() -> None:
    """docs: without stop the reply ends."""
    t = talk([{"text": "x"}])
    t.user("go")
    assert (await t.reply()).stop == "end"


async def test_goto_leads_to_its_label() -> None:
    """docs: the label to go on with."""
    t = talk([{"text": "a", "goto": "c"}, {"text": "b"}, {"label": "c", "text": "c"}])
    assert [await t.ask("1"), await t.ask("2")] == ["a", "c"]


async def test_a_script_that_is_over_says_so() -> None:
    """docs: one more request is a fatal error."""
    t = talk([{"text": "a"}])
    await t.ask("1")
    t.user("2")
    with pytest.raises(
        ModelError, match="script has no step left after 1 reply; add one"
    ) as raised:
        await t.reply()
    assert raised.value.kind == "fatal"


async def test_a_pause_comes_after_the_text_and_can_be_cancelled() -> None:
    """docs: seconds before the reply is complete; can be interrupted."""
    model = ScriptedModel.from_steps([{"text": "thinking about it", "pause": 3600}])
    heard: list[Delta] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            streamed = anyio.Event()

            def hear(delta: Delta) -> None:
                heard.append(delta)
                if delta == TextDelta("it"):
                    streamed.set()

            ask = request([UserMessage((Text("go"),))])
            group.start_soon(model.call, ask, hear)
            await streamed.wait()
            group.cancel_scope.cancel()
    assert len(heard) == 3


async def test_a_chunk_delay_lets_others_run_between_two_words() -> None:
    """docs: seconds after each word."""
    model = ScriptedModel.from_steps([{"text": "a b", "chunk_delay": 3600}])
    heard: list[Delta] = []
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            first = anyio.Event()

            def hear(delta: Delta) -> None:
                heard.append(delta)
                first.set()

            group.start_soon(model.call, request([UserMessage((Text("go"),))]), hear)
            await first.wait()
            group.cancel_scope.cancel()
    assert heard == [TextDelta("a ")]


async def test_a_call_without_pause_can_be_cancelled_too() -> None:
    """The model port: cancelling it drops the connection."""
    model = ScriptedModel.from_steps([{"text": "a"}])
    with anyio.CancelScope() as scope:
        scope.cancel()
        await model.call(request([UserMessage((Text("go"),))]), deaf)
    assert scope.cancelled_caught


# Placeholders ------------------------------------------------------------------------------


async def test_placeholders_are_filled_in_texts_and_inputs() -> None:
    """docs: in text and every text value of a call's input."""
    steps: Steps = [
        {"text": "{message}?", "calls": [call(a=["{message}", 1], b={"{message}": "x{result}"})]},
        {"text": "{message}: {result}"},
    ]
    t = talk(steps)
    t.user("hi")
    first = await t.reply()
    t.result("done")
    assert said(first) == "hi?"
    assert inputs(first) == [{"a": ["hi", 1], "b": {"{message}": "x(nothing)"}}]
    assert said(await t.reply()) == "hi: done"


async def test_a_placeholder_without_a_value_says_so() -> None:
    """docs: without a value a placeholder becomes (nothing)."""
    t = talk([{"text": "{message} {result}"}])
    t.result("")
    assert said(await t.reply()) == "(nothing) (nothing)"


async def test_doubled_braces_and_all_others_are_left_alone() -> None:
    """docs: {{result}} becomes {result}; code and JSON can be written plainly."""
    t = talk([{"text": '{{message}} {"a": {}} {reslt} {{x}} {message}'}])
    assert await t.ask("hi") == '{message} {"a": {}} {reslt} {{x}} hi'


async def test_what_was_filled_in_is_not_filled_again() -> None:
    """docs: what is filled in is not searched for placeholders."""
    t = talk([{"text": "{message}"}])
    assert await t.ask("{result} {{message}}") == "{result} {{message}}"


async def test_result_is_the_last_of_the_newest_results() -> None:
    """docs: of parallel calls, the last; of an older message when there is none since."""
    t = talk([{"calls": [call(), call()]}, {"text": "{result}"}, {"text": "{result} {message}"}])
    t.user("go")
    await t.reply()
    t.result("one")
    t.result("two")
    assert said(await t.reply()) == "two"
    assert await t.ask("more") == "two more"


# Branches ----------------------------------------------------------------------------------


def routed(when: dict[str, object]) -> Talk:
    """A conversation whose second reply is `yes` when the condition holds, `no` otherwise."""
    return talk(
        [
            {"text": "first", "calls": [call("Bash"), call("Read")]},
            {"branch": [{"when": when, "goto": "yes"}, {"otherwise": True, "goto": "no"}]},
            {"label": "no", "text": "no"},
            {"label": "yes", "text": "yes"},
        ]
    )


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ({"result": "such file"}, "yes"),
        ({"result": "Such file"}, "no"),
        ({"result_matches": r"^ls: \w+"}, "yes"),
        ({"result_matches": r"^such"}, "no"),
        ({"result_is_error": True}, "yes"),
        ({"result_is_error": False}, "yes"),
        ({"tool": "Bash"}, "yes"),
        ({"tool": "Write"}, "no"),
        ({"tool": "Bash", "result_is_error": True}, "yes"),
        ({"tool": "Read", "result_is_error": True}, "no"),
        ({"tool": "Read", "result": "such file"}, "no"),
        ({"message": "by the way"}, "yes"),
        ({"message": "go"}, "no"),
        ({"message_matches": "w.y$"}, "yes"),
        ({"message_matches": "^way"}, "no"),
        ({"message": "by the way", "result": "contents"}, "yes"),
        ({"message": "by the way", "result": "nonsense"}, "no"),
        ({"message": "nonsense", "result": "contents"}, "no"),
    ],
)
async def test_a_condition_looks_at_the_newest_message(
    when: dict[str, object], expected: str
) -> None:
    """docs: all it names must hold, all about results of one and the same result."""
    t = routed(when)
    t.user("go")
    await t.reply()
    t.result("ls: no such file", is_error=True)
    t.result("contents")
    t.user("by the way")
    assert said(await t.reply()) == expected


async def test_a_condition_does_not_look_at_older_results() -> None:
    """docs: when looks at the newest user message."""
    t = talk(
        [
            {"calls": [call()]},
            {"text": "seen"},
            {"branch": [{"when": {"result": "boom"}, "goto": "old"}]},
            {"text": "new"},
            {"label": "old", "text": "old"},
        ]
    )
    t.user("go")
    await t.reply()
    t.result("boom")
    await t.reply()
    assert await t.ask("next") == "new"


async def test_the_first_arm_that_holds_wins() -> None:
    """docs: the first whose when holds."""
    t = talk(
        [
            {
                "branch": [
                    {"when": {"message": "b"}, "goto": "b"},
                    {"when": {"message": "a"}, "goto": "a"},
                ]
            },
            {"label": "a", "text": "a"},
            {"label": "b", "text": "b"},
        ]
    )
    assert await t.ask("ab") == "b"


async def test_a_branch_where_nothing_holds_goes_to_the_next_step() -> None:
    """docs: when none holds, the next step follows."""
    t = talk([{"branch": [{"when": {"message": "x"}, "goto": "x"}]}, {"text": "next"},
              {"label": "x", "text": "x"}])  # fmt: skip
    assert await t.ask("y") == "next"


async def test_branches_may_lead_to_branches() -> None:
    """docs: a branch may lead to a branch."""
    t = talk(
        [
            {"branch": [{"otherwise": True, "goto": "b"}]},
            {"text": "never"},
            {"label": "b", "branch": [{"when": {"message": "hi"}, "goto": "c"}]},
            {"text": "never"},
            {"label": "c", "text": "c"},
        ]
    )
    assert await t.ask("hi") == "c"


async def test_branches_that_go_in_circles_are_an_error_with_their_place() -> None:
    """docs: a circle of branches with no reply in it is an error when it is played."""
    t = talk([{"label": "a", "branch": [{"otherwise": True, "goto": "a"}]}])
    t.user("go")
    with pytest.raises(ModelError, match=r"step 1 \(label 'a'\): its branches lead back") as raised:
        await t.reply()
    assert raised.value.kind == "fatal"


@pytest.mark.parametrize("note", [texts.CUT_NOTE, texts.EMPTY_NOTE, texts.TURN_INTERRUPTED])
async def test_noetas_own_notes_are_no_message(note: str) -> None:
    """docs: without the notes noeta adds."""
    t = talk([{"text": "first"}, {"text": "{message}"}])
    await t.ask("go")
    t.user(note)
    assert await t.ask("hello") == "hello"


# Errors and empty replies ------------------------------------------------------------------


async def test_an_error_comes_as_often_as_it_says_and_then_the_next_step_answers() -> None:
    """docs: times, how often before the next step answers."""
    error = {"kind": "transient", "message": "over {message}", "times": 2, "retry_after": 0}
    t = talk([{"error": error}, {"text": "ok"}])
    t.user("go")
    for _ in range(2):
        with pytest.raises(ModelError, match="over go") as raised:
            await t.reply()
        assert (raised.value.kind, raised.value.retry_after) == ("transient", 0.0)
    assert said(await t.reply()) == "ok"


async def test_an_error_may_come_in_the_middle_of_its_text() -> None:
    """docs: the provider fails, after streaming text."""
    t = talk([{"text": "half a", "error": {"kind": "fatal"}}, {"text": "ok"}])
    t.user("go")
    with pytest.raises(ModelError):
        await t.reply()
    assert t.heard == [TextDelta("half "), TextDelta("a")]
    assert said(await t.reply()) == "ok"


async def test_after_a_turn_that_failed_the_next_message_gets_the_next_step() -> None:
    """docs: errors are counted for each place; the message grows, the place stays."""
    t = talk([{"error": {"kind": "fatal"}}, {"text": "ok"}])
    t.user("go")
    with pytest.raises(ModelError):
        await t.reply()
    assert await t.ask("again") == "ok"


async def test_errors_are_counted_for_each_conversation() -> None:
    """docs: for each conversation, known by its first text, and each place in it."""
    model = ScriptedModel.from_steps(
        [{"label": "top", "error": {"kind": "quota"}}, {"text": "ok", "goto": "top"}]
    )
    for opening in ("one", "two"):
        t = Talk(model)
        t.user(opening)
        for _ in range(2):
            with pytest.raises(ModelError):
                await t.reply()
            assert said(await t.reply()) == "ok"
            t.user("more")


async def test_a_fresh_process_plays_an_error_again() -> None:
    """docs: counted in the process."""
    steps: Steps = [{"error": {}}, {"text": "ok"}]
    for _ in range(2):
        t = talk(steps)
        t.user("go")
        with pytest.raises(ModelError):
            await t.reply()


async def test_a_cancelled_error_was_not_played() -> None:
    """An error counts when it came up."""
    t = talk([{"error": {}}, {"text": "ok"}])
    t.user("go")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await t.reply()
    with pytest.raises(ModelError):
        await t.reply()


async def test_empty_replies_are_counted_by_the_notes_they_leave() -> None:
    """docs: counted by the note that noeta adds; any process can tell."""
    steps: Steps = [{"empty": 2}, {"text": "ok"}]
    t = talk(steps)
    t.user("go")
    for _ in range(2):
        t.model = ScriptedModel.from_steps(steps)
        assert (await t.reply()).content == ()
        t.user(texts.EMPTY_NOTE)
    assert said(await t.reply()) == "ok"


async def test_the_empty_reply_that_ends_a_turn_counts_though_it_has_no_note() -> None:
    """docs: three in a row end the turn (texts.MAX_EMPTY_REPLIES), the next message goes on."""
    t = talk([{"empty": texts.MAX_EMPTY_REPLIES}, {"text": "ok"}])
    t.user("go")
    for number in range(1, texts.MAX_EMPTY_REPLIES + 1):
        assert (await t.reply()).content == ()
        if number < texts.MAX_EMPTY_REPLIES:
            t.user(texts.EMPTY_NOTE)
    assert await t.ask("hello?") == "ok"


async def test_empty_steps_one_after_the_other_are_each_played() -> None:
    """docs: the first's notes do not count for the second."""
    t = talk([{"empty": True}, {"empty": True}, {"text": "ok"}])
    t.user("go")
    for _ in range(2):
        assert (await t.reply()).content == ()
        t.user(texts.EMPTY_NOTE)
    assert said(await t.reply()) == "ok"


async def test_an_empty_reply_counts_for_its_own_place_only() -> None:
    """docs: a paused reply has no user message behind it, so no note either."""
    t = talk([{"empty": True}, {"text": "a", "stop": "pause"}, {"empty": True}, {"text": "b"}])
    t.user("go")
    assert (await t.reply()).content == ()
    t.user(texts.EMPTY_NOTE)
    assert said(await t.reply()) == "a"
    assert (await t.reply()).content == ()


async def test_the_oldest_count_of_errors_is_forgotten_first() -> None:
    """A process that runs for years counts no more than ERRORS_MAX places."""
    model = ScriptedModel.from_steps([{"error": {"kind": "fatal"}}, {"text": "ok"}])
    for number in range(ERRORS_MAX + 1):
        with pytest.raises(ModelError):
            await model.call(request([UserMessage((Text(f"task {number}"),))]), deaf)
    assert said(await model.call(request([UserMessage((Text("task 1"),))]), deaf)) == "ok"
    with pytest.raises(ModelError):
        await model.call(request([UserMessage((Text("task 0"),))]), deaf)


# Replay ------------------------------------------------------------------------------------


async def test_a_transcript_of_another_model_is_counted_one_step_a_message() -> None:
    """docs: one step a message, each branch decided by what came before that message."""
    model = ScriptedModel.from_steps(
        [
            {"text": "a"},
            {"branch": [{"when": {"message": "left"}, "goto": "left"}]},
            {"text": "right", "goto": "after right"},
            {"label": "left", "text": "left"},
            {"text": "after left"},
            {"label": "after right", "text": "after right"},
        ]
    )
    strange = AssistantMessage((Text("I am another model"),))

    def told(text: str) -> UserMessage:
        return UserMessage((Text(text),))

    left: list[Message] = [told("go"), strange, told("left"), strange, told("right")]
    right: list[Message] = [told("go"), strange, told("right"), strange, told("left")]
    assert said(await model.call(request(left), deaf)) == "after left"
    assert said(await model.call(request(right), deaf)) == "after right"


async def test_a_message_that_stands_in_two_lists_is_not_taken_for_their_past() -> None:
    """The rule: a reply depends on the request alone."""
    model = ScriptedModel.from_steps([{"text": str(number)} for number in range(5)])
    shared = AssistantMessage((Text("ok"),))
    told = UserMessage((Text("go"),))
    assert said(await model.call(request([told, shared, told]), deaf)) == "1"
    assert said(await model.call(request([told, shared, told, shared, told]), deaf)) == "2"
    assert said(await model.call(request((told, shared, told)), deaf)) == "1"


async def test_a_call_replays_what_is_new_however_long_the_conversation_is() -> None:
    """A step's cost must not grow with the log."""
    t = talk([{"label": "a", "text": "a", "goto": "a"}])
    costs = []
    for _ in range(300):
        before = t.model.replayed_count
        await t.ask("more")
        costs.append(t.model.replayed_count - before)
    # The user's message, which may have grown since, the reply after it and the new message.
    assert costs[0] == 1
    assert set(costs[1:]) == {3}


async def test_more_conversations_than_are_remembered_get_the_same_replies() -> None:
    """What is kept between calls is a cache."""
    model = ScriptedModel.from_steps([{"text": str(number)} for number in range(4)])
    talks = [Talk(model) for _ in range(CONVERSATIONS_MAX + 1)]
    for number in range(4):
        assert {await t.ask("go") for t in talks} == {str(number)}
    # 1, 3, 5 and 7 messages: each was forgotten just before its turn, and replayed whole.
    assert model.replayed_count == 16 * len(talks)


_words = st.sampled_from(["left", "right", "boom"])
_labels = ("s0", "s1", "s2", "s3")
_goto = st.sampled_from(_labels)
_condition = st.fixed_dictionaries(
    {},
    optional={
        "message": _words,
        "result": _words,
        "result_is_error": st.booleans(),
        "tool": st.sampled_from(["Bash", "Read"]),
    },
).filter(bool)
_reply_step = st.fixed_dictionaries(
    {"text": st.sampled_from(["a {message}", "b {result}"])},
    optional={
        "goto": _goto,
        "calls": st.just([{"tool": "Bash", "input": {"x": "{message}"}}, {"tool": "Read"}]),
    },
)
_empty_step = st.fixed_dictionaries({"empty": st.integers(1, 3)}, optional={"goto": _goto})
_branch_step = st.fixed_dictionaries(
    {
        "branch": st.lists(
            st.fixed_dictionaries({"when": _condition, "goto": _goto}), min_size=1, max_size=2
        )
    }
)
_scripts = st.lists(
    st.one_of(_reply_step, _branch_step, _empty_step), min_size=len(_labels), max_size=7
).map(lambda steps: [{**s, **({"label": f"s{i}"} if i < 4 else {})} for i, s in enumerate(steps)])

_told_texts = st.one_of(_words, st.just(texts.EMPTY_NOTE), st.just(texts.CUT_NOTE)).map(Text)
_results = st.builds(
    lambda call_id, text, is_error: ToolResult(
        call_id=call_id, content=(Text(text),), is_error=is_error
    ),
    st.sampled_from(["c1", "c2"]),
    _words,
    st.booleans(),
)
_user_messages = st.builds(
    lambda results, told: UserMessage((*results, *told)),
    st.lists(_results, max_size=2),
    st.lists(_told_texts, min_size=1, max_size=4),
)
_assistant_messages = st.builds(
    lambda text, calls: AssistantMessage((Text(text), *calls)),
    _words,
    st.sampled_from(
        [
            (),
            (ToolCall(call_id="c1", name="Bash", input=msgspec.Raw(b"{}")),),
            (
                ToolCall(call_id="c1", name="Read", input=msgspec.Raw(b"{}")),
                ToolCall(call_id="c2", name="Bash", input=msgspec.Raw(b"{}")),
            ),
        ]
    ),
)
_turns = st.lists(st.tuples(_user_messages, _assistant_messages), min_size=1, max_size=8)


async def _outcome(model: ScriptedModel, asked: Request) -> Reply | tuple[str, str]:
    try:
        return await model.call(asked, deaf)
    except ModelError as error:
        return str(error), error.kind


@settings(max_examples=300, deadline=None)
@given(steps=_scripts, turns=_turns, workers=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_any_worker_gives_the_same_reply_to_the_same_transcript(
    steps: Steps, turns: list[tuple[UserMessage, AssistantMessage]], workers: list[int]
) -> None:
    """docs: a reply depends on the request alone, whoever played the steps before."""

    async def play() -> None:
        make = partial(ScriptedModel.from_steps, steps)
        one, several = make(), [make() for _ in range(3)]
        renderers = [Renderer() for _ in range(4)]
        messages: list[Message] = []
        for worker, (told, answered) in zip(workers, turns, strict=False):
            # A user message may grow before it is answered: it is asked about twice.
            for asked in (UserMessage(told.content[:-1] or told.content), told):
                now = TaskState(model="m", messages=[*messages, asked])
                rendered = renderers[3].render(now)
                fresh = await _outcome(make(), request(list(rendered.messages)))
                assert await _outcome(one, rendered) == fresh
                split = renderers[worker].render(now)
                assert await _outcome(several[worker], split) == fresh
            messages += (told, answered)

    anyio.run(play)


# Usage -------------------------------------------------------------------------------------


async def test_usage_tells_new_tokens_from_those_of_earlier_requests() -> None:
    """docs: four characters a token; cache_read is what an earlier request held."""
    model = ScriptedModel.from_steps([{"text": "a" * 8}, {"calls": [call("Bash", a="b")]}])
    tool = ToolSpec(name="Bash", description="d" * 14, input_schema=msgspec.Raw(b"{}"))
    head = partial(request, system=("s" * 20,), tools=(tool,))
    told = UserMessage((Text("u" * 40),))
    first = await model.call(head([told]), deaf)
    second = await model.call(
        head([told, AssistantMessage(first.content), UserMessage((Text("v" * 12),))]), deaf
    )
    assert first.usage == Usage(input_tokens=10 + 10, output_tokens=2)
    assert second.usage == Usage(input_tokens=2 + 3, output_tokens=4, cache_read_tokens=10 + 10)


# Mistakes ----------------------------------------------------------------------------------

MISTAKES = [
    ("", "play.yaml: the script is empty; give it `steps:`"),
    ("[]", "play.yaml: a script is a mapping with the key `steps`"),
    ("{}", "play.yaml: `steps` must be a list with at least one item, not nothing"),
    ("steps: []", "`steps` must be a list with at least one item, not an empty list"),
    ("steps: [{text: a}]\nat_end: x", "'at_end' is no key of a script; it may have `steps`"),
    ("steps:\n- text", "line 2, step 1: this must be a mapping (`key: value`), not text"),
    ("steps:\n- text: a\n- txt: b", "line 3, step 2: 'txt' is no key of a step (reply)"),
    ("steps: [{label: x, goto: x}]", "step 1 (label 'x'): this step says nothing"),
    ("steps: [{}]", "step 1: this step says nothing; give it `text` or `calls`"),
    ("steps: [{thinking: hm}]", "this step says nothing"),
    ("steps: [{text: ' '}]", "`text` is blank"),
    ("steps: [{text: 12}]", "`text` must be text, not the number 12; put it in quotes"),
    ("steps: [{text: yes}]", "`text` must be text, not true; put it in quotes"),
    ("steps: [{text: a, label: 1}]", "`label` must be text, not the number 1"),
    ("steps: [{text: a, label: x}, {text: b, label: x}]", "step 2 (label 'x'): step 1 has this"),
    (
        "steps: [{text: a, goto: y, label: x}]",
        "no step has the label 'y' that `goto` names; labels: x",
    ),
    ("steps: [{text: a, pause: -1}]", "`pause` must be seconds from 0 to 86400, not -1"),
    ("steps: [{text: a, pause: .nan}]", "`pause` must be seconds from 0 to 86400, not nan"),
    ("steps: [{text: a, chunk_delay: true}]", "`chunk_delay` must be seconds"),
    ("steps: [{text: a, stop: end}]", "`stop` cannot be 'end'; it is one of cut, refusal, pause"),
    ("steps: [{calls: [{tool: B}], stop: pause}]", "`stop: pause` goes with no `calls`"),
    ("steps: [{calls: {tool: B}}]", "`calls` must be a list with at least one item"),
    ("steps: [{calls: [Bash]}]", "step 1, call 1: this must be a mapping"),
    ("steps: [{calls: [{input: {}}]}]", "call 1: it names no tool; add `tool`"),
    ("steps: [{calls: [{tool: B, args: {}}]}]", "'args' is no key of a call"),
    ("steps: [{calls: [{tool: B, input: ls}]}]", "`input` must be a mapping"),
    (
        "steps: [{calls: [{tool: B, input: {a: 2026-01-31}}]}]",
        "`input` has a date, which JSON lacks",
    ),
    ("steps: [{calls: [{tool: B, input: {a: .inf}}]}]", "`input` has the number inf"),
    ("steps: [{calls: [{tool: B, input: {1: a}}]}]", "`input` has 1 for a key; put it in quotes"),
    ("steps: [{calls: [{tool: B, input: {a: 0x%s}}]}]" % ("f" * 5000), "more than 63 bits"),
    ("steps: [{calls: [{tool: B, input: {a: %s}}]}]" % ("[" * 80 + "]" * 80), "more than 64 deep"),
    ("steps: [{error: overloaded}]", "`error`: this must be a mapping"),
    ("steps: [{error: {kind: odd}}]", "`kind` cannot be 'odd'; it is one of transient, overflow"),
    ("steps: [{error: {times: 0}}]", "`times` must be a whole number from 1 to 1000000, not 0"),
    ("steps: [{error: {retry_after: soon}}]", "`retry_after` must be seconds"),
    ("steps: [{error: {code: 1}}]", "'code' is no key of an error"),
    ("steps: [{error: {}, calls: []}]", "'calls' is no key of a step (error)"),
    ("steps: [{error: {}, empty: true}]", "a step cannot be `error` and `empty`; make two steps"),
    ("steps: [{empty: false}]", "`empty` is true or how often"),
    ("steps: [{empty: 0}]", "`empty` must be a whole number from 1"),
    ("steps: [{empty: true, text: a}]", "'text' is no key of a step (empty)"),
    ("steps: [{branch: []}]", "`branch` must be a list with at least one item"),
    ("steps: [{branch: [{goto: x}], goto: x}]", "'goto' is no key of a step (branch)"),
    (
        "steps: [{branch: [{goto: x}]}]",
        "step 1, arm 1: an arm has either `when` or `otherwise: true`",
    ),
    ("steps: [{branch: [{otherwise: true}]}]", "arm 1: this arm goes nowhere; add `goto`"),
    ("steps: [{branch: [{otherwise: x, goto: x}]}]", "`otherwise` can only be true"),
    ("steps: [{branch: [{when: {}, goto: x}], label: x}]", "this condition is empty"),
    ("steps: [{branch: [{when: {tol: B}, goto: x}], label: x}]", "'tol' is no key of a condition"),
    (
        "steps: [{branch: [{when: {result_matches: '('}, goto: x}], label: x}]",
        "no regular expression",
    ),
    ("steps: [{branch: [{when: {result_is_error: 1}, goto: x}], label: x}]", "is true or false"),
    (
        "steps: [{branch: [{otherwise: true, goto: x}, {otherwise: true, goto: x}], label: x}]",
        "arm 2: this arm is never reached; put `otherwise` last",
    ),
    ("steps:\n- text: a\n  text: b", "play.yaml, line 3: 'text' stands twice here; remove one"),
    ("steps:\n- &a {text: a}\n- *a", "play.yaml, line 2: this value has an alias"),
    ("steps:\n- &a [*a]", "play.yaml, line 2: this value has an alias"),
    ("steps: [\n- text: a", "play.yaml, line 2: this is not valid YAML"),
    ("a: b\n---\nc: d", "line 2: this is not valid YAML"),
    ("steps: \x07", "play.yaml: this is not valid YAML"),
    ("steps: !!python/object:os.system {}", "line 1: this is not valid YAML"),
    ("steps: [{text: 2026-13-45}]", "play.yaml: a value is no good (month must be in 1..12)"),
    ("- " * 300_000, "nest"),
]


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(("text", "words"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_sentence_with_its_place(
    text: str, words: str, loader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs: ScriptError names the file, the line, the step and its label, and what to do.

    With libyaml, and without it as on a platform that has no wheel of PyYAML.
    """
    monkeypatch.setattr(yaml, "CSafeLoader", getattr(yaml, loader))
    with pytest.raises(ScriptError, match=re.escape(words)) as raised:
        ScriptedModel.from_text(text, name="play.yaml")
    message = str(raised.value)
    assert message.startswith("play.yaml")
    assert "\n" not in message


def test_half_a_character_is_refused() -> None:
    """No request could hold it."""
    for steps in ([{"text": "\ud800"}], [{"calls": [call(a="\ud800")]}]):
        with pytest.raises(ScriptError, match="half a character"):
            ScriptedModel.from_steps(steps)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    """docs: there is no script file; check the path."""
    big = tmp_path / "big.yaml"
    big.write_text("#" * 1_000_001)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"steps:\n- text: caf\xe9\n")
    cases = {
        tmp_path / "none.yaml": "there is no script file .*; check the path",
        tmp_path: "is a directory; name a script file in it",
        big: "is larger than 1 MB",
        latin: "line 2: this is not UTF-8; save it as UTF-8",
        big / "x.yaml": "cannot be read",
        Path("a\0b"): "cannot be read",
    }
    for path, words in cases.items():
        with pytest.raises(ScriptError, match=words):
            ScriptedModel.load(path)


def test_yaml_is_imported_only_when_a_script_is_loaded() -> None:
    """`noeta --version` loads none of the heavy modules."""
    code = "import sys, noeta.backends.models.scripted; sys.exit('yaml' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)


@given(st.text(alphabet="steps: -[]{}textlabgo\n\"'&*!?|>1.#", max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_script_or_a_script_error(text: str) -> None:
    """No other error leaves the loader."""
    for whole in (text, f"steps:\n- text: {text}", f"steps: [{{calls: [{text}]}}]"):
        with contextlib.suppress(ScriptError):
            ScriptedModel.from_text(whole)


# The page ----------------------------------------------------------------------------------


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("index", range(len(EXAMPLES)), ids=EXAMPLES)
def test_the_pages_examples_are_the_files(index: int) -> None:
    """docs: each is a file in examples/scripts."""
    file = ROOT / f"examples/scripts/{EXAMPLES[index]}.yaml"
    assert _blocks("yaml")[index] == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("index", range(len(EXAMPLES)), ids=EXAMPLES)
async def test_the_pages_examples_play_as_shown(index: int) -> None:
    """docs: what it plays is shown below it and is checked."""
    text = _blocks("yaml")[index]
    t = Talk(ScriptedModel.from_text(text, name=f"{EXAMPLES[index]}.yaml"))
    shown = _blocks("text")[index].splitlines()
    played: list[str] = []
    told: dict[str, Callable[[str], None]] = {
        "user": t.user,
        "result": t.result,
        "fails": partial(t.result, is_error=True),
    }
    answers: list[str] = []
    for line in shown:
        who, _, what = line.partition(":")
        if who in told:
            assert answers == []
            told[who](what.strip())
            played.append(line)
            continue
        if not answers:
            answers = await _answers(t)
        played.append(answers.pop(0))
    assert played == shown
    assert answers == []


async def _answers(t: Talk) -> list[str]:
    try:
        reply = await t.reply()
    except ModelError as error:
        return [f"error: {error.kind}: {error}"]
    if not reply.content:
        return ["empty:"]
    lines = []
    for block in reply.content:
        if isinstance(block, Text):
            lines.append(f"model: {block.text}")
        elif isinstance(block, ToolCall):
            lines.append(f"call: {block.name} {bytes(block.input).decode()}")
    return lines


def test_the_pages_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs: in tests."""
    monkeypatch.chdir(tmp_path)
    Path("play.yaml").write_text("steps: [{text: hello}]")
    (code,) = _blocks("python")
    exec(compile(code, "docs/scripted-models.md", "exec"), {})


def test_the_pages_errors_are_the_real_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs: when a script has a mistake."""
    monkeypatch.chdir(tmp_path)
    scripts = [
        "steps:\n- text: a\n\n- {label: done, txt: b}",
        "steps:\n\n- branch: [{otherwise: true, goto: dnoe}]\n- {label: done, text: a}",
        "steps: [\n- text: a",
    ]
    messages = []
    for text in scripts:
        Path("play.yaml").write_text(text)
        with pytest.raises(ScriptError) as raised:
            ScriptedModel.load("play.yaml")
        messages.append(str(raised.value))
    Path("play.yaml").unlink()
    with pytest.raises(ScriptError) as raised:
        ScriptedModel.load("play.yaml")
    messages.append(str(raised.value))
    shown = _blocks("text")[-1].splitlines()
    # PyYAML's two loaders name YAML's own mistakes in different words.
    shown[2], messages[2] = (line.partition(": ")[0] for line in (shown[2], messages[2]))
    assert messages == shown
