"""Bytes to events and back.

Decoding tries the whole union first and looks at the tag only when that fails, since a failure
tells neither "broken" from "written by a newer version" nor costs anything until it happens.
"""

import hashlib

import msgspec

from noeta.core.errors import NoetaError
from noeta.core.events import Event, Fact

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class _Tagged(msgspec.Struct):
    type: str


_peek = msgspec.json.Decoder(_Tagged)
_tags = frozenset(str(cls.__struct_config__.tag) for cls in Fact.__subclasses__())


class UnreadableEntry(NoetaError):
    """These bytes are no event: the entry is damaged."""


class NewerEntry(NoetaError):
    """An event of a kind this version does not know: leave the task to a newer worker."""


def encode(event: Event) -> bytes:
    """The event's bytes: fields in the order of their definition, defaults left out."""
    return _encoder.encode(event)


def decode(body: bytes) -> Event:
    """The event in these bytes. Raises NewerEntry or UnreadableEntry, nothing else."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(body, error) from error


def _explain(body: bytes, error: Exception) -> NoetaError:
    try:
        tag = _peek.decode(body).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UnreadableEntry(f"a log entry is damaged: {error}")
    if tag in _tags:
        return UnreadableEntry(f"a log entry of type {tag!r} is damaged: {error}")
    return NewerEntry(f"a log entry has type {tag[:80]!r}, which a newer noeta wrote; upgrade")


def digest(data: bytes) -> str:
    """The sha256 of some bytes, hex: how inputs and requests are named in the log."""
    return hashlib.sha256(data).hexdigest()
