"""How Anthropic's Messages streams a reply: blocks that are opened, grow and are closed.

Events are told apart by the type in their data; types we do not know are skipped, as the
provider asks. The reply is complete with `message_stop` and not before.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from noeta.backends.models.endpoint import Endpoint
from noeta.backends.models.wire_errors import error_of, refusal_of
from noeta.backends.models.wire_json import as_object, decoded
from noeta.core.message import ReplyBlock, StopReason, Text, Thinking, ToolCall, Usage
from noeta.core.model import Delta, ModelError, Reply, TextDelta, ThinkingDelta

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "calls",
    "max_tokens": "cut",
    "pause_turn": "pause",
    "refusal": "refusal",
}


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Details(msgspec.Struct):
    explanation: str | None = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    thinking: str = ""
    signature: str = ""
    stop_reason: str | None = None
    stop_details: _Details | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: msgspec.Raw = msgspec.Raw(b"")
    delta: _Delta | None = None
    usage: _Usage | None = None


class _Start(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"")


@dataclass(slots=True)
class _Block:
    """A block as far as it has come. Fragments are joined once, at the end."""

    start: _Start
    raw: msgspec.Raw
    parts: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)


class AnthropicReply:
    """Gathers one reply (`http.Sink`)."""

    def __init__(self, endpoint: Endpoint, model: str, on_delta: Callable[[Delta], None]) -> None:
        self.is_complete = False
        self.is_understood = False
        self._endpoint = endpoint
        self._model = model
        self._on_delta = on_delta
        self._blocks: dict[int, _Block] = {}
        self._usage = _Usage()
        self._is_counted = False
        self._stop_reason = ""
        self._explanation = ""

    def feed(self, event: str, data: str) -> bool:
        """One event. Raises ModelError."""
        if self.is_complete or not data:
            return False
        found = decoded(data, _Event, provider=self._endpoint.provider)
        match found.type or event:
            case "message_start" if found.message is not None:
                self.is_understood = True
                self._count(found.message.usage)
            case "content_block_start":
                start = decoded(
                    bytes(found.content_block).decode(), _Start, provider=self._endpoint.provider
                )
                self._blocks[found.index] = _Block(start, msgspec.Raw(bytes(found.content_block)))
                self._show(start.type, start.text or start.thinking or "")
            case "content_block_delta" if found.delta is not None:
                self._grow(found.index, found.delta)
            case "message_delta":
                self._count(found.usage)
                if found.delta is not None:
                    self._stop_reason = found.delta.stop_reason or self._stop_reason
                    details = found.delta.stop_details
                    self._explanation = (details and details.explanation) or self._explanation
            case "message_stop":
                self.is_complete = True
            case "error":
                raise error_of(refusal_of(data.encode()), self._endpoint, route=self._model)
            case "ping":
                return False
            case _:
                pass
        return True

    def _grow(self, index: int, delta: _Delta) -> None:
        block = self._blocks.get(index)
        if block is None:
            return
        match delta.type:
            case "text_delta":
                block.parts.append(delta.text)
                self._show("text", delta.text)
            case "thinking_delta":
                block.parts.append(delta.thinking)
                self._show("thinking", delta.thinking)
            case "input_json_delta":
                block.parts.append(delta.partial_json)
            case "signature_delta":
                block.signatures.append(delta.signature)
            case _:
                pass

    def _show(self, kind: str, text: str) -> None:
        if text and kind == "text":
            self._on_delta(TextDelta(text))
        elif text and kind == "thinking":
            self._on_delta(ThinkingDelta(text))

    def _count(self, usage: _Usage | None) -> None:
        """Counts are cumulative; what a later event leaves out keeps its value."""
        if usage is None:
            return
        self._is_counted = True
        for name in _Usage.__struct_fields__:
            if (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    def result(self) -> Reply:
        """The whole reply. Raises ModelError when the provider ran out of context in it."""
        if self._stop_reason == "model_context_window_exceeded":
            raise ModelError(
                f"{self._endpoint.provider} filled the model's context in mid-reply; choose a"
                " model with a larger context, or start a new task",
                kind="overflow",
            )
        stop = _STOPS.get(self._stop_reason, "end")
        content = [
            block
            for _, found in sorted(self._blocks.items())
            if (block := self._block(found, stop)) is not None
        ]
        if (
            stop == "refusal"
            and self._explanation
            and not any(isinstance(b, Text) for b in content)
        ):
            content.append(Text(self._explanation))
        if stop in ("end", "calls"):
            # Compatible servers end a turn with calls in it.
            has_calls = any(isinstance(block, ToolCall) for block in content)
            stop = "calls" if has_calls else "end"
        usage = _usage(self._usage) if self._is_counted else None
        return Reply(content=tuple(content), stop=stop, usage=usage)

    def _block(self, found: _Block, stop: StopReason) -> ReplyBlock | None:
        start, grown = found.start, "".join(found.parts)
        match start.type:
            case "text":
                return Text((start.text or "") + grown)
            case "tool_use" if stop == "refusal":
                # What a refusing model began is not to be run.
                return None
            case "tool_use":
                given = bytes(start.input).decode() if start.input else ""
                return ToolCall(
                    call_id=start.id,
                    name=start.name,
                    input=as_object(grown or given),
                    provider_id=start.id,
                )
            case "thinking":
                return self._thinking(found, grown, stop)
            case _:
                # Redacted thinking, and whatever else the provider wants back as it came.
                return Thinking(model=self._model, opaque=bytes(found.raw).decode())

    def _thinking(self, found: _Block, grown: str, stop: StopReason) -> Thinking | None:
        thought = (found.start.thinking or "") + grown
        signature = "".join(found.signatures) or found.start.signature or ""
        if stop == "cut" and not signature:
            # It was cut before its signature, and is refused without one.
            return None
        block = msgspec.json.decode(found.raw, type=dict[str, object])
        block["thinking"] = thought
        block["signature"] = signature
        return Thinking(model=self._model, opaque=msgspec.json.encode(block).decode(), text=thought)


def _usage(found: _Usage) -> Usage:
    return Usage(
        input_tokens=found.input_tokens or 0,
        output_tokens=found.output_tokens or 0,
        cache_read_tokens=found.cache_read_input_tokens or 0,
        cache_write_tokens=found.cache_creation_input_tokens or 0,
    )
