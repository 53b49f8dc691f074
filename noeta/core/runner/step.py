"""The step: carries out what next_action chooses, until the task is handed back.

One rule gives a step its two commits: events first, effects after. Whatever is decided goes into
the draft; what may then run is queued; `_flush` writes the draft in one append and only then
launches. So `[ToolFinished..., ModelCalled]` land together before a request goes out, and
`[ModelReplied, ToolStarted...]` before any effect.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import anyio
from anyio import TaskHandle
from anyio.abc import TaskGroup

from noeta.core import action as a
from noeta.core import events as e
from noeta.core import ids, texts
from noeta.core.context import Renderer, Request
from noeta.core.message import ReplyBlock, Text, ToolCall, Usage
from noeta.core.model import Model, ModelError, Reply
from noeta.core.runner import waiting
from noeta.core.runner.calls import CallMaker, Ran, close_call, recover_calls, run_call
from noeta.core.runner.draft import Draft
from noeta.core.runner.engine import Engine
from noeta.core.runner.inbox import event_of, route_of, takeable
from noeta.core.runner.model_call import Partial, call_model
from noeta.core.state import CallState, TaskState
from noeta.core.store import Claim
from noeta.core.view import TaskView

Outcome = Ran | Reply | ModelError | None
"""What a running thing came to; None when it was cancelled."""


@dataclass(slots=True)
class _Running:
    run: Callable[[], Awaitable[Outcome]]
    task: TaskHandle[None] | None = None
    """None: it waits for the append that says it started."""


class Step:
    """One claim's work on one task."""

    def __init__(self, engine: Engine, claim: Claim, state: TaskState) -> None:
        self.wake = anyio.Event()
        self.stopping = False
        self._engine = engine
        self._claim = claim
        self._state = state
        self._draft = Draft(engine.store, claim, state, engine.registry.folders)
        self._renderer = Renderer()
        self._calls = CallMaker(
            registry=engine.registry, state=state, env=engine.env_for(state), epoch=claim.epoch
        )
        self._running: dict[str, _Running] = {}
        self._outcomes: list[tuple[str, Outcome]] = []
        self._partial = Partial()
        self._inbox_stale = True
        """Something may lie in the inbox that was not looked at."""
        self._bug: Exception | None = None

    async def run(self) -> None:
        """Work until the task is handed back, ended or released.

        Raises Conflict, CommitUnknown or StoreUnavailable: write nothing more. Any other
        exception is a bug of the runner.
        """
        error: Exception | None = None
        async with anyio.create_task_group() as group:
            try:
                await self._loop(group)
            except Exception as caught:  # Re-raised below, bare instead of in a group.
                error = caught
            group.cancel_scope.cancel()
        if error is not None:
            raise error

    def poke(self) -> None:
        """Something changed outside: look at the inbox."""
        self._inbox_stale = True
        self.wake.set()

    def stop(self) -> None:
        """Shut down: stop what runs, write what is known, release the claim."""
        self.stopping = True
        self.wake.set()

    async def _loop(self, group: TaskGroup) -> None:
        while True:
            self._collect()
            await self._receive()
            if self.stopping and not self._running:
                return await self._shut_down()
            action = a.next_action(
                self._state,
                running=self._running.keys(),
                parallel=self._engine.registry.parallel,
            )
            match action:
                case a.Await():
                    await self._flush(group)
                    if self.stopping:
                        return await self._shut_down()
                    await self._sleep()
                case a.StartCalls(calls=calls):
                    for call in calls:
                        await self._start(call)
                case a.CallModel(note=note):
                    self._call_model(note)
                case a.Interrupted(calls=calls):
                    for finished in recover_calls(calls):
                        self._draft.add(finished)
                case a.Stop():
                    await self._stop_calls()
                case a.EndTurn(outcome=outcome, detail=detail):
                    self._end_turn(outcome, detail)
                case a.HandBack() | a.EndTask():
                    if await waiting.hand_back(self._draft, action, self.stopping):
                        return
                    self._inbox_stale = True

    # Effects -----------------------------------------------------------------------------

    async def _flush(self, group: TaskGroup) -> None:
        """Write the draft, then launch what waited for it."""
        if not self._draft.is_empty:
            appended = await self._draft.commit()
            if appended.inbox_count > 0:
                self.poke()
        for name, running in self._running.items():
            if running.task is None and not self.stopping:
                running.task = group.start_soon(self._run, name, running)

    async def _run(self, name: str, running: _Running) -> None:
        outcome: Outcome = None
        try:
            outcome = await running.run()
        except Exception as error:  # A bug in an adapter; the loop raises it as its own.
            self._bug = error
        finally:
            self._outcomes.append((name, outcome))
            self.wake.set()

    async def _sleep(self) -> None:
        """Until something ends here, or the runtime pokes: on a change, and now and then."""
        await self.wake.wait()
        self.wake = anyio.Event()

    async def _start(self, call: CallState) -> None:
        begun = await self._calls.begin(call)
        self._draft.add(begun.event)
        if begun.launch is not None:
            self._running[call.call.call_id] = _Running(partial(run_call, begun.launch))

    def _call_model(self, note: e.Noted | None) -> None:
        if note is not None:
            self._draft.add(note)
        try:
            model = self._engine.model_for(self._state.model)
        except ModelError as error:
            return self._end_turn("llm_error", str(error))
        request = self._renderer.render(self._state)
        self._draft.add(e.ModelCalled(model=request.model, request_digest=request.digest))
        self._partial = Partial()
        seq = self._state.last_seq
        self._running[a.MODEL] = _Running(partial(self._ask, model, request, seq, self._partial))

    async def _ask(self, model: Model, request: Request, seq: int, heard: Partial) -> Outcome:
        try:
            return await call_model(
                model,
                request,
                publish=partial(self._engine.publish, self._claim.task_id, seq),
                jitter=self._engine.jitter,
                partial=heard,
            )
        except ModelError as error:
            return error

    def _end_turn(self, outcome: e.TurnOutcome, detail: str) -> None:
        if outcome == "interrupted":
            self._draft.add(e.Noted(reason="interrupted", text=texts.TURN_INTERRUPTED))
        self._draft.add(e.TurnEnded(outcome=outcome, detail=detail))

    # Stopping ----------------------------------------------------------------------------

    async def _stop_calls(self) -> None:
        """For an interrupt: cancel what runs, then close every open call."""
        if self._running:
            await self._cancel_running()
            return
        for call in self._state.open_calls:
            self._draft.add(close_call(call))

    async def _shut_down(self) -> None:
        """For a worker that stops: cancel what runs, write what is known, release."""
        idle = [name for name, running in self._running.items() if running.task is None]
        await self._cancel_running()
        self._collect()
        for name in idle:
            call = self._state.calls.get(name)
            if call is not None and call.started is not None:
                # Its ToolStarted is written and nothing ran: that much is certain.
                self._draft.add(close_call(call, texts.CALL_NEVER_RAN))
        if not self._draft.is_empty:
            await self._draft.commit()
        await self._engine.store.release(self._claim)

    async def _cancel_running(self) -> None:
        """Cancel what was launched and wait for it; forget what was not."""
        self._running = {n: r for n, r in self._running.items() if r.task is not None}
        for running in self._running.values():
            assert running.task is not None
            running.task.cancel()
        while len(self._outcomes) < len(self._running):
            await self._sleep()

    # What came in ------------------------------------------------------------------------

    def _collect(self) -> None:
        """Turn what ended here into events."""
        if self._bug is not None:
            raise self._bug
        outcomes, self._outcomes = self._outcomes, []
        for name, outcome in outcomes:
            del self._running[name]
            match outcome:
                case Ran(finished=finished, records=records):
                    self._draft.add(finished)
                    for record in records:
                        self._draft.add(record)
                case Reply():
                    self._draft.add(self._replied(outcome))
                case ModelError():
                    self._end_turn("llm_error", str(outcome))
                case None if name == a.MODEL and self._partial.text and not self.stopping:
                    text = Text(self._partial.text)
                    self._draft.add(e.ModelReplied(content=(text,), stop="interrupted"))

    async def _receive(self) -> None:
        """Take what may be taken from the inbox into the draft."""
        if not self._inbox_stale:
            return
        self._inbox_stale = False
        taken = self._draft.taken
        for item in await self._engine.store.inbox(self._claim.task_id):
            if item.id in taken:
                continue
            if not takeable(item, self._state, busy=bool(self._running)):
                # It stays there: look again when what runs now has ended.
                self._inbox_stale = True
                continue
            if not self._state.turn_open:
                self._pin(route_of(item) or self._state.model)
            self._draft.add(event_of(item, self._state), takes=item.id)

    def _pin(self, model: str) -> None:
        """Before a turn: log plugins and prompt when they are not those of the log."""
        registry = self._engine.registry
        if registry.pins != self._state.pins:
            self._draft.add(e.PluginsPinned(pins=registry.pins))
        limits = self._engine.limits_for(model)
        prompt = registry.prompt(model, limits, TaskView(self._state))
        if prompt != self._state.prompt:
            self._draft.add(prompt)

    def _cost(self, reply: Reply) -> float | None:
        """What a reply cost; unknown, and not nothing, where its usage is."""
        if reply.usage is None:
            return None
        return self._engine.cost_of(self._state.model, reply.usage)

    def _replied(self, reply: Reply) -> e.ModelReplied:
        """The reply as an event: its calls get ids of ours."""
        number = self._state.calls_count
        content: list[ReplyBlock] = []
        for block in reply.content:
            if isinstance(block, ToolCall):
                number += 1
                block = ToolCall(
                    call_id=ids.call_id(number),
                    name=block.name,
                    input=block.input,
                    provider_id=block.provider_id,
                )
            content.append(block)
        return e.ModelReplied(
            content=tuple(content),
            stop=reply.stop,
            usage=reply.usage or Usage(),
            cost_usd=self._cost(reply),
        )
