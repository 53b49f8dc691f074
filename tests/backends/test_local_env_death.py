"""Whoever dies first, worker, guardian or command: nothing of the command's tree is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.core.execenv import Command, ExecEnvError

pytestmark = pytest.mark.anyio

GONE_SECONDS = 2.0

# Each line leaves a process in another relation to the command, and its pid in the file `pids`.
# None of them can be asked: SIGTERM is ignored by all.
TREE = """
trap '' TERM
note() { sh -c 'echo $$ >>pids; sleep 1000; true'; }
echo $$ >>pids
note &
(note & note) &
set -m; note & set +m
"""
# Those that left the session are found by the subreaper, which only Linux has.
LEAVERS = """
setsid sh -c 'echo $$ >>pids; sleep 1000; true' &
(setsid nohup sh -c '(echo $$ >>pids; sleep 1000; true) &' &)
"""
TREE_SIZE = 5
if sys.platform == "linux":
    TREE += LEAVERS
    TREE_SIZE += 2

WORKER = """
import sys, anyio
from noeta.backends.execenvs.local import LocalEnv
from noeta.core.execenv import Command

async def main():
    cwd, script, silence_seconds = sys.argv[1:]
    env = LocalEnv(cwd, environ={"PATH": "/usr/bin:/bin"}, scratch_dir=cwd + "/scratch",
                   shell="/bin/bash", silence_seconds=float(silence_seconds))
    await env.run(Command(shell=script))

HOLD_PIPE
anyio.run(main)
"""
# A fork without exec, as multiprocessing makes them, holds a copy of every pipe of the worker.
HOLD_PIPE = """
import os, threading, time
def hold():
    while not os.path.exists(sys.argv[1] + "/pids"):
        time.sleep(0.01)
    if os.fork() == 0:
        open(sys.argv[1] + "/holder", "w").write(str(os.getpid()))
        time.sleep(1000)
threading.Thread(target=hold).start()
"""


@pytest.fixture
def env(tmp_path: Path) -> LocalEnv:
    return LocalEnv(
        str(tmp_path),
        environ={"PATH": "/usr/bin:/bin"},
        scratch_dir=str(tmp_path / "scratch"),
        shell="/bin/bash",
    )


@pytest.fixture
def workers() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for worker in started:
        worker.kill()
        worker.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_workers_death_ends_the_whole_tree(
    tmp_path: Path, workers: list[subprocess.Popen[bytes]], number: signal.Signals
) -> None:
    """ExecEnv.run: within 2 s when the calling process dies in any way."""
    worker = start_worker(tmp_path, workers)
    pids = tree(tmp_path)
    worker.send_signal(number)
    assert survivors(pids) == set()


def test_a_workers_death_is_seen_though_a_fork_holds_its_pipe(
    tmp_path: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    """ExecEnv.run: within 2 s when the calling process dies in any way."""
    worker = start_worker(tmp_path, workers, hold_pipe=HOLD_PIPE)
    holder = tmp_path / "holder"
    wait_until(lambda: holder.exists() and holder.read_text() != "")
    pids = tree(tmp_path)
    try:
        worker.kill()
        assert survivors(pids) == set()
    finally:
        os.kill(int(holder.read_text()), signal.SIGKILL)


def test_a_frozen_workers_commands_end(
    tmp_path: Path, workers: list[subprocess.Popen[bytes]]
) -> None:
    """A guardian kills the group when its worker's pipe falls silent."""
    worker = start_worker(tmp_path, workers, silence_seconds=0.6)
    pids = tree(tmp_path)
    worker.send_signal(signal.SIGSTOP)
    assert survivors(pids, seconds=GONE_SECONDS + 1) == set()
    worker.send_signal(signal.SIGCONT)
    _, error = worker.communicate(timeout=10)
    assert b"this worker stood still" in error


async def test_signs_of_life_keep_a_quiet_command_running(tmp_path: Path) -> None:
    """A silence limit is for the worker, not for the command."""
    env = LocalEnv(
        str(tmp_path),
        environ={},
        scratch_dir=str(tmp_path / "scratch"),
        shell="/bin/bash",
        silence_seconds=0.2,
    )
    finished = await env.run(Command(argv=("sleep", "1.2")))
    assert finished.exit_code == 0


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGKILL, "died"), (signal.SIGTERM, "told to stop")]
)
async def test_a_guardians_death_ends_the_command(
    env: LocalEnv, tmp_path: Path, number: int, words: str
) -> None:
    """A command may kill its parent; the call says so and leaves nothing of the group."""
    script = f"echo $$ >>pids; sleep 1000 & echo $! >>pids; kill -{number} $PPID; wait"
    with pytest.raises(ExecEnvError, match=words):
        await env.run(Command(shell=script))
    assert survivors(tree(tmp_path, size=2)) == set()


