"""Stores that are wrong on purpose, each in one line, so that the contract is seen to bite.

Each entry names the defect, the checks that must catch it, and what to replace in the real
store. A defect that no check catches is a missing check.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from noeta.backends.stores import sqlite_claim, sqlite_inbox, sqlite_write
from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lane import Job
from noeta.core.store import Append, Appended, Claim, Conflict, Move, NewTask, Post
from noeta.core.task import Status

Replacement = tuple[Any, str, object]
"""An object, the name of its attribute, and what stands there instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One defect."""

    name: str
    caught_by: tuple[str, ...]
    replace: tuple[Replacement, ...]


def _without(sql: str, *parts: str) -> str:
    """A condition with some of its parts made true; each part's arguments stay in place."""
    for part in parts:
        assert part in sql, f"{part!r} is not in the real store's SQL any more"
        sql = sql.replace(part, "? IS NOT NULL" if "?" in part else "1")
    return sql


def _fence(*parts: str) -> tuple[Replacement, ...]:
    return ((sqlite_write, "FENCE", _without(sqlite_write.FENCE, *parts)),)


def _blind_look(
    _connection: Connection, _task_id: str, _key: int, move: Move, _inbox_count: int
) -> Status:
    return {"Go": "running", "Keep": "kept", "Wait": "waiting", "End": "ended"}[type(move).__name__]  # type: ignore[return-value] # the literals are right


async def _take_first(store: SqliteStore, claim: Claim, append: Append) -> Appended:
    """Takes in a transaction of their own, before the append."""
    if append.takes:
        await store._write(_job(lambda connection, _now: _take(connection, claim, append)))
    rest = {name: getattr(append, name) for name in append.__slots__ if name != "takes"}
    return await _real_append(store, claim, Append(**rest))


def _take(connection: Connection, claim: Claim, append: Append) -> None:
    (key,) = connection.execute("SELECT key FROM tasks WHERE id = ?", (claim.task_id,)).fetchone()
    sqlite_inbox.take(connection, claim.task_id, key, append.takes)
    connection.execute(
        "UPDATE tasks SET taken_count = taken_count + ? WHERE key = ?", (len(append.takes), key)
    )


async def _post_after(store: SqliteStore, claim: Claim, append: Append) -> Appended:
    """Posts once the append is committed, each in a transaction of its own."""
    rest = {name: getattr(append, name) for name in append.__slots__ if name != "posts"}
    appended = await _real_append(store, claim, Append(**rest))
    for post in append.posts:
        await store._write(_job(lambda connection, now, post=post: _put(connection, now, post)))
    return appended


def _put(connection: Connection, now: float, post: Post) -> bool:
    return sqlite_inbox.put(connection, now, post)


def _pending_only(connection: Connection, key: int, item_key: str) -> bool:
    """Dedupe by what lies in the inbox now."""
    found = connection.execute("SELECT 1 FROM inbox WHERE task = ? AND key = ?", (key, item_key))
    return found.fetchone() is None


def _look_before_posts(
    connection: Connection, now: float, claim: Claim, append: Append
) -> Appended:
    """The look comes first, so the append's own posts are not seen."""
    others = [post for post in append.posts if post.task_id != claim.task_id]
    rest = {name: getattr(append, name) for name in append.__slots__ if name != "posts"}
    done = _real_append_tx(connection, now, claim, Append(**rest, posts=tuple(others)))
    for post in append.posts:
        if post.task_id == claim.task_id:
            connection.execute(
                "UPDATE tasks SET posted_count = posted_count + 1 WHERE id = ?", (claim.task_id,)
            )
    return done


def _write_events_loosely(
    connection: Connection,
    now: float,
    key: int,
    epoch: int,
    after_seq: int,
    events: Sequence[bytes],
) -> None:
    """Leaves a gap before each append's first event."""
    for seq, body in enumerate(events, after_seq + (2 if after_seq else 1)):
        connection.execute(
            "INSERT OR REPLACE INTO events (id, epoch, at, body) VALUES (?, ?, ?, ?)",
            ((key << 32) + seq, epoch, now, body),
        )


def _uncancelled(connection: Connection, now: float, claim: Claim, append: Append) -> Appended:
    """Children of a cancelled task escape: they are made after the append, unseen by it."""
    rest = {name: getattr(append, name) for name in append.__slots__ if name != "children"}
    done = _real_append_tx(connection, now, claim, Append(**rest))
    for child in append.children:
        sqlite_write.create(connection, now, child)
    return done


def _by_clock(connection: Connection, now: float, claim: Claim, append: Append) -> Appended:
    """A lapsed lease may not write, though nobody took it."""
    if now >= claim.lease_until:
        raise Conflict("lapsed")
    return _real_append_tx(connection, now, claim, append)


