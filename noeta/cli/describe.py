"""One line for one event, for people who read a log."""

import re

import msgspec

from noeta.core import events as e
from noeta.core.message import Text, Thinking, ToolCall, text_of
from noeta.host.client import Entry

LINE_CHARS_MAX = 160
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")


def one_line(text: str, chars_max: int = LINE_CHARS_MAX) -> str:
    """Text on one line, without control characters, cut with an ellipsis."""
    flat = _CONTROL.sub(" ", text).strip()
    return flat if len(flat) <= chars_max else flat[: chars_max - 1] + "…"


def describe(entry: Entry) -> str:
    """What an entry says, in at most a line."""
    event = entry.event
    if event is None:
        return one_line(entry.problem)
    return one_line(_facts(event))


def type_of(entry: Entry) -> str:
    """The entry's type tag."""
    if entry.event is None:
        return "?"
    return str(type(entry.event).__struct_config__.tag)


def _facts(event: e.Event) -> str:
    match event:
        case e.TaskCreated():
            return f"{event.kind} in {event.cwd}, model {event.model}"
        case e.PluginsPinned(pins=pins):
            return ", ".join(f"{pin.name} {pin.version}" for pin in pins)
        case e.PromptSet():
            return f"{len(event.system)} system texts, {len(event.tools)} tools"
        case e.MessageReceived():
            return f"{event.sender or 'someone'}: {text_of(event.content)}"
        case e.NoticeReceived(text=text) | e.Noted(text=text):
            return text
        case e.AnswerReceived():
            word = "yes" if event.allow else f"no {event.reason}"
            return f"{event.call_id}: {word}" + ("" if event.applied else " (too late)")
        case e.ModelCalled():
            return f"{event.model}, request {event.request_digest[:12]}"
        case e.ModelReplied():
            return f"{event.stop}: " + " | ".join(_block(b) for b in event.content)
        case e.ToolStarted():
            return f"{event.call_id} {event.name} {input_text(event.input)}"
        case e.ToolFinished():
            word = "" if event.reason == "done" and not event.is_error else f"[{event.reason}] "
            return f"{event.call_id} {word}{text_of(event.content)}"
        case e.CallParked():
            return f"{event.call_id} waits for leave: {event.reason}"
        case e.TurnEnded(outcome=outcome, detail=detail):
            return f"{outcome} {detail}".strip()
        case e.TaskEnded():
            return " ".join(w for w in (event.outcome, event.reason, event.detail) if w)
        case e.Waiting(why=why):
            return f"for {'a message' if why == 'message' else 'an answer'}"
        case e.CancelReceived(reason=reason):
            return reason
        case e.PluginRecorded(plugin=plugin):
            return plugin
        case e.InterruptReceived():
            return ""


def input_text(raw: msgspec.Raw) -> str:
    """A call's input as a person reads it: its values, the first one first."""
    try:
        values = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return ""
    if not isinstance(values, dict):
        return ""
    return " ".join(str(value) for value in values.values())


def _block(block: Text | Thinking | ToolCall) -> str:
    match block:
        case Text(text=text):
            return text
        case Thinking():
            return "(thinking)"
        case ToolCall():
            return f"{block.call_id} {block.name} {input_text(block.input)}"
