"""One of the processes of `bench/processes.py`: appends to its own task, and notes each wait."""

import json
import sys
import time

import anyio

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.store import Append, NewTask
from noeta.host.system_clock import SystemClock


async def main(path: str, name: str, seconds: float) -> None:
    """Append for so many seconds; print the waits in milliseconds as JSON."""
    store = await SqliteStore.open(path, clock=SystemClock())
    task = NewTask(id=name, kind="one_shot", queue="q", events=(b"{}",))
    claim = await store.create(task, worker=name, lease_seconds=60)
    assert claim is not None
    print("ready", flush=True)
    sys.stdin.readline()
    waits: list[float] = []
    seq, end_at = 1, time.monotonic() + seconds
    while (started := time.monotonic()) < end_at:
        done = await store.append(claim, Append(expected_seq=seq, events=(b"x" * 500,)))
        waits.append((time.monotonic() - started) * 1000)
        seq = done.last_seq
    await store.close()
    print(json.dumps(waits))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], float(sys.argv[3]))
