"""Streams as servers really write them: framing, compatible servers, and what is not understood."""

import json

import msgspec
import pytest

from noeta.core.message import Text, Thinking, ToolCall, Usage
from noeta.core.model import ModelError, Reply, checked
from noeta.testing.fake_provider import Call, Misbehaviour, say
from noeta.testing.fake_provider import Thinking as Thought
from tests.backends.wire_bytes import answered, stream_of
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, ask
from tests.backends.wire_server import serving, sse, stream

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
ANTHROPIC, CHAT, RESPONSES = DIALECTS


async def read(dialect: Dialect, *chunks: bytes) -> Reply:
    """The reply of a stream that comes in these chunks."""
    async with dialect.at("http://fake") as wire:
        return await answered(wire, chunks).call(ask(dialect.model), lambda delta: None)


async def chat(*deltas: object, finish: str | None = "stop", usage: object = None) -> Reply:
    """The reply of a chat stream of these deltas."""
    chunks: list[object] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage is not None:
        chunks.append({"choices": [], "usage": usage})
    data = b"".join(b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in chunks)
    return await read(CHAT, data + b"data: [DONE]\n\n")


# Framing: html.spec.whatwg.org, section 9.2.6


@EACH
async def test_comments_a_byte_order_mark_and_unknown_fields_are_skipped(dialect: Dialect) -> None:
    """And so are events of types that came later."""
    whole = stream_of(dialect, say("Hello."))
    odd = b": comment\n\nid: 7\nretry: 10\nfield: x\nnothing\n\n"
    later = b'event: later.event\ndata: {"type":"later.event","delta":{"type":"odd"}}\n\n'
    plain = await read(dialect, whole)
    assert await read(dialect, b"\xef\xbb\xbf" + whole) == plain
    assert await read(dialect, odd + later + whole) == plain


@EACH
async def test_the_data_of_an_event_may_have_several_lines(dialect: Dialect) -> None:
    """They are joined by line feeds."""
    whole = stream_of(dialect, say("Hello."))
    assert await read(dialect, whole.replace(b'data: {"', b'data: {\ndata:"')) == await read(
        dialect, whole
    )


@EACH
async def test_events_may_be_named_in_their_data_alone(dialect: Dialect) -> None:
    """Or have no name at all, as in Chat."""
    whole = stream_of(dialect, say("Hello.", Call("Read")))
    bare = b"".join(
        line for line in whole.splitlines(keepends=True) if not line.startswith(b"event:")
    )
    assert await read(dialect, bare) == await read(dialect, whole)


@EACH
@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", ""])
async def test_a_stream_is_taken_whatever_it_is_called(dialect: Dialect, content_type: str) -> None:
    """Servers forget the header, or a proxy changes it."""
    data = stream_of(dialect, say("Hello \u00e9."))
    async with (
        serving(stream(data, content_type=content_type)) as server,
        dialect.at(server.url) as wire,
    ):
        reply = await wire.call(ask(dialect.model), lambda delta: None)
    assert reply.content == (Text("Hello \u00e9."),)


async def test_half_a_surrogate_pair_is_replaced() -> None:
    """Some servers cut an emoji in two."""
    data = b'data: {"choices":[{"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n'
    assert (await read(CHAT, data)).content == (Text("a?"),)


# Anthropic


async def test_counts_are_cumulative_and_what_is_left_out_keeps_its_value() -> None:
    """The last word on output comes with message_delta."""
    reply = await read(
        ANTHROPIC,
        sse("""
        {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1,"cache_creation_input_tokens":7,"cache_read_input_tokens":null}}}
        {"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"cache_read_input_tokens":3}}
        {"type":"message_stop"}
        """),
    )
    assert reply == Reply(
        content=(),
        stop="end",
        usage=Usage(input_tokens=5, output_tokens=9, cache_read_tokens=3, cache_write_tokens=7),
    )


async def test_a_block_of_an_unknown_type_is_kept_as_it_came() -> None:
    """And sent back so: a paused turn goes on from it."""
    block = '{"type":"server_tool_use","id":"s1","name":"web_search","input":{"q": "x"}}'
    reply = await read(
        ANTHROPIC,
        sse(f"""
        {{"type":"message_start","message":{{}}}}
        {{"type":"content_block_start","index":0,"content_block":{block}}}
        {{"type":"content_block_stop","index":0}}
        {{"type":"message_delta","delta":{{"stop_reason":"pause_turn"}},"usage":{{}}}}
        {{"type":"message_stop"}}
        """),
    )
    assert reply.stop == "pause"
    assert reply.content == (Thinking(model="p/claude-sonnet-4-5", opaque=block),)


