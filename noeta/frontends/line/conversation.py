"""What a front end must know of a task to show it: folded from the entries it was given.

Smaller than the kernel's state and more forgiving: an entry that cannot be read is passed over.
"""

from dataclasses import dataclass, field
from typing import Literal

from noeta.core import events as e
from noeta.core.message import ToolCall, Usage, text_of
from noeta.core.spending import Spending
from noeta.core.task import Kind
from noeta.host.client import Entry


@dataclass(slots=True)
class Conversation:
    """A task as far as its entries were seen."""

    kind: Kind = "interactive"
    model: str = ""
    cwd: str = ""
    last_seq: int = 0
    usage: Usage = field(default_factory=Usage)
    spending: Spending = field(default_factory=Spending)
    cost_usd: float = 0.0
    """Of the replies whose price is known."""
    unpriced_replies: int = 0
    turn_open: bool = False
    turns_count: int = 0
    answer: str = ""
    """The text of the last reply of the last turn."""
    turn: e.TurnEnded | None = None
    """How the last turn ended; None while one is open, and before the first."""
    waiting: Literal["message", "answer"] | None = None
    """What the task waits for; None while it is at work."""
    ended: e.TaskEnded | None = None
    calls: dict[str, ToolCall] = field(default_factory=dict)
    """The calls of the last reply that have no result, by id."""
    reply_calls: int = 0
    """How many calls the last reply made."""
    started: set[str] = field(default_factory=set)
    """Ids of calls of this turn that ran or run."""
    parked: dict[str, e.CallParked] = field(default_factory=dict)
    """Calls that wait for an answer, the oldest first."""

    def follow(self, entry: Entry) -> None:
        """Take the next entry in."""
        self.last_seq = entry.seq
        self.waiting = None
        if entry.event is not None:
            self.spending.add(entry.seq, entry.event)
            self._follow(entry.event)

    def _follow(self, event: e.Event) -> None:
        match event:
            case e.TaskCreated(kind=kind, model=model, cwd=cwd):
                self.kind, self.model, self.cwd = kind, model, cwd
            case e.PromptSet(model=model):
                self.model = model
            case e.MessageReceived() | e.NoticeReceived():
                if not self.turn_open:
                    self.turn_open, self.turn, self.answer = True, None, ""
            case e.ModelReplied(content=content, usage=usage, cost_usd=cost_usd):
                self.usage = self.usage.plus(usage)
                self.cost_usd += cost_usd or 0.0
                self.unpriced_replies += cost_usd is None
                self.answer = text_of(content)
                calls = {b.call_id: b for b in content if isinstance(b, ToolCall)}
                self.calls, self.reply_calls = calls, len(calls)
            case e.CallParked(call_id=call_id):
                self.parked[call_id] = event
            case e.AnswerReceived(call_id=call_id, applied=True):
                self.parked.pop(call_id, None)
            case e.ToolStarted(call_id=call_id):
                self.started.add(call_id)
                self.parked.pop(call_id, None)
            case e.ToolFinished(call_id=call_id):
                self.parked.pop(call_id, None)
                self.calls.pop(call_id, None)
            case e.TurnEnded():
                self.turn_open, self.turn = False, event
                self.turns_count += 1
                self.calls.clear()
                self.started.clear()
                self.parked.clear()
            case e.Waiting(why=why):
                self.waiting = why
            case e.TaskEnded():
                self.ended = event
                self.turn_open = False
                self.parked.clear()
            case _:
                pass

    def name_of(self, call_id: str) -> str:
        """The tool a call is of, as far as known."""
        call = self.calls.get(call_id)
        return call.name if call is not None else f"call {call_id}"

    @property
    def is_settled(self) -> bool:
        """Nothing goes on and nothing is asked, as far as the entries tell."""
        return self.ended is not None or self.waiting == "message"

    @property
    def needs_answer(self) -> bool:
        """All that can be done without an answer is done."""
        return self.waiting == "answer" and bool(self.parked)
