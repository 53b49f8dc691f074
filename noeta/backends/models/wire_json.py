"""Reading the events of a stream: lenient about what servers add, strict about what we use."""

import json
from contextlib import suppress
from typing import TypeVar

import msgspec

from noeta.core.model import ModelError

T = TypeVar("T")


def decoded(data: str, type: type[T], *, provider: str) -> T:
    """An event's JSON. Raises ModelError: transient for a garbled one, fatal for one that is
    sound and of a form that this dialect does not have."""
    problem: ModelError
    try:
        return msgspec.json.decode(data, type=type)
    except msgspec.ValidationError as error:
        problem = ModelError(
            f"{provider} sent an event this dialect does not have ({error}); check that its"
            " dialect is right in the settings",
            kind="fatal",
        )
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        problem = ModelError(f"{provider} sent an event that is not valid JSON", kind="transient")
        with suppress(ValueError, RecursionError):
            # Half a surrogate pair is no text, yet some servers cut one in two.
            mended = json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
            return msgspec.json.decode(mended, type=type)
    raise problem


def as_object(text: str) -> msgspec.Raw:
    """The input of a call as it was streamed; nothing at all stands for no arguments.

    The bytes are kept as they are: what is no object is for `checked` to judge.
    """
    return msgspec.Raw(text.encode("utf-8", "replace") if text.strip() else b"{}")
