"""Answers: a turn in the words of a dialect, a refusal, a list of models, a proxy's page."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from noeta.testing.fake_provider import anthropic_stream, chat_stream, responses_stream, sse
from noeta.testing.fake_provider.delivery import Answer
from noeta.testing.fake_provider.misbehaviour import Misbehaviour
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.prompt import BYTES_PER_TOKEN
from noeta.testing.fake_provider.refused import SPEND_CAP, TEXTS, Dialect, Refused
from noeta.testing.fake_provider.turn import (
    Call,
    Counted,
    Json,
    Redacted,
    Reply,
    Thinking,
    Turn,
    arguments_of,
    compact,
)

HTML = (
    "<!DOCTYPE html>\n<html><head><title>Proxy</title></head>\n"
    "<body><h1>Please sign in to the network</h1></body></html>\n"
)
CREATED_AT = "2026-01-01T00:00:00Z"


def refusal(refused: Refused, dialect: Dialect, request_id: str) -> Answer:
    """A refusal as this dialect gives it."""
    body = compact(refused.body(dialect, request_id)).encode()
    return Answer(status=refused.status, parts=[body], headers=_headers(dialect, request_id))


def misbehaved(how: Misbehaviour, dialect: Dialect, request_id: str) -> Answer:
    """What comes in place of the model's answer."""
    status = how.status or (429 if how.spend_cap else 200)
    if how.empty or how.html:
        body = b"" if how.empty else HTML.encode()
        kind = "application/json" if how.empty else "text/html; charset=utf-8"
        answer = Answer(status=status, parts=[body], headers={"content-type": kind})
    else:
        answer = refusal(_refused(how, status, dialect), dialect, request_id)
    if how.retry_after is not None and not how.spend_cap:
        answer.headers["retry-after"] = how.retry_after
    if how.retry_after_ms is not None:
        answer.headers["retry-after-ms"] = how.retry_after_ms
    if how.should_retry is not None:
        answer.headers["x-should-retry"] = "true" if how.should_retry else "false"
    if how.content_type is not None:
        answer.headers["content-type"] = how.content_type
    return answer


def played(reply: Reply, dialect: Dialect, request_id: str) -> Answer:
    """A turn, streamed when the request asks for it."""
    quirks = reply.quirks
    headers = _headers(dialect, request_id)
    if reply.body.get("stream") is not True:
        body = compact(_whole(reply, dialect)).encode()
        parts = [body]
    else:
        headers["content-type"] = "text/event-stream; charset=utf-8"
        headers["cache-control"] = "no-cache"
        events = list(_events(reply, dialect))
        if quirks.error_after is not None:
            events = [*events[: quirks.error_after], _failure(reply, dialect)]
        parts = [sse.encode(event, crlf=quirks.crlf) for event in events]
    if quirks.content_type is not None:
        headers["content-type"] = quirks.content_type
    return Answer(
        status=200,
        parts=parts,
        streamed=reply.body.get("stream") is True,
        headers=headers,
        ping=_ping(dialect),
    )


def call_ids_of(turn: Turn, dialect: Dialect, seed: str) -> tuple[str, ...]:
    """Ids of a turn's calls: those it was given, and new ones that follow from the seed."""
    prefix = "toolu_" if dialect == "anthropic" else "call_"
    calls = [block for block in turn.blocks if isinstance(block, Call)]
    return tuple(
        call.id or f"{prefix}{hashlib.sha256(f'{seed}{at}'.encode()).hexdigest()[:24]}"
        for at, call in enumerate(calls)
    )


