"""Where a script stands after a transcript, and what it plays next. Pure.

Each assistant message is one step played: a place is folded from the messages, so that any worker
that is given the same transcript stands at the same step. An empty reply leaves no message, but
the note that noeta sends after it does. An error leaves nothing: who plays the script counts them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from noeta.backends.models.script import (
    Branch,
    Fail,
    Say,
    Script,
    Seen,
    SeenResult,
    Silence,
    Step,
)
from noeta.core import texts
from noeta.core.message import (
    AssistantMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)

_NOTES = frozenset({texts.EMPTY_NOTE, texts.CUT_NOTE, texts.TURN_INTERRUPTED, texts.GO_ON})


class GoesInCircles(Exception):
    """Branches lead back to a step without a reply between; the argument is its index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation stands."""

    step: int = 0
    """The step to look at next."""
    replies_count: int = 0
    opening: str = ""
    """The conversation's first text: it tells conversations apart."""
    seen: Seen = field(default_factory=Seen)
    tools: Mapping[str, str] = field(default_factory=dict)
    """The newest reply's calls: id to tool."""
    empty_replies: int = 0
    """Since the newest assistant message."""
    chars: int = 0
    """Of all messages."""
    chars_repeated: int = 0
    """Of the messages that an earlier request held too."""


def advance(script: Script, place: Place, message: Message) -> Place:
    """The place after one more message."""
    match message:
        case UserMessage():
            return _told(place, message)
        case AssistantMessage():
            return _said(script, place, message)


def upcoming(script: Script, place: Place, errors: Callable[[int], int] | None) -> int:
    """The index of the step that answers here; the number of steps when none is left.

    errors says how often the error of a step has come up here. None passes over errors and empty
    replies: it asks which step the reply came from that is known to have followed.
    Raises GoesInCircles.
    """
    index = place.step
    told = place.empty_replies
    visited: set[int] = set()
    while index < len(script.steps):
        if index in visited:
            raise GoesInCircles(index)
        visited.add(index)
        match script.steps[index]:
            case Say():
                break
            case Branch() as step:
                index = _chosen(step, place.seen)
            case Fail() as step:
                if errors is not None and errors(index) < step.times:
                    break
                index = step.goto
            case Silence() as step:
                if errors is not None and told < step.times:
                    break
                told -= step.times
                index = step.goto
    return index


def _chosen(branch: Branch, seen: Seen) -> int:
    for arm in branch.arms:
        if arm.when is None or arm.when.holds(seen):
            return arm.goto
    return branch.goto


def _said(script: Script, place: Place, message: AssistantMessage) -> Place:
    index = _played(script, place)
    replies_count = place.replies_count + 1
    blocks_left = len(message.content)
    while isinstance(step := _step(script, index), Say) and step.stop == "pause":
        # What is said after a pause joins the message before it.
        blocks_left -= _blocks_count(step)
        if blocks_left <= 0:
            break
        replies_count += 1
        index = _played(script, replace(place, step=step.goto))
    return replace(
        place,
        step=step.goto if isinstance(step, Say) else index,
        replies_count=replies_count,
        tools={b.call_id: b.name for b in message.content if isinstance(b, ToolCall)},
        empty_replies=0,
        chars=place.chars + _chars(message),
        chars_repeated=place.chars,
    )


def _played(script: Script, place: Place) -> int:
    """The step that a reply which is known to have followed came from."""
    try:
        return upcoming(script, place, None)
    except GoesInCircles as circle:
        # Another model wrote this reply, the script could not have: stay where it turns.
        index: int = circle.args[0]
        return index


def _step(script: Script, index: int) -> Step | None:
    return script.steps[index] if index < len(script.steps) else None


def _blocks_count(step: Say) -> int:
    speech = step.speech
    return bool(speech.thinking) + bool(speech.text) + len(step.calls)


def _told(place: Place, message: UserMessage) -> Place:
    content = message.content
    results = tuple(
        SeenResult(place.tools.get(block.call_id, ""), text_of(block.content), block.is_error)
        for block in content
        if isinstance(block, ToolResult)
    )
    said = [block.text for block in content if isinstance(block, Text)]
    text = "\n".join(words for words in said if words not in _NOTES)
    return replace(
        place,
        opening=place.opening or (said[0] if said else ""),
        seen=Seen(
            results=results,
            message=text,
            last_result=results[-1].text if results else place.seen.last_result,
            last_message=text or place.seen.last_message,
        ),
        empty_replies=_empty_replies(said),
        chars=place.chars + _chars(message),
    )


def _empty_replies(said: list[str]) -> int:
    """How many empty replies the texts of a user message tell of.

    Each has its note, but for the one that ended the turn: it is known by the text that follows.
    """
    count = in_a_row = 0
    for words in said:
        if words == texts.EMPTY_NOTE:
            count += 1
            in_a_row += 1
            continue
        if in_a_row == texts.MAX_EMPTY_REPLIES - 1 and words != texts.TURN_INTERRUPTED:
            count += 1
        in_a_row = 0
    return count


def _chars(message: Message) -> int:
    count = 0
    for block in message.content:
        match block:
            case Text(text=text):
                count += len(text)
            case Thinking(opaque=opaque):
                count += len(opaque)
            case ToolCall(name=name, input=raw):
                count += len(name) + len(bytes(raw))
            case ToolResult(content=content):
                count += len(text_of(content))
    return count
