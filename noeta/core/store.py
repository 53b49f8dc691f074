"""The store: where tasks' rows, logs and inboxes live, and the fences that make one writer.

What these docstrings promise is held, rule by rule, by `noeta/testing/store_contract.py`.

A task has a row (`TaskRow`), a log (events 1, 2, 3 ... as opaque bytes) and an inbox. Before a
worker runs a task it *claims* it, and each claim has an epoch of its own, one above the last. Logs
grow by `append` alone. One transaction holds all that an append does (the events, what it takes
from the inbox and posts to others, the children it creates, where the row goes next), and the
checks that it may; if one of them fails, nothing of it happens. Who may write is decided by the
epoch; a lease says when the task of an owner who fell silent is free to be taken (ADR-001).
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from noeta.core.errors import NoetaError
from noeta.core.task import Kind, Status, TaskRow

ItemKind = Literal["message", "answer", "interrupt", "cancel", "notice", "report"]
"""What can be posted. `message` and `answer` come from people and are refused by an ended task;
the others are dropped by one."""


class Conflict(NoetaError):
    """The claim or the expected seq is no longer true: stop, write nothing, release nothing."""


class InboxNotEmpty(NoetaError):
    """A wait or an end was refused since something is in the inbox; nothing was written."""


class NoSuchTask(NoetaError):
    """No task has this id."""


class TaskExists(NoetaError):
    """Another task, with other first events, has this id."""


class TaskOver(NoetaError):
    """The task has ended: a message to it would never be read."""


class StoreUnavailable(NoetaError):
    """The store cannot be used now; nothing is known to have been written."""


class CommitUnknown(NoetaError):
    """The write may have landed: read the log, never repeat it (a keyed post may)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to write to one task, until a higher epoch exists or it is handed back."""

    task_id: str
    owner: str
    epoch: int
    lease_until: float
    """By the store's clock."""
    last_seq: int
    """The log's last seq when it was claimed."""
    claims_since_append: int = 1
    """This claim included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One log entry as stored; `body` is never re-encoded."""

    seq: int
    epoch: int
    at: float
    """When it was written, by the store's clock."""
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """Something to be put in an inbox."""

    kind: ItemKind
    body: bytes
    key: str | None = None
    """Repeats of a key in one task are dropped, also after the first was taken. Not empty."""
    sender: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """An item and the task it goes to."""

    task_id: str
    item: NewItem


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An item as it lies in an inbox. Ids grow in the order of posting."""

    id: int
    kind: ItemKind
    body: bytes
    key: str | None
    sender: str
    posted_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task to create, complete with its first events and inbox."""

    id: str
    kind: Kind
    queue: str
    cwd: str = ""
    title: str = ""
    parent: str | None = None
    parent_call: str | None = None
    root: str | None = None
    """None: the task is its own root."""
    events: tuple[bytes, ...] = ()
    items: tuple[NewItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Go:
    """Keep running under the same claim."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Hand the task back until something is posted or `ready_at` comes.

    Refused with InboxNotEmpty when, after the append's own posts, the inbox holds anything;
    `or_ready` hands it back as ready instead of refusing (a worker that shuts down).
    """

    ready_at: float | None = None
    or_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Wait and keep the claim: the row shows waiting, the lease is renewed."""

    ready_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """End the task for good, with its outcome.

    Refused with InboxNotEmpty when the inbox holds anything, so that no accepted message is
    lost; `despite_inbox` is for ends that cannot read it (a failed or cancelled task).
    """

    outcome: str
    despite_inbox: bool = False


Move = Go | Wait | Keep | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """All that one append does, in one transaction."""

    expected_seq: int
    events: tuple[bytes, ...] = ()
    takes: tuple[int, ...] = ()
    """Ids of inbox items. One that is not there (taken before) is a Conflict."""
    posts: tuple[Post, ...] = ()
    """Posts to ended or missing tasks are dropped in silence, keyed repeats too."""
    children: tuple[NewTask, ...] = ()
    """Refused with Conflict when the row is marked cancelled."""
    move: Move = field(default_factory=Go)
    title: str | None = None
    """A new title for the row; None leaves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What the row says after an append that landed."""

    last_seq: int
    inbox_count: int
    status: Status
    cancelled: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit changed."""

    task_id: str | None
    """None: some task, seen from outside."""
    wakes: bool = True
    """Something was posted to it or it may be claimed; False: its log grew, or it was claimed."""


Changed = Callable[[Change], None]
"""Called after a commit. Comes from any thread and must only set an event."""


class Store(Protocol):
    """One contract, several stores. All methods but `renew_all`, `on_change` and `now` wait.

    Every method may raise StoreUnavailable. Ids and keys are checked first (BadId). Driver
    errors never leave a store.
    """

    def now(self) -> float:
        """The store's clock, seconds since 1970, UTC; leases, `ready_at` and `at` are by it."""

    async def create(
        self, task: NewTask, *, worker: str | None = None, lease_seconds: float | None = None
    ) -> Claim | None:
        """Create a task: ready, or already claimed by `worker` (epoch 1) when one is given.

        The id is the key: a repeat with the same first events changes nothing (and gives the
        creator its claim again); another task under the id raises TaskExists.
        Raises CommitUnknown: repeat it.
        """

    async def claim(
        self,
        worker: str,
        queues: Collection[str],
        lease_seconds: float,
        *,
        root: str | None = None,
        dead: Collection[str] = (),
        skip: Collection[str] = (),
    ) -> Claim | None:
        """Take one claimable task of these queues, or None.

        Claimable: ready and due, waiting and due, running or kept with a lease that has run
        out. The epoch goes up by one. `root` narrows to one tree. `dead` names owners that the
        caller has proved dead: their leases count as run out. `skip` names tasks that are left
        alone: those the caller runs itself, whose lease may have run out in a suspend.
        Raises CommitUnknown: `adopt` finds what landed.
        """

    async def adopt(self, worker: str, known: Collection[str], lease_seconds: float) -> list[Claim]:
        """Claim anew (epoch + 1) what the store says is this worker's but is not in `known`."""

    async def renew(self, claim: Claim, lease_seconds: float) -> Claim | None:
        """Extend the claim's lease; None when it is no longer this claim's task.

        Checks owner, epoch and that the task is running or kept. A lapsed lease that nobody
        took can be renewed.
        """

    def renew_all(
        self, claims: Collection[Claim], lease_seconds: float
    ) -> frozenset[tuple[str, int]]:
        """Extend the leases of one worker's claims in one statement; the (task id, epoch) pairs
        that are still held.

        Only of these claims: what a worker has given up must run out. Blocks, and may be called
        from any thread: the lease keeper's. Goes ahead of queued writes.
        """

    async def release(self, claim: Claim) -> None:
        """Give a running task back as ready; a kept one as waiting, or ready if its inbox is
        not empty. Raises Conflict when the claim is not held any more."""

    async def append(self, claim: Claim, append: Append) -> Appended:
        """Write to the log; see the module's first page.

        Raises Conflict (epoch, owner, status, seq, an item already taken, children of a
        cancelled task, a task that is gone), InboxNotEmpty (move), TaskExists (a child's id is
        another task's), CommitUnknown. All but the last change nothing.
        """

    async def post(self, post: Post) -> bool:
        """Put an item in a task's inbox and wake it; False when its key was posted before.

        A waiting task becomes ready. A `cancel` item marks the row cancelled too. Raises
        NoSuchTask or TaskOver for a `message` or `answer` that can never be read; other kinds
        to such a task are dropped (True is returned: there is nothing to repeat).
        Raises CommitUnknown: repeat it if it has a key.
        """

    async def read(
        self, task_id: str, *, after: int = 0, limit: int = 1000
    ) -> Sequence[StoredEvent]:
        """Log entries with seq > after, in order, at most limit. Empty for an unknown id."""

    async def inbox(self, task_id: str) -> Sequence[InboxItem]:
        """Items not taken, in order of posting."""

    async def row(self, task_id: str) -> TaskRow | None:
        """The task's row, or None."""

    async def rows(
        self,
        *,
        statuses: Collection[Status] | None = None,
        queues: Collection[str] | None = None,
        root: str | None = None,
        cwd: str | None = None,
        roots_only: bool = False,
        limit: int = 100,
    ) -> Sequence[TaskRow]:
        """Rows that match all that is given, the last updated first."""

    def on_change(self, callback: Changed) -> AbstractContextManager[None]:
        """Call back after each commit, of this process or another, while the context is open.

        Notifications only make things quick: whoever waits also polls.
        """

    async def close(self) -> None:
        """Finish queued writes and close; later calls raise StoreUnavailable."""
