"""What the next worker does with what the last one left half done."""

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext

import anyio
import anyio.lowlevel

from noeta.core import events as e
from noeta.core import item as i
from noeta.core import texts
from noeta.core.context import Renderer, Request
from noeta.core.fold import fold_all
from noeta.core.message import ToolResult, UserMessage, text_of
from noeta.core.model import Reply
from noeta.core.runner.runtime import Runtime
from noeta.core.state import TaskState
from noeta.core.store import (
    Append,
    Appended,
    Claim,
    CommitUnknown,
    Store,
    StoreUnavailable,
)
from noeta.core.view import TaskView
from noeta.testing.function_model import FunctionModel, ask_for, in_turn, say
from tests.core.scene import LEASE, TASK, Scene, scene


class HangingModel:
    """Never answers; tells when it was asked and when it was cancelled."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.cancelled = anyio.Event()
        self.requests: list[Request] = []

    async def call(self, request: Request, on_delta: object) -> Reply:
        self.requests.append(request)
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        raise AssertionError


@asynccontextmanager
async def killed_after(worker: Runtime) -> AsyncIterator[None]:
    """The worker runs while the context is open, and is killed where it stands at its end."""
    async with anyio.create_task_group() as group:
        group.start_soon(worker.run)
        yield
        group.cancel_scope.cancel()


async def kill_in_hold(s: Scene) -> None:
    """Run a worker until its Hold call has started, and kill it there."""
    with anyio.fail_after(5):
        async with killed_after(s.worker()):
            await s.stage.entered.wait()
    s.clock.advance(LEASE + 1)


async def test_a_model_call_cut_short_is_made_again_from_the_same_bytes() -> None:
    hanging = HangingModel()
    async with scene(hanging) as s:
        await s.create("go")
        with anyio.fail_after(5):
            async with killed_after(s.worker()):
                await hanging.asked.wait()
        s.clock.advance(LEASE + 1)
        s.model = answering = FunctionModel(lambda request: say("done"))
        await s.run()
        called = [ev for ev in await s.events() if isinstance(ev, e.ModelCalled)]
        assert len(called) == 2
        assert called[0].request_digest == called[1].request_digest
        assert list(answering.requests[0].messages) == list(hanging.requests[0].messages)


async def test_a_model_call_that_kills_its_worker_fails_the_turn_at_the_third() -> None:
    async with scene(HangingModel()) as s:
        await s.create("go", kind="interactive")
        for _ in range(texts.MAX_MODEL_ATTEMPTS):
            s.model = hanging = HangingModel()
            with anyio.fail_after(5):
                async with killed_after(s.worker()):
                    await hanging.asked.wait()
            s.clock.advance(LEASE + 1)
        await s.run()
        log = await s.events()
        assert sum(isinstance(ev, e.ModelCalled) for ev in log) == texts.MAX_MODEL_ATTEMPTS
        assert log[-2] == e.TurnEnded(
            outcome="llm_error", detail=texts.MODEL_KEPT_STOPPING.format(count=3)
        )
        s.model = in_turn([say("well")])
        await s.say("again")
        await s.run()
        assert e.TurnEnded(outcome="done") in await s.events()


async def test_a_tool_call_cut_short_is_answered_as_unknown_and_not_run_again() -> None:
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")
        await kill_in_hold(s)
        s.stage.go_on.set()
        await s.run()
        assert s.stage.effects == []
        (finished,) = [ev for ev in await s.events() if isinstance(ev, e.ToolFinished)]
        assert (finished.reason, text_of(finished.content)) == ("unknown", texts.OUTCOME_UNKNOWN)
        assert "Look at its effect first" in texts.OUTCOME_UNKNOWN
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_calls_that_had_not_started_are_started_by_the_next_worker() -> None:
    replies = [ask_for(("Hold", {}), ("Do", {"x": 7})), say("done")]
    async with scene(in_turn(replies)) as s:
        await s.create("go")
        await kill_in_hold(s)
        await s.run()
        assert s.stage.effects == [f"{TASK}:c2"]


async def test_a_result_beside_a_running_call_is_written_before_the_call_ends() -> None:
    replies = [ask_for(("Hold", {}), ("Look", {"x": 1})), say("done")]
    async with scene(in_turn(replies)) as s:
        await s.create("go")
        with anyio.fail_after(5):
            async with killed_after(s.worker()):
                while "ToolFinished" not in await s.kinds():
                    await anyio.sleep(0.001)
        assert s.stage.effects == [f"{TASK}:c2"]
        s.clock.advance(LEASE + 1)
        await s.run()
        finished = [ev for ev in await s.events() if isinstance(ev, e.ToolFinished)]
        assert [(ev.call_id, ev.reason) for ev in finished] == [("c2", "done"), ("c1", "unknown")]
        assert s.stage.effects == [f"{TASK}:c2"]


async def test_every_prefix_of_a_log_ends_in_the_same_answer() -> None:
    """Restart from each prefix: it renders a valid request and comes to the same end, and no
    call that the prefix shows finished has its effect again."""

    def answer(request: Request) -> Reply:
        """Do 1, do 2 and 3, then say so; a call of unknown outcome is looked at and made good."""
        done = [m for m in request.messages if isinstance(m, UserMessage)]
        results = [b for m in done for b in m.content if isinstance(b, ToolResult)]
        known = [r for r in results if not r.is_error]
        if not known:
            return ask_for(("Do", {"x": 1}), text="first")
        if len(known) < 3:
            return ask_for(*(("Do", {"x": n}) for n in range(len(known) + 1, 4)))
        return say("1 2 3 done")

    async with scene(FunctionModel(answer)) as s:
        await s.create("go")
        await s.run()
        log = [stored.body for stored in await s.store.read(TASK)]
        whole = await s.events()
        assert isinstance(whole[-1], e.TaskEnded)

    for length in range(1, len(log)):
        async with scene(FunctionModel(answer)) as s:
            taken = any(isinstance(ev, e.MessageReceived) for ev in whole[:length])
            await s.create(*(() if taken else ("go",)), log=log[:length])
            await s.run()
            events = await s.events()
            assert events[:length] == whole[:length]
            assert events[-1] == e.TaskEnded(outcome="done")
            last = [ev for ev in events if isinstance(ev, e.ModelReplied)][-1]
            assert last == [ev for ev in whole if isinstance(ev, e.ModelReplied)][-1]
            finished = {
                f"{TASK}:{ev.call_id}" for ev in whole[:length] if isinstance(ev, e.ToolFinished)
            }
            assert not finished.intersection(s.stage.effects)
            assert len(s.stage.effects) == len(set(s.stage.effects))


async def test_a_recorded_request_digest_is_what_the_log_before_it_renders() -> None:
    async with scene(in_turn([ask_for(("Do", {})), ask_for(("Do", {})), say("done")])) as s:
        await s.create("go")
        await s.run()
        log = await s.events()
        for seq, event in enumerate(log):
            if isinstance(event, e.ModelCalled):
                state = fold_all(TaskState(), enumerate(log[:seq], 1))
                assert Renderer().render(state).digest == event.request_digest


# Losing a claim ----------------------------------------------------------------------------


async def test_a_worker_that_lost_its_claim_is_refused_and_stops_without_a_write() -> None:
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(s.worker().run_once)
                await s.stage.entered.wait()
                s.clock.advance(LEASE + 1)
                taken = await s.store.claim("thief", ("default",), LEASE)
                assert taken is not None
                s.stage.go_on.set()
        # The first worker's result was refused; the log is the thief's to write.
        assert "ToolFinished" not in await s.kinds()
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.owner, row.owner_epoch) == ("thief", 2)


async def test_a_renewal_that_comes_back_empty_cancels_the_step() -> None:
    hanging = HangingModel()
    async with scene(hanging) as s:
        await s.create("go")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(s.worker().run_once)
                await hanging.asked.wait()
                s.clock.advance(LEASE + 1)
                assert await s.store.claim("thief", ("default",), LEASE) is not None
                s.background.tick_all()
                # run_once returns: the step was cancelled in the middle of its model call.
        row = await s.store.row(TASK)
        assert row is not None
        assert row.owner == "thief"


async def test_renewals_keep_a_long_call_from_being_taken() -> None:
    hanging = HangingModel()
    async with scene(hanging) as s:
        await s.create("go")
        with anyio.fail_after(5):
            async with killed_after(s.worker()):
                await hanging.asked.wait()
                for _ in range(30):
                    s.clock.advance(LEASE / 3)
                    s.background.tick_all()
                    assert await s.store.claim("thief", ("default",), LEASE) is None


class FaultyStore:
    """Stands before a store and fails where it is told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.renewals_fail = False
        self.unknown_at: tuple[int, bool] | None = None
        """The append (from 1) whose outcome is unknown, and whether it lands."""
        self.appends = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def renew_all(
        self, claims: Collection[Claim], lease_seconds: float
    ) -> frozenset[tuple[str, int]]:
        if self.renewals_fail:
            raise StoreUnavailable("the store is away")
        return self._store.renew_all(claims, lease_seconds)

    async def append(self, claim: Claim, append: Append) -> Appended:
        self.appends += 1
        if self.unknown_at is not None and self.unknown_at[0] == self.appends:
            if self.unknown_at[1]:
                await self._store.append(claim, append)
            raise CommitUnknown("the connection broke")
        return await self._store.append(claim, append)


