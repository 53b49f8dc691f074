"""OpenAI's Chat Completions, as OpenAI and many other servers speak it: the request and the call.

The widest dialect and the poorest: no thinking of OpenAI's own, results that are text only, no
word for a failed call. Facts: platform.openai.com/docs/api-reference/chat and the pages of
compatible servers, read in November 2026. How the reply comes is in `openai_chat_reply`.
"""

import re
from typing import Any

import msgspec

from noeta.backends.models.endpoint import Endpoint, model_name
from noeta.backends.models.openai_chat_reply import REASONING_FIELDS, ChatReply
from noeta.backends.models.wire_blocks import (
    Sent,
    object_schema,
    owes_a_word,
    parts_of,
    texts_of,
    tool_name,
)
from noeta.backends.models.wire_model import WireModel, Words, bearer
from noeta.core import texts
from noeta.core.context import Request
from noeta.core.message import (
    AssistantMessage,
    Media,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

DIALECT = "openai-chat"

_encoder = msgspec.json.Encoder()
_Json = dict[str, Any]


class OpenAIChatModel(WireModel):
    """A Model behind Chat Completions."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            endpoint,
            Words(path="/chat/completions", headers=bearer, render=render, reply=ChatReply),
        )


def render(request: Request) -> bytes:
    """The body of the request."""
    name = model_name(request.model)
    limits = request.limits
    body: _Json = {
        "model": name,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if limits.output_tokens_max:
        # Compatible servers know the old name only, OpenAI's reasoning models the new one.
        field = "max_completion_tokens" if _reasons(name) else "max_tokens"
        body[field] = limits.output_tokens_max
    if limits.effort:
        body["reasoning_effort"] = limits.effort
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": object_schema(tool.input_schema),
                },
            }
            for tool in request.tools
        ]
    messages = request.encoded(DIALECT, encode_message)
    system = "\n\n".join(texts_of(request.system))
    if system:
        messages.insert(0, _encoder.encode({"role": "system", "content": system}))
    if owes_a_word(request.messages):
        messages.append(_encoder.encode({"role": "user", "content": texts.GO_ON}))
    head = _encoder.encode(body)
    return b"".join((head[:-1], b',"messages":[', b",".join(messages), b"]}"))


def _reasons(name: str) -> bool:
    """OpenAI's reasoning models, behind a router too: `gpt-5`, `openai/o3-mini`, not `gpt-oss`."""
    return re.match(r"gpt-[5-9]|o\d", name.rpartition("/")[2]) is not None


def encode_message(message: Message) -> bytes:
    """A message of ours: one of theirs, or one for each result and one for the rest."""
    if isinstance(message, AssistantMessage):
        return _encoder.encode(_assistant(message))
    return b",".join(map(_encoder.encode, _user(message)))


def _assistant(message: AssistantMessage) -> _Json:
    said = texts_of([block.text for block in message.content if isinstance(block, Text)])
    calls = [
        {
            "id": block.call_id,
            "type": "function",
            "function": {
                "name": tool_name(block.name),
                "arguments": bytes(block.input).decode("utf-8", "replace"),
            },
        }
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    entry: _Json = {"role": "assistant", "content": "\n\n".join(said) or None}
    if not said and not calls:
        entry["content"] = texts.EMPTY_REPLY
    if calls:
        # Servers that think want it back while a turn's calls go on, and refuse it, or pay no
        # attention to it, in any other message.
        for block in message.content:
            if isinstance(block, Thinking):
                entry |= _reasoning(block)
        entry["tool_calls"] = calls
    return entry


def _reasoning(block: Thinking) -> _Json:
    """The field a server gave its thinking in; nothing for thinking of another dialect."""
    try:
        found = msgspec.json.decode(block.opaque, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    if len(found) != 1:
        return {}
    return {k: v for k, v in found.items() if k in REASONING_FIELDS and isinstance(v, str)}


def _user(message: UserMessage) -> list[_Json]:
    entries: list[_Json] = []
    parts: list[_Json] = []
    for block in message.content:
        if isinstance(block, ToolResult):
            entries.append(_result(block, parts))
    shown = parts_of([b for b in message.content if isinstance(b, Text | Media)])
    if not parts and all(isinstance(part, str) for part in shown):
        # Plain text in the plainest form, which every server takes.
        content = "\n\n".join(part for part in shown if isinstance(part, str))
        if content or not entries:
            entries.append({"role": "user", "content": content or texts.EMPTY_MESSAGE})
        return entries
    parts += map(_part, shown)
    entries.append({"role": "user", "content": parts})
    return entries


def _result(result: ToolResult, parts: list[_Json]) -> _Json:
    """A result as text; its media go into parts, for the user message after the results."""
    said = ["Error:"] if result.is_error else []
    media: list[Sent] = []
    for part in parts_of(result.content):
        if isinstance(part, str):
            said.append(part)
        else:
            said.append(f"[{part.media_type}: shown below]")
            media.append(part)
    if media:
        parts.append({"type": "text", "text": f"From the result of call {result.call_id}:"})
        parts += map(_part, media)
    return {
        "role": "tool",
        "tool_call_id": result.call_id,
        "content": "\n".join(said) or "(no output)",
    }


def _part(part: str | Sent) -> _Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if part.is_image:
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "file", "file": {"filename": "document.pdf", "file_data": part.url}}
