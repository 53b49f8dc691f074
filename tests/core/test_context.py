"""The request renderer: valid from any prefix, the same everywhere, at a constant cost."""

import msgspec
from hypothesis import given, settings

from noeta.core import events as e
from noeta.core.context import Renderer
from noeta.core.fold import fold
from noeta.core.message import (
    AssistantMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from noeta.core.state import TaskState
from noeta.testing.request_rules import broken_rules
from tests.core.generated_logs import logs
from tests.core.test_fold import CREATED, HELLO, folded


@given(logs())
@settings(max_examples=300)
def test_every_prefix_of_a_log_renders_a_request_any_provider_takes(log: list[e.Event]) -> None:
    state = TaskState()
    renderer = Renderer()
    for seq, event in enumerate(log, 1):
        fold(state, seq, event)
        request = renderer.render(state)
        if state.messages:
            assert broken_rules(request) == []


@given(logs())
def test_a_kept_renderer_gives_what_a_new_one_gives(log: list[e.Event]) -> None:
    """Another worker, or this one after a restart, renders the same request."""
    state = TaskState()
    kept = Renderer()
    for seq, event in enumerate(log, 1):
        fold(state, seq, event)
        first, second = kept.render(state), Renderer().render(state)
        assert first.digest == second.digest
        assert list(first.messages) == list(second.messages)


@given(logs())
def test_a_request_that_was_handed_out_does_not_change(log: list[e.Event]) -> None:
    state = TaskState()
    renderer = Renderer()
    held = []
    for seq, event in enumerate(log, 1):
        fold(state, seq, event)
        request = renderer.render(state)
        held.append((request, list(request.messages)))
    assert all(list(request.messages) == messages for request, messages in held)


def test_a_call_made_again_after_a_crash_has_the_same_digest() -> None:
    called = e.ModelCalled(model="m", request_digest="d")
    before = folded(CREATED, HELLO)
    after = folded(CREATED, HELLO, called)
    assert Renderer().render(before).digest == Renderer().render(after).digest


def test_the_digest_covers_model_system_tools_and_every_message() -> None:
    digests = {
        Renderer().render(folded(*log)).digest
        for log in [
            (CREATED, HELLO),
            (CREATED, e.PromptSet(model="m2", system=()), HELLO),
            (CREATED, e.PromptSet(model="m", system=("s",)), HELLO),
            (CREATED, e.MessageReceived(item=1, content=(Text("other"),))),
        ]
    }
    assert len(digests) == 4


def test_rendering_a_step_encodes_only_what_the_step_added() -> None:
    state = folded(CREATED, HELLO)
    renderer = Renderer()
    renderer.render(state)
    costs = []
    for _ in range(50):
        seq = state.last_seq
        fold(state, seq + 1, e.ModelCalled(model="m", request_digest="d"))
        fold(state, seq + 2, e.ModelReplied(content=(Text("a"),), stop="end"))
        fold(state, seq + 3, e.MessageReceived(item=1, content=(Text("b"),)))
        before = renderer.encoded_count
        renderer.render(state)
        costs.append(renderer.encoded_count - before)
    assert set(costs) == {2}


def test_results_come_in_the_replys_order_before_texts() -> None:
    call = {n: ToolCall(call_id=f"c{n}", name="T", input=msgspec.Raw(b"{}")) for n in (1, 2)}
    state = folded(
        CREATED,
        HELLO,
        e.ModelCalled(model="m", request_digest="d"),
        e.ModelReplied(content=(call[1], call[2]), stop="calls"),
        e.MessageReceived(item=2, content=(Text("hurry"),)),
        e.ToolFinished(call_id="c2", content=(Text("two"),)),
        e.ToolFinished(call_id="c1", content=(Text("one"),)),
    )
    assert Renderer().render(state).messages[-1] == UserMessage(
        (
            ToolResult(call_id="c1", content=(Text("one"),)),
            ToolResult(call_id="c2", content=(Text("two"),)),
            Text("hurry"),
        )
    )


def test_thinking_is_sent_to_its_own_model_only() -> None:
    thinking = Thinking(model="m", opaque="{}")
    state = folded(
        CREATED,
        HELLO,
        e.ModelCalled(model="m", request_digest="d"),
        e.ModelReplied(content=(thinking, Text("hi")), stop="end"),
        e.TurnEnded(outcome="done"),
    )
    assert Renderer().render(state).messages[1] == AssistantMessage((thinking, Text("hi")))
    fold(state, state.last_seq + 1, e.PromptSet(model="other", system=()))
    assert Renderer().render(state).messages[1] == AssistantMessage((Text("hi"),))


@given(logs())
def test_a_conversation_is_encoded_once_for_each_dialect(log: list[e.Event]) -> None:
    """Whatever was rendered before, the bytes are those of a request rendered anew."""
    state = TaskState()
    renderer = Renderer()
    encoded: list[object] = []

    def encode(message: object) -> bytes:
        encoded.append(message)
        return repr(message).encode()

    for seq, event in enumerate(log, 1):
        fold(state, seq, event)
        request = renderer.render(state)
        fresh = Renderer().render(state)
        assert request.encoded("d", encode) == [repr(m).encode() for m in fresh.messages]
        encoded.clear()
        request.encoded("d", encode)
        assert len(encoded) <= 1  # A tail that is in no log.