async def test_failing_renewals_give_the_task_up_when_a_lease_has_passed_by_our_clock() -> None:
    hanging = HangingModel()
    async with scene(hanging) as s:
        await s.create("go")
        faulty = FaultyStore(s.store)
        faulty.renewals_fail = True
        with anyio.fail_after(5):
            async with killed_after(s.worker(faulty)):  # type: ignore[arg-type]  # a store but for its type
                await hanging.asked.wait()
                for _ in range(2):
                    s.clock.advance(LEASE / 3)
                    s.background.tick_all()
                    await anyio.lowlevel.checkpoint()
                    assert not hanging.cancelled.is_set()
                s.clock.advance(LEASE / 3)
                s.background.tick_all()
                await hanging.cancelled.wait()


async def test_an_append_of_unknown_outcome_is_never_repeated() -> None:
    """The runner stops; whoever claims next reads from the log what landed."""
    for append in range(1, 5):
        for landed in (True, False):
            replies = [ask_for(("Do", {"x": 1})), say("done")]
            async with scene(in_turn(replies)) as s:
                await s.create("go")
                faulty = FaultyStore(s.store)
                faulty.unknown_at = (append, landed)
                await s.worker(faulty).run_once()  # type: ignore[arg-type]  # as above
                assert faulty.appends == append
                row = await s.store.row(TASK)
                assert row is not None
                if row.status != "ended":
                    # Nothing was released: the lease still stands.
                    assert row.owner == "w1"
                s.clock.advance(LEASE + 1)
                await s.run()
                assert (await s.events())[-1] == e.TaskEnded(outcome="done")
                assert len(s.stage.effects) == len(set(s.stage.effects))


