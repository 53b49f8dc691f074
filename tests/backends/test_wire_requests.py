"""What goes into a request: limits, effort, breakpoints, media, and what a step costs."""

import base64
import json
from importlib import import_module
from typing import Any

import msgspec
import pytest

from noeta.backends.models import anthropic, openai_chat, openai_responses
from noeta.core import events as e
from noeta.core import texts
from noeta.core.context import Renderer
from noeta.core.fold import fold
from noeta.core.message import (
    AssistantMessage,
    Limits,
    Media,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from noeta.core.state import TaskState
from noeta.testing.generated_logs import PIXEL
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, ask

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
PDF = base64.b64encode(b"%PDF-1.4 rest").decode()
PICTURE = Media(media_type="image/png", data=PIXEL)
TOOL = ToolSpec(name="Read", description="d", input_schema=msgspec.Raw(b'{"type":"object"}'))
HELLO = UserMessage((Text("hello"),))


def body(dialect: Dialect, *messages: Message, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dialect.render(ask(dialect.model, *messages, **fields)))
    return found


def calling(count: int = 1) -> tuple[AssistantMessage, UserMessage]:
    """A reply of calls, and their results."""
    calls = [
        ToolCall(call_id=f"c{n}", name="Read", input=msgspec.Raw(b'{ "a": 1 }'))
        for n in range(count)
    ]
    results = [ToolResult(call_id=f"c{n}", content=(Text("r"),)) for n in range(count)]
    return AssistantMessage(tuple(calls)), UserMessage(tuple(results))


def marked(found: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Where the breakpoints are: group, index, block."""
    places = [
        (group, index, 0)
        for group in ("tools", "system")
        for index, block in enumerate(found.get(group, ()))
        if "cache_control" in block
    ]
    return places + [
        ("messages", index, at)
        for index, message in enumerate(found["messages"])
        for at, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_breakpoints_stand_after_what_stays_and_in_the_last_two_user_messages() -> None:
    """At most four, and never on what changes."""
    first, second = calling(3)
    assert marked(body(DIALECTS[0], HELLO, tools=[TOOL])) == [("system", 0, 0), ("messages", 0, 0)]
    assert marked(body(DIALECTS[0], HELLO, system=[], tools=[TOOL, TOOL])) == [
        ("tools", 1, 0),
        ("messages", 0, 0),
    ]
    assert marked(body(DIALECTS[0], HELLO, first, second, tools=[TOOL])) == [
        ("system", 0, 0),
        ("messages", 0, 0),
        ("messages", 2, 2),
    ]
    assert len(marked(body(DIALECTS[0], HELLO, first, second, *calling(), *calling()))) == 3


@pytest.mark.parametrize(
    ("model", "limits", "fields"),
    [
        ("claude-opus-5-5", Limits(), {"max_tokens": 8192}),
        (
            "claude-opus-5-5",
            Limits(output_tokens_max=9000, effort="high"),
            {
                "max_tokens": 9000,
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"},
            },
        ),
        (
            "claude-sonnet-4-6",
            Limits(thinking_tokens=2000),
            {"max_tokens": 8192, "thinking": {"type": "adaptive", "display": "summarized"}},
        ),
        (
            "claude-sonnet-4-5",
            Limits(thinking_tokens=2000),
            {"max_tokens": 8192, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        ),
        (
            "claude-sonnet-4-20250514",
            Limits(thinking_tokens=90_000),
            {"max_tokens": 8192, "thinking": {"type": "enabled", "budget_tokens": 8191}},
        ),
        ("claude-sonnet-4-5", Limits(thinking_tokens=1000), {"max_tokens": 8192}),
        ("claude-opus-5-5", Limits(effort="none"), {"max_tokens": 8192}),
        (
            "claude-opus-4-5",
            Limits(effort="low"),
            {"max_tokens": 8192, "output_config": {"effort": "low"}},
        ),
        ("kimi-k3", Limits(), {"max_tokens": 8192}),
    ],
)
def test_how_hard_anthropic_s_models_think(
    model: str, limits: Limits, fields: dict[str, object]
) -> None:
    """Newer models decide on their own, older ones have a budget."""
    found = json.loads(anthropic.render(ask(model, limits=limits)))
    names = ("max_tokens", "thinking", "output_config")
    assert {name: found[name] for name in names if name in found} == fields


def test_thinking_is_not_asked_for_while_calls_without_it_are_answered() -> None:
    """The provider would refuse, for good; with the next message it thinks again."""
    limits = Limits(thinking_tokens=2000)
    assert "thinking" not in body(DIALECTS[0], HELLO, *calling(), limits=limits)
    assert "thinking" in body(
        DIALECTS[0], HELLO, *calling(), AssistantMessage((Text("x"),)), HELLO, limits=limits
    )


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-4.1", "max_tokens"),
        ("gpt-5.1-codex", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
        ("openai/gpt-6", "max_completion_tokens"),
        ("gpt-oss-120b", "max_tokens"),
        ("qwen3", "max_tokens"),
    ],
)
def test_the_output_limit_of_chat_has_the_name_the_model_knows(model: str, field: str) -> None:
    """And is left out when there is none."""
    found = json.loads(openai_chat.render(ask(model, limits=Limits(output_tokens_max=50))))
    assert [n for n in ("max_tokens", "max_completion_tokens") if n in found] == [field]
    found = json.loads(openai_chat.render(ask(model)))
    assert "max_tokens" not in found
    assert found["stream_options"] == {"include_usage": True}


def test_responses_are_not_stored_and_reasoning_comes_sealed() -> None:
    """Only from the models that reason."""
    limits = Limits(effort="low", output_tokens_max=4)
    found = json.loads(openai_responses.render(ask("gpt-5", limits=limits)))
    assert found["store"] is False
    assert found["include"] == ["reasoning.encrypted_content"]
    assert found["reasoning"] == {"effort": "low"}
    assert found["max_output_tokens"] == 16
    found = json.loads(openai_responses.render(ask("gpt-4.1", limits=limits)))
    assert "include" not in found
    assert "reasoning" not in found


@EACH
def test_the_input_of_a_call_is_sent_as_the_model_wrote_it(dialect: Dialect) -> None:
    """Spaces and all: the cached prefix and the model's memory of it stay the same."""
    raw = dialect.render(ask(dialect.model, HELLO, *calling()))
    spaced = b'{ "a": 1 }' if dialect.name == "anthropic" else rb'"{ \"a\": 1 }"'
    assert spaced in raw


@EACH
def test_call_ids_are_ours_in_the_call_and_in_its_result(dialect: Dialect) -> None:
    """Servers repeat theirs."""
    call = ToolCall(
        call_id="c7", name="Read", input=msgspec.Raw(b"{}"), provider_id="call_0 not ours"
    )
    raw = dialect.render(
        ask(
            dialect.model,
            HELLO,
            AssistantMessage((call,)),
            UserMessage((ToolResult(call_id="c7"),)),
        )
    )
    assert raw.count(b'"c7"') == 2
    assert b"call_0" not in raw


@EACH
@pytest.mark.parametrize(
    ("media", "says"),
    [
        (Media(media_type="image/png", data="AAAA"), "[image/png, 3 bytes: of a kind that cannot"),
        (Media(media_type="image/png", data="not base64!"), "[image/png: not readable]"),
        (Media(media_type="image/png", data=""), "[image/png, 0 bytes: of a kind that cannot"),
        (Media(media_type="audio/wav", data="UklGRg=="), "[audio/wav, 6 bytes: of a kind"),
        (
            Media(media_type="image/png", data=PIXEL[:8] + "A" * (6 * 1024 * 1024)),
            "[image/png, 4,718,598 bytes: too large to be shown]",
        ),
        (Media(media_type="text/plain", data="aMOp"), "h\u00e9"),
    ],
)
def test_media_that_no_model_can_see_is_said_in_words(
    dialect: Dialect, media: Media, says: str
) -> None:
    """A picture that is refused once would end the conversation."""
    found = json.dumps(body(dialect, UserMessage((Text("look"), media))), ensure_ascii=False)
    assert says in found


@EACH
def test_media_go_by_the_type_of_their_bytes(dialect: Dialect) -> None:
    """Whatever the file was called."""
    wrong = Media(media_type="image/jpeg", data=PIXEL)
    found = json.dumps(body(dialect, UserMessage((wrong, Media(media_type="x", data=PDF)))))
    assert "image/png" in found
    assert "image/jpeg" not in found
    assert "application/pdf" in found


def test_media_of_a_result_stand_after_the_results_in_chat() -> None:
    """There a result is text."""
    first, _ = calling(2)
    results = UserMessage(
        (
            ToolResult(call_id="c0", content=(Text("see"), PICTURE)),
            ToolResult(call_id="c1"),
            Text("And?"),
        )
    )
    messages = body(DIALECTS[1], HELLO, first, results)["messages"]
    assert [message["role"] for message in messages[3:]] == ["tool", "tool", "user"]
    assert messages[3]["content"] == "see\n[image/png: shown below]"
    assert messages[4]["content"] == "(no output)"
    kinds = [part["type"] for part in messages[5]["content"]]
    assert kinds == ["text", "image_url", "text"]


def test_a_failed_result_of_anthropic_holds_words_only() -> None:
    """A picture in it is refused, and so is nothing at all."""
    first, _ = calling(2)
    results = UserMessage(
        (
            ToolResult(call_id="c0", content=(PICTURE,), is_error=True),
            ToolResult(call_id="c1", is_error=True),
        )
    )
    blocks = body(DIALECTS[0], HELLO, first, results)["messages"][2]["content"]
    assert [block["content"][0]["text"] for block in blocks] == ["[image/png]", "(no output)"]


@EACH
def test_text_of_spaces_alone_is_left_out(dialect: Dialect) -> None:
    """It is refused as empty text is."""
    found = body(
        dialect,
        UserMessage((Text(" \n"),)),
        AssistantMessage((Text("\t"),)),
        UserMessage((Text("x"),)),
        system=[" ", "Rules."],
    )
    assert json.dumps(found).count("(no text)") == 1
    assert texts.EMPTY_MESSAGE in json.dumps(found)
    assert "\\t" not in json.dumps(found)


@EACH
@pytest.mark.parametrize(
    "schema",
    [b"{}", b"true", b'{"anyOf":[{"type":"object"}],"type":["object","null"]}', b'{"a":1}'],
)
def test_a_schema_is_of_an_object(dialect: Dialect, schema: bytes) -> None:
    """Whatever the server of a tool made of it."""
    tool = ToolSpec(name="T", description="", input_schema=msgspec.Raw(schema))
    [sent] = body(dialect, tools=[tool])["tools"]
    found = sent.get("input_schema") or sent.get("parameters") or sent["function"]["parameters"]
    assert found["type"] == "object"
    assert found["properties"] == {}
    assert "anyOf" not in found


def test_a_paused_reply_of_the_provider_s_own_work_is_sent_back_as_it_is() -> None:
    """Any other reply is followed by a word of the user's: newer models take no prefill."""
    block = Thinking(model="p/claude-opus-5-5", opaque='{"type":"server_tool_use","id": "s"}')
    paused = ask("claude-opus-5-5", HELLO, AssistantMessage((Text("a"), block)))
    assert anthropic.render(paused).endswith(block.opaque.encode() + b"]}]}")
    for dialect in DIALECTS:
        found = dialect.render(ask(dialect.model, HELLO, AssistantMessage((Text("Half"),))))
        assert json.dumps(texts.GO_ON).encode() in found[-90:]


@EACH
def test_a_step_costs_what_it_adds(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the log holds: each message is encoded once, two are new in a step."""
    counted = 0

    def counting(message: Message) -> bytes:
        nonlocal counted
        counted += 1
        return dialect.encode(message)

    # Where the adapter itself looks it up, so that a render that encodes anew is caught.
    monkeypatch.setattr(import_module(dialect.encode.__module__), "encode_message", counting)
    state, renderer, seq = TaskState(), Renderer(), 0

    def add(event: e.Event) -> None:
        nonlocal seq
        seq += 1
        fold(state, seq, event)

    add(e.TaskCreated(task_id="t1", kind="interactive", cwd="/w", model="p/m"))
    add(e.MessageReceived(item=1, content=(Text("go"),), sender="u"))
    costs = []
    for step in range(2000):
        before = counted
        dialect.render(renderer.render(state))
        costs.append(counted - before)
        add(e.ModelCalled(model="p/m", request_digest=""))
        call = ToolCall(call_id=f"c{step}", name="Read", input=msgspec.Raw(b"{}"))
        add(e.ModelReplied(content=(call,), stop="calls"))
        add(e.ToolFinished(call_id=f"c{step}", content=(Text("r"),)))
    assert costs[0] == 1
    assert set(costs[1:]) == {2}


def test_the_marked_messages_are_two_more_at_any_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breakpoints are rendered apart."""
    counts = []
    plain = anthropic._encoded

    def counting(message: Message, *, marked: bool) -> bytes:
        counts.append(marked)
        return plain(message, marked=marked)

    monkeypatch.setattr(anthropic, "_encoded", counting)
    messages: list[Message] = [HELLO]
    for _ in range(50):
        messages += calling()
    anthropic.render(ask("m", *messages))
    assert counts.count(True) == 2


def test_thinking_is_never_the_last_thing_said() -> None:
    """An empty reply may hold nothing else."""
    thought = '{"type":"thinking","thinking":"t","signature":"s"}'
    reply = AssistantMessage((Thinking(model="p/m", opaque=thought),))
    blocks = body(DIALECTS[0], HELLO, reply, HELLO)["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text"]


def test_reasoning_that_is_not_sealed_or_led_to_nothing_is_left_out() -> None:
    """The provider has stored none of it, and wants what it led to."""
    sealed = Thinking(
        model="p/m", opaque='{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}'
    )
    bare = Thinking(model="p/m", opaque='{"type":"reasoning","id":"rs_2","summary":[]}')
    for content, count in (
        ((sealed, Text("x")), 1),
        ((bare, Text("x")), 0),
        ((Text("x"), sealed), 0),
        ((sealed, sealed), 0),
    ):
        items = body(DIALECTS[2], HELLO, AssistantMessage(content), HELLO)["input"]
        assert sum(item["type"] == "reasoning" for item in items) == count
