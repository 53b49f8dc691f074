"""A scene: a store in memory, a model that is a function, a few tools, and workers on them.

Workers share the store, so a second one carries on what the first one left. A worker is killed
by cancelling it where it stands: nothing of it runs after that, as after SIGKILL.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import msgspec

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core import codec
from noeta.core import events as e
from noeta.core import item as i
from noeta.core.execenv import ExecEnv
from noeta.core.model import Model
from noeta.core.plugin import Gate, Plugin
from noeta.core.progress import Progress
from noeta.core.registry import Registry
from noeta.core.runner.runtime import Runtime
from noeta.core.state import TaskState
from noeta.core.store import ItemKind, NewItem, NewTask, Post, Store
from noeta.core.task import Kind
from noeta.core.tool import AnyTool, Tool, ToolContext, ToolFlags, ToolOutput
from noeta.core.view import TaskView
from noeta.testing.fake_clock import FakeClock, InlineBackground

TASK = "t1"
LEASE = 30.0


class Input(msgspec.Struct):
    """Input of the scene's tools."""

    x: int = 0


@dataclass
class Stage:
    """Where the test holds a tool, and what tools did."""

    effects: list[str] = field(default_factory=list)
    """Idempotency keys, in the order of their effects."""
    entered: anyio.Event = field(default_factory=anyio.Event)
    go_on: anyio.Event = field(default_factory=anyio.Event)

    def tools(self) -> list[AnyTool]:
        """Do: an effect at once. Look: the same, beside others. Hold: waits to be let go
        before its effect. Boom: raises."""
        return [
            Tool(name="Do", description="do", input=Input, run=self._do),
            Tool(
                name="Look",
                description="look",
                input=Input,
                run=self._do,
                flags=ToolFlags(parallel=True, retry_safe=True),
            ),
            Tool(
                name="Hold",
                description="hold",
                input=Input,
                run=self._hold,
                flags=ToolFlags(parallel=True),
            ),
            Tool(name="Boom", description="boom", input=Input, run=self._boom),
        ]

    async def _do(self, asked: Input, ctx: ToolContext) -> ToolOutput:
        self.effects.append(ctx.idempotency_key)
        return ToolOutput(text=f"did {asked.x}")

    async def _hold(self, asked: Input, ctx: ToolContext) -> ToolOutput:
        self.entered.set()
        await self.go_on.wait()
        return await self._do(asked, ctx)

    async def _boom(self, asked: Input, ctx: ToolContext) -> ToolOutput:
        raise RuntimeError("no such luck")


@dataclass
class Scene:
    """One store and what is needed to put workers on it."""

    store: SqliteStore
    model: Model
    clock: FakeClock = field(default_factory=FakeClock)
    stage: Stage = field(default_factory=Stage)
    gates: Sequence[Gate] = ()
    background: InlineBackground = field(default_factory=InlineBackground)
    progress: list[Progress] = field(default_factory=list)
    bugs: list[Exception] = field(default_factory=list)
    tools: Sequence[AnyTool] = ()
    plugins: Sequence[Plugin] = ()
    """Beside the scene's own."""
    env: ExecEnv | None = None
    """None: the scene's tools touch none."""
    system: Callable[[TaskView], str] | None = None
    cost: float | None = None
    """Of each model call."""
    workers_count: int = 0

    def worker(self, store: Store | None = None, concurrency: int = 8) -> Runtime:
        """A worker of its own name on the scene's store, or on one that stands before it."""
        self.workers_count += 1
        plugin = Plugin(
            name="scene",
            version="1",
            tools=[*self.stage.tools(), *self.tools],
            gates=self.gates,
            system=self.system,
        )
        return Runtime(
            store if store is not None else self.store,
            Registry([plugin, *self.plugins], system=("You are in a scene.",)),
            model_for=lambda route: self.model,
            env_for=self._env_for,
            cost_of=lambda route, usage: self.cost,
            worker=f"w{self.workers_count}",
            queues=("default",),
            clock=self.clock,
            background=self.background,
            jitter=lambda: 0.5,
            publish=lambda task_id, seq, progress: self.progress.append(progress),
            lease_seconds=LEASE,
            concurrency=concurrency,
            on_bug=lambda task_id, error: self.bugs.append(error),
        )

    def _env_for(self, state: TaskState) -> ExecEnv:
        return self.env  # type: ignore[return-value]  # None only where no tool touches it

    async def create(
        self,
        *prompts: str,
        kind: Kind = "one_shot",
        on_ask: str = "park",
        log: Sequence[bytes] = (),
        task_id: str = TASK,
        max_cost_usd: float | None = None,
        on_failure: str = "end",
    ) -> None:
        """Create a task with these messages in its inbox, or with a log to start from."""
        first = e.TaskCreated(
            task_id=task_id,
            kind=kind,
            cwd="/",
            model="m",
            max_cost_usd=max_cost_usd,
            on_failure="wait" if on_failure == "wait" else "end",
            on_ask="deny" if on_ask == "deny" else "park",
        )
        await self.store.create(
            NewTask(
                id=task_id,
                kind=kind,
                queue="default",
                events=tuple(log) or (codec.encode(first),),
                items=tuple(_message(prompt) for prompt in prompts),
            )
        )

    async def post(self, kind: ItemKind, body: i.Body, key: str | None = None) -> bool:
        """Post an item to the task."""
        item = NewItem(kind=kind, body=i.encode_body(body), key=key)
        return await self.store.post(Post(task_id=TASK, item=item))

    async def say(self, text: str) -> None:
        """Post a message."""
        await self.post("message", i.MessageBody(text))

    async def run(self) -> None:
        """Let a new worker run all that is claimable."""
        await self.worker().run_once()

    async def events(self, task_id: str = TASK) -> list[e.Event]:
        """The task's log."""
        return [codec.decode(s.body) for s in await self.store.read(task_id)]

    async def kinds(self) -> list[str]:
        """The names of the log's events."""
        return await self.kinds_of(TASK)

    async def kinds_of(self, task_id: str) -> list[str]:
        """The names of another task's events."""
        return [type(event).__name__ for event in await self.events(task_id)]


@asynccontextmanager
async def scene(model: Model, **fields: object) -> AsyncIterator[Scene]:
    """An open scene."""
    clock = FakeClock()
    store = await SqliteStore.open(":memory:", clock=clock)
    try:
        yield Scene(store=store, model=model, clock=clock, **fields)  # type: ignore[arg-type]  # named fields of Scene
    finally:
        await store.close()


def _message(prompt: str) -> NewItem:
    return NewItem(kind="message", body=i.encode_body(i.MessageBody(prompt)))
