"""A worker's name proves its death, or proves nothing."""

import os
import re
import signal
import subprocess
import sys

from noeta.core import ids
from noeta.host import process

LIVES = "import sys; sys.stdin.read()"
NAMES_ITSELF = (
    f"from noeta.host.process import worker_name; print(worker_name(), flush=True); {LIVES}"
)


def test_this_process_is_alive() -> None:
    """Two workers of one process are two names, both alive."""
    one, two = process.worker_name(), process.worker_name()
    assert one != two
    assert process.dead_owners([one, two]) == frozenset()


def test_a_killed_process_is_dead_and_a_zombie_is_dead_already() -> None:
    """A zombie writes no more, whenever its parent looks."""
    with _child() as child:
        name = _first_line(child)
        assert not process.is_dead(name)
        os.kill(child.pid, signal.SIGKILL)
        # Wait for its end and leave it there: a zombie.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process.is_dead(name)
        child.wait()
        assert process.is_dead(name)
        assert process.dead_owners([name, process.worker_name()]) == {name}


def test_a_pid_that_another_process_has_now_is_dead() -> None:
    """The start time tells two processes of one pid apart."""
    host, boot, pid, start, nonce = process.worker_name().split(":")
    assert not process.is_dead(":".join((host, boot, pid, start, nonce)))
    assert process.is_dead(":".join((host, boot, pid, str(int(start) - 1), nonce)))


def test_a_process_whose_start_is_not_known_is_not_dead_while_its_pid_lives() -> None:
    """Nothing is proved by a pid that is there."""
    host, boot, pid, _, nonce = process.worker_name().split(":")
    assert not process.is_dead(":".join((host, boot, pid, "x", nonce)))


def test_a_process_of_another_host_is_never_dead() -> None:
    """Its pid means nothing here."""
    _, boot, _, _, nonce = process.worker_name().split(":")
    assert not process.is_dead(f"elsewhere:{boot}:{_free_pid()}:1:{nonce}")


def test_a_process_of_another_boot_is_dead() -> None:
    """No process outlives its boot."""
    host, boot, pid, start, nonce = process.worker_name().split(":")
    other = ("0" if boot[0] != "0" else "1") + boot[1:]
    assert process.is_dead(":".join((host, other, pid, start, nonce)))


def test_without_a_boot_id_another_boot_proves_nothing() -> None:
    """A system that has none writes x."""
    host, boot, pid, start, nonce = process.worker_name().split(":")
    namespace = boot.partition(".")[2]
    assert not process.is_dead(":".join((host, f"x.{namespace}", pid, start, nonce)))


def test_a_process_of_another_pid_namespace_is_never_dead() -> None:
    """A container that carries this host's name has other pids than we see."""
    host, boot, _, _, nonce = process.worker_name().split(":")
    here = f"{host}:{boot}:{_free_pid()}:1:{nonce}"
    assert process.is_dead(here)
    there = f"{host}:{boot.partition('.')[0]}.12345:{_free_pid()}:1:{nonce}"
    assert not process.is_dead(there)


def test_what_is_no_name_of_ours_is_never_dead() -> None:
    """An owner of another version, or of a test."""
    host = process.host_name()
    for name in (
        "",
        "w1",
        "a:b",
        f"{host}:b:1",
        f"{host}:b:-1:5:n",
        f"{host}:b:1.5:5:n",
        f"{host}:b:²:5:n",
    ):
        assert not process.is_dead(name), name


def test_the_queue_of_this_host_is_a_queue_name() -> None:
    """It is checked before it touches SQL."""
    queue = process.local_queue()
    assert ids.check_queue(queue) == f"local:{process.host_name()}"
    assert re.fullmatch(r"[A-Za-z0-9.-]{1,60}", process.host_name())


def test_a_worker_is_described_by_process_and_host() -> None:
    """What a person can look up."""
    assert process.describe(process.worker_name()) == (
        f"process {os.getpid()} on {process.host_name()}"
    )
    assert process.describe("w1") == "w1"


def _child() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", NAMES_ITSELF],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def _free_pid() -> int:
    """A pid that nobody has: one more than a system gives."""
    return 2**22 + 1
