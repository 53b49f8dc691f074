"""The client: all that a front end knows of noeta.

The same protocol stands before a noeta in this process (`host/local.py`) and before a server.
Each rule below is held by a check in `noeta/testing/client_contract.py`.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from noeta.core.errors import NoetaError
from noeta.core.events import Event
from noeta.core.progress import Progress
from noeta.core.task import Kind, Status, TaskRow


class AlreadySettled(NoetaError):
    """The call has its answer, or its result, already; nothing was posted."""


class AmbiguousId(NoetaError):
    """Several tasks start with these characters; the message lists them."""


class PromptRefused(NoetaError):
    """The text of a message is empty or larger than a message may be."""


MESSAGE_BYTES_MAX = 4 * 1024 * 1024
"""A message this large fits no model's context; it would make its task unusable for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to create."""

    prompt: str | None
    """Its first message; None: it waits for one."""
    cwd: str
    """An absolute directory."""
    model: str
    kind: Kind = "interactive"
    on_ask: Literal["park", "deny"] = "park"
    on_failure: Literal["end", "wait"] = "end"
    """What a one_shot task does when its turn fails."""
    permission_mode: str = "default"
    max_cost_usd: float | None = None
    """What its model calls may cost together; None: no cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One log entry."""

    seq: int
    epoch: int
    at: float
    """Seconds since 1970, UTC, by the store's clock."""
    body: bytes
    """As stored."""
    event: Event | None
    """None when this version cannot read it."""
    problem: str = ""
    """Why event is None."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Everything that was recorded when the watch began has been given."""


Update = Entry | Progress | CaughtUp
"""What a watch gives: recorded entries in order and without a gap; what is live, best effort;
and CaughtUp once."""


class Client(Protocol):
    """What front ends do with tasks. All methods may raise StoreUnavailable.

    Methods that name a task raise NoSuchTask when there is none.
    """

    async def create(self, request: TaskRequest) -> str:
        """Create a task and give its id; it runs here at once. Raises PromptRefused."""

    async def attach(self, task_id: str) -> TaskRow:
        """Take part in running a task here: carry it on when nobody else does.

        At once where its last owner is provably dead, else when its lease runs out. A task that
        another live process runs stays there. Gives its row.
        """

    async def send(
        self, task_id: str, text: str, *, model: str = "", key: str | None = None
    ) -> None:
        """Send a message; `model` is the route from its turn on, empty: as before.

        Raises TaskOver, PromptRefused.
        """

    async def answer(self, task_id: str, call_id: str, *, allow: bool, reason: str = "") -> None:
        """Answer a parked call, bound to its input as the log shows it.

        Raises AlreadySettled for a call that waits for no answer, and for all but the first.
        """

    async def interrupt(self, task_id: str) -> None:
        """Stop the open turn and keep its work; nothing when no turn is open."""

    async def cancel(self, task_id: str, reason: str = "") -> None:
        """End the task; nothing when it has ended."""

    async def find(self, prefix: str) -> str:
        """The one task whose id starts so. Raises NoSuchTask, AmbiguousId."""

    async def task(self, task_id: str) -> TaskRow:
        """The task's row."""

    async def tasks(
        self,
        *,
        statuses: Collection[Status] | None = None,
        cwd: str | None = None,
        limit: int = 100,
    ) -> Sequence[TaskRow]:
        """Root tasks, the last updated first."""

    async def log(self, task_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Entry]:
        """Log entries with seq > after, in order."""

    def watch(
        self, task_id: str, *, after: int = 0
    ) -> AbstractAsyncContextManager[AsyncIterator[Update]]:
        """Updates of a task from seq `after` on; the iterator ends after TaskEnded."""


def check_message(text: str) -> str:
    """The text itself; raises PromptRefused when it cannot be a message."""
    if not text.strip():
        raise PromptRefused("the message is empty; say what the model should do")
    size = len(readable(text).encode("utf-8"))
    if size > MESSAGE_BYTES_MAX:
        raise PromptRefused(
            f"the message has {size:,} bytes and at most {MESSAGE_BYTES_MAX:,} fit; put the"
            " text in a file and tell the model where it is"
        )
    return text


def readable(text: str) -> str:
    """The text as it can be stored: a byte that was no UTF-8 (a lone surrogate) becomes `?`."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
