"""A turn as OpenAI's Responses says it: output items, and the events that build them."""

from collections.abc import Iterator
from typing import Any

from noeta.testing.fake_provider import signing
from noeta.testing.fake_provider.sse import Event
from noeta.testing.fake_provider.turn import (
    Call,
    Counted,
    Json,
    Redacted,
    Refusal,
    Reply,
    Text,
    Thinking,
    arguments_of,
    pieces,
)

SEALED = "reasoning.encrypted_content"


def response(reply: Reply) -> Json:
    """The whole reply, for a request that does not stream."""
    cut = reply.turn.stopped in ("length", "context")
    return {
        **_envelope(reply, "incomplete" if cut else "completed"),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": items(reply),
        "usage": _usage(reply.counted),
    }


def events(reply: Reply) -> Iterator[Event]:
    """The reply as a stream, with its events numbered."""
    for number, (name, fields) in enumerate(_events(reply)):
        yield Event({"type": name, "sequence_number": number, **fields}, name)


def items(reply: Reply) -> list[Json]:
    """The output items, as a client is to send them back."""
    calls = iter(reply.call_ids)
    found: list[Json] = []
    for index, block in enumerate(reply.turn.blocks):
        tail = f"{reply.id}{index:02d}"
        match block:
            case Text(text=text):
                part: Json = {"type": "output_text", "text": text, "annotations": []}
                found.append(_message(tail, {**part, "logprobs": []}))
            case Refusal(text=text):
                found.append(_message(tail, {"type": "refusal", "refusal": text}))
            case Thinking(text=text):
                found.append(_reasoning(reply, tail, shown=text, hidden=text))
            case Redacted(hidden=hidden):
                found.append(_reasoning(reply, tail, shown="", hidden=hidden))
            case Call(tool=tool):
                name = tool if reply.quirks.tool_name is None else reply.quirks.tool_name
                found.append(
                    {
                        "id": f"fc_{tail}",
                        "type": "function_call",
                        "status": "completed",
                        "arguments": arguments_of(block, reply.quirks),
                        "call_id": next(calls),
                        "name": name,
                    }
                )
    if found and reply.turn.stopped in ("length", "context") and "status" in found[-1]:
        found[-1]["status"] = "incomplete"
    return found


def error_event(type: str, message: str, *, number: int) -> Event:
    """What comes after a 200 when the provider fails in mid-stream."""
    data = {"type": "error", "code": type, "message": message, "param": None}
    return Event({**data, "sequence_number": number}, "error")


def failed_event(reply: Reply, type: str, message: str, *, number: int) -> Event:
    """The other way in which a stream fails: a response that says so."""
    failed = {**_envelope(reply, "failed"), "error": {"code": type, "message": message}}
    data = {"type": "response.failed", "response": failed, "sequence_number": number}
    return Event(data, "response.failed")


def _events(reply: Reply) -> Iterator[tuple[str, Json]]:
    opening = _envelope(reply, "in_progress")
    yield "response.created", {"response": opening}
    yield "response.in_progress", {"response": opening}
    for index, item in enumerate(items(reply)):
        bare = _bare(item)
        yield "response.output_item.added", {"output_index": index, "item": bare}
        at = {"item_id": item["id"], "output_index": index}
        match item["type"]:
            case "message":
                yield from _message_events(item, at, reply.turn.piece_chars)
            case "reasoning":
                yield from _reasoning_events(item, at, reply.turn.piece_chars)
            case _:
                name = "response.function_call_arguments"
                for piece in pieces(item["arguments"], reply.turn.piece_chars):
                    yield f"{name}.delta", {**at, "delta": piece}
                yield f"{name}.done", {**at, "arguments": item["arguments"], "name": item["name"]}
        yield "response.output_item.done", {"output_index": index, "item": item}
    whole = response(reply)
    ending = (f"response.{whole['status']}", {"response": whole})
    if not reply.quirks.missing_stop:
        yield ending
    if reply.quirks.duplicate_stop:
        yield ending


def _message_events(item: Json, at: Json, size: int) -> Iterator[tuple[str, Json]]:
    [part] = item["content"]
    at = {**at, "content_index": 0}
    if part["type"] == "output_text":
        yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
        for piece in pieces(part["text"], size):
            yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
        yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
    else:
        yield "response.content_part.added", {**at, "part": {**part, "refusal": ""}}
        for piece in pieces(part["refusal"], size):
            yield "response.refusal.delta", {**at, "delta": piece}
        yield "response.refusal.done", {**at, "refusal": part["refusal"]}
    yield "response.content_part.done", {**at, "part": part}


def _reasoning_events(item: Json, at: Json, size: int) -> Iterator[tuple[str, Json]]:
    name = "response.reasoning_summary"
    for index, part in enumerate(item["summary"]):
        here = {**at, "summary_index": index}
        yield f"{name}_part.added", {**here, "part": {**part, "text": ""}}
        for piece in pieces(part["text"], size):
            yield f"{name}_text.delta", {**here, "delta": piece}
        yield f"{name}_text.done", {**here, "text": part["text"]}
        yield f"{name}_part.done", {**here, "part": part}


def _bare(item: Json) -> Json:
    """An item that has only begun."""
    match item["type"]:
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case "reasoning":
            return {**item, "summary": []}
        case _:
            return {**item, "status": "in_progress", "arguments": ""}


def _message(tail: str, part: Json) -> Json:
    return {
        "id": f"msg_{tail}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def _reasoning(reply: Reply, tail: str, *, shown: str, hidden: str) -> Json:
    item: Json = {
        "id": f"rs_{tail}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": shown}] if shown else [],
    }
    if SEALED in (reply.body.get("include") or ()):
        item["encrypted_content"] = signing.seal(
            model=reply.model, kind="reasoning", item_id=item["id"], hidden=hidden
        )
    return item


def _envelope(reply: Reply, status: str) -> Json:
    body = reply.body
    echoed: dict[str, Any] = {
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
    }
    told = {
        name: default if body.get(name) is None else body[name] for name, default in echoed.items()
    }
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.created_at,
        "status": status,
        "model": reply.model,
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
        **told,
    }


def _usage(counted: Counted) -> Json:
    return {
        "input_tokens": counted.input_tokens,
        "input_tokens_details": {"cached_tokens": counted.read_tokens, "cache_write_tokens": 0},
        "output_tokens": counted.output_tokens,
        "output_tokens_details": {"reasoning_tokens": counted.thinking_tokens},
        "total_tokens": counted.input_tokens + counted.output_tokens,
    }
