"""What creates and appends, as plain functions inside a transaction somebody else opened.

Each takes the connection and the store's present instant, and either does all of its work or
raises; the writer (`sqlite_writer.py`) rolls back what a raising function had done. Claims live
in `sqlite_claim.py`, what comes into inboxes and is taken from them in `sqlite_inbox.py`.
"""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any, assert_never

from noeta.backends.stores import sqlite_inbox
from noeta.core.store import (
    Append,
    Appended,
    Claim,
    Conflict,
    End,
    Go,
    InboxNotEmpty,
    Keep,
    Move,
    NewTask,
    TaskExists,
    Wait,
)
from noeta.core.task import Status

HELD = "id = ? AND owner = ? AND owner_epoch = ? AND status IN ('running', 'kept')"
"""Still has the claim: never a comparison with a clock. Its arguments: `held_by`."""

SEQ_BITS = 32
"""An event's id is its task's key shifted by this, plus its seq."""

FENCE = HELD + " AND last_seq = ?"

_COUNTS = """
    last_seq = last_seq + ?,
    claims_since_append = CASE WHEN ? THEN 0 ELSE claims_since_append END,
    taken_count = taken_count + ?,
    title = COALESCE(?, title)"""

_GO = "status = 'running', ready_at = NULL"
_WAIT = "status = 'waiting', owner = NULL, lease_until = NULL, ready_at = ?"
_KEEP = "status = 'kept', ready_at = ?"
_END = (
    "status = 'ended', owner = NULL, lease_until = NULL, ready_at = NULL, outcome = ?, ended_at = ?"
)
_READY = "status = 'ready', owner = NULL, lease_until = NULL, ready_at = NULL"

_LEFT = "RETURNING key, posted_count - taken_count, cancelled"


def held_by(claim: Claim) -> tuple[str, str, int]:
    """The arguments of `HELD`."""
    return claim.task_id, claim.owner, claim.epoch


def append(connection: Connection, now: float, claim: Claim, append: Append) -> Appended:
    """All of one append (`Store.append`).

    One UPDATE is check and change at once, so the common append is that and its INSERTs. The
    row moves with it, but for a post to oneself: that must be seen by the look into the inbox,
    and must not meet a row that has already ended, so there the move comes after the posts.
    """
    posts_to_itself = any(post.task_id == claim.task_id for post in append.posts)
    early = Go() if posts_to_itself else append.move
    events_count = len(append.events)
    counts = (events_count, events_count, len(append.takes), append.title)
    fence = (*held_by(claim), append.expected_seq)
    left = None
    if isinstance(early, Go):
        left = connection.execute(_go_on(FENCE), (*counts, *fence)).fetchone()
    if left is None:
        changes, move_args = _move(early, now)
        left = connection.execute(
            f"UPDATE tasks SET {_COUNTS}, updated_at = ?, {changes} WHERE {FENCE} {_LEFT}",
            (*counts, now, *move_args, *fence),
        ).fetchone()
    if left is None:
        raise Conflict(_why_refused(connection, claim, append.expected_seq))
    key, inbox_count, cancelled = left
    last_seq = append.expected_seq + events_count
    write_events(connection, now, key, claim.epoch, append.expected_seq, append.events)
    sqlite_inbox.take(connection, claim.task_id, key, append.takes)
    if append.children and cancelled:
        raise Conflict(f"task {claim.task_id!r} is cancelled and creates no more children")
    for child in append.children:
        create(connection, now, child)
    for post in append.posts:
        sqlite_inbox.put(connection, now, post)
    if posts_to_itself:
        changes, move_args = _move(append.move, now)
        _, inbox_count, cancelled = connection.execute(
            f"UPDATE tasks SET {changes} WHERE key = ? {_LEFT}", (*move_args, key)
        ).fetchone()
    status = look(connection, claim.task_id, key, append.move, inbox_count)
    return Appended(
        last_seq=last_seq, inbox_count=inbox_count, status=status, cancelled=bool(cancelled)
    )


def _go_on(fence: str) -> str:
    """The common append: a running task goes on running.

    It sets nothing that an index is made of, so no index's page is written again.
    """
    return f"UPDATE tasks SET {_COUNTS} WHERE {fence} AND status = 'running' {_LEFT}"