async def test_an_unavailable_store_stops_the_step_and_the_task_goes_on_later() -> None:
    async with scene(in_turn([ask_for(("Do", {})), say("done")])) as s:
        await s.create("go")

        class Away(FaultyStore):
            async def append(self, claim: Claim, append: Append) -> Appended:
                self.appends += 1
                if self.appends == 3:
                    raise StoreUnavailable("away")
                return await self._store.append(claim, append)

        await s.worker(Away(s.store)).run_once()  # type: ignore[arg-type]  # as above
        assert (await s.kinds())[-1] == "ToolStarted"
        s.clock.advance(LEASE + 1)
        await s.run()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


# Bugs ---------------------------------------------------------------------------------------


async def test_an_internal_error_fails_the_turn_and_the_second_in_a_row_ends_the_task() -> None:
    def bug(request: Request) -> Reply:
        raise ZeroDivisionError("oops")

    async with scene(FunctionModel(bug)) as s:
        await s.create("go", kind="interactive")
        await s.run()
        log = await s.events()
        assert log[-2] == e.TurnEnded(outcome="internal_error", detail="ZeroDivisionError: oops")
        assert log[-1] == e.Waiting(why="message")
        assert [type(error) for error in s.bugs] == [ZeroDivisionError]
        await s.say("again")
        await s.run()
        ended = (await s.events())[-1]
        assert isinstance(ended, e.TaskEnded)
        assert (ended.outcome, ended.reason) == ("failed", "internal_error")


async def test_a_good_turn_between_two_internal_errors_keeps_the_task() -> None:
    replies: list[Reply | None] = [None, say("fine"), None]

    def sometimes(request: Request) -> Reply:
        reply = replies.pop(0)
        if reply is None:
            raise ZeroDivisionError
        return reply

    async with scene(FunctionModel(sometimes)) as s:
        await s.create("go", kind="interactive")
        for _ in range(3):
            await s.run()
            await s.say("again")
        assert "TaskEnded" not in await s.kinds()


async def test_a_task_whose_log_cannot_be_read_is_left_as_it_is() -> None:
    async with scene(in_turn([say("done")])) as s:
        await s.create("go", log=[b'{"type":"FromTheFuture"}'])
        await s.create("go", task_id="t2")
        await s.run()
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.last_seq, row.claims_since_append) == ("running", 1, 1)
        assert (await s.events("t2"))[-1] == e.TaskEnded(outcome="done")


async def test_a_bug_before_the_message_is_taken_fails_its_turn_too() -> None:
    """Untaken it would come again for ever, and each claim would meet the same bug."""

    def broken_prompt(view: TaskView) -> str:
        raise ZeroDivisionError("no prompt")

    async with scene(in_turn([say("done")])) as s:
        await s.create("go", kind="interactive")
        s.system = broken_prompt
        await s.run()
        assert (await s.kinds())[1:] == ["MessageReceived", "TurnEnded", "Waiting"]
        await s.say("again")
        await s.run()
        assert (await s.kinds())[4:] == ["MessageReceived", "TurnEnded", "TaskEnded"]


