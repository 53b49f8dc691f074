"""The official SDKs read the same streams: what they decode and what we decode agree."""

import json
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
import pytest

from noeta.core.message import Text, Thinking, ToolCall, Usage
from noeta.core.model import Reply, TextDelta, ThinkingDelta
from noeta.testing.fake_provider import Call, say
from noeta.testing.fake_provider import Thinking as Thought
from tests.backends.wire_bytes import TURNS, answered, generated_turn, in_memory, stream_of
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, ask

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
STOPS = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "cut",
    "refusal": "refusal",
    "stop": "end",
    "tool_calls": "calls",
    "length": "cut",
}


@dataclass(kw_only=True)
class Seen:
    """A reply, in nobody's words."""

    texts: list[str] = field(default_factory=list)
    opaque: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str, object]] = field(default_factory=list)
    stop: str = ""
    usage: Usage = field(default_factory=Usage)


def ours(reply: Reply) -> Seen:
    return Seen(
        texts=[b.text for b in reply.content if isinstance(b, Text)],
        opaque=[json.loads(b.opaque) for b in reply.content if isinstance(b, Thinking)],
        calls=[
            (b.provider_id, b.name, json.loads(bytes(b.input)))
            for b in reply.content
            if isinstance(b, ToolCall)
        ],
        stop=reply.stop,
        usage=reply.usage or Usage(),
    )


async def from_anthropic(data: bytes) -> Seen:
    client = anthropic.AsyncAnthropic(
        api_key="k", http_client=in_memory([data]), max_retries=0, base_url="http://fake"
    )
    async with (
        client,
        client.messages.stream(
            model="claude-opus-5-5", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        message = await stream.get_final_message()
    seen = Seen(stop=STOPS[message.stop_reason or ""])
    for block in message.content:
        match block.type:
            case "text":
                seen.texts.append(block.text)
            case "tool_use":
                seen.calls.append((block.id, block.name, block.input))
            case _:
                seen.opaque.append(block.to_dict())
    if message.stop_details is not None and message.stop_details.explanation:
        seen.texts.append(message.stop_details.explanation)
    seen.usage = Usage(
        input_tokens=message.usage.input_tokens,
        output_tokens=message.usage.output_tokens,
        cache_read_tokens=message.usage.cache_read_input_tokens or 0,
        cache_write_tokens=message.usage.cache_creation_input_tokens or 0,
    )
    return seen


def _openai(data: bytes) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key="k", http_client=in_memory([data]), max_retries=0, base_url="http://fake/v1"
    )


async def from_chat(data: bytes) -> Seen:
    client = _openai(data)
    async with (
        client,
        client.chat.completions.stream(
            model="gpt-4.1", messages=[{"role": "user", "content": "hi"}]
        ) as stream,
    ):
        async for _ in stream:
            pass
        completion = stream.current_completion_snapshot
    [choice] = completion.choices
    message = choice.message
    seen = Seen(stop="refusal" if message.refusal else STOPS[str(choice.finish_reason)])
    seen.texts = [text for text in (message.content, message.refusal) if text]
    for call in message.tool_calls or ():
        arguments = json.loads(call.function.arguments or "{}")
        seen.calls.append((call.id, call.function.name, arguments))
    assert completion.usage is not None
    details = completion.usage.prompt_tokens_details
    assert details is not None
    read, written = details.cached_tokens or 0, (details.cache_write_tokens or 0)
    seen.usage = Usage(
        input_tokens=completion.usage.prompt_tokens - read - written,
        output_tokens=completion.usage.completion_tokens,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return seen


async def from_responses(data: bytes) -> Seen:
    client = _openai(data)
    seen = Seen()
    async with client:
        stream = await client.responses.create(model="gpt-5", input="hi", stream=True, store=False)
        response = None
        async for event in stream:
            if event.type in ("response.completed", "response.incomplete"):
                response = event.response
    assert response is not None
    seen.stop = "cut" if response.status == "incomplete" else "end"
    for item in response.output:
        match item.type:
            case "message":
                for part in item.content:
                    seen.texts.append(part.text if part.type == "output_text" else part.refusal)
                    if part.type == "refusal":
                        seen.stop = "refusal"
            case "function_call":
                seen.calls.append((item.call_id, item.name, json.loads(item.arguments)))
                seen.stop = "calls"
            case _:
                seen.opaque.append(item.to_dict())
    assert response.usage is not None
    details = response.usage.input_tokens_details
    seen.usage = Usage(
        input_tokens=response.usage.input_tokens
        - details.cached_tokens
        - details.cache_write_tokens,
        output_tokens=response.usage.output_tokens,
        cache_read_tokens=details.cached_tokens,
        cache_write_tokens=details.cache_write_tokens,
    )
    return seen


ORACLES = {
    "anthropic": from_anthropic,
    "openai-chat": from_chat,
    "openai-responses": from_responses,
}


@EACH
@pytest.mark.parametrize("turn", TURNS)
async def test_the_official_sdk_and_we_read_the_same(dialect: Dialect, turn: str) -> None:
    """Text, thinking, calls, stop and usage."""
    data = stream_of(dialect, TURNS[turn])
    async with dialect.at("http://fake") as wire:
        reply = await answered(wire, [data]).call(ask(dialect.model), lambda delta: None)
    assert ours(reply) == await ORACLES[dialect.name](data)


@EACH
@pytest.mark.parametrize("seed", range(40))
async def test_the_official_sdk_and_we_read_generated_turns_alike(
    dialect: Dialect, seed: int
) -> None:
    """Blocks of all kinds, in any order."""
    data = stream_of(dialect, generated_turn(seed))
    async with dialect.at("http://fake") as wire:
        reply = await answered(wire, [data]).call(ask(dialect.model), lambda delta: None)
    assert ours(reply) == await ORACLES[dialect.name](data)


@EACH
async def test_a_stream_may_be_split_at_every_byte(dialect: Dialect) -> None:
    """Inside a character, a line end and a field's name; with both kinds of line end."""
    turn = say(Thought("So \u00fc."), "\u4e2d\U0001f600", Call("R", {"p": "\u00e9"}))
    for crlf in (False, True):
        data = stream_of(dialect, turn, crlf=crlf)
        async with dialect.at("http://fake") as wire:
            whole = await answered(wire, [data]).call(ask(dialect.model), lambda delta: None)
            pieces: list[bytes] = []
            answered(wire, pieces)
            for at in range(1, len(data)):
                pieces[:] = [data[:at], data[at:]]
                reply = await wire.call(ask(dialect.model), lambda delta: None)
                assert reply == whole, f"split at {at}"
            single = [data[at : at + 1] for at in range(len(data))]
            reply = await answered(wire, single).call(ask(dialect.model), lambda delta: None)
            assert reply == whole


@EACH
@pytest.mark.parametrize("turn", TURNS)
async def test_what_is_heard_adds_up_to_what_is_recorded(dialect: Dialect, turn: str) -> None:
    """Nobody watches another text than the log keeps."""
    heard: list[object] = []
    data = stream_of(dialect, TURNS[turn])
    async with dialect.at("http://fake") as wire:
        reply = await answered(wire, [data]).call(ask(dialect.model), heard.append)
    said = "".join(d.text for d in heard if isinstance(d, TextDelta))
    thought = "".join(d.text for d in heard if isinstance(d, ThinkingDelta))
    if turn != "refusal" or dialect.name != "anthropic":
        assert said == "".join(b.text for b in reply.content if isinstance(b, Text))
    assert thought == "".join(b.text for b in reply.content if isinstance(b, Thinking))
