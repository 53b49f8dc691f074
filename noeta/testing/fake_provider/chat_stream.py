"""A turn as OpenAI's Chat Completions says it, and as compatible servers say it."""

import json
from collections.abc import Iterator

from noeta.testing.fake_provider.sse import Event
from noeta.testing.fake_provider.turn import (
    Call,
    Counted,
    Json,
    Refusal,
    Reply,
    Stop,
    Text,
    Thinking,
    arguments_of,
    pieces,
)

FINISH_REASONS: dict[Stop, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "stop_sequence": "stop",
    "pause": "stop",
    "refusal": "stop",
    "context": "length",
}
DONE = Event("[DONE]")


def completion(reply: Reply) -> Json:
    """The whole reply, for a request that does not stream."""
    message: Json = {
        "role": "assistant",
        "content": _joined(reply, Text) or None,
        "refusal": _joined(reply, Refusal) or None,
    }
    if reply.quirks.reasoning_content:
        message["reasoning_content"] = _joined(reply, Thinking)
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id, name, arguments in _calls(reply)
    ]
    if calls:
        message["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": FINISH_REASONS[reply.turn.stopped],
        "logprobs": None,
    }
    return {
        **_envelope(reply, "chat.completion"),
        "choices": [choice],
        "usage": usage(reply.counted),
    }


def events(reply: Reply) -> Iterator[Event]:
    """The reply as a stream of chunks."""
    options = reply.body.get("stream_options")
    counts = isinstance(options, dict) and bool(options.get("include_usage"))
    size = reply.turn.piece_chars
    yield _chunk(reply, {"role": "assistant", "content": "", "refusal": None}, counts=counts)
    for block in reply.turn.blocks:
        match block:
            case Text(text=text):
                for piece in pieces(text, size):
                    yield _chunk(reply, {"content": piece}, counts=counts)
            case Refusal(text=text):
                for piece in pieces(text, size):
                    yield _chunk(reply, {"refusal": piece}, counts=counts)
            case Thinking(text=text) if reply.quirks.reasoning_content:
                for piece in pieces(text, size):
                    yield _chunk(reply, {"reasoning_content": piece}, counts=counts)
            case _:
                pass
    for index, (call_id, name, arguments) in enumerate(_calls(reply)):
        for fragment in _fragments(reply, index, call_id, name, arguments):
            yield _chunk(reply, {"tool_calls": [fragment]}, counts=counts)
    yield _chunk(reply, {}, finish=FINISH_REASONS[reply.turn.stopped], counts=counts)
    if counts:
        last = {**_envelope(reply, "chat.completion.chunk"), "choices": []}
        yield Event({**last, "usage": usage(reply.counted)})
    if not reply.quirks.missing_stop:
        yield DONE
    if reply.quirks.duplicate_stop:
        yield DONE


def error_event(type: str, message: str) -> Event:
    """The error object that comes after a 200 when the provider fails in mid-stream."""
    return Event({"error": {"message": message, "type": type, "param": None, "code": None}})


def usage(counted: Counted) -> Json:
    """Tokens, as this dialect counts them: the prompt's include what was read from cache."""
    return {
        "prompt_tokens": counted.input_tokens,
        "completion_tokens": counted.output_tokens,
        "total_tokens": counted.input_tokens + counted.output_tokens,
        "prompt_tokens_details": {"cached_tokens": counted.read_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": counted.thinking_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _fragments(reply: Reply, index: int, call_id: str, name: str, arguments: str) -> Iterator[Json]:
    quirks = reply.quirks
    place: Json = {} if quirks.missing_index else {"index": index}
    names: Json = {"id": call_id, "type": "function", "function": {"name": name}}
    if quirks.arguments_object:
        yield {**place, **names, "function": {"name": name, "arguments": json.loads(arguments)}}
        return
    for at, piece in enumerate(["", *pieces(arguments, reply.turn.piece_chars)]):
        told = quirks.id_on == "every" or (quirks.id_on == "first" and at == 0)
        if told:
            yield {**place, **names, "function": {"name": name, "arguments": piece}}
        elif at == 0:
            yield {**place, "type": "function", "function": {"name": name, "arguments": piece}}
        else:
            yield {**place, "function": {"arguments": piece}}


def _calls(reply: Reply) -> Iterator[tuple[str, str, str]]:
    calls = [block for block in reply.turn.blocks if isinstance(block, Call)]
    for call_id, call in zip(reply.call_ids, calls, strict=True):
        name = call.tool if reply.quirks.tool_name is None else reply.quirks.tool_name
        yield call_id, name, arguments_of(call, reply.quirks)


def _joined(reply: Reply, kind: type[Text] | type[Refusal] | type[Thinking]) -> str:
    return "".join(block.text for block in reply.turn.blocks if isinstance(block, kind))


def _chunk(reply: Reply, delta: Json, *, counts: bool, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    data = {**_envelope(reply, "chat.completion.chunk"), "choices": [choice]}
    if counts:
        data["usage"] = None
    return Event(data)


def _envelope(reply: Reply, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{reply.id}",
        "object": kind,
        "created": reply.created_at,
        "model": reply.model,
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }
