"""What a task is now: everything the log says, folded.

A `TaskState` has one owner and is changed in place, by `fold` and nothing else. A plugin's own
state is frozen and replaced whole. Messages only grow, but for the last one: it may be replaced
by a longer one until a message of the other role follows it.
"""

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from noeta.core.events import CallParked, Pin, PromptSet, ToolStarted, TurnOutcome
from noeta.core.message import Message, Shown, ToolCall, ToolResult, Usage
from noeta.core.task import Kind

ReplyState = Literal["none", "calls", "end", "cut", "empty", "pause", "refusal", "interrupted"]
"""What the turn's newest reply asks for next; `none` before the first."""


@dataclass(slots=True)
class CallState:
    """One call of the newest reply."""

    call: ToolCall
    parked: CallParked | None = None
    """Set while, and after, it waits or waited for an answer."""
    answered: bool = False
    allowed: bool = False
    answer_reason: str = ""
    started: ToolStarted | None = None
    starts: int = 0
    result: ToolResult | None = None

    @property
    def is_open(self) -> bool:
        """It has no result yet."""
        return self.result is None

    @property
    def awaits_answer(self) -> bool:
        """It is parked and nobody has answered."""
        return self.is_open and self.parked is not None and not self.answered

    @property
    def input(self) -> msgspec.Raw:
        """The input it runs with: rewritten when a gate did so."""
        return self.parked.input if self.parked is not None else self.call.input


@dataclass(slots=True)
class TaskState:
    """A task, folded up to `last_seq`."""

    task_id: str = ""
    kind: Kind = "interactive"
    cwd: str = ""
    on_ask: Literal["park", "deny"] = "park"
    on_failure: Literal["end", "wait"] = "end"
    permission_mode: str = "default"
    model: str = ""
    """The route for the next call."""
    last_seq: int = 0

    pins: tuple[Pin, ...] = ()
    prompt: PromptSet | None = None
    plugin_states: dict[str, object] = field(default_factory=dict)

    messages: list[Message] = field(default_factory=list)
    pending: list[Shown] = field(default_factory=list)
    """What came while calls were open; they follow the calls' results."""

    turn_open: bool = False
    turns_count: int = 0
    turn_outcome: TurnOutcome | None = None
    """How the last ended turn ended."""
    turn_detail: str = ""
    interrupt_requested: bool = False
    cancel_requested: bool = False
    cancel_reason: str = ""

    model_call_open: bool = False
    model_attempts: int = 0
    """ModelCalled events since the last reply."""
    reply: ReplyState = "none"
    notes_owed: bool = False
    """The newest reply was cut or empty and the model was not yet told."""
    cut_replies: int = 0
    empty_replies: int = 0
    internal_errors: int = 0
    """Turns in a row that ended so."""

    calls: dict[str, CallState] = field(default_factory=dict)
    """The newest reply's calls in its order, until all are closed."""
    calls_count: int = 0
    """Calls in the whole log: the next call's number is one more."""

    waiting: bool = False
    """The last event handed the task back."""
    ended: Literal["done", "failed", "cancelled"] | None = None
    usage: Usage = field(default_factory=Usage)
    model_calls_count: int = 0
    max_cost_usd: float | None = None
    cost_usd: float = 0.0
    """Of the replies whose price is known."""
    unpriced_replies: int = 0

    @property
    def open_calls(self) -> list[CallState]:
        """Calls without a result, in the reply's order."""
        return [call for call in self.calls.values() if call.is_open]