async def test_a_stopped_guardian_does_not_hang_the_call(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every wait has a bound, that for the guardian too."""
    monkeypatch.setattr("noeta.backends.execenvs.local_run.ENDING_SECONDS", 0.5)
    script = "echo $$ >>pids; kill -STOP $PPID; sleep 1000"
    with anyio.fail_after(5), pytest.raises(ExecEnvError, match="died"):
        await env.run(Command(shell=script, timeout_seconds=0.5))
    assert survivors(tree(tmp_path, size=1)) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
@pytest.mark.parametrize(("last", "reason"), [("true", "exited"), ("sleep 1000", "timeout")])
async def test_who_left_the_session_ends_with_the_call(
    env: LocalEnv, tmp_path: Path, last: str, reason: str
) -> None:
    """S16: `setsid nohup &` and the double-forked daemon leave no orphan."""
    script = f"{LEAVERS}\nwhile [ $(wc -l <pids) -lt 2 ]; do sleep 0.01; done; {last}"
    finished = await env.run(Command(shell="touch pids\n" + script, timeout_seconds=1))
    assert finished.reason == reason
    # Not a moment later: the guardian reports when nobody is left.
    assert survivors(tree(tmp_path, size=2), seconds=0) == set()


async def test_a_stopped_process_is_woken_to_end(env: LocalEnv, tmp_path: Path) -> None:
    """SIGTERM waits for ever at a stopped process unless it is made to go on."""
    stopped = "sh -c 'trap \"echo woken; exit\" TERM; echo $$ >>pids; kill -STOP $$; sleep 1000'"
    script = f"{stopped} & while [ ! -e pids ]; do sleep 0.01; done; echo done"
    with anyio.fail_after(5):
        finished = await env.run(Command(shell=script))
    assert finished.head == b"done\nwoken\n"
    assert survivors(tree(tmp_path, size=1), seconds=0) == set()


async def test_a_command_may_clean_up_before_it_ends(env: LocalEnv, tmp_path: Path) -> None:
    """SIGTERM comes first, so that git can take its lock files away."""
    script = "trap 'rm lock; exit 3' TERM; touch lock; sleep 1000 & wait"
    finished = await env.run(Command(shell=script, timeout_seconds=0.3))
    assert (finished.exit_code, finished.reason) == (3, "timeout")
    assert not (tmp_path / "lock").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
async def test_a_storm_of_forks_ends(env: LocalEnv, tmp_path: Path) -> None:
    """S16: processes that beget each other in ever new sessions are outrun."""
    (tmp_path / "storm").write_text(
        "trap '' TERM\nmkdir -p run; touch run/$$\nsleep 0.05\n[ -e stop ] || setsid sh storm &\n"
    )
    with anyio.fail_after(10):
        finished = await env.run(
            Command(shell="for i in 1 2 3; do sh storm & done; wait; sleep 9", timeout_seconds=0.5)
        )
    assert finished.reason == "timeout"
    pids = {int(path.name) for path in (tmp_path / "run").iterdir()}
    assert len(pids) > 3
    assert survivors(pids, seconds=0) == set()


def start_worker(
    cwd: Path,
    workers: list[subprocess.Popen[bytes]],
    *,
    silence_seconds: float = 60.0,
    hold_pipe: str = "",
) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            WORKER.replace("HOLD_PIPE", hold_pipe),
            str(cwd),
            f"{TREE}\nwait",
            str(silence_seconds),
        ],
        stderr=subprocess.PIPE,
    )
    workers.append(worker)
    return worker


def tree(cwd: Path, *, size: int = TREE_SIZE) -> set[int]:
    """The pids of the tree, once all of it is there."""
    file = cwd / "pids"
    wait_until(lambda: file.exists() and len(file.read_text().split()) >= size)
    pids = {int(pid) for pid in file.read_text().split()}
    assert len(pids) == size
    return pids


def survivors(pids: set[int], *, seconds: float = GONE_SECONDS) -> set[int]:
    """Who of them is still running when the time is over."""
    give_up_at = time.monotonic() + seconds
    while (alive := running(pids)) and time.monotonic() < give_up_at:
        time.sleep(0.02)
    return alive


def running(pids: set[int]) -> set[int]:
    """A zombie is none of our concern: whoever adopted it has yet to collect it."""
    listed = ",".join(str(pid) for pid in pids)
    shown = subprocess.run(
        ["ps", "-o", "pid=,stat=", "-p", listed], capture_output=True, text=True
    ).stdout
    lines = [line.split() for line in shown.splitlines()]
    return {int(pid) for pid, state in lines if not state.startswith("Z")}


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up_at
        time.sleep(0.01)
