"""Fold: the one place where a task's state changes.

`fold(state, seq, event)` applies one event in place. An event that is impossible where it stands
raises UnreadableLog, so that a damaged log is told from a task that is merely odd. Nothing here
looks at a clock: replaying a log gives the same state on every machine.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from noeta.core import events as e
from noeta.core.errors import NoetaError
from noeta.core.message import (
    AssistantMessage,
    ReplyBlock,
    Shown,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserBlock,
    UserMessage,
)
from noeta.core.state import CallState, ReplyState, TaskState

NO_USAGE = Usage()

PluginFold = Callable[[object, msgspec.Raw], object]
"""A plugin's own fold: its frozen state and one record to its next state."""


class UnreadableLog(NoetaError):
    """Events that are fine one by one and cannot stand in this order."""


def fold(
    state: TaskState,
    seq: int,
    event: e.Event,
    folders: Mapping[str, PluginFold] | None = None,
) -> None:
    """Apply the event with this seq. Raises UnreadableLog; the state is then of no more use."""
    if seq != state.last_seq + 1:
        raise UnreadableLog(f"entry {seq} follows entry {state.last_seq} of the log")
    kind = type(event)
    if (seq == 1) is not (kind is e.TaskCreated):
        raise UnreadableLog("a log starts with TaskCreated, and only starts with it")
    if state.ended is not None:
        raise UnreadableLog(f"entry {seq} follows the end of the task")
    if isinstance(event, e.PluginRecorded):
        _plugin_recorded(state, event, folders or {})
    else:
        _FOLDS[kind](state, event)
    state.last_seq = seq
    state.waiting = kind is e.Waiting


def fold_all(
    state: TaskState,
    events: Iterable[tuple[int, e.Event]],
    folders: Mapping[str, PluginFold] | None = None,
) -> TaskState:
    """Fold (seq, event) pairs in order and give the state back."""
    for seq, event in events:
        fold(state, seq, event, folders)
    return state


def _task_created(state: TaskState, event: e.TaskCreated) -> None:
    state.task_id = event.task_id
    state.kind = event.kind
    state.cwd = event.cwd
    state.model = event.model
    state.on_ask = event.on_ask
    state.on_failure = event.on_failure
    state.permission_mode = event.permission_mode
    state.max_cost_usd = event.max_cost_usd


def _plugins_pinned(state: TaskState, event: e.PluginsPinned) -> None:
    state.pins = event.pins


def _prompt_set(state: TaskState, event: e.PromptSet) -> None:
    _must(not state.turn_open, "the prompt changes between turns only")
    state.prompt = event
    state.model = event.model


def _plugin_recorded(
    state: TaskState, event: e.PluginRecorded, folders: Mapping[str, PluginFold]
) -> None:
    folder = folders.get(event.plugin)
    if folder is not None:
        previous = state.plugin_states.get(event.plugin)
        state.plugin_states[event.plugin] = folder(previous, event.record)


def _task_ended(state: TaskState, event: e.TaskEnded) -> None:
    state.ended = event.outcome


def _message_received(state: TaskState, event: e.MessageReceived) -> None:
    _open_turn(state)
    _add_shown(state, event.content)


def _notice_received(state: TaskState, event: e.NoticeReceived) -> None:
    _open_turn(state)
    _add_shown(state, (Text(event.text),))


def _answer_received(state: TaskState, event: e.AnswerReceived) -> None:
    if not event.applied:
        return
    call = state.calls.get(event.call_id)
    _must(call is not None and call.awaits_answer, "an answer needs a parked call")
    assert call is not None
    call.answered = True
    call.allowed = event.allow
    call.answer_reason = event.reason


def _interrupt_received(state: TaskState, event: e.InterruptReceived) -> None:
    if state.turn_open:
        state.interrupt_requested = True


def _cancel_received(state: TaskState, event: e.CancelReceived) -> None:
    state.cancel_requested = True
    state.cancel_reason = event.reason


def _model_called(state: TaskState, event: e.ModelCalled) -> None:
    _must(state.turn_open, "a model call needs an open turn")
    _must(not state.calls, "a model call needs every call closed")
    state.model_call_open = True
    state.model_attempts += 1
    state.model_calls_count += 1
    state.notes_owed = False


def _model_replied(state: TaskState, event: e.ModelReplied) -> None:
    _must(state.model_call_open, "a reply needs a model call")
    state.model_call_open = False
    state.model_attempts = 0
    if event.usage != NO_USAGE:
        state.usage = state.usage.plus(event.usage)
    if event.cost_usd is None:
        state.unpriced_replies += 1
    else:
        state.cost_usd += event.cost_usd
    if event.content:
        _add_reply(state, event.content)
    for call in event.content:
        if type(call) is ToolCall:
            _must(call.call_id not in state.calls, "call ids are unique")
            state.calls[call.call_id] = CallState(call)
    state.calls_count += len(state.calls)
    state.reply = _reply_state(event, bool(state.calls))
    state.notes_owed = state.reply in ("cut", "empty")
    state.cut_replies = state.cut_replies + 1 if event.stop == "cut" else 0
    state.empty_replies = state.empty_replies + 1 if state.reply == "empty" else 0


