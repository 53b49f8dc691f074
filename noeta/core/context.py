"""The request renderer: from a folded state to the one request that any worker would send.

A request is the system texts, the tools and the messages. Messages are encoded once and chained
into a digest, so that a step costs what it adds and not what the log holds. Whatever prefix of a
log was folded, the request is valid: each call is answered in the next message, roles alternate,
no text is empty and the last message is the user's (or a paused reply).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import overload

import msgspec

from noeta.core import texts
from noeta.core.message import (
    AssistantMessage,
    Limits,
    Message,
    ReplyBlock,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    UserBlock,
    UserMessage,
)
from noeta.core.state import CallState, TaskState

NO_LIMITS = Limits()

_encoder = msgspec.json.Encoder()
_Head = tuple[str, tuple[str, ...], tuple[ToolSpec, ...], Limits]
"""Model, system texts, tools and limits: what comes before the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a model is asked. `messages` must not be changed."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    limits: Limits = field(default_factory=Limits)
    messages: Sequence[Message]
    digest: str
    """sha256, hex, over the model, system, tools, limits and every message's bytes."""

    def encoded(self, dialect: str, encode: Callable[[Message], bytes]) -> list[bytes]:
        """Each message as a dialect writes it. Those of a task's settled conversation are
        encoded once, however many requests they are part of; encode must be pure."""
        messages = self.messages
        if isinstance(messages, _Prefix):
            return messages.encoded(dialect, encode)
        return [encode(message) for message in messages]


@dataclass(slots=True)
class _Settled:
    """Messages that only grow, and their bytes by dialect."""

    messages: list[Message] = field(default_factory=list)
    encoded: dict[str, list[bytes]] = field(default_factory=dict)

    def cut(self, count: int) -> "_Settled":
        """The first count of them; what was handed out of these must not change."""
        return _Settled(
            self.messages[:count], {name: done[:count] for name, done in self.encoded.items()}
        )


class _Prefix(Sequence[Message]):
    """The first `count` settled messages, and perhaps a last one that is in no log."""

    def __init__(self, settled: _Settled, tail: Message | None) -> None:
        self._settled = settled
        self._count = len(settled.messages)
        self._tail: tuple[Message, ...] = (tail,) if tail is not None else ()

    def encoded(self, dialect: str, encode: Callable[[Message], bytes]) -> list[bytes]:
        """See `Request.encoded`."""
        done = self._settled.encoded.setdefault(dialect, [])
        for message in self._settled.messages[len(done) : self._count]:
            done.append(encode(message))
        return [*done[: self._count], *map(encode, self._tail)]

    def __len__(self) -> int:
        return self._count + len(self._tail)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        return self._settled.messages[position] if position < self._count else self._tail[0]


@dataclass(frozen=True, slots=True)
class _Rendered:
    source: Message
    """The state's message it was made from; told apart by identity."""
    chain: bytes
    """Digest of the whole request up to here."""


class Renderer:
    """Renders one task's requests, and keeps what it encoded for the next one.

    A cache and nothing more: a new Renderer gives the same request for the same state.
    """

    def __init__(self) -> None:
        self._head: _Head | None = None
        self._head_chain = b""
        self._rendered: list[_Rendered] = []
        self._settled = _Settled()
        self.encoded_count = 0
        """Messages encoded so far: what the tests of constant cost look at."""

    def render(self, state: TaskState) -> Request:
        """The request for this state; open calls are answered by a placeholder in it."""
        prompt = state.prompt
        system = prompt.system if prompt is not None else ()
        tools = prompt.tools if prompt is not None else ()
        limits = prompt.limits if prompt is not None else NO_LIMITS
        self._set_head((state.model, system, tools, limits))
        self._grow(state)
        chain = self._rendered[-1].chain if self._rendered else self._head_chain
        tail = _tail(state)
        if tail is not None:
            chain = self._chained(chain, tail)
        return Request(
            model=state.model,
            system=system,
            tools=tools,
            limits=limits,
            messages=_Prefix(self._settled, tail),
            digest=chain.hex(),
        )

    def _set_head(self, head: _Head) -> None:
        if self._head == head:
            return
        self._head = head
        self._head_chain = hashlib.sha256(_encoder.encode(head)).digest()
        self._rendered.clear()
        self._settled = _Settled()

    def _grow(self, state: TaskState) -> None:
        """Encode what the state has more than last time; its last message may have grown."""
        done = self._rendered
        kept = len(done)
        while kept and (
            kept > len(state.messages) or state.messages[kept - 1] is not done[kept - 1].source
        ):
            kept -= 1
        if kept < len(done):
            # New lists: what was handed out must not change.
            self._settled = self._settled.cut(kept)
            del done[kept:]
        for source in state.messages[kept:]:
            message = _sendable(source, state.model)
            chain = done[-1].chain if done else self._head_chain
            done.append(_Rendered(source, self._chained(chain, message)))
            self._settled.messages.append(message)

    def _chained(self, chain: bytes, message: Message) -> bytes:
        self.encoded_count += 1
        return hashlib.sha256(chain + _encoder.encode(message)).digest()


def _sendable(message: Message, model: str) -> Message:
    """The message as this model may see it: no empty text, no other model's thinking.

    A message that would be left empty says so instead, or two messages of one role would meet.
    """
    if isinstance(message, UserMessage):
        told = tuple(b for b in message.content if not _is_empty(b))
        return UserMessage(told or (Text(texts.EMPTY_MESSAGE),))
    said = tuple(
        b
        for b in message.content
        if not _is_empty(b) and not (type(b) is Thinking and b.model != model)
    )
    return AssistantMessage(said or (Text(texts.EMPTY_REPLY),))


def _is_empty(block: UserBlock | ReplyBlock) -> bool:
    return type(block) is Text and not block.text


def _tail(state: TaskState) -> UserMessage | None:
    """What a request needs after the settled messages: results for open calls, or a user's
    word after a finished reply. No request that is really sent has one."""
    if state.calls:
        results = tuple(call.result or _placeholder(call) for call in state.calls.values())
        return UserMessage((*results, *(b for b in state.pending if not _is_empty(b))))
    if state.messages and type(state.messages[-1]) is AssistantMessage and state.reply != "pause":
        return UserMessage((Text(texts.GO_ON),))
    return None


def _placeholder(call: CallState) -> ToolResult:
    return ToolResult(call_id=call.call.call_id, content=(Text(texts.CALL_OPEN),), is_error=True)
