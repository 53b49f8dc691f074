"""The request renderer: from a folded state to the one request that any worker would send.

A request is the system texts, the tools and the messages. Messages are encoded once and chained
into a digest, so that a step costs what it adds and not what the log holds. Whatever prefix of a
log was folded, the request is valid: each call is answered in the next message, roles alternate,
no text is empty and the last message is the user's (or a paused reply).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import msgspec

from noeta.core import texts
from noeta.core.message import (
    AssistantMessage,
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

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a model is asked. `messages` must not be changed."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: Sequence[Message]
    digest: str
    """sha256, hex, over the model, system, tools and every message's bytes."""


class _Prefix(Sequence[Message]):
    """The first `count` messages of a list that may grow behind it."""

    def __init__(self, messages: list[Message], count: int) -> None:
        self._messages = messages
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._messages[i] for i in range(*index.indices(self._count))]
        return self._messages[range(self._count)[index]]


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
        self._head: tuple[str, tuple[str, ...], tuple[ToolSpec, ...]] | None = None
        self._head_chain = b""
        self._rendered: list[_Rendered] = []
        self._messages: list[Message] = []
        self.encoded_count = 0
        """Messages encoded so far: what the tests of constant cost look at."""

    def render(self, state: TaskState) -> Request:
        """The request for this state; open calls are answered by a placeholder in it."""
        prompt = state.prompt
        system = prompt.system if prompt is not None else ()
        tools = prompt.tools if prompt is not None else ()
        self._set_head(state.model, system, tools)
        self._grow(state)
        chain = self._rendered[-1].chain if self._rendered else self._head_chain
        messages: Sequence[Message] = _Prefix(self._messages, len(self._messages))
        tail = _tail(state)
        if tail is not None:
            chain = self._chained(chain, tail)
            messages = (*messages, tail)
        return Request(
            model=state.model, system=system, tools=tools, messages=messages, digest=chain.hex()
        )

    def _set_head(self, model: str, system: tuple[str, ...], tools: tuple[ToolSpec, ...]) -> None:
        head = (model, system, tools)
        if self._head == head:
            return
        self._head = head
        self._head_chain = hashlib.sha256(_encoder.encode(head)).digest()
        self._rendered.clear()
        self._messages = []

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
            self._messages = self._messages[:kept]
            del done[kept:]
        for source in state.messages[kept:]:
            message = _sendable(source, state.model)
            chain = done[-1].chain if done else self._head_chain
            done.append(_Rendered(source, self._chained(chain, message)))
            self._messages.append(message)

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
        return UserMessage((*results, *(text for text in state.pending_texts if text.text)))
    if state.messages and type(state.messages[-1]) is AssistantMessage and state.reply != "pause":
        return UserMessage((Text(texts.GO_ON),))
    return None


def _placeholder(call: CallState) -> ToolResult:
    return ToolResult(call_id=call.call.call_id, content=(Text(texts.CALL_OPEN),), is_error=True)
