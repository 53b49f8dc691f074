"""Anthropic's Messages: the request as it asks for it, and the call.

The body is rendered from the Request alone and its fields have one order, so any worker sends
the same bytes. Facts: platform.claude.com/docs/en/api/messages, .../prompt-caching, .../thinking,
read in November 2026. How the reply comes is in `anthropic_reply`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noeta.backends.models.anthropic_reply import AnthropicReply
from noeta.backends.models.endpoint import Endpoint, model_name
from noeta.backends.models.wire_blocks import (
    Sent,
    object_schema,
    opaque_type,
    owes_a_word,
    parts_of,
    texts_of,
    tool_name,
)
from noeta.backends.models.wire_model import WireModel, Words
from noeta.core import texts
from noeta.core.context import Request
from noeta.core.message import (
    AssistantMessage,
    Limits,
    Media,
    Message,
    Shown,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

DIALECT = "anthropic"
OUTPUT_TOKENS = 8192
"""When a route has no limit on record: what every model since Claude 3.5 can write."""
THINKING_TOKENS_MIN = 1024

_MARK = {"type": "ephemeral"}
_encoder = msgspec.json.Encoder()
_GO_ON = _encoder.encode({"role": "user", "content": [{"type": "text", "text": texts.GO_ON}]})
_Block = dict[str, Any] | msgspec.Raw


def _headers(endpoint: Endpoint) -> Mapping[str, str]:
    headers = {"anthropic-version": "2023-06-01"}
    return headers | ({"x-api-key": endpoint.key} if endpoint.key else {})


class AnthropicModel(WireModel):
    """A Model behind Anthropic's Messages, or behind a server that speaks it."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            endpoint,
            Words(path="/v1/messages", headers=_headers, render=render, reply=AnthropicReply),
        )


def render(request: Request) -> bytes:
    """The body of the request."""
    name = model_name(request.model)
    limits = request.limits
    max_tokens = limits.output_tokens_max or OUTPUT_TOKENS
    body: dict[str, object] = {"model": name, "max_tokens": max_tokens, "stream": True}
    body |= _effort(name, limits, max_tokens, request.messages)
    # Breakpoint 1: all that is the same in every request of the task. The order in which a
    # provider reads is tools, system, messages.
    system: list[_Block] = [{"type": "text", "text": text} for text in texts_of(request.system)]
    tools: list[_Block] = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": object_schema(tool.input_schema),
        }
        for tool in request.tools
    ]
    _mark(system or tools)
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    head = _encoder.encode(body)
    return b"".join((head[:-1], b',"messages":[', b",".join(_messages(request)), b"]}"))


def _messages(request: Request) -> list[bytes]:
    """The messages, with breakpoints in the last two of the user's.

    The last is where this request's prefix is written; the one before is where the previous
    request's was. Without it a step of more than twenty blocks would miss the cache: a provider
    looks no further back than that from a breakpoint.
    """
    messages = request.messages
    done = request.encoded(DIALECT, encode_message)
    marked = 0
    for index in range(len(messages) - 1, max(-1, len(messages) - 5), -1):
        if marked < 2 and isinstance(messages[index], UserMessage):
            done[index] = _encoded(messages[index], marked=True)
            marked += 1
    if owes_a_word(messages) and not _is_paused(messages[-1]):
        done.append(_GO_ON)
    return done


def _is_paused(message: Message) -> bool:
    """The provider paused in work of its own, which goes on when it is sent back as it is.

    Any other reply must not come last: newer models refuse to go on from their own words.
    """
    last = message.content[-1] if message.content else None
    if not isinstance(last, Thinking):
        return False
    return opaque_type(last) not in ("", "thinking", "redacted_thinking", "reasoning")


def encode_message(message: Message) -> bytes:
    """A message without a breakpoint: these bytes never change."""
    return _encoded(message, marked=False)


