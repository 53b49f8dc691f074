"""A whole agent step beside R, the same bytes in one raw insert with its commit.

The step is an instant model and a tool that does nothing: two appends. R is a prepared one-row
insert into a table of its own with `synchronous=FULL`. Both are timed in turn in one process; the
steps from 10 on are compared with those up to 2,050 of the same task.
"""

import sqlite3
import statistics
import time
from pathlib import Path

import anyio
import msgspec

from bench.measure import fsync_seconds, milliseconds, ratio, verdict
from noeta.backends.stores.sqlite import SqliteStore
from noeta.core import codec
from noeta.core import events as e
from noeta.core import item as i
from noeta.core.context import Request
from noeta.core.message import Text, ToolCall
from noeta.core.model import Reply
from noeta.core.plugin import Plugin
from noeta.core.registry import Registry
from noeta.core.runner.runtime import Runtime
from noeta.core.store import NewItem, NewTask
from noeta.core.tool import Tool, ToolContext, ToolOutput
from noeta.host.background import ThreadBackground
from noeta.host.system_clock import SystemClock

STEPS = 2_050
WINDOW = 250
TEXT = "x" * 400


class Input(msgspec.Struct):
    """The no-op tool takes nothing."""


class RawInsert:
    """R: what the machine can do at all."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, body BLOB)")

    def seconds(self, body: bytes) -> float:
        """The time of one insert with its commit."""
        started = time.perf_counter()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("INSERT INTO log (body) VALUES (?)", (body,))
        self._connection.execute("COMMIT")
        return time.perf_counter() - started


class SteppingModel:
    """Asks for the no-op tool each time, and notes when it was asked."""

    def __init__(self, steps: int, between: RawInsert, body: bytes) -> None:
        self.steps: list[float] = []
        self.raw: list[float] = []
        self._left = steps
        self._between = between
        self._body = body
        self._asked_at: float | None = None

    async def call(self, request: Request, on_delta: object) -> Reply:
        if self._asked_at is not None:
            self.steps.append(time.perf_counter() - self._asked_at)
        self.raw.append(self._between.seconds(self._body))
        self._left -= 1
        # The raw insert stands between two steps and in none of them.
        self._asked_at = time.perf_counter()
        if self._left < 0:
            return Reply(content=(Text("done"),), stop="end")
        call = ToolCall(call_id="", name="Noop", input=msgspec.Raw(b"{}"))
        return Reply(content=(Text(TEXT), call), stop="calls")


async def _noop(asked: Input, ctx: ToolContext) -> ToolOutput:
    return ToolOutput(text=TEXT)


def run(directory: Path) -> list[str]:
    """The lines of the table."""
    return anyio.run(_run, directory)


async def _run(directory: Path) -> list[str]:
    raw = RawInsert(directory / "raw.db")
    model = SteppingModel(STEPS, raw, b"y" * 1400)
    clock = SystemClock()
    store = await SqliteStore.open(directory / "noeta.db", clock=clock)
    tool = Tool(name="Noop", description="nothing", input=Input, run=_noop)
    runtime = Runtime(
        store,
        Registry([Plugin(name="bench", version="1", tools=(tool,))]),
        model_for=lambda route: model,
        env_for=lambda state: None,  # type: ignore[arg-type,return-value]  # the tool needs none
        worker="bench",
        queues=("default",),
        clock=clock,
        background=ThreadBackground(),
        jitter=lambda: 0.0,
    )
    created = e.TaskCreated(task_id="t1", kind="one_shot", cwd="/", model="m")
    message = NewItem(kind="message", body=i.encode_body(i.MessageBody("go")))
    await store.create(
        NewTask(
            id="t1",
            kind="one_shot",
            queue="default",
            events=(codec.encode(created),),
            items=(message,),
        )
    )
    before = store.counters.commits
    await runtime.run_once()
    commits = store.counters.commits - before
    events = (await store.read("t1", after=0, limit=1))[0]
    row = await store.row("t1")
    await store.close()
    assert row is not None
    assert events.seq == 1
    early, late = slice(10, 10 + WINDOW), slice(STEPS - WINDOW, STEPS)
    steps, raws = model.steps, model.raw[1:]
    whole = ratio(steps, raws)
    # The steps' own times: at this scale R drifts more between two seconds than a step does.
    growth = statistics.median(steps[late]) / statistics.median(steps[early])
    return [
        f"fsync of 4 KB                       {fsync_seconds(directory) * 1000:.2f} ms",
        f"R, a raw insert with its commit     {milliseconds(raws)}",
        f"a step (two appends)                {milliseconds(steps)}",
        f"step / R                            {verdict(whole, 4.0)}",
        f"at step 2,000 beside step 10        {verdict(growth, 1.2)}",
        f"commits a step                      {commits / STEPS:.3f}",
    ]
