"""Crash everywhere: each scripted task is played once, then restarted from every prefix of its
log. A prefix renders a valid request, keeps what it holds, and comes to the same answer."""

from collections.abc import Sequence

import pytest

from noeta.backends.models.scripted import ScriptedModel
from noeta.core import events as e
from noeta.core import item as i
from noeta.core.context import Renderer
from noeta.core.fold import fold
from noeta.core.message import text_of
from noeta.core.plugin import Allow, Ask, GateCall, Verdict
from noeta.core.state import TaskState
from noeta.core.view import TaskView
from noeta.testing.request_rules import broken_rules
from tests.core.scene import TASK, Scene, scene

Script = list[dict[str, object]]


def call(tool: str, number: int = 0) -> dict[str, object]:
    return {"tool": tool, "input": {"x": number}}


def looked(label: str, then: str) -> dict[str, object]:
    """What a careful agent does after a call: when its outcome is unknown it looks first."""
    arms = [
        {"when": {"result": "is unknown"}, "goto": f"look {label}"},
        {"otherwise": True, "goto": then},
    ]
    return {"branch": arms}


def careful(label: str, tool: str, number: int, then: str) -> Script:
    return [
        {"label": label, "text": f"{label} first", "calls": [call(tool, number)]},
        looked(label, then),
        {"label": f"look {label}", "text": "looking", "calls": [call("Look", number)]},
        looked(label, then),
    ]


SCRIPTS: dict[str, Script] = {
    "a plain answer": [{"text": "all done"}],
    "steps one after the other": [
        *careful("one", "Do", 1, "two"),
        *careful("two", "Do", 2, "end"),
        {"label": "end", "text": "all done"},
    ],
    "calls in one reply": [
        {"text": "three", "calls": [call("Do", 1), call("Look", 2), call("Look", 3)]},
        {"text": "all done"},
    ],
    "a call that needs leave": [
        {"text": "may I", "calls": [call("Do", 99)]},
        {"text": "all done"},
    ],
    "cut, empty and paused replies": [
        {"text": "this is cu", "stop": "cut"},
        {"empty": True},
        {"text": "and then", "stop": "pause"},
        {"text": "one call", "calls": [call("Do", 1)]},
        {"text": "all done"},
    ],
    "errors of the provider": [
        {"error": {"kind": "transient", "retry_after": 0}},
        {"text": "again", "calls": [call("Boom"), call("Nope")]},
        {"text": "all done"},
    ],
}


def asks_for_99(gate_call: GateCall, view: TaskView) -> Verdict:
    return Ask("99") if getattr(gate_call.input, "x", 0) == 99 else Allow()


async def play(s: Scene) -> list[e.Event]:
    """Run to the end, saying yes wherever a call waits for leave."""
    for _ in range(5):
        await s.run()
        log = await s.events()
        if isinstance(log[-1], e.TaskEnded):
            return log
        parked = [ev for ev in log if isinstance(ev, e.CallParked)][-1]
        body = i.AnswerBody(call_id=parked.call_id, input_digest=parked.input_digest, allow=True)
        await s.post("answer", body)
    raise AssertionError("the task does not come to its end")


def answer_of(log: Sequence[e.Event]) -> str:
    """The text of the last reply."""
    return text_of([ev for ev in log if isinstance(ev, e.ModelReplied)][-1].content)


@pytest.mark.parametrize("name", SCRIPTS)
async def test_every_prefix_of_a_scripted_task_ends_in_the_same_answer(name: str) -> None:
    async with scene(ScriptedModel.from_steps(SCRIPTS[name]), gates=(asks_for_99,)) as s:
        await s.create("go")
        whole = await play(s)
        bodies = [stored.body for stored in await s.store.read(TASK)]
    assert answer_of(whole) == "all done"
    assert whole[-1] == e.TaskEnded(outcome="done")

    for length in range(1, len(bodies)):
        kept = whole[:length]
        # A new process: the script's own count of errors played is gone too.
        model = ScriptedModel.from_steps(SCRIPTS[name])
        async with scene(model, gates=(asks_for_99,)) as s:
            taken = any(isinstance(ev, e.MessageReceived) for ev in kept)
            await s.create(*(() if taken else ("go",)), log=bodies[:length])
            log = await play(s)
            assert log[:length] == kept
            assert log[-1] == e.TaskEnded(outcome="done")
            assert answer_of(log) == "all done"
            closed = {f"{TASK}:{ev.call_id}" for ev in kept if isinstance(ev, e.ToolFinished)}
            assert not closed.intersection(s.stage.effects)
            assert len(s.stage.effects) == len(set(s.stage.effects))


@pytest.mark.parametrize("name", SCRIPTS)
async def test_every_prefix_of_a_scripted_task_renders_a_request_any_provider_takes(
    name: str,
) -> None:
    async with scene(ScriptedModel.from_steps(SCRIPTS[name]), gates=(asks_for_99,)) as s:
        await s.create("go")
        log = await play(s)
    state = TaskState()
    for seq, event in enumerate(log, 1):
        rendered = Renderer().render(state).digest
        fold(state, seq, event)
        if state.messages:
            assert broken_rules(Renderer().render(state)) == []
        if isinstance(event, e.ModelCalled):
            assert event.request_digest == rendered


@pytest.mark.parametrize(
    ("name", "commits"),
    [
        ("a plain answer", 2),
        ("steps one after the other", 2 + 2 * 2),
        # The two that follow wait for the first: one commit more. They run beside each other and
        # end together, so neither result is beside a call that still runs.
        ("calls in one reply", 2 + 2 + 1),
    ],
)
async def test_a_task_costs_two_commits_a_step_and_exactly_the_extra_ones(
    name: str, commits: int
) -> None:
    async with scene(ScriptedModel.from_steps(SCRIPTS[name])) as s:
        await s.create("go")
        before = s.store.counters.commits
        await s.run()
        assert s.store.counters.commits - before - 1 == commits
