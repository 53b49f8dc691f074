"""`noeta demo`: a real task, two SIGKILLs, and a ledger that shows every effect once.

The task is a log in a sqlite store of a scratch directory. Workers are `noeta --resume ID -p`
processes like any other. This process only creates the task, watches the log, kills and counts.
"""

import argparse
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import anyio
from anyio.abc import Process

from noeta.cli.demo_story import (
    ORDERS,
    PROMPT,
    Plan,
    hold_of,
    plan_of,
    shipped,
    write_story,
)
from noeta.cli.describe import describe, type_of
from noeta.core import events as e
from noeta.core.errors import NoetaError
from noeta.core.message import Text, text_of
from noeta.host.assemble import open_queue
from noeta.host.client import Entry, TaskRequest
from noeta.host.home import Home
from noeta.host.local import LocalClient
from noeta.host.settings import Settings

DEADLINE_SECONDS = 60.0
WORKERS = 3


class DemoFailed(NoetaError):
    """The demo did not come to its end, or what it shows is not true here."""


def demo(args: argparse.Namespace) -> int:
    """Run the demo; 0 only when the ledger and the log were checked."""
    seed = args.seed if args.seed is not None else secrets.randbelow(1000)
    scratch = Path(tempfile.mkdtemp(prefix="noeta-demo-"))
    try:
        return anyio.run(_run, seed, scratch)
    except TimeoutError:
        raise DemoFailed(
            f"the demo was not done after {DEADLINE_SECONDS:.0f} s; try it again when this"
            " machine is less busy"
        ) from None
    finally:
        if args.keep:
            print(f"(the scratch directory is {scratch})")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


async def _run(seed: int, scratch: Path) -> int:
    plan = plan_of(seed)
    script = write_story(scratch, plan)
    home = Home(scratch / "home")
    request = TaskRequest(
        prompt=PROMPT,
        cwd=str(scratch),
        model=f"scripted:{script}",
        kind="one_shot",
        on_ask="deny",
        permission_mode="bypassPermissions",
    )
    print(f"noeta demo, seed {seed}: {len(ORDERS)} orders to ship, two kills on the way.\n")
    async with open_queue(home, Settings()) as client:
        with anyio.fail_after(DEADLINE_SECONDS):
            task_id = await client.create(request)
            stage = _Stage(client, task_id, scratch, plan)
            try:
                await stage.play()
            finally:
                stage.end_workers()
        entries = await client.log(task_id, limit=10_000)
    _print_log(entries)
    return verdict(entries, scratch, stage.kills)


