"""next_action: the one place where a task's next thing is chosen.

Pure: a state and the names of what is running in this process come in, an order comes out. The
step carries it out and asks again. The order of the questions is the order of importance:
an end asked for, an interrupt, calls left half done, calls to start, then the model.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from noeta.core import texts
from noeta.core.events import Noted, TurnOutcome
from noeta.core.state import CallState, TaskState

MODEL = "model"
"""The name of a model call among the running things; call ids never look like it."""


@dataclass(frozen=True, slots=True)
class Await:
    """Something runs here: write what is known, then wait for it or for the inbox."""


@dataclass(frozen=True, slots=True)
class Stop:
    """An interrupt or a cancel: stop what runs here and close every open call."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """Calls that a worker started and never finished: their outcome must be found out."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class StartCalls:
    """Calls whose turn it is: gate each, then start, park or refuse it."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Call the model, after telling it `note` when there is one."""

    note: Noted | None = None


@dataclass(frozen=True, slots=True)
class EndTurn:
    """The turn is over."""

    outcome: TurnOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HandBack:
    """Nothing can be done until something is posted."""

    why: Literal["message", "answer"]


@dataclass(frozen=True, slots=True)
class EndTask:
    """The task is over."""

    outcome: Literal["done", "failed", "cancelled"]
    reason: str = ""
    detail: str = ""


Action = Await | Stop | Interrupted | StartCalls | CallModel | EndTurn | HandBack | EndTask


def next_action(
    state: TaskState, *, running: Set[str] = frozenset(), parallel: Set[str] = frozenset()
) -> Action:
    """What to do now. `running` names calls (and MODEL) that run in this process; `parallel`
    names the tools whose calls may run beside each other."""
    stop_asked = state.cancel_requested or state.interrupt_requested
    if stop_asked and (running or state.calls):
        return Stop()
    if state.cancel_requested:
        return _cancel(state)
    if not state.turn_open:
        return _between_turns(state)
    if state.interrupt_requested:
        return EndTurn("interrupted")
    if state.calls:
        return _calls(state, running, parallel)
    if running:
        return Await()
    return _model(state)


def _cancel(state: TaskState) -> Action:
    if state.turn_open:
        return EndTurn("interrupted", state.cancel_reason)
    return EndTask("cancelled", "cancelled", state.cancel_reason)


def _between_turns(state: TaskState) -> Action:
    if state.internal_errors >= texts.MAX_INTERNAL_ERRORS:
        return EndTask("failed", "internal_error", state.turn_detail)
    if state.kind == "interactive" or state.turns_count == 0:
        return HandBack("message")
    outcome = state.turn_outcome
    assert outcome is not None
    if outcome == "done":
        return EndTask("done")
    if state.on_failure == "wait":
        return HandBack("message")
    return EndTask("failed", outcome, state.turn_detail)


def _calls(state: TaskState, running: Set[str], parallel: Set[str]) -> Action:
    cut_short = tuple(
        c for c in state.open_calls if c.started is not None and c.call.call_id not in running
    )
    if cut_short:
        return Interrupted(cut_short)
    startable = _startable(state, parallel)
    if startable:
        return StartCalls(startable)
    if running:
        return Await()
    return HandBack("answer")


def _startable(state: TaskState, parallel: Set[str]) -> tuple[CallState, ...]:
    """Calls that may start now: in the reply's order, a parallel call beside parallel ones,
    any other only when everything before it is closed."""
    startable: list[CallState] = []
    for index, call in enumerate(state.open_calls):
        if index > 0 and call.call.name not in parallel:
            break
        if call.started is None and not call.awaits_answer:
            startable.append(call)
        if call.call.name not in parallel:
            break
    return tuple(startable)


def _model(state: TaskState) -> Action:
    match state.reply:
        case "end":
            return EndTurn("done")
        case "refusal":
            return EndTurn("refused")
        case "interrupted":
            return EndTurn("interrupted")
        case "cut" if state.cut_replies >= texts.MAX_CUT_REPLIES:
            return EndTurn("llm_truncated", texts.CUT_TOO_OFTEN.format(count=state.cut_replies))
        case "empty" if state.empty_replies >= texts.MAX_EMPTY_REPLIES:
            return EndTurn("no_answer", texts.EMPTY_TOO_OFTEN.format(count=state.empty_replies))
    if state.max_cost_usd is not None and state.unpriced_replies:
        return EndTurn("cost_limit", texts.COST_UNKNOWN.format(cap=state.max_cost_usd))
    if state.max_cost_usd is not None and state.cost_usd >= state.max_cost_usd:
        spent = texts.COST_LIMIT.format(spent=state.cost_usd, cap=state.max_cost_usd)
        return EndTurn("cost_limit", spent)
    if state.model_attempts >= texts.MAX_MODEL_ATTEMPTS:
        detail = texts.MODEL_KEPT_STOPPING.format(count=state.model_attempts)
        return EndTurn("llm_error", detail)
    return CallModel(_note(state))


def _note(state: TaskState) -> Noted | None:
    if not state.notes_owed:
        return None
    if state.reply == "cut":
        return Noted(reason="cut", text=texts.CUT_NOTE)
    return Noted(reason="empty", text=texts.EMPTY_NOTE)
