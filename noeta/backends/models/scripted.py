"""ScriptedModel: a model that plays a script instead of calling a provider.

For demos, tests and a user's own CI (docs/scripted-models.md). A reply is a function of the
request: where the script stands is read off the transcript (`script_replay`), and what is kept
between calls is a cache of that. The one exception are `error` steps, which leave no trace in
a transcript and are counted here, in this process.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import anyio
import msgspec

from noeta.backends.models import script_check, script_file
from noeta.backends.models.script import (
    Fail,
    Say,
    Script,
    ScriptError,
    Seen,
    Silence,
    Speech,
    fill,
    fill_input,
)
from noeta.backends.models.script_replay import GoesInCircles, Place, advance, upcoming
from noeta.core.context import Request
from noeta.core.message import (
    AssistantMessage,
    Message,
    ReplyBlock,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from noeta.core.model import Delta, ModelError, Reply, TextDelta, ThinkingDelta

__all__ = ["ScriptError", "ScriptedModel"]

CONVERSATIONS_MAX = 256
"""Conversations whose place is remembered; one more costs a replay, not a wrong reply."""
ERRORS_MAX = 4096
"""Places whose errors are counted; the oldest is forgotten first."""
CHARS_PER_TOKEN = 4
"""An estimate that does for plumbing: the numbers are the same on every worker."""

_CHUNK = re.compile(r"\s*\S+\s*|\s+")


class ScriptedModel:
    """A Model that plays one script; it may serve any number of conversations at once."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._places: dict[int, tuple[Message, Place]] = {}
        """By the id of the message it is the place after, which is kept so that the id holds."""
        self._errors: dict[tuple[int, int, int], int] = {}
        """By opening, replies so far and step."""
        self.replayed_count = 0
        """Messages replayed so far: what the tests of constant cost look at."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model that plays a script file. Raises ScriptError."""
        return cls(script_file.read(path))

    @classmethod
    def from_text(cls, text: str, *, name: str = "script") -> Self:
        """The model that plays a script's text; errors call it by the name. Raises ScriptError."""
        return cls(script_file.parse(text, name=name))

    @classmethod
    def from_steps(cls, steps: Sequence[Mapping[str, object]], *, name: str = "script") -> Self:
        """The model that plays steps as a file would give them. Raises ScriptError."""
        return cls(script_check.check({"steps": list(steps)}, name=name))

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """The script's next reply. Raises ModelError, by an error step or at the script's end."""
        place = self._place(request)
        index = self._upcoming(place)
        step = self._script.steps[index]
        assert isinstance(step, Say | Fail | Silence)
        spoken = await _speak(step.speech, place.seen, request.model, on_delta)
        match step:
            case Fail():
                self._count_error(place, index)
                raise ModelError(
                    fill(step.message, place.seen), kind=step.kind, retry_after=step.retry_after
                )
            case Silence():
                return Reply(content=(), stop="end", usage=_usage(request, place, ()))
            case Say():
                content = (*spoken, *_calls(step, place))
                usage = _usage(request, place, content)
                return Reply(content=content, stop=step.stop, usage=usage)

    def _upcoming(self, place: Place) -> int:
        script = self._script
        try:
            index = upcoming(script, place, lambda step: self._errors.get(_key(place, step), 0))
        except GoesInCircles as circle:
            (index,) = circle.args
            raise ModelError(
                f"{script.name}, {script.places[index]}: its branches lead back to it without a"
                " reply between; let one of them go to a step that says something",
                kind="fatal",
            ) from None
        if index == len(script.steps):
            count = place.replies_count
            raise ModelError(
                f"the script {script.name} has no step left after"
                f" {count} {'reply' if count == 1 else 'replies'}; add one, or a goto",
                kind="fatal",
            )
        return index

    def _count_error(self, place: Place, index: int) -> None:
        key = _key(place, index)
        self._errors[key] = self._errors.pop(key, 0) + 1
        if len(self._errors) > ERRORS_MAX:
            del self._errors[next(iter(self._errors))]

    def _place(self, request: Request) -> Place:
        """The place after the request's messages; remembered up to its newest reply."""
        messages = request.messages
        # The renderer makes each message anew for its own conversation and only ever adds to
        # it, so a message that is known by identity stands for all that is before it. In a list
        # from elsewhere one message may stand in two conversations.
        if isinstance(messages, list | tuple):
            return self._replay(Place(), messages)
        place, index = Place(), len(messages)
        while index > 0:
            known = self._places.pop(id(messages[index - 1]), None)
            if known is not None:
                place = known[1]
                break
            index -= 1
        newest = next(
            (i for i in range(len(messages) - 1, -1, -1) if type(messages[i]) is AssistantMessage),
            -1,
        )
        if newest >= 0:
            place = self._replay(place, messages[index : newest + 1])
            # Put back as the newest, so that the first in the dict is the oldest.
            self._places[id(messages[newest])] = (messages[newest], place)
            if len(self._places) > CONVERSATIONS_MAX:
                del self._places[next(iter(self._places))]
        return self._replay(place, messages[newest + 1 :])

    def _replay(self, place: Place, messages: Sequence[Message]) -> Place:
        self.replayed_count += len(messages)
        for message in messages:
            place = advance(self._script, place, message)
        return place


