"""What lies in an inbox: the bodies of posted items, as bytes and as values."""

import msgspec

from noeta.core.errors import NoetaError
from noeta.core.message import Media


class UnreadableItem(NoetaError):
    """An inbox item's body does not fit its kind."""


class MessageBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message to the model from a person or another task."""

    text: str
    media: tuple[Media, ...] = ()
    model: str = ""
    """The route from this turn on; empty: as before."""


class AnswerBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer to a parked call, bound to the call and to its input."""

    call_id: str
    input_digest: str
    allow: bool
    reason: str = ""


class NoticeBody(msgspec.Struct, frozen=True):
    """A notice or a report: text the model reads."""

    text: str


class CancelBody(msgspec.Struct, frozen=True):
    """Why the task should end."""

    reason: str = ""


class InterruptBody(msgspec.Struct, frozen=True):
    """Stop the open turn."""


Body = MessageBody | AnswerBody | NoticeBody | CancelBody | InterruptBody

_encoder = msgspec.json.Encoder()
_types: dict[str, type[Body]] = {
    "message": MessageBody,
    "answer": AnswerBody,
    "notice": NoticeBody,
    "report": NoticeBody,
    "cancel": CancelBody,
    "interrupt": InterruptBody,
}


def encode_body(body: Body) -> bytes:
    """The body as it is posted."""
    return _encoder.encode(body)


def decode_body(kind: str, body: bytes) -> Body:
    """The body of an item of this kind. Raises UnreadableItem."""
    try:
        return msgspec.json.decode(body, type=_types[kind])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableItem(f"a posted {kind!r} cannot be read: {error}") from error
