"""How Responses streams a reply: items that are added, grow and are done.

What counts is each item as its `output_item.done` gives it; deltas are shown, and kept only
until then, for a reply that is cut. The response's own end says whether it is complete.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from noeta.backends.models.endpoint import Endpoint
from noeta.backends.models.wire_errors import error_of, refusal_of
from noeta.backends.models.wire_json import as_object, decoded
from noeta.core.message import ReplyBlock, StopReason, Text, Thinking, ToolCall, Usage
from noeta.core.model import Delta, Reply, TextDelta, ThinkingDelta

_NOTHING = (b"", b"null")


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"")
    content: list[_Part] | None = None
    summary: list[_Part] | None = None


class _InDetails(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _InDetails | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[msgspec.Raw] | None = None
    usage: _Usage | None = None
    incomplete_details: _Incomplete | None = None
    error: msgspec.Raw = msgspec.Raw(b"")


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int | None = None
    delta: msgspec.Raw = msgspec.Raw(b"")
    item: msgspec.Raw = msgspec.Raw(b"")
    response: _Response | None = None


@dataclass(slots=True)
class _Growing:
    raw: bytes
    """The item as it was added, then as it was done."""
    parts: list[str] = field(default_factory=list)
    is_refusal: bool = False
    is_done: bool = False


class ResponsesReply:
    """Gathers one reply (`http.Sink`)."""

    def __init__(self, endpoint: Endpoint, model: str, on_delta: Callable[[Delta], None]) -> None:
        self.is_complete = False
        self.is_understood = False
        self._endpoint = endpoint
        self._model = model
        self._on_delta = on_delta
        self._items: dict[int, _Growing] = {}
        self._response = _Response()
        self._refused = False
        self._stop: StopReason = "end"

    def feed(self, event: str, data: str) -> bool:
        """One event. Raises ModelError."""
        if self.is_complete or not data or data.strip() == "[DONE]":
            return False
        found = decoded(data, _Event, provider=self._endpoint.provider)
        index = found.output_index or 0
        self.is_understood = self.is_understood or found.type.startswith("response.")
        match found.type or event:
            case "response.output_item.added":
                self._items[index] = _Growing(bytes(found.item))
            case "response.output_item.done":
                self._items[index] = _Growing(bytes(found.item), is_done=True)
            case "response.output_text.delta":
                self._grow(index, found.delta, TextDelta)
            case "response.refusal.delta":
                self._grow(index, found.delta, TextDelta)
                if index in self._items:
                    self._items[index].is_refusal = True
            case "response.function_call_arguments.delta":
                self._grow(index, found.delta, None)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._on_delta(ThinkingDelta(self._string(found.delta)))
            case "response.completed":
                self._end(found.response, "end")
            case "response.incomplete":
                response = found.response or _Response()
                details = response.incomplete_details or _Incomplete()
                self._end(response, "refusal" if details.reason == "content_filter" else "cut")
            case "response.failed" | "response.cancelled":
                error = bytes(found.response.error) if found.response is not None else b""
                said = error if error not in _NOTHING else b'{"message":"the response failed"}'
                raise error_of(refusal_of(said), self._endpoint, route=self._model)
            case "error":
                raise error_of(refusal_of(data.encode()), self._endpoint, route=self._model)
            case "ping" | "keepalive" | "message":
                return False
            case _:
                pass
        return True

    def _grow(
        self, index: int, delta: msgspec.Raw, shown: Callable[[str], TextDelta] | None
    ) -> None:
        text = self._string(delta)
        growing = self._items.get(index)
        if growing is not None and not growing.is_done:
            growing.parts.append(text)
        if shown is not None and text:
            self._on_delta(shown(text))

    def _string(self, raw: msgspec.Raw) -> str:
        return decoded(bytes(raw).decode() or '""', str, provider=self._endpoint.provider)

    def _end(self, response: _Response | None, stop: StopReason) -> None:
        self._response = response or _Response()
        self._stop = stop
        self.is_complete = True

    def result(self) -> Reply:
        """The whole reply."""
        if not self._items:
            # Some servers say it all at once.
            for index, raw in enumerate(self._response.output or ()):
                self._items[index] = _Growing(bytes(raw), is_done=True)
        content: list[ReplyBlock] = []
        for _, growing in sorted(self._items.items()):
            content += self._blocks(growing)
        stop = "refusal" if self._refused and self._stop == "end" else self._stop
        if stop == "refusal":
            content = [block for block in content if not isinstance(block, ToolCall)]
        if stop == "end" and any(isinstance(block, ToolCall) for block in content):
            stop = "calls"
        return Reply(content=tuple(content), stop=stop, usage=_counted(self._response.usage))

    def _blocks(self, growing: _Growing) -> list[ReplyBlock]:
        item = decoded(growing.raw.decode(), _Item, provider=self._endpoint.provider)
        grown = "".join(growing.parts)
        match item.type:
            case "message" if growing.is_done:
                parts = item.content or []
                self._refused = self._refused or any(part.type == "refusal" for part in parts)
                said = [part.text or part.refusal or "" for part in parts]
                return [Text(text) for text in said if text]
            case "message":
                self._refused = self._refused or growing.is_refusal
                return [Text(grown)] if grown else []
            case "function_call":
                arguments = self._arguments(item.arguments)
                call_id = item.call_id or ""
                return [
                    ToolCall(
                        call_id=call_id,
                        name=item.name or "",
                        input=as_object(arguments if growing.is_done else arguments + grown),
                        provider_id=call_id,
                    )
                ]
            case _ if not growing.is_done:
                # Reasoning in pieces is of no use to the provider.
                return []
            case _:
                shown = [*(item.summary or ()), *(item.content or ())]
                text = "\n\n".join(part.text for part in shown if part.text)
                return [Thinking(model=self._model, opaque=growing.raw.decode(), text=text)]

    def _arguments(self, raw: msgspec.Raw) -> str:
        text = bytes(raw).decode()
        if text.startswith('"'):
            return decoded(text, str, provider=self._endpoint.provider)
        return text if text != "null" else ""


def _counted(found: _Usage | None) -> Usage | None:
    """input_tokens include what was cached; ours do not."""
    if found is None:
        return None
    details = found.input_tokens_details or _InDetails()
    read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
    return Usage(
        input_tokens=max(0, (found.input_tokens or 0) - read - written),
        output_tokens=found.output_tokens or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
