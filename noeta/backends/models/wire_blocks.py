"""What the blocks of a message may be, whatever the dialect: names, media, schemas, opaque bytes.

A log may hold what no provider takes: a tool name that the model made up, a picture that is none,
text of nothing but spaces. Each is put here into a form that every provider accepts, since a
request that is refused once is refused for good. All of it is pure.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from noeta.core.message import Media, Message, Shown, Text, Thinking, UserMessage

MEDIA_CHARS_MAX = 5 * 1024 * 1024
"""Of base64: Anthropic refuses larger pictures, and with them the conversation."""
PDF = "application/pdf"

_NAME_CHARS_MAX = 64
_BAD_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", PDF),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """Media that can be sent, by the type its bytes have."""

    media_type: str
    data: str

    @property
    def is_image(self) -> bool:
        """A picture; else a PDF."""
        return self.media_type != PDF

    @property
    def url(self) -> str:
        """As a data URL."""
        return f"data:{self.media_type};base64,{self.data}"


def sent_or_said(media: Media) -> Sent | str:
    """The media as it can be sent, or words for what cannot be shown to any model.

    Providers look at the bytes and refuse a request whose media has another type than it says.
    """
    size = f"{len(media.data) * 3 // 4:,} bytes"
    if len(media.data) > MEDIA_CHARS_MAX:
        return f"[{media.media_type}, {size}: too large to be shown]"
    try:
        start = base64.b64decode(media.data, validate=True)[:16]
    except (binascii.Error, ValueError):
        return f"[{media.media_type}: not readable]"
    for signature, media_type in _SIGNATURES:
        if start.startswith(signature):
            return Sent(media_type, media.data)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return Sent("image/webp", media.data)
    if media.media_type.startswith("text/"):
        return base64.b64decode(media.data).decode("utf-8", errors="replace")
    return f"[{media.media_type}, {size}: of a kind that cannot be shown]"


def parts_of(content: Sequence[Shown]) -> list[str | Sent]:
    """Text and media as they can be sent; text of nothing but spaces is left out."""
    parts = [b.text if isinstance(b, Text) else sent_or_said(b) for b in content]
    return [part for part in parts if isinstance(part, Sent) or part.strip()]


def texts_of(texts: Sequence[str]) -> list[str]:
    """The texts that say something."""
    return [text for text in texts if text.strip()]


def tool_name(name: str) -> str:
    """The name of a past call, which may be one that the model made up, as providers take it."""
    return _BAD_IN_NAMES.sub("_", name)[:_NAME_CHARS_MAX] or "_"


def object_schema(raw: msgspec.Raw) -> msgspec.Raw:
    """A tool's schema as every provider takes it: of an object, with no choice at its top."""
    schema = msgspec.json.decode(raw)
    if not isinstance(schema, dict):
        return msgspec.Raw(b'{"type":"object","properties":{}}')
    choices = [key for key in ("oneOf", "anyOf", "allOf") if key in schema]
    if schema.get("type") == "object" and "properties" in schema and not choices:
        return raw
    for key in choices:
        del schema[key]
    schema["type"] = "object"
    if not isinstance(schema.get("properties"), dict):
        schema["properties"] = {}
    return msgspec.Raw(msgspec.json.encode(schema))


def opaque_type(block: Thinking) -> str:
    """The type of the provider's block that the thinking holds; empty when it holds none.

    A log may have thinking of a scripted model, or of a dialect its route had before.
    """
    try:
        found = msgspec.json.decode(block.opaque, type=_Typed)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    return found.type


class _Typed(msgspec.Struct):
    type: str = "object"


def owes_a_word(messages: Sequence[Message]) -> bool:
    """The last message is the model's own, so a user's must follow it."""
    return bool(messages) and not isinstance(messages[-1], UserMessage)