def with_output(reply: Reply) -> Counted:
    """The cost with the output counted, as everything is: four bytes a token."""
    thought = said = 0
    for block in reply.turn.blocks:
        match block:
            case Thinking(text=text) | Redacted(hidden=text):
                thought += len(text.encode())
            case Call(tool=tool):
                said += len(tool.encode()) + len(arguments_of(block, reply.quirks).encode())
            case _:
                said += len(block.text.encode())
    return replace(
        reply.counted,
        output_tokens=max(1, -(-(thought + said) // BYTES_PER_TOKEN)),
        thinking_tokens=-(-thought // BYTES_PER_TOKEN),
    )


def thinking_of(body: Json, model: FakeModel) -> Literal["shown", "omitted", "off"]:
    """What a Messages request sees of the model's thinking; the other dialects see it all."""
    if model.owner != "anthropic":
        return "shown"
    asked_for = body.get("thinking")
    if not isinstance(asked_for, dict):
        asked_for = {"type": "adaptive" if model.thinks_unasked else "disabled"}
    if asked_for["type"] == "disabled":
        return "off"
    default = "summarized" if model.thinking_shown else "omitted"
    return "shown" if (asked_for.get("display") or default) == "summarized" else "omitted"


def model_list(models: Iterable[FakeModel], dialect: Dialect) -> Answer:
    """What `GET /v1/models` gives."""
    entries = [model_entry(model, dialect) for model in models]
    body: Json = {"data": entries}
    if dialect == "anthropic":
        ids = [entry["id"] for entry in entries]
        body |= {"has_more": False, "first_id": ids[0], "last_id": ids[-1]} if ids else {}
    else:
        body["object"] = "list"
    return ok(body, dialect)


def model_entry(model: FakeModel, dialect: Dialect) -> Json:
    """One model, as its provider lists it."""
    if dialect == "anthropic":
        return {
            "type": "model",
            "id": model.name,
            "display_name": model.name.replace("-", " ").title(),
            "created_at": CREATED_AT,
            "max_input_tokens": model.context_tokens,
            "max_tokens": model.output_tokens_max,
        }
    return {"id": model.name, "object": "model", "created": 1_767_225_600, "owned_by": model.owner}


def ok(body: Json, dialect: Dialect, request_id: str = "req_fake") -> Answer:
    """A plain JSON answer."""
    return Answer(status=200, parts=[compact(body).encode()], headers=_headers(dialect, request_id))


def _refused(how: Misbehaviour, status: int, dialect: Dialect) -> Refused:
    if how.spend_cap:
        if dialect == "anthropic":
            return Refused(status, how.message or SPEND_CAP["anthropic"], how.error_type)
        kind = how.error_type or "insufficient_quota"
        return Refused(status, how.message or SPEND_CAP["openai"], kind, "insufficient_quota")
    code = "rate_limit_exceeded" if status == 429 else None
    text = how.message or TEXTS.get(status, "The fake provider was told to refuse this.")
    return Refused(status, text, how.error_type, code)


def _whole(reply: Reply, dialect: Dialect) -> Json:
    match dialect:
        case "anthropic":
            return anthropic_stream.message(reply)
        case "chat":
            return chat_stream.completion(reply)
        case "responses":
            return responses_stream.response(reply)


def _events(reply: Reply, dialect: Dialect) -> Iterable[sse.Event]:
    match dialect:
        case "anthropic":
            return anthropic_stream.events(reply)
        case "chat":
            return chat_stream.events(reply)
        case "responses":
            return responses_stream.events(reply)


def _failure(reply: Reply, dialect: Dialect) -> sse.Event:
    how = reply.quirks
    text = how.message or "Overloaded"
    match dialect:
        case "anthropic":
            return anthropic_stream.error_event(how.error_type or "overloaded_error", text)
        case "chat":
            return chat_stream.error_event(how.error_type or "server_error", text)
        case "responses":
            number = how.error_after or 0
            if how.failed_response:
                kind = how.error_type or "server_error"
                return responses_stream.failed_event(reply, kind, text, number=number)
            kind = how.error_type or "server_error"
            return responses_stream.error_event(kind, text, number=number)


def _ping(dialect: Dialect) -> bytes:
    if dialect == "anthropic":
        return sse.encode(anthropic_stream.PING)
    # OpenAI has no ping; proxies in front of it and compatible servers send comments.
    return sse.comment("keep-alive")


def _headers(dialect: Dialect, request_id: str) -> dict[str, str]:
    name = "request-id" if dialect == "anthropic" else "x-request-id"
    return {"content-type": "application/json", name: request_id}
