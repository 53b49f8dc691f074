"""Events: the facts a log is made of.

Each has a type tag and is stored as JSON bytes that are never re-encoded. Fields may be added
with a default; a field never changes its meaning and is never taken away, so that old logs fold
for ever. What an event does to a task is said in `fold`, nowhere else.
"""

from typing import Literal

import msgspec

from noeta.core.message import Limits, ReplyBlock, Shown, StopReason, ToolSpec, Usage
from noeta.core.task import Kind

NO_EVIDENCE = msgspec.Raw(b"null")
"""What a call without evidence records. (msgspec decodes no union of Raw and None.)"""


class Fact(msgspec.Struct, gc=False, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    """What all events share: a type tag, and that defaults are not written."""


# The task ------------------------------------------------------------------------------------


class TaskCreated(Fact, gc=False, frozen=True, kw_only=True):
    """The first event of every log."""

    task_id: str
    kind: Kind
    cwd: str
    model: str
    """The route of the model, as `provider/model` or `scripted:FILE`."""
    on_ask: Literal["park", "deny"] = "park"
    """What a call that needs a person's leave does: wait for it, or count as denied."""
    on_failure: Literal["end", "wait"] = "end"
    """What a one_shot task does when its turn fails: end, or wait for a message like an
    interactive one, so that it can go on once the cause is mended."""
    permission_mode: str = "default"
    max_cost_usd: float | None = None
    """What the task's model calls may cost together; None: no cap."""


class Pin(msgspec.Struct, gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """A plugin as the task runs with it."""

    name: str
    source: str
    version: str
    args_hash: str = ""


class PluginsPinned(Fact, gc=False, frozen=True, kw_only=True, tag="core/plugins"):
    """The plugins in force from here on, in order."""

    pins: tuple[Pin, ...]


class PromptSet(Fact, gc=False, frozen=True, kw_only=True):
    """What every request starts with from here on: system texts, tools, model."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...] = ()
    limits: Limits = Limits()


class PluginRecorded(Fact, gc=False, frozen=True, kw_only=True):
    """A plugin's own record; only that plugin's fold reads it."""

    plugin: str
    record: msgspec.Raw


class TaskEnded(Fact, gc=False, frozen=True, kw_only=True):
    """The last event: `done`, `failed` or `cancelled`, and why."""

    outcome: Literal["done", "failed", "cancelled"]
    reason: str = ""
    detail: str = ""


# What comes from outside ---------------------------------------------------------------------


class MessageReceived(Fact, gc=False, frozen=True, kw_only=True):
    """A message was taken from the inbox; it opens a turn when none is open."""

    item: int
    content: tuple[Shown, ...]
    sender: str = ""


class NoticeReceived(Fact, gc=False, frozen=True, kw_only=True):
    """A notice or report was taken from the inbox; the model reads it as text."""

    item: int
    text: str
    sender: str = ""


class AnswerReceived(Fact, gc=False, frozen=True, kw_only=True):
    """A person answered a parked call. `applied` is false when there was nothing to answer."""

    item: int
    call_id: str
    input_digest: str
    allow: bool
    reason: str = ""
    applied: bool = True


class InterruptReceived(Fact, gc=False, frozen=True, kw_only=True):
    """A person asked for the open turn to stop."""

    item: int


class CancelReceived(Fact, gc=False, frozen=True, kw_only=True):
    """A person asked for the task to end."""

    item: int
    reason: str = ""


# A turn --------------------------------------------------------------------------------------


class ModelCalled(Fact, gc=False, frozen=True, kw_only=True):
    """A request is about to be sent."""

    model: str
    request_digest: str
    """Of the rendered request: the same log renders the same bytes on every worker."""


class ModelReplied(Fact, gc=False, frozen=True, kw_only=True):
    """The model's whole reply, validated before it got here."""

    content: tuple[ReplyBlock, ...]
    stop: StopReason
    usage: Usage = Usage()
    cost_usd: float | None = None
    """By the price table of that day; None: the model has no known price."""


class ToolStarted(Fact, gc=False, frozen=True, kw_only=True):
    """A call may take effect from here on. Written before the tool runs."""

    call_id: str
    name: str
    input: msgspec.Raw
    """As it runs: after any rewrite."""
    version: str
    retry_safe: bool = False
    """The tool's replay policy at this time; recovery needs it and the present one to agree."""
    evidence: msgspec.Raw = NO_EVIDENCE
    """What `Tool.prepare` left for a look-up after a crash; JSON null when nothing."""


FinishReason = Literal["done", "failed", "invalid", "denied", "interrupted", "unknown"]
"""Why a call closed: it ran, it raised, its input did not fit, it was refused, a person stopped
it, or its worker stopped and nobody knows."""


class ToolFinished(Fact, gc=False, frozen=True, kw_only=True):
    """What a call came to; the only thing that closes a call."""

    call_id: str
    content: tuple[Shown, ...]
    is_error: bool = False
    reason: FinishReason = "done"


class CallParked(Fact, gc=False, frozen=True, kw_only=True):
    """A call waits for an answer from outside."""

    call_id: str
    input: msgspec.Raw
    """As it would run: after any rewrite."""
    input_digest: str
    """An answer is bound to the call id and this."""
    reason: str
    gate: str = ""


class Noted(Fact, gc=False, frozen=True, kw_only=True):
    """The kernel tells the model something, in the words that were sent."""

    reason: Literal["cut", "empty", "interrupted", "failed"]
    text: str


TurnOutcome = Literal[
    "done",
    "interrupted",
    "refused",
    "no_answer",
    "llm_error",
    "llm_truncated",
    "cost_limit",
    "internal_error",
]


class TurnEnded(Fact, gc=False, frozen=True, kw_only=True):
    """The turn is over; every call in it is closed."""

    outcome: TurnOutcome
    detail: str = ""


class Waiting(Fact, gc=False, frozen=True, kw_only=True):
    """The task hands its claim back until something is posted or `ready_at` comes."""

    why: Literal["message", "answer"]
    ready_at: float | None = None


Event = (
    TaskCreated
    | PluginsPinned
    | PromptSet
    | PluginRecorded
    | TaskEnded
    | MessageReceived
    | NoticeReceived
    | AnswerReceived
    | InterruptReceived
    | CancelReceived
    | ModelCalled
    | ModelReplied
    | ToolStarted
    | ToolFinished
    | CallParked
    | Noted
    | TurnEnded
    | Waiting
)