def _key(place: Place, step: int) -> tuple[int, int, int]:
    return (hash(place.opening), place.replies_count, step)


def _calls(step: Say, place: Place) -> Iterator[ToolCall]:
    for number, call in enumerate(step.calls, 1):
        provider_id = f"scripted_{place.replies_count + 1}_{number}"
        yield ToolCall(
            call_id=provider_id,
            name=call.tool,
            input=fill_input(call, place.seen),
            provider_id=provider_id,
        )


async def _speak(
    speech: Speech, seen: Seen, model: str, on_delta: Callable[[Delta], None]
) -> tuple[ReplyBlock, ...]:
    """Stream thinking and text, word by word, and give them as blocks."""
    blocks: list[ReplyBlock] = []
    if speech.thinking:
        thought = fill(speech.thinking, seen)
        opaque = msgspec.json.encode({"scripted": thought}).decode()
        blocks.append(Thinking(model=model, opaque=opaque, text=thought))
        for chunk in _chunks(thought):
            on_delta(ThinkingDelta(chunk))
            if speech.chunk_delay_seconds:
                await anyio.sleep(speech.chunk_delay_seconds)
    if speech.text:
        text = fill(speech.text, seen)
        blocks.append(Text(text))
        for chunk in _chunks(text):
            on_delta(TextDelta(chunk))
            if speech.chunk_delay_seconds:
                await anyio.sleep(speech.chunk_delay_seconds)
    # Even a pause of 0 lets a cancel in.
    await anyio.sleep(speech.pause_seconds)
    return tuple(blocks)


def _chunks(text: str) -> Iterator[str]:
    return (found[0] for found in _CHUNK.finditer(text))


def _usage(request: Request, place: Place, content: tuple[ReplyBlock, ...]) -> Usage:
    head = sum(len(text) for text in request.system) + sum(
        len(tool.name) + len(tool.description) + len(bytes(tool.input_schema))
        for tool in request.tools
    )
    repeated = head + place.chars_repeated if place.replies_count else 0
    return Usage(
        input_tokens=_tokens(head + place.chars - repeated),
        output_tokens=_tokens(sum(_chars(block) for block in content)),
        cache_read_tokens=_tokens(repeated),
    )


def _chars(block: ReplyBlock) -> int:
    match block:
        case Text(text=text):
            return len(text)
        case Thinking(opaque=opaque):
            return len(opaque)
        case ToolCall(name=name, input=raw):
            return len(name) + len(bytes(raw))


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)
