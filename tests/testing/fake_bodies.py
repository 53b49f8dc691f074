"""Requests that are fine, one for each dialect, to be spoiled in one place by a test."""

import base64
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from noeta.testing.fake_provider import Dialect, FakeProvider
from noeta.testing.fake_provider.signing import seal, sign

Body = dict[str, Any]

CLAUDE = "claude-opus-4-6"
GPT = "gpt-5"
PATHS: dict[Dialect, str] = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
HEADERS = {
    "x-api-key": "key",
    "authorization": "Bearer key",
    "anthropic-version": "2026-10-21",
    "content-type": "application/json",
}
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
PDF = base64.b64encode(b"%PDF-1.7\n" + bytes(20)).decode()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, what breaks it, and how the provider says so."""

    rule: str
    spoil: Callable[[Body], object]
    says: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str | None = None


def ephemeral(ttl: str | None = None) -> Body:
    """A cache breakpoint."""
    return {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}


def thought(text: str, model: str = CLAUDE) -> Body:
    """A signed block of thinking."""
    signature = sign(model=model, shown=text, hidden=text)
    return {"type": "thinking", "thinking": text, "signature": signature}


def messages_body() -> Body:
    """Anthropic Messages: a turn with two calls, answered."""
    return {
        "model": CLAUDE,
        "max_tokens": 8000,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": ephemeral()}],
        "tools": [
            {"name": "Bash", "description": "run", "input_schema": {"type": "object"}},
            {"name": "Read", "input_schema": {"type": "object"}, "cache_control": ephemeral()},
        ],
        "messages": [
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": [thought("Earlier."), {"type": "text", "text": "Eh?"}],
            },
            {"role": "user", "content": [{"type": "text", "text": "Look at this."}, image()]},
            {
                "role": "assistant",
                "content": [
                    thought("I need both."),
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"c": "ls"}},
                    {"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a b"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": [{"type": "text", "text": "no"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "Go on.", "cache_control": ephemeral()},
                ],
            },
        ],
    }


def image() -> Body:
    """A picture, as Messages takes it."""
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    return {"type": "image", "source": source}


def document() -> Body:
    """A PDF, as Messages takes it."""
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    return {"type": "document", "source": source}


def function_call(call_id: str, name: str, arguments: str = "{}") -> Body:
    """A call, as Chat Completions has it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_body() -> Body:
    """Chat Completions: a turn with two calls, answered."""
    url = {"url": f"data:image/png;base64,{PNG}"}
    schema = {"type": "object", "properties": {}}
    return {
        "model": GPT,
        "max_completion_tokens": 8000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
        "parallel_tool_calls": True,
        "tools": [
            {"type": "function", "function": {"name": "Bash", "parameters": schema}},
            {"type": "function", "function": {"name": "Read"}},
        ],
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": url},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [function_call("call_1", "Bash"), function_call("call_2", "Read")],
            },
            {"role": "tool", "tool_call_id": "call_2", "content": "no"},
            {"role": "tool", "tool_call_id": "call_1", "content": "a b"},
            {"role": "user", "content": "Go on."},
        ],
    }


def reasoning(item_id: str = "rs_1", model: str = GPT) -> Body:
    """A sealed reasoning item, as Responses has it."""
    sealed = seal(model=model, kind="reasoning", item_id=item_id, hidden="hm")
    return {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed}


def responses_body() -> Body:
    """Responses: a turn with two calls, answered, nothing stored."""
    call = {"type": "function_call", "name": "Bash", "arguments": "{}"}
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}
    return {
        "model": GPT,
        "max_output_tokens": 8000,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "Bash", "parameters": {"type": "object"}}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Look."}, picture]},
            reasoning(),
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
            },
            {**call, "id": "fc_1", "call_id": "call_1"},
            {**call, "id": "fc_2", "call_id": "call_2"},
            {"type": "function_call_output", "call_id": "call_1", "output": "a b"},
            {"type": "function_call_output", "call_id": "call_2", "output": "no"},
            {"role": "user", "content": "Go on."},
        ],
    }


BODIES: dict[Dialect, Callable[[], Body]] = {
    "anthropic": messages_body,
    "chat": chat_body,
    "responses": responses_body,
}


def plain_client(fake: FakeProvider, *, timeout_seconds: float = 5.0) -> httpx2.AsyncClient:
    """A client that knows no provider. It loads no certificates, which takes 30 ms."""
    return httpx2.AsyncClient(base_url=fake.url, verify=False, timeout=timeout_seconds)


async def post(
    fake: FakeProvider, dialect: Dialect, body: object, headers: dict[str, str] | None = None
) -> httpx2.Response:
    """What comes of a request."""
    given = {**HEADERS, **(headers or {})}
    async with plain_client(fake) as client:
        return await client.post(PATHS[dialect], json=body, headers=given)


async def broken(dialect: Dialect, rule: Rule) -> None:
    """The request that is fine is taken; spoiled, it is refused as the rule says."""
    body = BODIES[dialect]()
    async with FakeProvider(["ok"] * 9) as fake:
        assert (await post(fake, dialect, body)).status_code == 200
        spoiled = copy.deepcopy(body)
        rule.spoil(spoiled)
        assert spoiled != body, "the rule is not broken"
        answer = await post(fake, dialect, spoiled)
    assert answer.status_code == rule.status, answer.text
    error = answer.json()["error"]
    assert rule.says in error["message"]
    assert error["type"] == rule.type
    assert error.get("code") == rule.code