async def test_a_step_finds_what_was_posted_at_its_next_append_without_being_told() -> None:
    """Notifications only make it quick: an append says what lies in the inbox."""

    class Mute(FaultyStore):
        def on_change(self, callback: object) -> AbstractContextManager[None]:
            return nullcontext()

    async with scene(in_turn([ask_for(("Hold", {}), ("Do", {})), say("on")])) as s:
        await s.create("go", kind="interactive")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(s.worker(Mute(s.store)).run_once)  # type: ignore[arg-type]  # as above
                await s.stage.entered.wait()
                await s.post("interrupt", i.InterruptBody())
                s.stage.go_on.set()
        # The interrupt came before the append that started Do, and is read right after it.
        finished = next(ev for ev in await s.events() if isinstance(ev, e.ToolFinished))
        assert finished.reason == "done"
        assert e.TurnEnded(outcome="interrupted") in await s.events()


async def test_a_bug_in_writing_a_failure_down_leaves_the_workers_other_tasks_alone() -> None:
    class Broken(FaultyStore):
        async def append(self, claim: Claim, append: Append) -> Appended:
            if claim.task_id == TASK:
                raise ZeroDivisionError("always")
            return await self._store.append(claim, append)

    async with scene(in_turn([say("done")])) as s:
        await s.create("go")
        await s.create("go", task_id="t2")
        await s.worker(Broken(s.store)).run_once()  # type: ignore[arg-type]  # as above
        assert (await s.events("t2"))[-1] == e.TaskEnded(outcome="done")
        assert len(s.bugs) == 2
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.last_seq) == ("running", 1)


async def test_a_worker_does_not_take_the_task_it_runs_from_under_itself() -> None:
    """After a suspend a poll may come before the keeper renews the leases that ran out."""
    async with scene(in_turn([ask_for(("Hold", {})), say("done")])) as s:
        await s.create("go")
        worker = s.worker()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(worker.run)
                await s.stage.entered.wait()
                s.clock.advance(LEASE + 1)
                # Another task makes the worker look for something to claim.
                await s.create("go", task_id="t2")
                while (await s.kinds_of("t2"))[-1] != "ToolStarted":
                    await anyio.sleep(0.001)
                row = await s.store.row(TASK)
                assert row is not None
                assert row.owner_epoch == 1
                s.background.tick_all()
                s.stage.go_on.set()
                while (await s.kinds())[-1] != "TaskEnded":
                    await anyio.sleep(0.001)
                worker.stop()
        assert s.stage.effects == [f"{TASK}:c1", "t2:c1"]


async def test_a_task_that_was_given_up_is_claimed_again_when_its_lease_has_run_out() -> None:
    """By the same worker too: on a laptop there is no other."""

    class Away(FaultyStore):
        async def append(self, claim: Claim, append: Append) -> Appended:
            self.appends += 1
            if self.appends == 1:
                raise StoreUnavailable("away")
            return await self._store.append(claim, append)

    async with scene(in_turn([say("done")])) as s:
        await s.create("go")
        worker = s.worker(Away(s.store))  # type: ignore[arg-type]  # as above
        await worker.run_once()
        assert (await s.kinds()) == ["TaskCreated"]
        s.clock.advance(LEASE + 1)
        await worker.run_once()
        assert (await s.events())[-1] == e.TaskEnded(outcome="done")


async def test_what_a_worker_could_not_load_it_leaves_alone_for_a_lease() -> None:
    async with scene(in_turn([say("done")])) as s:
        await s.create("go", log=[b'{"type":"FromTheFuture"}'])
        worker = s.worker()
        claims = []
        for _ in range(5):
            await worker.run_once()
            row = await s.store.row(TASK)
            assert row is not None
            claims.append(row.claims_since_append)
            s.clock.advance(LEASE * 0.75)
        assert claims == [1, 1, 1, 2, 2]


async def test_a_bug_beside_an_interrupt_alone_does_not_come_again_for_ever() -> None:
    """There is no turn to fail, but what was posted is taken."""

    class Broken(FaultyStore):
        async def append(self, claim: Claim, append: Append) -> Appended:
            self.appends += 1
            if self.appends == 1:
                raise ZeroDivisionError("once")
            return await self._store.append(claim, append)

    async with scene(in_turn([say("one")])) as s:
        await s.create("go", kind="interactive")
        await s.run()
        await s.post("interrupt", i.InterruptBody())
        await s.worker(Broken(s.store)).run_once()  # type: ignore[arg-type]  # as above
        row = await s.store.row(TASK)
        assert row is not None
        assert (row.status, row.inbox_count) == ("waiting", 0)
