"""What a store's contract is checked through: a maker of handles, and the checks' own verbs."""

from collections.abc import Awaitable
from typing import Protocol, TypeVar

from noeta.core.store import Claim, InboxItem, NewItem, NewTask, Post, Store, StoredEvent
from noeta.core.task import TaskRow

E = TypeVar("E", bound=Exception)

QUEUES = ("default",)
LEASE_SECONDS = 30.0

CANCEL = NewItem(kind="cancel", body=b"")

Dump = list[tuple[TaskRow, list[StoredEvent], list[InboxItem]]]


class StoreMaker(Protocol):
    """One store's data, empty at first, and a clock that only moves when told.

    The maker closes what it opened. A store that no other process can see (`:memory:`) may give
    the same handle each time.
    """

    async def open(self) -> Store:
        """Another handle on the data, as another process would have it."""

    async def reopen(self) -> Store:
        """Close all handles, and open the data again."""

    def advance(self, seconds: float) -> None:
        """Move the store's clock on."""


def new_task(task_id: str = "t1", *, queue: str = "default", **fields: object) -> NewTask:
    """A task with one first event."""
    fields.setdefault("events", (b"first",))
    fields.setdefault("kind", "interactive")
    return NewTask(id=task_id, queue=queue, **fields)  # type: ignore[arg-type] # test values


async def running(store: Store, task_id: str = "t1", worker: str = "w1") -> Claim:
    """A new task, claimed by its creator, with one event."""
    claim = await store.create(new_task(task_id), worker=worker, lease_seconds=LEASE_SECONDS)
    assert claim is not None
    return claim


async def taken(store: Store, worker: str = "w1", **options: object) -> Claim | None:
    """One claim from the default queue."""
    return await store.claim(worker, QUEUES, LEASE_SECONDS, **options)  # type: ignore[arg-type] # as above


def message(body: bytes = b"hello", *, key: str | None = None) -> NewItem:
    """A message from a person."""
    return NewItem(kind="message", body=body, key=key, sender="person")


def report(body: bytes = b"done", *, key: str | None = None) -> NewItem:
    """A report, which nobody misses when its reader has ended."""
    return NewItem(kind="report", body=body, key=key)


async def post(store: Store, item: NewItem, task_id: str = "t1") -> bool:
    """Post to a task."""
    return await store.post(Post(task_id=task_id, item=item))


async def row_of(store: Store, task_id: str = "t1") -> TaskRow:
    """A row that is there."""
    row = await store.row(task_id)
    assert row is not None, f"no row {task_id!r}"
    return row


async def bodies(store: Store, task_id: str = "t1") -> list[bytes]:
    """A log's bodies."""
    return [event.body for event in await store.read(task_id)]


async def dump(store: Store) -> Dump:
    """All that can be seen of a store: rows, logs and inboxes."""
    rows = sorted(await store.rows(limit=10_000), key=lambda row: row.id)
    return [
        (row, list(await store.read(row.id, limit=100_000)), list(await store.inbox(row.id)))
        for row in rows
    ]


async def refused(error: type[E], call: Awaitable[object]) -> E:
    """The error that a call must raise."""
    try:
        answer = await call
    except error as raised:
        return raised
    raise AssertionError(f"{error.__name__} was due, but it answered {answer!r}")


async def refused_whole(store: Store, error: type[E], call: Awaitable[object]) -> E:
    """The error that a call must raise, leaving the whole store as it was."""
    before = await dump(store)
    raised = await refused(error, call)
    assert await dump(store) == before, f"a refusal with {error.__name__} changed something"
    return raised
