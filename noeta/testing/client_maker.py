"""What a client's contract is checked through: a maker of clients, models to hold, and verbs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio
import msgspec

from noeta.core import events as e
from noeta.core.context import Request
from noeta.core.message import Text
from noeta.core.model import Delta, Model, Reply, TextDelta
from noeta.core.plugin import Ask, Gate, GateCall, Verdict
from noeta.core.store import Store
from noeta.core.tool import AnyTool, Tool, ToolContext, ToolOutput
from noeta.core.view import TaskView
from noeta.host.client import CaughtUp, Client, Entry, TaskRequest, Update

E = TypeVar("E", bound=Exception)

BOUND_SECONDS = 20.0
"""What takes this long in a check will not come any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What the worker behind a client plays."""

    model: Model
    tools: Sequence[AnyTool] = ()
    gates: Sequence[Gate] = ()


class ClientMaker(Protocol):
    """One party's data, empty at first. The maker closes what it opened."""

    async def open(self, play: Play) -> Client:
        """A client, as another process would have it, whose worker plays this."""

    async def kill(self, client: Client) -> None:
        """End a client's worker where it stands, as kill -9 does, so that it is provably dead."""

    async def store(self) -> Store:
        """The data without a client: to put there what no client would."""


class Held:
    """A model that streams `said`, then waits to be let go, then replies."""

    def __init__(self, reply: Reply, *, said: Sequence[str] = ("half ", "a word")) -> None:
        self.asked = anyio.Event()
        """Set when everything was streamed."""
        self.go_on = anyio.Event()
        self.requests: list[Request] = []
        self._reply = reply
        self._said = tuple(said)

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """`Model.call`."""
        self.requests.append(request)
        for text in self._said:
            on_delta(TextDelta(text))
        self.asked.set()
        await self.go_on.wait()
        return self._reply


class Nothing(msgspec.Struct):
    """The input of the tools here."""


@dataclass
class HeldTool:
    """A tool whose calls wait to be let go before their effect, and the effects so far."""

    entered: anyio.Event = field(default_factory=anyio.Event)
    go_on: anyio.Event = field(default_factory=anyio.Event)
    effects: list[str] = field(default_factory=list)
    """Idempotency keys, in the order of the effects."""

    @property
    def tool(self) -> AnyTool:
        """It, as `Hold`."""
        return Tool(name="Hold", description="hold", input=Nothing, run=self._run)

    async def _run(self, asked: Nothing, ctx: ToolContext) -> ToolOutput:
        self.entered.set()
        await self.go_on.wait()
        self.effects.append(ctx.idempotency_key)
        return ToolOutput(text="held")


def asks_first(call: GateCall, view: TaskView) -> Verdict:
    """A gate that wants leave for every call."""
    return Ask("it has an effect")


def request(prompt: str | None = "hello", **fields: object) -> TaskRequest:
    """A task to create."""
    fields.setdefault("cwd", "/")
    fields.setdefault("model", "m")
    return TaskRequest(prompt=prompt, **fields)  # type: ignore[arg-type] # test values


async def watched(client: Client, task_id: str, *, after: int = 0) -> list[Update]:
    """All that a watch gives until it ends."""
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id, after=after) as updates:
            return [update async for update in updates]


async def until(
    client: Client, task_id: str, holds: Callable[[e.Event], bool], *, after: int = 0
) -> Entry:
    """The first entry past `after` of which this holds."""
    with anyio.fail_after(BOUND_SECONDS):
        async with client.watch(task_id, after=after) as updates:
            async for update in updates:
                if isinstance(update, Entry) and update.event and holds(update.event):
                    return update
    raise AssertionError("the task ended before that came")


async def at_rest(client: Client, task_id: str, *, after: int = 0) -> Entry:
    """The next entry past `after` with which the task waits."""
    return await until(client, task_id, lambda event: isinstance(event, e.Waiting), after=after)


async def events(client: Client, task_id: str) -> list[e.Event]:
    """The log, all of it readable."""
    found = [entry.event for entry in await client.log(task_id)]
    return [event for event in found if event is not None]


def entries_of(updates: Sequence[Update]) -> list[Entry]:
    """The recorded ones."""
    return [update for update in updates if isinstance(update, Entry)]


def live_text_of(updates: Sequence[Update]) -> str:
    """The streamed text."""
    return "".join(update.text for update in updates if isinstance(update, TextDelta))


def caught_up_count(updates: Sequence[Update]) -> int:
    """How often it was said that what was recorded has been given."""
    return sum(isinstance(update, CaughtUp) for update in updates)


def replies_of(log: Sequence[e.Event]) -> list[str]:
    """What the model said, reply by reply."""
    return [
        "".join(block.text for block in event.content if isinstance(block, Text))
        for event in log
        if isinstance(event, e.ModelReplied)
    ]


async def refused(error: type[E], call: Awaitable[object]) -> E:
    """The error that a call must raise, with a sentence in it."""
    try:
        answer = await call
    except error as raised:
        assert str(raised), f"{error.__name__} says nothing"
        return raised
    raise AssertionError(f"{error.__name__} was due, but it answered {answer!r}")


@asynccontextmanager
async def let_go(event: anyio.Event) -> AsyncIterator[None]:
    """Set the event at the end, whatever happens, so that nobody waits for ever."""
    try:
        yield
    finally:
        event.set()