async def test_thinking_that_was_cut_before_its_signature_is_dropped() -> None:
    """It would be refused for good."""
    reply = await read(
        ANTHROPIC,
        sse("""
        {"type":"message_start","message":{}}
        {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
        {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"So"}}
        {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{}}
        {"type":"message_stop"}
        """),
    )
    assert (reply.content, reply.stop) == ((), "cut")


async def test_what_a_refusing_model_had_begun_to_call_is_not_run() -> None:
    """A refusal may come in mid-reply; its reason is shown when nothing else was said."""
    reply = await read(
        ANTHROPIC,
        sse("""
        {"type":"message_start","message":{}}
        {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}
        {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"No."}},"usage":{}}
        {"type":"message_stop"}
        """),
    )
    assert (reply.content, reply.stop) == ((Text("No."),), "refusal")


# Cut calls


@EACH
async def test_a_call_that_was_cut_is_kept_as_raw_bytes_and_dropped_when_checked(
    dialect: Dialect,
) -> None:
    """What is no whole object never runs."""
    turn = say("Writing.", Call("Write", {"text": "long " * 20}), stop="length")
    reply = await read(dialect, stream_of(dialect, turn, Misbehaviour(truncate_json=True)))
    assert reply.stop == "cut"
    assert isinstance(reply.content[-1], ToolCall)
    assert bytes(reply.content[-1].input).startswith(b'{"text":"long long')
    assert checked(reply).content == (Text("Writing."),)


@EACH
async def test_a_call_that_is_broken_in_a_whole_reply_is_asked_for_again(dialect: Dialect) -> None:
    """By the kernel's loop."""
    turn = say(Call("Write", {"text": "long " * 20}))
    reply = await read(dialect, stream_of(dialect, turn, Misbehaviour(truncate_json=True)))
    with pytest.raises(ModelError) as raised:
        checked(reply)
    assert raised.value.kind == "transient"


# Compatible servers


@pytest.mark.parametrize(
    "how",
    [
        Misbehaviour(missing_index=True),
        Misbehaviour(id_on="every"),
        Misbehaviour(id_on="none"),
        Misbehaviour(id_on="none", missing_index=True),
        Misbehaviour(arguments_object=True),
        Misbehaviour(arguments_object=True, missing_index=True),
        Misbehaviour(missing_stop=True),
    ],
    ids=lambda how: ",".join(
        n
        for n in how.__dataclass_fields__
        if getattr(how, n) not in (None, False, 0, 0.0, (), "first")
    ),
)
async def test_calls_of_compatible_servers_are_told_apart(how: Misbehaviour) -> None:
    """Whatever they leave out."""
    turn = say("Two.", Call("Read", {"path": "a"}), Call("Read", {"n": 2}), Call("List"))
    reply = await read(CHAT, stream_of(CHAT, turn, how))
    calls = [b for b in reply.content if isinstance(b, ToolCall)]
    assert [(call.name, json.loads(bytes(call.input))) for call in calls] == [
        ("Read", {"path": "a"}),
        ("Read", {"n": 2}),
        ("List", {}),
    ]
    assert reply.stop == "calls"


async def test_calls_that_all_have_index_zero_are_told_apart_by_their_ids() -> None:
    """And without ids by their names, once the first is whole."""
    for ids in (("a", "b"), ("", "")):
        deltas = [
            {"tool_calls": [{"index": 0, "id": i, "function": {"name": n, "arguments": "{}"}}]}
            for i, n in zip(ids, ("One", "Two"), strict=True)
        ]
        reply = await chat(*deltas)
        assert [b.name for b in reply.content if isinstance(b, ToolCall)] == ["One", "Two"]
        assert reply.stop == "calls"


