"""One process of the tests with several: `python sqlite_process.py MODE PATH NAME SECONDS`.

It says `ready`, waits for a line, works, and prints one line of JSON.
"""

import json
import sys
import time

import anyio

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.store import Append, NewTask


class SystemClock:
    """The real clock."""

    def wall(self) -> float:
        """Now."""
        return time.time()

    def monotonic(self) -> float:
        """Since some time."""
        return time.monotonic()


def say(line: str) -> None:
    """To the test."""
    print(line, flush=True)


async def append(path: str, name: str, seconds: float) -> None:
    """Append to a task of its own for some seconds, as fast as it can."""
    store = await SqliteStore.open(path, clock=SystemClock())
    task = NewTask(id=name, kind="one_shot", queue="default")
    claim = await store.create(task, worker=name, lease_seconds=600)
    assert claim is not None
    say("ready")
    sys.stdin.readline()
    ends_at, seq = time.monotonic() + seconds, 0
    while time.monotonic() < ends_at:
        done = await store.append(claim, Append(expected_seq=seq, events=(b"x" * 100,)))
        seq = done.last_seq
    await store.close()
    say(json.dumps(seq))


async def first(path: str, name: str, _seconds: float) -> None:
    """Open a file that may not be there yet, and write one task."""
    say("ready")
    sys.stdin.readline()
    store = await SqliteStore.open(path, clock=SystemClock())
    await store.create(NewTask(id=name, kind="one_shot", queue="default", events=(b"e",)))
    await store.close()
    say(json.dumps(name))


async def hold(path: str, name: str, _seconds: float) -> None:
    """Stop in the middle of a transaction, with the lock."""
    store = await SqliteStore.open(path, clock=SystemClock())
    with store._source.lock.held():
        connection = store._source.connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE tasks SET title = 'half', last_seq = 99")
        # Spills the cache, so that half-written pages really lie in the WAL.
        connection.execute("PRAGMA cache_size = 1")
        for seq in range(1000, 1200):
            body = b"x" * 4000
            connection.execute("INSERT INTO events VALUES (?, 1, 0, ?)", ((1 << 32) + seq, body))
        say("ready")
        sys.stdin.readline()


if __name__ == "__main__":
    mode = {"append": append, "first": first, "hold": hold}[sys.argv[1]]
    anyio.run(mode, sys.argv[2], sys.argv[3], float(sys.argv[4]))
