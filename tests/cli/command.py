"""The `noeta` command as a process: run to its end, or started, watched and killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio

from noeta.core import events as e
from noeta.core.task import TaskRow
from noeta.host.assemble import open_viewer
from noeta.host.client import Entry
from noeta.host.home import Home
from noeta.host.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "noeta")
BOUND_SECONDS = 30.0

ECHO = """\
steps:
  - label: echo
    text: "You said: {message}"
    goto: echo
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run came to."""

    code: int
    out: str
    err: str


@dataclass
class Noeta:
    """One home and one workspace to run commands in."""

    home: Path
    work: Path
    environ: dict[str, str] = field(default_factory=dict)
    """Variables beside the usual ones."""
    command: tuple[str, ...] = COMMAND

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None,
    ) -> Ran:
        """Run to the end. `before` is called in the child, just before it becomes noeta."""
        done = subprocess.run(
            [*self.command, *args],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.work,
            env=self.variables(environ),
            timeout=BOUND_SECONDS,
            check=False,
            preexec_fn=before,
        )
        return Ran(
            code=done.returncode,
            out=done.stdout.decode(errors="replace"),
            err=done.stderr.decode(errors="replace"),
        )

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A run that goes on beside the test, and is killed at the end if it still does."""
        process = subprocess.Popen(
            [*COMMAND, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.work,
            env=self.variables(),
            text=True,
        )
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def script(self, text: str, name: str = "script.yaml") -> str:
        """A script of the workspace, as a model's route."""
        path = self.work / name
        path.write_text(text)
        return f"scripted:{path}"

    def log(self, task_id: str) -> list[Entry]:
        """A task's log, read in this process: quicker than a command."""

        async def read() -> list[Entry]:
            async with open_viewer(Home(self.home), Settings()) as client:
                return list(await client.log(task_id))

        return anyio.run(read)

    def events(self, task_id: str) -> list[e.Event]:
        """What the log holds, all of it readable."""
        return [entry.event for entry in self.log(task_id) if entry.event is not None]

    def tasks(self) -> list[TaskRow]:
        """The tasks, the last used first, read in this process; none before there is a store."""

        async def read() -> list[TaskRow]:
            async with open_viewer(Home(self.home), Settings()) as client:
                return list(await client.tasks())

        return anyio.run(read) if (self.home / "noeta.db").exists() else []

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a run."""
        usual = {k: v for k, v in os.environ.items() if not k.startswith(("NOETA_", "PYTHON"))}
        return {
            **usual,
            "PYTHONPATH": str(ROOT),
            "NOETA_HOME": str(self.home),
            **self.environ,
            **(more or {}),
        }


Event = TypeVar("Event", bound=e.Fact)


def only(log: Sequence[e.Event], kind: type[Event]) -> list[Event]:
    """The events of one kind."""
    return [event for event in log if isinstance(event, kind)]


def wait_until(holds: Callable[[], bool], what: str, seconds: float = BOUND_SECONDS) -> None:
    """Look until it holds: for what another process does without telling us."""
    ends_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends_at, f"{what}: not after {seconds} s"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def kill(process: "subprocess.Popen[str]") -> None:
    """SIGKILL, and its end."""
    process.send_signal(signal.SIGKILL)
    process.wait(BOUND_SECONDS)
