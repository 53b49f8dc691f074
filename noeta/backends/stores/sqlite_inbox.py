"""What comes into inboxes and is taken from them, inside a transaction somebody else opened.

A post moves a row on (`PUT_WAKE`) and lays the item down; a take removes it. Dedupe keys stay
when their item is gone.
"""

from collections.abc import Sequence
from sqlite3 import Connection

from noeta.core.store import Conflict, NewItem, NoSuchTask, Post, TaskOver

PUT_WAKE = """
UPDATE tasks SET
    posted_count = posted_count + 1,
    cancelled = cancelled OR ?,
    status = CASE status WHEN 'waiting' THEN 'ready' ELSE status END,
    ready_at = CASE WHEN status IN ('waiting', 'ready') THEN NULL ELSE ready_at END,
    updated_at = ?
WHERE key = ? RETURNING posted_count"""


def put(connection: Connection, now: float, post: Post, *, strict: bool = False) -> bool:
    """Put an item in an inbox and wake its task; False when the key was there before.

    A key is looked up before the status: the repeat of a message that was accepted is a repeat,
    also when its task has ended since. `strict` refuses what nobody would ever read.
    """
    item = post.item
    found = connection.execute(
        "SELECT key, status FROM tasks WHERE id = ?", (post.task_id,)
    ).fetchone()
    must_be_read = strict and item.kind in ("message", "answer")
    if found is None:
        if must_be_read:
            raise NoSuchTask(f"no task {post.task_id!r}; `noeta tasks list` shows them")
        return True
    key, status = found
    if status != "ended":
        return put_item(connection, now, key, item)
    if item.key is not None and _key_is_known(connection, key, item.key):
        return False
    if must_be_read:
        raise TaskOver(f"task {post.task_id!r} has ended and takes no more messages")
    return True


def put_item(connection: Connection, now: float, key: int, item: NewItem) -> bool:
    """Put an item in the inbox of a task that lives; False when its key was there before."""
    if item.key is not None and not note_key(connection, key, item.key):
        return False
    (item_id,) = connection.execute(PUT_WAKE, (item.kind == "cancel", now, key)).fetchone()
    connection.execute(
        "INSERT INTO inbox (task, id, kind, body, key, sender, posted_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (key, item_id, item.kind, item.body, item.key, item.sender, now),
    )
    return True


def note_key(connection: Connection, key: int, item_key: str) -> bool:
    """Remember a dedupe key for good; False when it was known."""
    noted = connection.execute(
        "INSERT INTO inbox_keys (task, key) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, item_key)
    )
    return noted.rowcount == 1


def _key_is_known(connection: Connection, key: int, item_key: str) -> bool:
    known = connection.execute(
        "SELECT 1 FROM inbox_keys WHERE task = ? AND key = ?", (key, item_key)
    )
    return known.fetchone() is not None


def take(connection: Connection, task_id: str, key: int, takes: Sequence[int]) -> None:
    """Take items out of an inbox; one that is not there is a Conflict."""
    for item_id in takes:
        taken = connection.execute("DELETE FROM inbox WHERE task = ? AND id = ?", (key, item_id))
        if taken.rowcount != 1:
            raise Conflict(f"item {item_id} of task {task_id!r} was taken before")