def look(connection: Connection, task_id: str, key: int, move: Move, inbox_count: int) -> Status:
    """The status the row is left in; refuses a hand-back that would leave something unread.

    It comes last and in the same transaction: whatever was posted before, by anyone,
    is counted, and whatever is posted later finds the row waiting and wakes it.
    """
    match move:
        case Go():
            return "running"
        case Keep():
            return "kept"
        case Wait(or_ready=True) if inbox_count:
            connection.execute(f"UPDATE tasks SET {_READY} WHERE key = ?", (key,))
            return "ready"
        case Wait() if inbox_count:
            raise InboxNotEmpty(f"task {task_id!r} has {inbox_count} items and cannot wait")
        case Wait():
            return "waiting"
        case End(despite_inbox=False) if inbox_count:
            raise InboxNotEmpty(f"task {task_id!r} has {inbox_count} items and cannot end")
        case End():
            return "ended"
    assert_never(move)


def create(
    connection: Connection,
    now: float,
    task: NewTask,
    worker: str | None = None,
    lease_seconds: float | None = None,
) -> Claim | None:
    """A new row with its first events and items, claimed by `worker` when one is given."""
    epoch = 0 if worker is None else 1
    lease_until = None if worker is None else now + (lease_seconds or 0.0)
    created = connection.execute(
        "INSERT INTO tasks (id, root, parent, parent_call, queue, kind, status, owner,"
        " owner_epoch, lease_until, last_seq, claims_since_append, title, cwd, created_at,"
        " updated_at, first_events_count)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING RETURNING key",
        (
            *(task.id, task.root or task.id, task.parent, task.parent_call, task.queue),
            *(task.kind, "ready" if worker is None else "running", worker, epoch, lease_until),
            *(len(task.events), epoch, task.title, task.cwd, now, now, len(task.events)),
        ),
    ).fetchone()
    if created is None:
        return _repeat(connection, task, worker)
    (key,) = created
    write_events(connection, now, key, epoch, 0, task.events)
    for item in task.items:
        sqlite_inbox.put_item(connection, now, key, item)
    if worker is None or lease_until is None:
        return None
    return Claim(
        task_id=task.id,
        owner=worker,
        epoch=epoch,
        lease_until=lease_until,
        last_seq=len(task.events),
    )


def write_events(
    connection: Connection,
    now: float,
    key: int,
    epoch: int,
    after_seq: int,
    events: Sequence[bytes],
) -> None:
    """Insert the bodies as the log entries after `after_seq`."""
    for seq, body in enumerate(events, after_seq + 1):
        connection.execute(
            "INSERT INTO events (id, epoch, at, body) VALUES (?, ?, ?, ?)",
            ((key << SEQ_BITS) + seq, epoch, now, body),
        )


def _move(move: Move, now: float) -> tuple[str, tuple[Any, ...]]:
    """What a move sets in the row, as SQL and its arguments."""
    match move:
        case Go():
            return _GO, ()
        case Wait():
            return _WAIT, (move.ready_at,)
        case Keep():
            return _KEEP, (move.ready_at,)
        case End():
            return _END, (move.outcome, now)
    assert_never(move)


def _why_refused(connection: Connection, claim: Claim, expected_seq: int) -> str:
    """One sentence on what differs; only for people, the refusal is already certain."""
    row = connection.execute(
        "SELECT owner, owner_epoch, status, last_seq FROM tasks WHERE id = ?", (claim.task_id,)
    ).fetchone()
    if row is None:
        return f"task {claim.task_id!r} is not in this store"
    owner, epoch, status, last_seq = row
    if (owner, epoch) != (claim.owner, claim.epoch) or status not in ("running", "kept"):
        return (
            f"task {claim.task_id!r} is {status} under epoch {epoch} of {owner!r},"
            f" not held by epoch {claim.epoch} of {claim.owner!r}"
        )
    return f"the log of task {claim.task_id!r} ends at {last_seq}, not at {expected_seq}"


def _repeat(connection: Connection, task: NewTask, worker: str | None) -> Claim | None:
    """Answer a create whose id is there: the creator's claim again, or TaskExists."""
    key, events_count, owner, epoch, lease_until, last_seq, claims = connection.execute(
        "SELECT key, first_events_count, owner, owner_epoch, lease_until, last_seq,"
        " claims_since_append FROM tasks WHERE id = ?",
        (task.id,),
    ).fetchone()
    first = connection.execute(
        "SELECT body FROM events WHERE id BETWEEN ? AND ? ORDER BY id",
        ((key << SEQ_BITS) + 1, (key << SEQ_BITS) + events_count),
    )
    if tuple(body for (body,) in first) != task.events:
        raise TaskExists(f"another task has the id {task.id!r}; choose a new one")
    if worker is None or owner != worker or epoch != 1:
        return None
    return Claim(
        task_id=task.id,
        owner=worker,
        epoch=epoch,
        lease_until=lease_until,
        last_seq=last_seq,
        claims_since_append=claims,
    )
