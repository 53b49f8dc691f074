"""How Chat Completions streams a reply: chunks of one message, in the many forms servers give them.

The form is OpenAI's; the leniency is for servers that call themselves compatible: indices that
are missing or all zero, an id on the first fragment or on each, arguments as an object, thinking
in a field of its own, an error in the middle, no `[DONE]`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from noeta.backends.models.endpoint import Endpoint
from noeta.backends.models.wire_errors import error_of, refusal_of
from noeta.backends.models.wire_json import as_object, decoded
from noeta.core.message import ReplyBlock, StopReason, Text, Thinking, ToolCall, Usage
from noeta.core.model import Delta, Reply, TextDelta, ThinkingDelta

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put thinking: DeepSeek, Qwen and others in the first, routers in the second."""

_STOPS: dict[str, StopReason] = {
    "length": "cut",
    "content_filter": "refusal",
    "tool_calls": "calls",
    "function_call": "calls",
}
_NOTHING = (b"", b"null")


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"")


class _Fragment(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Delta(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_Fragment] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None
    """DeepSeek's own count of what was cached."""


class _Chunk(msgspec.Struct):
    object: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: msgspec.Raw = msgspec.Raw(b"")


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Its arguments are an object already."""
        return "".join(self.parts).rstrip().endswith("}")


class ChatReply:
    """Gathers one reply (`http.Sink`)."""

    def __init__(self, endpoint: Endpoint, model: str, on_delta: Callable[[Delta], None]) -> None:
        self._endpoint = endpoint
        self._model = model
        self._on_delta = on_delta
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._thoughts: list[str] = []
        self._thoughts_field = ""
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._usage: Usage | None = None
        self._finish = ""
        self._is_over = False
        self.is_understood = False

    @property
    def is_complete(self) -> bool:
        """A reason to stop came; usage and `[DONE]` may follow, and some servers send neither."""
        return bool(self._finish) or self._is_over

    def feed(self, event: str, data: str) -> bool:
        """One event. Raises ModelError."""
        if self._is_over or not data:
            return False
        if data.strip() == "[DONE]":
            self._is_over = True
            return True
        chunk = decoded(data, _Chunk, provider=self._endpoint.provider)
        failed = bytes(chunk.error) not in _NOTHING or "error" in (chunk.object, event)
        if failed and not self.is_complete:
            raise error_of(refusal_of(data.encode()), self._endpoint, route=self._model)
        self.is_understood = self.is_understood or chunk.choices is not None
        if chunk.usage is not None:
            self._usage = _counted(chunk.usage)
        for choice in chunk.choices or ():
            if not choice.index:
                self._grow(choice)
        return True

    def _grow(self, choice: _Choice) -> None:
        self._finish = choice.finish_reason or self._finish
        delta = choice.delta
        if delta is None:
            return
        for name in REASONING_FIELDS:
            thought = getattr(delta, name)
            # A server that fills both fields says the same in both.
            if thought and self._thoughts_field in ("", name):
                self._thoughts_field = name
                self._thoughts.append(thought)
                self._on_delta(ThinkingDelta(thought))
        for text in _texts(delta.content):
            self._text.append(text)
            self._on_delta(TextDelta(text))
        if delta.refusal:
            self._refusal.append(delta.refusal)
            self._on_delta(TextDelta(delta.refusal))
        for fragment in delta.tool_calls or ():
            self._add(fragment)

    def _add(self, fragment: _Fragment) -> None:
        function = fragment.function or _Function()
        call = self._call(fragment, function)
        call.id = call.id or fragment.id or ""
        if function.name and function.name != call.name:
            call.name += function.name
        raw = bytes(function.arguments)
        if raw.startswith(b'"'):
            call.parts.append(decoded(raw.decode(), str, provider=self._endpoint.provider))
        elif raw not in _NOTHING:
            call.parts.append(raw.decode())

    def _call(self, fragment: _Fragment, function: _Function) -> _Call:
        """The call a fragment belongs to; perhaps a new one."""
        if fragment.index is not None:
            call = self._at.get(fragment.index)
        else:
            call = self._calls[-1] if self._calls else None
        if call is not None:
            if fragment.id:
                begins = bool(call.id) and fragment.id != call.id
            else:
                begins = bool(function.name and call.name) and call.is_whole
            if not begins:
                return call
        call = _Call()
        self._calls.append(call)
        if fragment.index is not None:
            self._at[fragment.index] = call
        return call

    def result(self) -> Reply:
        """The whole reply."""
        if self._finish == "error":
            # A router's way to say that its own provider failed.
            raise error_of(
                refusal_of(b'{"error":{"type":"server_error","message":"the reply failed"}}'),
                self._endpoint,
                route=self._model,
            )
        content: list[ReplyBlock] = []
        if self._thoughts:
            thought = "".join(self._thoughts)
            opaque = msgspec.json.encode({self._thoughts_field: thought}).decode()
            content.append(Thinking(model=self._model, opaque=opaque, text=thought))
        if self._text:
            content.append(Text("".join(self._text)))
        refusal = "".join(self._refusal)
        if refusal:
            content.append(Text(refusal))
        stop = "refusal" if refusal else _STOPS.get(self._finish, "end")
        if stop != "refusal":
            content += map(_tool_call, self._calls)
        if stop in ("end", "calls"):
            # Many servers finish with `stop` whatever the reply holds.
            stop = "calls" if self._calls else "end"
        return Reply(content=tuple(content), stop=stop, usage=self._usage)


def _texts(content: str | list[_Part] | None) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content] if content else []
    return [part.text for part in content if part.type == "text" and part.text]


def _tool_call(call: _Call) -> ToolCall:
    return ToolCall(
        call_id=call.id, name=call.name, input=as_object("".join(call.parts)), provider_id=call.id
    )


def _counted(found: _Usage) -> Usage:
    """prompt_tokens include what was cached; ours do not."""
    details = found.prompt_tokens_details or _Details()
    read = details.cached_tokens or found.prompt_cache_hit_tokens or 0
    written = details.cache_write_tokens or 0
    return Usage(
        input_tokens=max(0, (found.prompt_tokens or 0) - read - written),
        output_tokens=found.completion_tokens or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
