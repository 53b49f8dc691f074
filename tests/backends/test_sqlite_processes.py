"""Several processes on one sqlite file: nobody fails, nobody starves, nobody's death matters."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lock import FairLock
from noeta.core.store import Append, NewTask, StoreUnavailable
from noeta.testing.fake_clock import FakeClock

PROCESSES = 8
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("sqlite_process.py")

Process = subprocess.Popen[str]


@contextmanager
def processes(mode: str, path: Path, count: int, seconds: float = 0.0) -> Iterator[list[Process]]:
    """Started processes, each ready and waiting for its line; ended afterwards, whatever came."""
    started = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), mode, str(path), f"p{index}", str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for index in range(count)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def answers(started: list[Process]) -> list[object]:
    """Let all go at once, and hear what each has to say."""
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(started)
    return [json.loads(line) for line in said]


def test_eight_processes_share_one_file(tmp_path: Path) -> None:
    """No error, and no client under a quarter of the mean share."""
    path = tmp_path / "store.db"
    with processes("append", path, PROCESSES, seconds=4.0) as started:
        counts = [int(str(count)) for count in answers(started)]
    assert min(counts) * 4 >= sum(counts) / len(counts), counts
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT t.id, t.last_seq, count(*), max(e.id) - (t.key << 32) FROM tasks t"
            " JOIN events e ON e.id >> 32 = t.key GROUP BY t.key ORDER BY t.id"
        ).fetchall()
    connection.close()
    assert rows == [(f"p{index}", n, n, n) for index, n in enumerate(counts)]


def test_eight_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    """All succeed, and there is one schema."""
    path = tmp_path / "store.db"
    with processes("first", path, PROCESSES) as started:
        answers(started)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM meta").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (PROCESSES,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.anyio
async def test_a_killed_writer_leaves_nothing_half_written(tmp_path: Path) -> None:
    """Its lock and its transaction die with it; others go on at once."""
    path = tmp_path / "store.db"
    store = await SqliteStore.open(path, clock=FakeClock(), lock_seconds=0.2)
    task = NewTask(id="t1", kind="one_shot", queue="default", title="whole", events=(b"e",))
    claim = await store.create(task, worker="w1", lease_seconds=30)
    assert claim is not None
    with processes("hold", path, 1) as (holder,):
        with pytest.raises(StoreUnavailable, match=f"locked by process {holder.pid} "):
            await store.append(claim, Append(expected_seq=1, events=(b"late",)))
        holder.kill()
        holder.wait()
        done = await store.append(claim, Append(expected_seq=1, events=(b"next",)))
    assert done.last_seq == 2
    row = await store.row("t1")
    assert row is not None
    assert row.title == "whole"
    assert [event.body for event in await store.read("t1")] == [b"e", b"next"]
    await store.close()


def test_the_last_holder_does_not_win_the_lock_again(tmp_path: Path) -> None:
    """Whoever waits has the turn, so the one that lets go cannot pass it."""
    path = str(tmp_path / "store.db")
    greedy = FairLock(path, seconds=0.0)
    waits, may_go_on = threading.Event(), threading.Event()
    wrote: list[str] = []

    def sleep(_seconds: float) -> None:
        waits.set()
        assert may_go_on.wait(10)

    patient = FairLock(path, sleep=sleep)

    def write() -> None:
        with patient.held():
            wrote.append("patient")

    other = threading.Thread(target=write)
    with greedy.held():
        other.start()
        assert waits.wait(10)
    with pytest.raises(StoreUnavailable, match="locked by process"), greedy.held():
        pass
    may_go_on.set()
    other.join(10)
    assert wrote == ["patient"]
    with greedy.held():
        pass
    greedy.close()
    patient.close()
