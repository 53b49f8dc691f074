"""How sqlite finds rows: an idle task costs a claim nothing, and lists use an index."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noeta.backends.stores import sqlite_claim, sqlite_open, sqlite_read
from noeta.core.store import Claim

IDLE = 20_000


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    """Many idle waits and ended tasks, two held ones, and one that is ready."""
    path: Path = tmp_path_factory.mktemp("plans") / "store.db"
    connection = sqlite_open.Source(path).open()
    insert = (
        "INSERT INTO tasks (id, root, queue, kind, status, owner, owner_epoch, lease_until,"
        " last_seq, claims_since_append, title, cwd, created_at, updated_at, first_events_count)"
        " VALUES (?, ?, 'default', 'one_shot', ?, ?, 1, ?, 1, 0, '', '', ?, ?, 1)"
    )
    connection.execute("BEGIN")
    for index in range(IDLE):
        status = "waiting" if index % 2 else "ended"
        connection.execute(insert, (f"i{index}", f"i{index}", status, None, None, index, index))
    connection.execute(insert, ("lapsed", "lapsed", "running", "w1", 50.0, 1, 1))
    connection.execute(insert, ("live", "live", "kept", "w1", 1e12, 1, 1))
    connection.execute(insert, ("ready", "ready", "ready", None, None, 5, 5))
    connection.execute("COMMIT")
    yield connection
    connection.close()


def plan(connection: sqlite3.Connection, sql: str, args: Any) -> list[str]:
    """What sqlite would do, a line a step."""
    rows = connection.execute("EXPLAIN QUERY PLAN " + sql, args)
    return [row[3] for row in rows]


def work(connection: sqlite3.Connection, sql: str, args: Any) -> int:
    """About how many steps of sqlite's machine a statement takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(count, 1)
    connection.execute(sql, args).fetchall()
    connection.set_progress_handler(None, 0)
    return steps


CLAIM_ARGS = {"now": 100.0, "root": "ready", "q0": "default", "q1": "other", "d0": "w9"}


@pytest.mark.parametrize("one_tree", [False, True])
def test_no_arm_of_a_claim_scans_idle_tasks(crowded: sqlite3.Connection, one_tree: bool) -> None:
    """Every arm is a search in the claim index, which holds no idle wait."""
    sql = sqlite_claim.claimable_sql(2, 1, one_tree)
    steps = [line for line in plan(crowded, sql, CLAIM_ARGS) if " tasks" in line]
    assert len(steps) == 4
    assert all("SEARCH tasks USING" in line and "INDEX tasks_claim" in line for line in steps)
    assert work(crowded, sql, CLAIM_ARGS) < 500
    # The index is partial, and of all these rows only three are in it.
    partial = {row[1] for row in crowded.execute("PRAGMA index_list (tasks)") if row[4]}
    assert partial == {"tasks_claim"}
    due = crowded.execute("SELECT count(*) FROM tasks WHERE due_at IS NOT NULL")
    assert due.fetchone() == (3,)


def test_a_claim_takes_the_earliest(crowded: sqlite3.Connection) -> None:
    """Of the ready one (from 5 on) and the lapsed one (from 50 on), the former."""
    key = sqlite_claim.find_claimable(crowded, 100.0, ["default"], None, ())
    assert crowded.execute("SELECT id FROM tasks WHERE key = ?", (key,)).fetchone() == ("ready",)


def test_renewing_all_searches_by_owner(crowded: sqlite3.Connection) -> None:
    """A keeper's statement costs what its worker holds."""
    seen: list[str] = []
    claims = [
        Claim(task_id=name, owner="w1", epoch=1, lease_until=50.0, last_seq=1)
        for name in ("lapsed", "live", "ready")
    ]
    crowded.set_trace_callback(seen.append)
    crowded.execute("BEGIN")
    held = sqlite_claim.renew_all(crowded, 100.0, claims, 30.0)
    crowded.execute("ROLLBACK")
    crowded.set_trace_callback(None)
    assert {task_id for task_id, _ in held} == {"lapsed", "live"}
    (sql,) = [sql for sql in seen if sql.startswith("UPDATE")]
    assert any("INDEX tasks_claim (owner=?" in line for line in plan(crowded, sql, ()))


def test_lists_use_an_index(crowded: sqlite3.Connection) -> None:
    """The last updated come first without sorting; a tree is searched by its root."""
    sql, args = sqlite_read.rows_query(None, None, None, None, True, 10)
    steps = plan(crowded, sql, args)
    assert steps == ["SCAN tasks USING INDEX tasks_updated"]
    assert work(crowded, sql, args) < 1_000
    sql, args = sqlite_read.rows_query(None, None, "i7", None, False, 10)
    assert "SEARCH tasks USING INDEX tasks_root (root=?)" in plan(crowded, sql, args)
    assert work(crowded, sql, args) < 200


def test_a_log_is_searched_by_task_and_seq(crowded: sqlite3.Connection) -> None:
    """A page costs its own length."""
    seen: list[str] = []
    crowded.set_trace_callback(seen.append)
    sqlite_read.read(crowded, "ready", 10, 100)
    sqlite_read.inbox(crowded, "ready")
    crowded.set_trace_callback(None)
    for sql in seen:
        steps = plan(crowded, sql, ())
        assert not any(line.startswith("SCAN") or "TEMP B-TREE" in line for line in steps), steps