async def test_thinking_of_compatible_servers_is_kept_in_its_field() -> None:
    """Both fields may be filled with the same."""
    reply = await read(
        CHAT, stream_of(CHAT, say(Thought("Hm."), "Yes."), Misbehaviour(reasoning_content=True))
    )
    assert reply.content == (
        Thinking(model="p/gpt-4.1", opaque='{"reasoning_content":"Hm."}', text="Hm."),
        Text("Yes."),
    )
    reply = await chat({"reasoning": "A", "reasoning_content": "A"}, {"content": "b"})
    assert reply.content[0] == Thinking(
        model="p/gpt-4.1", opaque='{"reasoning_content":"A"}', text="A"
    )


async def test_content_in_parts_is_text() -> None:
    """As one provider streams what its reasoning models say."""
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Yes."}]
    assert (await chat({"content": parts})).content == (Text("Yes."),)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "end"),
        ("length", "cut"),
        ("content_filter", "refusal"),
        ("tool_calls", "end"),
        ("eos", "end"),
    ],
)
async def test_reasons_to_stop(finish: str, stop: str) -> None:
    """Tool calls without a call are an end."""
    assert (await chat({"content": "x"}, finish=finish)).stop == stop


async def test_a_stream_that_only_says_done_is_complete() -> None:
    """Some servers give no reason to stop."""
    assert (await chat({"content": "x"}, finish=None)).content == (Text("x"),)


async def test_usage_is_counted_without_what_was_cached() -> None:
    """In OpenAI's words and in another's; the last count holds."""
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}
    expected = Usage(input_tokens=6, output_tokens=2, cache_read_tokens=4)
    assert (await chat({"content": "x"}, usage=usage)).usage == expected


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "busy", "type": "server_error"}},
        {"error": "busy"},
        {"object": "error", "message": "busy", "type": "InternalServerError", "code": 500},
        {"choices": [{"delta": {}, "finish_reason": "error"}]},
    ],
)
async def test_an_error_in_the_middle_of_a_chat_is_an_error(error: object) -> None:
    """It came after a 200, and is worth another attempt."""
    data = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: '
    with pytest.raises(ModelError) as raised:
        await read(CHAT, data + msgspec.json.encode(error) + b"\n\n")
    assert raised.value.kind == "transient"


# Responses


async def test_a_response_that_is_told_all_at_once_is_read() -> None:
    """A compatible server may send no items before the end."""
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hello."}]},
        {"type": "function_call", "call_id": "c", "name": "Read", "arguments": "{}"},
    ]
    event = {"type": "response.completed", "response": {"output": output}}
    reply = await read(RESPONSES, b"data: " + msgspec.json.encode(event) + b"\n\n")
    assert reply.content[0] == Text("Hello.")
    assert reply.stop == "calls"


async def test_the_text_of_an_item_that_was_never_done_is_kept() -> None:
    """A reply that is cut in the middle of it."""
    reply = await read(
        RESPONSES,
        sse("""
        {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}
        {"type":"response.output_item.added","output_index":1,"item":{"type":"message"}}
        {"type":"response.output_text.delta","output_index":1,"delta":"Half "}
        {"type":"response.output_text.delta","output_index":1,"delta":"of it"}
        {"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}
        """),
    )
    assert (reply.content, reply.stop) == ((Text("Half of it"),), "cut")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", "transient"),
        ("rate_limit_exceeded", "transient"),
        ("context_length_exceeded", "overflow"),
        ("invalid_prompt", "fatal"),
        ("image_too_large", "fatal"),
    ],
)
async def test_a_response_that_failed_has_the_class_of_its_code(code: str, kind: str) -> None:
    """There is no status in mid-stream."""
    error = {"code": code, "message": "m"}
    for event in (
        {"type": "response.failed", "response": {"error": error}},
        {"type": "error", **error},
        {"type": "error", "error": error},
    ):
        with pytest.raises(ModelError) as raised:
            await read(RESPONSES, b"data: " + msgspec.json.encode(event) + b"\n\n")
        assert raised.value.kind == kind


async def test_a_filter_that_stops_a_response_is_a_refusal() -> None:
    """And what it had begun to call is not run."""
    event = {
        "type": "response.incomplete",
        "response": {
            "incomplete_details": {"reason": "content_filter"},
            "output": [{"type": "function_call", "call_id": "c", "name": "R", "arguments": "{}"}],
        },
    }
    reply = await read(RESPONSES, b"data: " + msgspec.json.encode(event) + b"\n\n")
    assert (reply.content, reply.stop) == ((), "refusal")
