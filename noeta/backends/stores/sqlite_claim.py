"""Who may write: claiming, adopting, renewing and giving back, inside a transaction.

Claiming looks along three arms of one partial index (`tasks_claim`), each a bounded search:
rows without an owner by queue and time (ready and due, waiting and due), and held rows (a
handful: what runs now), by lapsed lease or by dead owner. Idle waits and ended tasks are not in
that index. The earliest `due_at` wins: `ready_at`, else the creation, else the lease's end.
"""

import json
from collections.abc import Collection
from functools import lru_cache
from sqlite3 import Connection
from typing import Any

from noeta.backends.stores.sqlite_write import HELD, held_by
from noeta.core.store import Claim, Conflict

_CLAIMED = " RETURNING id, owner_epoch, lease_until, last_seq, claims_since_append"

_TAKE_OVER = """
UPDATE tasks SET status = 'running', owner = ?, owner_epoch = owner_epoch + ?, lease_until = ?,
    ready_at = NULL, claims_since_append = claims_since_append + 1, updated_at = ?
WHERE key = ?"""

ADOPT_BUMP = 1
"""Adopting is claiming: what an older claim of the same worker still writes must be refused."""


def find_claimable(
    connection: Connection,
    now: float,
    queues: Collection[str],
    root: str | None,
    dead: Collection[str],
    skip: Collection[str] = (),
) -> int | None:
    """The key of the row that a claim would take now, or None."""
    names = sorted(set(queues))
    owners = sorted(set(dead))
    args: dict[str, Any] = {"now": now, "root": root}
    args |= {f"q{index}": name for index, name in enumerate(names)}
    args |= {f"d{index}": name for index, name in enumerate(owners)}
    if not names:
        return None
    if skip:
        args["skip"] = json.dumps(sorted(skip))
    sql = claimable_sql(len(names), len(owners), root is not None, bool(skip))
    found = connection.execute(sql, args).fetchone()
    return None if found is None else int(found[0])


@lru_cache(maxsize=64)
def claimable_sql(queues_count: int, dead_count: int, one_tree: bool, skips: bool = False) -> str:
    """The search for so many queues and dead owners; the plan test reads it too."""
    tree = " AND root = :root" if one_tree else ""
    if skips:
        tree += " AND id NOT IN (SELECT value FROM json_each(:skip))"
    names = [f":q{index}" for index in range(queues_count)]
    of_queues = f"queue IN ({', '.join(names)}){tree}"
    arms = [f"owner IS NULL AND queue = {name} AND due_at <= :now{tree}" for name in names]
    arms.append(f"owner > '' AND due_at <= :now AND {of_queues}")
    if dead_count:
        owners = ", ".join(f":d{index}" for index in range(dead_count))
        arms.append(f"owner IN ({owners}) AND due_at IS NOT NULL AND {of_queues}")
    selects = [
        f"SELECT * FROM (SELECT key, due_at FROM tasks INDEXED BY tasks_claim WHERE {arm}"
        " ORDER BY due_at LIMIT 1)"
        for arm in arms
    ]
    return " UNION ALL ".join(selects) + " ORDER BY 2 LIMIT 1"


def claim(
    connection: Connection,
    now: float,
    worker: str,
    queues: Collection[str],
    lease_seconds: float,
    root: str | None,
    dead: Collection[str],
    skip: Collection[str] = (),
) -> Claim | None:
    """Take the first claimable row, if there is one."""
    key = find_claimable(connection, now, queues, root, dead, skip)
    if key is None:
        return None
    return _take_over(connection, now, worker, lease_seconds, key, 1)


def find_owned(connection: Connection, worker: str, known: Collection[str]) -> list[int]:
    """Keys of the rows that are this worker's and not among the tasks it knows."""
    owned = connection.execute(
        "SELECT key, id FROM tasks INDEXED BY tasks_claim"
        " WHERE owner = ? AND due_at IS NOT NULL ORDER BY key",
        (worker,),
    )
    return [key for key, task_id in owned.fetchall() if task_id not in known]


def adopt(
    connection: Connection,
    now: float,
    worker: str,
    known: Collection[str],
    lease_seconds: float,
) -> list[Claim]:
    """Claim anew what this worker owns without knowing it."""
    return [
        _take_over(connection, now, worker, lease_seconds, key, ADOPT_BUMP)
        for key in find_owned(connection, worker, known)
    ]


RENEW = f"UPDATE tasks SET lease_until = ? WHERE {HELD}"


def renew(connection: Connection, now: float, claim: Claim, lease_seconds: float) -> Claim | None:
    """The claim with a longer lease, or None when the task is no longer this claim's."""
    row = connection.execute(RENEW + _CLAIMED, (now + lease_seconds, *held_by(claim))).fetchone()
    return None if row is None else _claim(claim.owner, row)


def renew_all(
    connection: Connection, now: float, claims: Collection[Claim], lease_seconds: float
) -> frozenset[tuple[str, int]]:
    """Extend the leases of one worker's claims; what of them is held, as (task id, epoch)."""
    wanted = [[claim.task_id, claim.epoch] for claim in claims]
    held = connection.execute(
        "UPDATE tasks INDEXED BY tasks_claim SET lease_until = ?"
        " WHERE owner = ? AND due_at IS NOT NULL AND (id, owner_epoch) IN"
        " (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"
        " RETURNING id, owner_epoch",
        (now + lease_seconds, next(iter(claims)).owner, json.dumps(wanted)),
    )
    return frozenset((task_id, epoch) for task_id, epoch in held.fetchall())


RELEASE = f"""
UPDATE tasks SET
    status = CASE WHEN status = 'kept' AND posted_count = taken_count
        THEN 'waiting' ELSE 'ready' END,
    ready_at = CASE WHEN status = 'kept' AND posted_count = taken_count THEN ready_at END,
    owner = NULL, lease_until = NULL, updated_at = ?
WHERE {HELD}"""


def release(connection: Connection, now: float, claim: Claim) -> None:
    """Give the task back: a running one is ready, a kept one waits unless something came."""
    released = connection.execute(RELEASE, (now, *held_by(claim)))
    if released.rowcount != 1:
        raise Conflict(f"task {claim.task_id!r} is no longer held by epoch {claim.epoch}")


def _take_over(
    connection: Connection, now: float, worker: str, lease_seconds: float, key: int, bump: int
) -> Claim:
    row = connection.execute(
        _TAKE_OVER + _CLAIMED, (worker, bump, now + lease_seconds, now, key)
    ).fetchone()
    return _claim(worker, row)


def _claim(worker: str, row: Any) -> Claim:
    task_id, epoch, lease_until, last_seq, claims = row
    return Claim(
        task_id=task_id,
        owner=worker,
        epoch=epoch,
        lease_until=lease_until,
        last_seq=last_seq,
        claims_since_append=claims,
    )
