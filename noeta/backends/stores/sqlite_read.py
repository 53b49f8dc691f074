"""What a store reads: logs, inboxes and rows, as plain functions over a connection.

Each is one SELECT, so it sees one state of the file. Lists come from rows alone and never touch
a log.
"""

from collections.abc import Collection, Sequence
from sqlite3 import Connection
from typing import Any

from noeta.backends.stores.sqlite_write import SEQ_BITS
from noeta.core.store import InboxItem, StoredEvent
from noeta.core.task import Status, TaskRow

SEQ_MAX = (1 << SEQ_BITS) - 1

_ROW = (
    "SELECT id, root, parent, parent_call, queue, kind, status, owner, owner_epoch, lease_until,"
    " ready_at, last_seq, posted_count, taken_count, cancelled, claims_since_append, title, cwd,"
    " outcome, created_at, updated_at, ended_at FROM tasks"
)


def read(connection: Connection, task_id: str, after: int, limit: int) -> Sequence[StoredEvent]:
    """Log entries after a seq, in order."""
    found = connection.execute(
        "WITH log (first) AS (SELECT key << 32 FROM tasks WHERE id = ?)"
        " SELECT id - first, epoch, at, body FROM log CROSS JOIN events"
        " WHERE id > first + ? AND id < first + (1 << 32) ORDER BY id LIMIT ?",
        (task_id, min(max(after, 0), SEQ_MAX), limit),
    )
    return [
        StoredEvent(seq=seq, epoch=epoch, at=at, body=body)
        for seq, epoch, at, body in found.fetchall()
    ]


def inbox(connection: Connection, task_id: str) -> Sequence[InboxItem]:
    """Items that no append has taken, the oldest first."""
    found = connection.execute(
        "SELECT id, kind, body, key, sender, posted_at FROM inbox"
        " WHERE task = (SELECT key FROM tasks WHERE id = ?) ORDER BY id",
        (task_id,),
    )
    return [
        InboxItem(id=item_id, kind=kind, body=body, key=key, sender=sender, posted_at=posted_at)
        for item_id, kind, body, key, sender, posted_at in found.fetchall()
    ]


def row(connection: Connection, task_id: str) -> TaskRow | None:
    """One row, or None."""
    found = connection.execute(_ROW + " WHERE id = ?", (task_id,)).fetchone()
    return None if found is None else _task_row(found)


def rows(
    connection: Connection,
    statuses: Collection[Status] | None,
    queues: Collection[str] | None,
    root: str | None,
    cwd: str | None,
    roots_only: bool,
    limit: int,
) -> Sequence[TaskRow]:
    """Rows that match, the last updated first."""
    sql, args = rows_query(statuses, queues, root, cwd, roots_only, limit)
    return [_task_row(found) for found in connection.execute(sql, args).fetchall()]


def rows_query(
    statuses: Collection[Status] | None,
    queues: Collection[str] | None,
    root: str | None,
    cwd: str | None,
    roots_only: bool,
    limit: int,
) -> tuple[str, list[Any]]:
    """The SELECT behind `rows`; the plan test reads it too."""
    wheres: list[str] = []
    args: list[Any] = []
    for column, values in (("status", statuses), ("queue", queues)):
        if values is not None:
            wheres.append(f"{column} IN ({', '.join('?' * len(values))})")
            args += values
    for column, value in (("root", root), ("cwd", cwd)):
        if value is not None:
            wheres.append(f"{column} = ?")
            args.append(value)
    if roots_only:
        wheres.append("parent IS NULL")
    where = f" WHERE {' AND '.join(wheres)}" if wheres else ""
    return f"{_ROW}{where} ORDER BY updated_at DESC, key DESC LIMIT ?", [*args, limit]


def _task_row(found: Any) -> TaskRow:
    return TaskRow(
        id=found[0],
        root=found[1],
        parent=found[2],
        parent_call=found[3],
        queue=found[4],
        kind=found[5],
        status=found[6],
        owner=found[7],
        owner_epoch=found[8],
        lease_until=found[9],
        ready_at=found[10],
        last_seq=found[11],
        posted_count=found[12],
        taken_count=found[13],
        cancelled=bool(found[14]),
        claims_since_append=found[15],
        title=found[16],
        cwd=found[17],
        outcome=found[18],
        created_at=found[19],
        updated_at=found[20],
        ended_at=found[21],
    )
