"""Messages as every model sees them: blocks of content, in no provider's dialect.

A conversation is a list of user and assistant messages. A tool result is a block of a user
message and answers, by call id, a call of the assistant message just before it. Thinking is
opaque: it is kept byte for byte and never edited.

None of these can be part of a cycle, so the collector is told not to look at them (`gc=False`):
a long conversation would make each of its rounds longer.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec


class Text(msgspec.Struct, gc=False, frozen=True, tag="text"):
    """Plain text; never empty in a request."""

    text: str


class Media(msgspec.Struct, gc=False, frozen=True, kw_only=True, tag="media"):
    """An image or a document."""

    media_type: str
    """Such as `image/png` or `application/pdf`."""
    data: str
    """The bytes, in base64."""


Shown = Text | Media
"""What a message or a result is made of."""


class Thinking(
    msgspec.Struct, gc=False, frozen=True, kw_only=True, tag="thinking", omit_defaults=True
):
    """A model's reasoning, valid for that model only."""

    model: str
    opaque: str
    """The provider's own block, byte for byte."""
    text: str = ""
    """What of it a person may read."""


class ToolCall(msgspec.Struct, gc=False, frozen=True, kw_only=True, tag="call", omit_defaults=True):
    """A call the model asks for."""

    call_id: str
    """Ours: unique in the task."""
    name: str
    input: msgspec.Raw
    """A JSON object, as the model wrote it."""
    provider_id: str = ""
    """The provider's id: data only, servers repeat theirs."""


class ToolResult(
    msgspec.Struct, gc=False, frozen=True, kw_only=True, tag="result", omit_defaults=True
):
    """What a call came to."""

    call_id: str
    content: tuple[Shown, ...] = ()
    is_error: bool = False


class Usage(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one call as the provider counted them. input_tokens excludes the cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """The sum of both."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


class Limits(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """What a route may use; part of what every request starts with. 0 and "": not set."""

    context_tokens: int = 0
    """What fits into a request and its reply together."""
    output_tokens_max: int = 0
    """What a reply may have."""
    effort: str = ""
    """How hard the model should try: the provider's own word, such as `low` or `high`."""
    thinking_tokens: int = 0
    """What of a reply may be thinking."""


class ToolSpec(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    input_schema: msgspec.Raw
    """A JSON Schema object."""


UserBlock = Text | Media | ToolResult
ReplyBlock = Text | Thinking | ToolCall

StopReason = Literal["end", "calls", "cut", "pause", "refusal", "interrupted"]
"""Why a reply stopped: it was done, it wants its calls run, it was cut at the output limit, the
provider paused the turn, the model refused, or a person interrupted it."""


class UserMessage(msgspec.Struct, gc=False, frozen=True, tag="user"):
    """What the model is told: tool results first, then text and media."""

    content: tuple[UserBlock, ...]


class AssistantMessage(msgspec.Struct, gc=False, frozen=True, tag="assistant"):
    """What the model said. Never empty."""

    content: tuple[ReplyBlock, ...]


Message = UserMessage | AssistantMessage


def text_of(content: Sequence[UserBlock | ReplyBlock]) -> str:
    """The text blocks of a content, one below the other; media as their type in brackets."""
    return "\n".join(
        block.text if isinstance(block, Text) else f"[{block.media_type}]"
        for block in content
        if isinstance(block, Text | Media)
    )