def _encoded(message: Message, *, marked: bool) -> bytes:
    blocks: list[_Block]
    if isinstance(message, UserMessage):
        role = "user"
        # Results come first, or the calls count as unanswered.
        blocks = [_result(b) for b in message.content if isinstance(b, ToolResult)]
        blocks += _shown([b for b in message.content if isinstance(b, Text | Media)])
        blocks = blocks or [_text(texts.EMPTY_MESSAGE)]
    else:
        role = "assistant"
        blocks = [block for b in message.content if (block := _said(b)) is not None]
        # Thinking must not be the last thing said.
        if not blocks or (isinstance(blocks[-1], msgspec.Raw) and not _is_paused(message)):
            blocks.append(_text(texts.EMPTY_REPLY))
    if marked:
        _mark(blocks)
    return _encoder.encode({"role": role, "content": blocks})


def _mark(blocks: Sequence[_Block]) -> None:
    """Set a breakpoint on the last block that may have one; thinking may not."""
    for block in reversed(blocks):
        if isinstance(block, dict):
            block["cache_control"] = _MARK
            return


def _said(block: Text | Thinking | ToolCall) -> _Block | None:
    match block:
        case Text(text=text):
            return _text(text) if text.strip() else None
        case Thinking():
            if opaque_type(block) in ("", "object", "reasoning"):
                return None
            return msgspec.Raw(block.opaque.encode())
        case ToolCall():
            return {
                "type": "tool_use",
                "id": block.call_id,
                "name": tool_name(block.name),
                "input": block.input,
            }


def _result(result: ToolResult) -> _Block:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    content = _shown(result.content, words_only=result.is_error)
    if result.is_error:
        block["content"] = content or [_text("(no output)")]
        block["is_error"] = True
    elif content:
        block["content"] = content
    return block


def _shown(content: Sequence[Shown], *, words_only: bool = False) -> list[_Block]:
    """Text, pictures and documents; a failed result may hold words only."""
    blocks: list[_Block] = []
    for part in parts_of(content):
        if isinstance(part, str):
            blocks.append(_text(part))
        elif words_only:
            blocks.append(_text(f"[{part.media_type}]"))
        else:
            blocks.append(_media(part))
    return blocks


def _media(part: Sent) -> _Block:
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image" if part.is_image else "document", "source": source}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _effort(
    name: str, limits: Limits, max_tokens: int, messages: Sequence[Message]
) -> dict[str, object]:
    """The fields that say how hard to think.

    From Claude 4.6 on the model decides how long it thinks and a budget is deprecated, then
    refused; before, thinking is a budget. Neither is sent when nothing was asked for.
    """
    effort = limits.effort if limits.effort != "none" else ""
    fields: dict[str, object] = {}
    if _is_adaptive(name):
        if effort or limits.thinking_tokens:
            fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    else:
        budget = min(limits.thinking_tokens, max_tokens - 1)
        if budget >= THINKING_TOKENS_MIN and not _is_open_without_thinking(messages):
            fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if effort:
        fields["output_config"] = {"effort": effort}
    return fields


def _is_adaptive(name: str) -> bool:
    """Claude 4.6 and later: `claude-opus-4-6`, `claude-fable-5`; not `claude-opus-4-20250514`."""
    # Routers write `anthropic/claude-opus-4.6`.
    name = name.rpartition("/")[2].replace(".", "-")
    if not name.startswith("claude-"):
        return False
    version = [int(part) for part in re.findall(r"(?<=-)\d{1,2}(?=-|$)", name)]
    return version >= [4, 6]


def _is_open_without_thinking(messages: Sequence[Message]) -> bool:
    """Calls are being answered that were made without thinking, by another model or before it
    was asked for: the provider then refuses to think until the turn is over."""
    if len(messages) < 2 or not isinstance(messages[-2], AssistantMessage):
        return False
    said = messages[-2].content
    is_open = any(isinstance(block, ToolCall) for block in said)
    starts = isinstance(said[0], Thinking) and opaque_type(said[0]) != ""
    return is_open and not starts
