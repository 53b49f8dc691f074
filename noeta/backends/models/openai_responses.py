"""OpenAI's Responses: the request and the call.

Nothing is kept at the provider (`store` is false): the whole conversation is sent as items, and
reasoning goes back and forth encrypted, inside `Thinking.opaque`. Facts:
platform.openai.com/docs/api-reference/responses, read in November 2026. How the reply comes is in
`openai_responses_reply`.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from noeta.backends.models.endpoint import Endpoint, model_name
from noeta.backends.models.openai_responses_reply import ResponsesReply
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
    ReplyBlock,
    Shown,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

DIALECT = "openai-responses"
OUTPUT_TOKENS_MIN = 16
"""The provider refuses less."""

_encoder = msgspec.json.Encoder()
_Item = dict[str, Any] | msgspec.Raw


class OpenAIResponsesModel(WireModel):
    """A Model behind Responses."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(
            endpoint,
            Words(path="/responses", headers=bearer, render=render, reply=ResponsesReply),
        )


def render(request: Request) -> bytes:
    """The body of the request."""
    name = model_name(request.model)
    limits = request.limits
    body: dict[str, Any] = {"model": name, "stream": True, "store": False}
    if not re.match(r"gpt-[34]|chatgpt", name):
        # Refused by the models that do not reason.
        body["include"] = ["reasoning.encrypted_content"]
        if limits.effort:
            body["reasoning"] = {"effort": limits.effort}
    if limits.output_tokens_max:
        body["max_output_tokens"] = max(limits.output_tokens_max, OUTPUT_TOKENS_MIN)
    system = "\n\n".join(texts_of(request.system))
    if system:
        body["instructions"] = system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": object_schema(tool.input_schema),
                # Strict schemas are a subset of JSON Schema that a tool need not keep to.
                "strict": False,
            }
            for tool in request.tools
        ]
    messages = request.encoded(DIALECT, encode_message)
    if owes_a_word(request.messages):
        messages.append(_encoder.encode(_user_item([texts.GO_ON])))
    head = _encoder.encode(body)
    return b"".join((head[:-1], b',"input":[', b",".join(messages), b"]}"))


def encode_message(message: Message) -> bytes:
    """A message of ours as its items, joined by commas."""
    items: list[_Item]
    if isinstance(message, AssistantMessage):
        items = _said(message.content)
    else:
        items = [_result(block) for block in message.content if isinstance(block, ToolResult)]
        shown = parts_of([b for b in message.content if isinstance(b, Text | Media)])
        if shown or not items:
            items.append(_user_item(shown or [texts.EMPTY_MESSAGE]))
    return b",".join(map(_encoder.encode, items))


def _said(content: Sequence[ReplyBlock]) -> list[_Item]:
    items: list[_Item] = []
    for block in content:
        match block:
            case Text(text=text) if text.strip():
                items.append(_assistant_item(text))
            case Text():
                pass
            case Thinking():
                if _is_sealed(block):
                    items.append(msgspec.Raw(block.opaque.encode()))
            case ToolCall():
                items.append(
                    {
                        "type": "function_call",
                        "call_id": block.call_id,
                        "name": tool_name(block.name),
                        "arguments": bytes(block.input).decode("utf-8", "replace"),
                    }
                )
    # Reasoning is refused without what it led to, which may have been cut off.
    while items and isinstance(items[-1], msgspec.Raw):
        items.pop()
    return items or [_assistant_item(texts.EMPTY_REPLY)]


class _Sealed(msgspec.Struct):
    type: str
    id: str
    encrypted_content: str


def _is_sealed(block: Thinking) -> bool:
    """An item of this dialect that the provider can read without having stored it."""
    try:
        return msgspec.json.decode(block.opaque, type=_Sealed).type == "reasoning"
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False


def _assistant_item(text: str) -> _Item:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }


def _user_item(parts: Sequence[str | Sent]) -> _Item:
    return {"type": "message", "role": "user", "content": [_part(part) for part in parts]}


def _result(result: ToolResult) -> _Item:
    return {
        "type": "function_call_output",
        "call_id": result.call_id,
        "output": _output(result.content, is_error=result.is_error),
    }


def _output(content: Sequence[Shown], *, is_error: bool) -> str | list[dict[str, Any]]:
    """Text where it is only text; there is no field that says a call failed."""
    parts = parts_of(content)
    if is_error:
        parts.insert(0, "Error:")
    if all(isinstance(part, str) for part in parts):
        return "\n".join(part for part in parts if isinstance(part, str)) or "(no output)"
    return [_part(part) for part in parts]


def _part(part: str | Sent) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    if part.is_image:
        return {"type": "input_image", "image_url": part.url, "detail": "auto"}
    return {"type": "input_file", "filename": "document.pdf", "file_data": part.url}
