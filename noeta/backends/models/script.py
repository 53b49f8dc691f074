"""A script's steps, checked and ready to play: plain values.

A step names the next one by its index; an index past the last step is the end of the script. How
scripts are written is in `script_file` and `script_check`, where a conversation stands in one in
`script_replay`.
"""

import re
from dataclasses import dataclass

import msgspec

from noeta.core.errors import NoetaError
from noeta.core.message import StopReason
from noeta.core.model import ErrorKind

NOTHING = "(nothing)"
"""What a placeholder without a value becomes, so that no text is left empty."""

_PLACEHOLDER = re.compile(r"\{\{(?:result|message)\}\}|\{(?:result|message)\}")


class ScriptError(NoetaError):
    """A model script has a mistake, or its file cannot be read."""


@dataclass(frozen=True, slots=True)
class SeenResult:
    """A tool result of the newest user message."""

    tool: str
    """Empty when no call of the reply before it has its id."""
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a step may look at."""

    results: tuple[SeenResult, ...] = ()
    """Of the newest user message."""
    message: str = ""
    """The text of the newest user message."""
    last_result: str = ""
    """The newest tool result so far, perhaps of an older message."""
    last_message: str = ""
    """The newest text of a user message so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A branch's condition: everything it names must hold."""

    result: str | None = None
    result_matches: re.Pattern[str] | None = None
    result_is_error: bool | None = None
    tool: str | None = None
    message: str | None = None
    message_matches: re.Pattern[str] | None = None

    def holds(self, seen: Seen) -> bool:
        """Whether one result fits all that is said of results, and the text the rest."""
        if self.message is not None and self.message not in seen.message:
            return False
        if self.message_matches is not None and not self.message_matches.search(seen.message):
            return False
        asked = (self.result, self.result_matches, self.result_is_error, self.tool)
        return asked == (None,) * 4 or any(self._fits(result) for result in seen.results)

    def _fits(self, result: SeenResult) -> bool:
        return (
            (self.result is None or self.result in result.text)
            and (self.result_matches is None or bool(self.result_matches.search(result.text)))
            and (self.result_is_error is None or self.result_is_error == result.is_error)
            and (self.tool is None or self.tool == result.tool)
        )


@dataclass(frozen=True, slots=True)
class Arm:
    """One way out of a branch."""

    when: When | None
    """None holds always."""
    goto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A step that says nothing: the first arm that holds names the step to go on with."""

    arms: tuple[Arm, ...]
    goto: int
    """Where to go when no arm holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCall:
    """A tool call, its placeholders not yet filled."""

    tool: str
    input: dict[str, object]
    fixed: msgspec.Raw | None
    """The encoded input, when it has no placeholder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """What is streamed, and how slowly."""

    thinking: str = ""
    text: str = ""
    chunk_delay_seconds: float = 0.0
    """Between two words."""
    pause_seconds: float = 0.0
    """After the last word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A reply with something in it: the only kind of step that leaves a message behind."""

    speech: Speech
    calls: tuple[ScriptCall, ...]
    stop: StopReason
    goto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail:
    """The provider fails, after the words it got out."""

    speech: Speech
    kind: ErrorKind
    message: str
    retry_after: float | None
    times: int
    goto: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Empty replies, `times` in a row."""

    speech: Speech
    times: int
    goto: int


Step = Say | Fail | Silence | Branch


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script."""

    name: str
    """How errors call it: its file as the caller wrote it."""
    steps: tuple[Step, ...]
    places: tuple[str, ...]
    """How errors call each step: `step 3 (label 'create')`."""


def has_placeholder(value: object) -> bool:
    """Whether filling changes the value."""
    match value:
        case str():
            return _PLACEHOLDER.search(value) is not None
        case list():
            return any(has_placeholder(item) for item in value)
        case dict():
            return any(has_placeholder(item) for item in value.values())
    return False


def fill(text: str, seen: Seen) -> str:
    """The text with {result} and {message} filled in; doubled braces keep one as it is written.

    Other braces stay: scripts write code and JSON, and what was filled in is not looked at again.
    """
    return _PLACEHOLDER.sub(lambda found: _value(found[0], seen), text)


def fill_input(call: ScriptCall, seen: Seen) -> msgspec.Raw:
    """The call's input as JSON."""
    if call.fixed is not None:
        return call.fixed
    return msgspec.Raw(msgspec.json.encode(_filled(call.input, seen)))


def _value(placeholder: str, seen: Seen) -> str:
    match placeholder:
        case "{result}":
            return seen.last_result or NOTHING
        case "{message}":
            return seen.last_message or NOTHING
    return placeholder[1:-1]


def _filled(value: object, seen: Seen) -> object:
    match value:
        case str():
            return fill(value, seen)
        case list():
            return [_filled(item, seen) for item in value]
        case dict():
            return {key: _filled(item, seen) for key, item in value.items()}
    return value