_RENEW_BY_EPOCH = """
UPDATE tasks SET lease_until = CASE WHEN owner IS NOT NULL THEN ? END
WHERE id = ? AND ? <> '' AND owner_epoch = ?"""


def _create_unlocked(
    connection: Connection,
    now: float,
    task: NewTask,
    worker: str | None = None,
    lease_seconds: float | None = None,
) -> Claim | None:
    """Every repeat of an id is believed to be the same task."""
    known = connection.execute("SELECT 1 FROM tasks WHERE id = ?", (task.id,)).fetchone()
    return None if known else _real_create(connection, now, task, worker, lease_seconds)


def _job(run: Callable[..., Any]) -> Any:
    return Job(run)


_real_append = SqliteStore.append
_real_append_tx = sqlite_write.append
_real_create = sqlite_write.create
_STATUS = "status IN ('running', 'kept')"

BROKEN = (
    Broken(
        name="no epoch check",
        caught_by=("an_old_epoch_is_refused", "a_refused_append_changes_nothing"),
        replace=_fence("owner_epoch = ?"),
    ),
    Broken(
        name="no seq check",
        caught_by=("another_seq_is_refused",),
        replace=_fence("last_seq = ?"),
    ),
    Broken(
        name="no owner check",
        caught_by=("another_owner_is_refused",),
        replace=_fence("owner = ?"),
    ),
    Broken(
        name="no owner and no status check",
        caught_by=("a_claim_handed_back_may_not_write", "another_owner_is_refused"),
        replace=_fence("owner = ?", _STATUS),
    ),
    Broken(
        name="a lease is a comparison with a clock",
        caught_by=("a_lapsed_lease_that_nobody_took_still_holds",),
        replace=((sqlite_write, "append", _by_clock),),
    ),
    Broken(
        name="a wait does not look at the inbox",
        caught_by=("a_wait_looks_at_the_inbox", "a_post_racing_a_wait_is_never_lost"),
        replace=((sqlite_write, "look", _blind_look),),
    ),
    Broken(
        name="the look comes before the append's own posts",
        caught_by=("a_wait_looks_after_its_own_posts",),
        replace=((sqlite_write, "append", _look_before_posts),),
    ),
    Broken(
        name="dedupe by pending items only",
        caught_by=("a_repeated_key_is_dropped", "an_append_drops_repeated_keys"),
        replace=((sqlite_inbox, "note_key", _pending_only),),
    ),
    Broken(
        name="takes outside the append",
        caught_by=("a_refused_append_takes_nothing",),
        replace=((SqliteStore, "append", _take_first),),
    ),
    Broken(
        name="posts outside the append",
        caught_by=("a_wait_looks_after_its_own_posts",),
        replace=((SqliteStore, "append", _post_after),),
    ),
    Broken(
        name="a post does not wake",
        caught_by=("a_post_wakes_a_waiting_task",),
        replace=(
            (
                sqlite_inbox,
                "PUT_WAKE",
                sqlite_inbox.PUT_WAKE.replace("THEN 'ready'", "THEN status"),
            ),
        ),
    ),
    Broken(
        name="renew by epoch only",
        caught_by=("renewing_checks_owner_and_status",),
        replace=((sqlite_claim, "RENEW", _RENEW_BY_EPOCH),),
    ),
    Broken(
        name="adopt without a bump",
        caught_by=("adopting_is_claiming_anew",),
        replace=((sqlite_claim, "ADOPT_BUMP", 0),),
    ),
    Broken(
        name="release without its fence",
        caught_by=("a_stale_release_is_a_conflict",),
        replace=((sqlite_claim, "RELEASE", _without(sqlite_claim.RELEASE, "owner = ?", _STATUS)),),
    ),
    Broken(
        name="a released kept wait does not look at the inbox",
        caught_by=("a_released_kept_wait_waits_on",),
        replace=(
            (
                sqlite_claim,
                "RELEASE",
                sqlite_claim.RELEASE.replace("posted_count = taken_count", "1"),
            ),
        ),
    ),
    Broken(
        name="a gap in the log",
        caught_by=("events_are_numbered_without_gaps",),
        replace=((sqlite_write, "write_events", _write_events_loosely),),
    ),
    Broken(
        name="children of a cancelled task escape",
        caught_by=("a_cancelled_task_creates_no_children",),
        replace=((sqlite_write, "append", _uncancelled),),
    ),
    Broken(
        name="every repeat of an id is the same task",
        caught_by=("another_task_under_an_id_is_refused",),
        replace=((sqlite_write, "create", _create_unlocked),),
    ),
)