class _Stage:
    """The story as it is played: workers one after the other, and what befalls them."""

    def __init__(self, client: LocalClient, task_id: str, scratch: Path, plan: Plan) -> None:
        self.kills = 0
        self._client = client
        self._task_id = task_id
        self._scratch = scratch
        self._plan = plan
        self._started_at = time.monotonic()
        self._seq = 0
        self._worker_number = 0
        self._workers: list[Process] = []

    async def play(self) -> None:
        """Three workers: two are killed, the third finishes."""
        worker = await self._start_worker()
        await self._until_caught(worker)
        await self._kill(worker, f"in the call that ships {self._plan.order}, {self._where()}")
        await self._until_command_is_gone()
        worker = await self._start_worker()
        await self._until_model_call(self._plan.model_call)
        await self._kill(worker, "in the middle of a model call")
        worker = await self._start_worker()
        await self._until_end(worker)

    def _where(self) -> str:
        return {
            "before": "before its effect",
            "in": "with half of its effect done",
            "after": "after its effect and before its result was recorded",
        }[self._plan.point]

    # Workers and kills

    async def _start_worker(self) -> Process:
        self._worker_number += 1
        worker = await anyio.open_process(
            [sys.executable, "-m", "noeta", "--resume", self._task_id, "-p"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self._scratch,
            env={**_clean_environ(), "NOETA_HOME": str(self._scratch / "home")},
            start_new_session=True,
        )
        self._workers.append(worker)
        how = (
            "takes the task"
            if self._worker_number == 1
            else (f"carries on from entry {self._seq} of the log")
        )
        self._say("+", f"worker {self._worker_number} (process {worker.pid}) {how}")
        return worker

    async def _kill(self, worker: Process, when: str) -> None:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
        await worker.aclose()
        self.kills += 1
        await self._show_new()
        self._say("x", f"SIGKILL to worker {self._worker_number}, {when}", strong=True)

    def end_workers(self) -> None:
        """After a failure or a Ctrl-C nothing of the demo goes on."""
        for worker in self._workers:
            if worker.returncode is None:
                worker.kill()

    async def _until_caught(self, worker: Process) -> None:
        """Until the shipping script stands where the plan holds it."""
        while self._held_pid() is None:
            await self._show_new()
            await self._check(worker)
            await anyio.sleep(0.02)
        await self._show_new()

    def _held_pid(self) -> int | None:
        try:
            words = (self._scratch / ".at").read_text(encoding="utf-8").split()
        except FileNotFoundError:
            return None
        caught = words[:2] == [self._plan.order, self._plan.point]
        return int(words[2]) if caught and len(words) == 3 else None

    async def _until_command_is_gone(self) -> None:
        """The dead worker's command must not act any more; its guardian sees to that."""
        pid = self._held_pid()
        assert pid is not None
        while _is_alive(pid):  # noqa: ASYNC110 # Nobody tells us: it is not our child.
            await anyio.sleep(0.02)
        hold_of(self._scratch, self._plan).unlink()
        self._say("-", "its command is gone too: the guardian ended it")

    async def _until_model_call(self, number: int) -> None:
        """Until the number-th model call from here on is under way."""
        seen = 0
        async for entry in self._new_entries():
            if isinstance(entry.event, e.ModelCalled):
                seen += 1
                if seen == number:
                    return

    async def _until_end(self, worker: Process) -> None:
        async for entry in self._new_entries():
            if isinstance(entry.event, e.TaskEnded):
                break
        await worker.wait()
        await worker.aclose()

    async def _check(self, worker: Process) -> None:
        if worker.returncode is not None:
            assert worker.stderr is not None
            said = (await worker.stderr.receive()).decode(errors="replace").strip()
            raise DemoFailed(f"a worker ended early: {said or worker.returncode}")

    # What is shown

    async def _new_entries(self) -> AsyncIterator[Entry]:
        while True:
            for entry in await self._client.log(self._task_id, after=self._seq):
                self._show(entry)
                yield entry
            await anyio.sleep(0.02)

    async def _show_new(self) -> None:
        for entry in await self._client.log(self._task_id, after=self._seq):
            self._show(entry)

    def _show(self, entry: Entry) -> None:
        self._seq = entry.seq
        match entry.event:
            case e.MessageReceived() as event:
                self._say(" ", f"user    {text_of(event.content)}")
            case e.ModelReplied() as event:
                for block in event.content:
                    if isinstance(block, Text):
                        self._say(" ", f"model   {block.text}")
            case e.ToolStarted():
                self._say(" ", f"call    {describe(entry)}")
            case e.ToolFinished():
                self._say(" ", f"result  {describe(entry)[:100]}")
            case e.ModelCalled() | e.TurnEnded() | e.PluginsPinned() | e.PromptSet():
                pass
            case e.TaskEnded():
                self._say("=", "the task is done")

    def _say(self, mark: str, text: str, *, strong: bool = False) -> None:
        line = f"{time.monotonic() - self._started_at:5.1f} s {mark} {text}"
        if strong and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            line = f"\x1b[1;31m{line}\x1b[0m"
        print(line, flush=True)


def _print_log(entries: Sequence[Entry]) -> None:
    print("\nThe log (entry, claim, type):")
    for entry in entries:
        print(
            f"{entry.seq:>4}  {entry.epoch}  {type_of(entry):<16} {describe(entry)[:90]}".rstrip()
        )


def verdict(entries: Sequence[Entry], scratch: Path, kills: int) -> int:
    """Check the ledger and the log, and say the last line."""
    ledger = shipped(scratch)
    print(f"\nThe ledger: {', '.join(ledger)}")
    wrong = list(faults(entries, ledger))
    if wrong:
        for fault in wrong:
            print(f"wrong: {fault}")
        print(f"demo: FAILED, {len(entries)} events, {kills} kills")
        return 1
    print(f"demo: done, {len(entries)} events, {kills} kills, every effect exactly once")
    return 0


def faults(entries: Sequence[Entry], ledger: list[str]) -> Iterator[str]:
    """What is not as promised; nothing when all is well."""
    for order in ORDERS:
        count = ledger.count(f"{order} shipped")
        if count != 1:
            yield f"order {order} stands {count} times in the ledger"
    if len(ledger) != len(ORDERS):
        yield f"the ledger has {len(ledger)} lines"
    events = [entry.event for entry in entries]
    if [entry.seq for entry in entries] != list(range(1, len(entries) + 1)):
        yield "the log has a gap"
    if [entry.epoch for entry in entries] != sorted(entry.epoch for entry in entries):
        yield "an older claim wrote after a newer one"
    if len({entry.epoch for entry in entries if entry.epoch > 0}) != WORKERS:
        yield f"the log was not written by {WORKERS} claims"
    unknown = [ev for ev in events if isinstance(ev, e.ToolFinished) and ev.reason == "unknown"]
    if len(unknown) != 1:
        yield f"{len(unknown)} calls have an unknown outcome; one was cut short"
    called = [ev.request_digest for ev in events if isinstance(ev, e.ModelCalled)]
    replied = sum(isinstance(ev, e.ModelReplied) for ev in events)
    if len(called) != replied + 1 or len(set(called)) != replied:
        yield "the killed model call was not made again from the same bytes"


def _clean_environ() -> dict[str, str]:
    """This environment without settings that would change the demo."""
    return {k: v for k, v in os.environ.items() if not k.startswith("NOETA_")}


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return os.path.isdir("/proc/self") is False
    return state[0] not in "ZX"
