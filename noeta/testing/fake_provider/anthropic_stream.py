"""A turn as Anthropic's Messages says it: one message, or the events of its stream."""

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
    Stop,
    Text,
    Thinking,
    arguments_of,
    pieces,
)

STOP_REASONS: dict[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "pause": "pause_turn",
    "refusal": "refusal",
    "context": "model_context_window_exceeded",
}


def message(reply: Reply) -> Json:
    """The whole reply, for a request that does not stream."""
    return {
        **_envelope(reply),
        "content": content(reply),
        **_ending(reply),
        "usage": _usage(reply.counted, output=reply.counted.output_tokens),
    }


def events(reply: Reply) -> Iterator[Event]:
    """The reply as a stream."""
    opening = {
        **_envelope(reply),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": _usage(reply.counted, output=min(1, reply.counted.output_tokens)),
    }
    yield _event("message_start", message=opening)
    yield _event("ping")
    for index, block in enumerate(content(reply)):
        yield from _block_events(index, block, reply)
    usage = _usage(reply.counted, output=reply.counted.output_tokens)
    usage.pop("cache_creation")
    usage.pop("service_tier")
    yield _event("message_delta", delta=_ending(reply), usage=usage)
    if not reply.quirks.missing_stop:
        yield _event("message_stop")
    if reply.quirks.duplicate_stop:
        yield _event("message_stop")


def content(reply: Reply) -> list[Json]:
    """The content blocks, as a client is to send them back."""
    call_ids = iter(reply.call_ids)
    blocks: list[Json] = []
    for block in reply.turn.blocks:
        match block:
            case Text(text=text, citations=citations):
                blocks.append({"type": "text", "text": text})
                if citations:
                    blocks[-1]["citations"] = [dict(each) for each in citations]
            case Thinking(text=text) if reply.thinking != "off":
                shown = text if reply.thinking == "shown" else ""
                signature = signing.sign(model=reply.model, shown=shown, hidden=text)
                blocks.append({"type": "thinking", "thinking": shown, "signature": signature})
            case Redacted(hidden=hidden) if reply.thinking != "off":
                data = signing.seal(
                    model=reply.model, kind="redacted", item_id=reply.id, hidden=hidden
                )
                blocks.append({"type": "redacted_thinking", "data": data})
            case Call(tool=tool, input=given):
                name = tool if reply.quirks.tool_name is None else reply.quirks.tool_name
                blocks.append(
                    {"type": "tool_use", "id": next(call_ids), "name": name, "input": dict(given)}
                )
            case _:
                # A refusal has no block: it is the stop reason, and its details.
                pass
    return blocks


def error_event(type: str, message: str) -> Event:
    """What comes after a 200 when the provider fails in mid-stream."""
    return Event({"type": "error", "error": {"type": type, "message": message}}, "error")


PING = Event({"type": "ping"}, "ping")


def _block_events(index: int, block: Json, reply: Reply) -> Iterator[Event]:
    size = reply.turn.piece_chars
    start, deltas = dict(block), []
    match block["type"]:
        case "text":
            start = {"type": "text", "text": ""}
            if "citations" in block:
                start["citations"] = []
            deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"], size)]
            deltas += [
                {"type": "citations_delta", "citation": each} for each in block.get("citations", [])
            ]
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"], size)
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case "tool_use":
            start["input"] = {}
            call = Call(block["name"], block["input"])
            text = arguments_of(call, reply.quirks)
            if text == "{}":
                text = ""
            deltas = [
                {"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(text, size)]
            ]
        case _:
            pass
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _envelope(reply: Reply) -> Json:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "container": None,
    }


def _ending(reply: Reply) -> Json:
    stopped = reply.turn.stopped
    sequences = reply.body.get("stop_sequences") or [None]
    explanations = [block.text for block in reply.turn.blocks if isinstance(block, Refusal)]
    details = {
        "type": "refusal",
        "category": None,
        "explanation": "".join(explanations) or None,
    }
    return {
        "stop_reason": STOP_REASONS[stopped],
        "stop_sequence": sequences[0] if stopped == "stop_sequence" else None,
        "stop_details": details if stopped == "refusal" else None,
    }


def _usage(counted: Counted, *, output: int) -> Json:
    return {
        "input_tokens": counted.input_tokens - counted.read_tokens - counted.written_tokens,
        "cache_creation_input_tokens": counted.written_tokens,
        "cache_read_input_tokens": counted.read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": counted.written_5m_tokens,
            "ephemeral_1h_input_tokens": counted.written_1h_tokens,
        },
        "output_tokens": output,
        "service_tier": "standard",
    }


def _event(name: str, **fields: Any) -> Event:
    return Event({"type": name, **fields}, name)
