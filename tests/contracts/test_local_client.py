"""LocalClient keeps the client contract, over a sqlite file that its clients share."""

import random
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup, TaskStatus

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.execenv import ExecEnv
from noeta.core.plugin import Plugin
from noeta.core.registry import Registry
from noeta.core.runner.runtime import Runtime
from noeta.core.state import TaskState
from noeta.core.store import NoSuchTask, Store
from noeta.host.background import ThreadBackground
from noeta.host.client import Client
from noeta.host.local import Deltas, LocalClient
from noeta.host.system_clock import SystemClock
from noeta.testing.client_contract import CHECKS, Check
from noeta.testing.client_maker import (
    BOUND_SECONDS,
    Held,
    HeldTool,
    Play,
    events,
    replies_of,
    request,
    watched,
)
from noeta.testing.client_post_checks import HOLD_THEN_DONE
from noeta.testing.function_model import in_turn, say

pytestmark = pytest.mark.anyio

QUEUE = "local:here"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_local_client_keeps_its_contract(check: Check, tmp_path: Path) -> None:
    """Each named check of `noeta.testing.client_contract`."""
    async with local_maker(tmp_path) as make:
        await check(make)


def test_every_check_has_its_own_name() -> None:
    """A check that hides another would never run."""
    names = [check.__name__ for check in CHECKS]
    assert len(names) == len(set(names))


async def test_a_client_that_closes_hands_its_task_back(tmp_path: Path) -> None:
    """The open call is stopped, what is known is written, and nobody waits for a lease."""
    hold = HeldTool()
    play = Play(model=in_turn(HOLD_THEN_DONE), tools=[hold.tool])
    async with local_maker(tmp_path) as make:
        async with make.opened(play) as client:
            task_id = await client.create(request(kind="one_shot"))
            with anyio.fail_after(BOUND_SECONDS):
                await hold.entered.wait()
        viewer = await make.open(play)
        row = await viewer.task(task_id)
        assert (row.status, row.owner) == ("ready", None)
        await viewer.attach(task_id)
        await watched(viewer, task_id)
        assert replies_of(await events(viewer, task_id))[-1] == "done"


async def test_an_error_comes_out_as_it_is_and_the_task_is_handed_back(tmp_path: Path) -> None:
    """Not in an exception group: whoever catches a NoetaError must get one."""
    model = Held(say("never"))

    async def fail_while_it_runs(make: LocalMaker) -> None:
        async with make.opened(Play(model=model)) as client:
            await client.create(request())
            with anyio.fail_after(BOUND_SECONDS):
                await model.asked.wait()
            await client.find("nosuch")

    async with local_maker(tmp_path) as make:
        with pytest.raises(NoSuchTask):
            await fail_while_it_runs(make)
        (row,) = await (await make.store()).rows()
        assert (row.status, row.owner) == ("ready", None)


@dataclass
class _Opened:
    worker: str
    scope: anyio.CancelScope


class LocalMaker:
    """A `ClientMaker`: every client has a handle and a worker of its own on one file."""

    def __init__(self, path: Path, group: TaskGroup, stack: AsyncExitStack) -> None:
        self._path = path
        self._group = group
        self._stack = stack
        self._opened: dict[int, _Opened] = {}
        self._dead: set[str] = set()

    async def open(self, play: Play) -> Client:
        client: Client = await self._group.start(self._serve, play)
        return client

    async def kill(self, client: Client) -> None:
        opened = self._opened[id(client)]
        self._dead.add(opened.worker)
        opened.scope.cancel()
        # What a shielded write still does is done before anybody looks.
        await anyio.wait_all_tasks_blocked()

    async def store(self) -> Store:
        return await self._handle()

    @asynccontextmanager
    async def opened(self, play: Play) -> AsyncIterator[LocalClient]:
        """A client as `open_client` has it: at work while the context is open."""
        client, _ = await self._client(play)
        async with client.running():
            yield client

    async def _serve(self, play: Play, *, task_status: TaskStatus[Client]) -> None:
        client, worker = await self._client(play)
        with anyio.CancelScope() as scope:
            async with client.running():
                self._opened[id(client)] = _Opened(worker, scope)
                task_status.started(client)
                await anyio.sleep_forever()

    async def _client(self, play: Play) -> tuple[LocalClient, str]:
        store = await self._handle()
        worker = f"worker-{len(self._opened)}-{len(self._dead)}"
        deltas, background = Deltas(), ThreadBackground()
        runtime = Runtime(
            store,
            Registry([Plugin(name="play", version="1", tools=play.tools, gates=play.gates)]),
            model_for=lambda route: play.model,
            env_for=_no_env,
            worker=worker,
            queues=(QUEUE,),
            clock=SystemClock(),
            background=background,
            jitter=random.random,
            publish=deltas.publish_deltas,
            dead_owners=self._dead_of,
        )
        client = LocalClient(
            store, deltas=deltas, background=background, runtime=runtime, queue=QUEUE
        )
        return client, worker

    async def _handle(self) -> SqliteStore:
        store = await SqliteStore.open(self._path, clock=SystemClock())
        self._stack.push_async_callback(store.close)
        return store

    def _dead_of(self, owners: Collection[str]) -> frozenset[str]:
        return frozenset(owners) & self._dead


@asynccontextmanager
async def local_maker(directory: Path) -> AsyncIterator[LocalMaker]:
    """A maker on an empty file."""
    async with AsyncExitStack() as stack:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                try:
                    yield LocalMaker(directory / "store.db", group, stack)
                finally:
                    group.cancel_scope.cancel()


def _no_env(state: TaskState) -> ExecEnv:
    return None  # type: ignore[return-value]  # the checks' tools touch no env
