"""What LocalEnv costs its worker while commands misbehave."""

import gc
import os
import resource
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.core.execenv import Command

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024


@pytest.fixture
def env(tmp_path: Path) -> LocalEnv:
    return LocalEnv(
        str(tmp_path),
        environ={"PATH": "/usr/bin:/bin"},
        scratch_dir=str(tmp_path / "scratch"),
        shell="/bin/bash",
    )


async def test_a_flood_of_output_costs_neither_memory_nor_the_event_loops_time(
    env: LocalEnv,
) -> None:
    """S18: memory below 64 MB and lag below 200 ms whatever a command prints."""
    lags = []

    async def measure() -> None:
        while True:
            began_at = time.monotonic()
            await anyio.sleep(0.005)
            lags.append(time.monotonic() - began_at - 0.005)

    memory_before = memory_peak_bytes()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(measure)
        finished = await env.run(Command(shell="yes", output_bytes_max=200 * MIB))
        tasks.cancel_scope.cancel()
    assert (finished.reason, finished.output_bytes) == ("output_limit", 200 * MIB)
    assert memory_peak_bytes() - memory_before < 16 * MIB
    assert max(lags) < 0.2


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
async def test_calls_leave_no_descriptor_thread_or_child_behind(env: LocalEnv) -> None:
    """A worker runs for weeks."""

    async def calls() -> None:
        await env.run(Command(argv=("true",)))
        await env.run(Command(argv=("no-such-command",)))
        await env.run(Command(shell="sleep 9 &"))
        with anyio.move_on_after(0.1):
            await env.run(Command(argv=("sleep", "9")))
        await env.write("file", b"data")
        await env.read("file", bytes_max=10)

    await calls()
    gc.collect()
    before = (len(os.listdir("/proc/self/fd")), threading.active_count())
    await calls()
    gc.collect()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    assert not has_children()


def has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def memory_peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