def _reply_state(event: e.ModelReplied, has_calls: bool) -> ReplyState:
    if event.stop == "cut":
        return "cut"
    if has_calls:
        return "calls"
    if event.stop in ("refusal", "interrupted", "pause"):
        return event.stop
    if not any(type(block) is Text for block in event.content):
        return "empty"
    return "end"


def _tool_started(state: TaskState, event: e.ToolStarted) -> None:
    call = _open_call(state, event.call_id)
    _must(not call.awaits_answer, "a parked call starts only after its answer")
    call.started = event
    call.starts += 1


def _tool_finished(state: TaskState, event: e.ToolFinished) -> None:
    call = _open_call(state, event.call_id)
    call.result = ToolResult(call_id=event.call_id, content=event.content, is_error=event.is_error)
    results: list[UserBlock] = [c.result for c in state.calls.values() if c.result is not None]
    if len(results) == len(state.calls):
        state.calls.clear()
        state.messages.append(UserMessage((*results, *state.pending)))
        state.pending.clear()


def _call_parked(state: TaskState, event: e.CallParked) -> None:
    call = _open_call(state, event.call_id)
    _must(call.started is None and call.parked is None, "a call parks once, before it starts")
    call.parked = event


def _noted(state: TaskState, event: e.Noted) -> None:
    _add_shown(state, (Text(event.text),))


def _turn_ended(state: TaskState, event: e.TurnEnded) -> None:
    _must(state.turn_open, "only an open turn ends")
    _must(not state.calls, "a turn ends with every call closed")
    state.turn_open = False
    state.turns_count += 1
    state.turn_outcome = event.outcome
    state.turn_detail = event.detail
    state.interrupt_requested = False
    state.model_call_open = False
    state.model_attempts = 0
    state.reply = "none"
    state.notes_owed = False
    state.cut_replies = 0
    state.empty_replies = 0
    state.internal_errors = state.internal_errors + 1 if event.outcome == "internal_error" else 0


def _waiting(state: TaskState, event: e.Waiting) -> None:
    _must(not state.model_call_open, "a task does not wait in the middle of a model call")


def _open_turn(state: TaskState) -> None:
    if not state.turn_open:
        state.turn_open = True
        state.reply = "none"
    elif state.reply not in ("none", "calls"):
        # A message after the final reply, before the turn ended: the model owes an answer.
        state.reply = "none"
        state.notes_owed = False


def _add_reply(state: TaskState, content: tuple[ReplyBlock, ...]) -> None:
    """Add a reply; one that goes on after a pause joins the one before it."""
    last = state.messages[-1] if state.messages else None
    if type(last) is AssistantMessage:
        state.messages[-1] = AssistantMessage((*last.content, *content))
    else:
        state.messages.append(AssistantMessage(content))


def _add_shown(state: TaskState, content: tuple[Shown, ...]) -> None:
    """Add text and media to the user's side; after the results of calls that are still open."""
    if state.calls:
        state.pending.extend(content)
        return
    last = state.messages[-1] if state.messages else None
    if type(last) is UserMessage:
        # Strict providers want the roles to alternate, so one message grows.
        state.messages[-1] = UserMessage((*last.content, *content))
    else:
        state.messages.append(UserMessage(content))


def _open_call(state: TaskState, call_id: str) -> CallState:
    call = state.calls.get(call_id)
    if call is None or not call.is_open:
        raise UnreadableLog(f"call {call_id!r} is not open")
    return call


def _must(holds: bool, rule: str) -> None:
    if not holds:
        raise UnreadableLog(rule)


# Each fold takes its own event, and the key says which; a test holds this table to the union.
_FOLDS: Mapping[type, Callable[[TaskState, Any], None]] = {
    e.TaskCreated: _task_created,
    e.PluginsPinned: _plugins_pinned,
    e.PromptSet: _prompt_set,
    e.TaskEnded: _task_ended,
    e.MessageReceived: _message_received,
    e.NoticeReceived: _notice_received,
    e.AnswerReceived: _answer_received,
    e.InterruptReceived: _interrupt_received,
    e.CancelReceived: _cancel_received,
    e.ModelCalled: _model_called,
    e.ModelReplied: _model_replied,
    e.ToolStarted: _tool_started,
    e.ToolFinished: _tool_finished,
    e.CallParked: _call_parked,
    e.Noted: _noted,
    e.TurnEnded: _turn_ended,
    e.Waiting: _waiting,
}
