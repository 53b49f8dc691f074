"""The runtime: one worker. Claims tasks, runs a step for each, and keeps their leases.

One task group holds all of it; each claim is a cancel scope in it. Losing a claim cancels its
scope and nothing is written or released any more; shutting down stops every step and hands each
task back.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import TaskGroup

from noeta.core.clock import Clock
from noeta.core.codec import NewerEntry, UnreadableEntry
from noeta.core.execenv import ExecEnv
from noeta.core.fold import UnreadableLog
from noeta.core.message import Limits, Usage
from noeta.core.model import Model
from noeta.core.progress import GaveUp
from noeta.core.registry import Registry
from noeta.core.runner.engine import Engine, Publish
from noeta.core.runner.failure import fail_turn
from noeta.core.runner.lease import Background, LeaseKeeper
from noeta.core.runner.load import load
from noeta.core.runner.step import Step
from noeta.core.state import TaskState
from noeta.core.store import (
    Change,
    Claim,
    CommitUnknown,
    Conflict,
    NewTask,
    Store,
    StoreUnavailable,
)

DeadOwners = Callable[[Collection[str]], frozenset[str]]
"""Of some owners, those that this host can prove dead."""


class Runtime:
    """A worker: `run` until `stop`."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        model_for: Callable[[str], Model],
        env_for: Callable[[TaskState], ExecEnv],
        limits_for: Callable[[str], Limits] = lambda route: Limits(),
        cost_of: Callable[[str, Usage], float | None] = lambda route, usage: None,
        worker: str,
        queues: Collection[str],
        clock: Clock,
        background: Background,
        jitter: Callable[[], float],
        publish: Publish = lambda task_id, seq, progress: None,
        lease_seconds: float = 30.0,
        dead_owners: DeadOwners = lambda owners: frozenset(),
        root: str | None = None,
        concurrency: int = 8,
        on_bug: Callable[[str, Exception], None] = lambda task_id, error: None,
    ) -> None:
        """See Engine for the functions up to publish; on_bug hears of internal errors with the
        task's id."""
        self.worker = worker
        self.root = root
        """Only this tree is claimed; None: every task of the queues."""
        self._engine = Engine(
            store=store,
            registry=registry,
            model_for=model_for,
            env_for=env_for,
            limits_for=limits_for,
            cost_of=cost_of,
            jitter=jitter,
            publish=publish,
            lease_seconds=lease_seconds,
        )
        self._interval = lease_seconds / 3
        self._queues = tuple(queues)
        self._clock = clock
        self._background = background
        self._dead_owners = dead_owners
        self._concurrency = concurrency
        self._on_bug = on_bug
        self._keeper = LeaseKeeper(store, lease_seconds, clock=clock, background=background)
        self._steps: dict[str, Step] = {}
        self._running: set[str] = set()
        self._given: list[Claim] = []
        self._unloadable: dict[str, float] = {}
        """Tasks to leave alone, and until when by the monotonic clock."""
        self._adopts = False
        """A claim of ours may have landed without our knowing."""
        self._dead: frozenset[str] | None = None
        """Owners proved dead; None: look again."""
        self._wake = anyio.Event()
        self._stopping = False

    @property
    def _store(self) -> Store:
        return self._engine.store

    async def create(self, task: NewTask) -> None:
        """Create a task that is claimed by this worker from its first moment, and run it."""
        lease = self._engine.lease_seconds
        try:
            claim = await self._store.create(task, worker=self.worker, lease_seconds=lease)
        except CommitUnknown:
            # The id is the key: a repeat finds what landed.
            claim = await self._store.create(task, worker=self.worker, lease_seconds=lease)
        if claim is not None:
            self._given.append(claim)
            self._wake.set()

    def attach(self, root: str) -> None:
        """Claim from this tree from now on, looking anew for owners that are dead."""
        self.root = root
        self._dead = None
        self._wake.set()

    async def run(self) -> None:
        """Claim and run tasks until stopped; everything is handed back when it returns."""
        async with self._at_work() as group:
            while not self._stopping:
                self._wake = anyio.Event()
                while claim := await self._next_claim():
                    self._running.add(claim.task_id)
                    group.start_soon(self._run_claim, claim)
                await self._wake.wait()
            self._stop_steps()

    async def run_once(self) -> None:
        """Run whatever is claimable, one task after the other, and return when nothing is."""
        async with self._at_work():
            while not self._stopping and (claim := await self._next_claim()):
                self._running.add(claim.task_id)
                await self._run_claim(claim)

    @asynccontextmanager
    async def _at_work(self) -> AsyncIterator[TaskGroup]:
        """Changes are heard, leases renewed and everything polled while this is open."""
        with (
            self._store.on_change(self._changed),
            self._background.every(self._interval, self._keeper.tick),
        ):
            async with anyio.create_task_group() as outer:
                outer.start_soon(self._poll)
                async with anyio.create_task_group() as group:
                    yield group
                outer.cancel_scope.cancel()

    async def _poll(self) -> None:
        """Look at everything now and then: a notification may be lost, and only makes it quick."""
        while True:
            await anyio.sleep(self._interval)
            self._dead = None
            self._look(None)

    def stop(self) -> None:
        """Stop claiming, stop every step, hand every task back; `run` then returns."""
        self._stopping = True
        self._stop_steps()
        self._wake.set()

    def _stop_steps(self) -> None:
        for step in self._steps.values():
            step.stop()

    # Claims ------------------------------------------------------------------------------

    async def _next_claim(self) -> Claim | None:
        """A claim to run now: one that was given, or one from the store."""
        if self._given:
            return self._given.pop(0)
        if self._stopping or len(self._running) >= self._concurrency:
            return None
        lease = self._engine.lease_seconds
        try:
            if self._adopts:
                self._given += await self._store.adopt(self.worker, self._running, lease)
                self._adopts = False
                if self._given:
                    return self._given.pop(0)
            if self._dead is None:
                self._dead = await self._find_dead()
            return await self._store.claim(
                self.worker,
                self._queues,
                lease,
                root=self.root,
                dead=self._dead,
                skip=self._skipped(),
            )
        except StoreUnavailable:
            return None
        except CommitUnknown:
            # A claim may have landed unseen: ask the store which tasks it thinks are ours.
            self._adopts = True
            return None

    def _skipped(self) -> frozenset[str]:
        """Tasks this worker runs (after a suspend its own leases may have run out before the
        keeper renews them) and those it could not load, for a lease after theirs ran out."""
        now = self._clock.monotonic()
        self._unloadable = {k: until for k, until in self._unloadable.items() if until > now}
        return frozenset({*self._running, *self._unloadable})

    async def _find_dead(self) -> frozenset[str]:
        """Owners of running tasks of these queues that are provably dead."""
        rows = await self._store.rows(
            statuses=("running", "kept"), queues=self._queues, root=self.root, limit=1000
        )
        owners = {row.owner for row in rows if row.owner and row.owner != self.worker}
        return self._dead_owners(owners) if owners else frozenset()

    async def _run_claim(self, claim: Claim) -> None:
        """One claim from load to hand-back; never raises."""
        scope = anyio.CancelScope()
        self._keeper.hold(claim, scope.cancel)
        try:
            with scope:
                await self._work(claim)
        except Conflict:
            # Write nothing, release nothing: another worker has the task.
            pass
        except (CommitUnknown, StoreUnavailable) as error:
            # The same; whoever claims next reads what landed.
            self._engine.publish(claim.task_id, 0, GaveUp(str(error)))
        finally:
            self._keeper.drop(claim)
            self._steps.pop(claim.task_id, None)
            self._running.discard(claim.task_id)
            self._wake.set()

    async def _work(self, claim: Claim) -> None:
        try:
            state = await load(self._store, claim.task_id, self._engine.registry)
        except (NewerEntry, UnreadableEntry, UnreadableLog) as error:
            # Nothing is written and the lease runs out, for a worker that can read it.
            until = self._clock.monotonic() + 2 * self._engine.lease_seconds
            self._unloadable[claim.task_id] = until
            self._engine.publish(claim.task_id, 0, GaveUp(str(error)))
            return
        try:
            step = Step(self._engine, claim, state)
            self._steps[claim.task_id] = step
            if self._stopping:
                step.stop()
            await step.run()
        except (Conflict, CommitUnknown, StoreUnavailable):
            raise
        except Exception as error:  # The runner's own boundary: a bug is bounded by the log.
            self._on_bug(claim.task_id, error)
            await self._fail(claim, error)

    async def _fail(self, claim: Claim, bug: Exception) -> None:
        """Write that the turn failed; when even that fails the lease runs out, and the other
        tasks of this worker go on."""
        try:
            await fail_turn(self._engine, claim, bug)
        except (Conflict, CommitUnknown, StoreUnavailable):
            raise
        except Exception as error:  # The same boundary; there is nothing left to try here.
            self._on_bug(claim.task_id, error)

    def _changed(self, change: Change) -> None:
        """From any thread: something was committed."""
        if change.wakes:
            self._background.call_on_loop(partial(self._look, change.task_id))

    def _look(self, task_id: str | None) -> None:
        if task_id is None:
            for step in self._steps.values():
                step.poke()
        elif task_id in self._steps:
            self._steps[task_id].poke()
        if task_id is None or task_id not in self._running:
            self._wake.set()
