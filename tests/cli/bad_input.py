"""A home with tasks in it, and the ways a machine can fail a command that is run on it."""

import ctypes
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core import codec
from noeta.core import events as e
from noeta.core.store import NewTask
from noeta.host.process import local_queue
from noeta.host.system_clock import SystemClock
from tests.cli.command import ECHO, Noeta, Ran

NEWER = b'{"type":"FromTheFuture","what":1}'
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


@dataclass
class Lived:
    """A home that was used before: nothing of it may be lost."""

    noeta: Noeta
    earlier: str
    """A task that waits for its next message."""

    def bad(self, code: int, *args: str, **options: object) -> str:
        """Run what must fail with this code, and give its sentence without `noeta: `."""
        return sentence(self.noeta.run(*args, **options), code)  # type: ignore[arg-type] # run's

    def assert_nothing_is_lost(self) -> None:
        """The earlier task is there and goes on; nothing was created beside it."""
        assert sum(task.title == "earlier" for task in self.noeta.tasks()) == 1
        assert len(self.noeta.tasks()) == 1 + len(PUT)
        ran = self.noeta.run("--resume", self.earlier, "-p", "again")
        assert (ran.code, ran.out) == (0, "You said: again\n"), ran.err


PUT = ("aaaa1", "aaaa2", "elsewhere1", "newer1")
"""Two that begin alike, one of another host, one that a newer version wrote to."""


def make_home(noeta: Noeta) -> str:
    """Live in the home for a while; the id of the task that waits."""
    ran = noeta.run("--model", noeta.script(ECHO), stdin=b"earlier\n")
    assert ran.code == 0, ran.err
    (row,) = noeta.tasks()
    assert row.status == "waiting"
    anyio.run(_put_tasks, noeta.home / "noeta.db")
    return row.id


async def _put_tasks(path: Path) -> None:
    store = await SqliteStore.open(path, clock=SystemClock())
    for task_id in PUT:
        first = e.TaskCreated(task_id=task_id, kind="interactive", cwd="/", model="m")
        queue = "local:elsewhere" if task_id == "elsewhere1" else local_queue()
        bodies = (codec.encode(first), *([NEWER] if task_id == "newer1" else []))
        await store.create(NewTask(id=task_id, kind="interactive", queue=queue, events=bodies))
    await store.close()


def copied(noeta: Noeta, directory: Path) -> Noeta:
    """The same workspace with a copy of the home."""
    shutil.copytree(noeta.home, directory / "home")
    return Noeta(home=directory / "home", work=noeta.work)


def sentence(ran: Ran, code: int) -> str:
    """The one sentence of a run that failed with this code, and of nothing else."""
    assert "Traceback" not in ran.err, ran.err
    lines = [line for line in ran.err.splitlines() if line.startswith("noeta: ")]
    assert len(lines) == 1, ran.err
    assert ran.code == code, ran
    assert ran.out == ""
    return lines[0].removeprefix("noeta: ")


def as_a_user() -> None:
    """In a child: give up what lets root write where it may not. For `Noeta.run(before=)`."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            assert libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0


def files_stay_below(size: int) -> Callable[[], None]:
    """In a child: a write past this many bytes of any file fails."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path | None]:
    """A disk that is soon full; None where we may not mount one."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "noeta-test", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield directory if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(directory)], check=True)
