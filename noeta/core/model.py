"""The model port: one request in, one streamed reply out.

A model is given the rendered request and nothing else, and answers from it alone. It does not
retry: the kernel's loop does (`runner/model_call`), by the kind of the error.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from noeta.core.context import Request
from noeta.core.errors import NoetaError
from noeta.core.message import ReplyBlock, StopReason, Text, Thinking, ToolCall, Usage

ErrorKind = Literal["transient", "overflow", "auth", "quota", "fatal"]
"""Only `transient` is worth another attempt."""


class ModelError(NoetaError):
    """The provider refused, failed or broke off; the message keeps the provider's own words."""

    def __init__(self, message: str, *, kind: ErrorKind, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.retry_after = retry_after
        """Seconds the provider asked to wait, or None."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text that was just streamed. Never stored: the recorded reply is what counts."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """Reasoning that was just streamed."""

    text: str


Delta = TextDelta | ThinkingDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply. Call ids are still the provider's (`provider_id`)."""

    content: tuple[ReplyBlock, ...]
    stop: StopReason
    usage: Usage | None = field(default_factory=Usage)
    """None: the provider did not say, so the cost is unknown too."""


class Model(Protocol):
    """A way to a language model."""

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """The reply to the request; `on_delta` hears of it as it comes.

        Raises ModelError. Cancelling it drops the connection.
        """


def checked(reply: Reply) -> Reply:
    """The reply as it may enter the log: no empty text, every call's input a JSON object.

    A call whose input is no object is dropped when the reply was cut (it is the cut one) and
    raises a transient ModelError otherwise: the model is asked again.
    """
    kept: list[ReplyBlock] = []
    for block in reply.content:
        match block:
            case Text(text=text):
                if text:
                    kept.append(block)
            case Thinking():
                kept.append(block)
            case ToolCall():
                if _is_object(block.input):
                    kept.append(block)
                elif reply.stop != "cut":
                    raise ModelError(
                        f"the reply's call of {block.name!r} has an input that is no JSON object",
                        kind="transient",
                    )
    return Reply(content=tuple(kept), stop=reply.stop, usage=reply.usage)


def _is_object(raw: msgspec.Raw) -> bool:
    try:
        return isinstance(msgspec.json.decode(raw), dict)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
