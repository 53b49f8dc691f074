"""What a tool's plugin remembers: records that land with the result, and come back as its state."""

import msgspec
import pytest

from noeta.core import events as e
from noeta.core.fold import fold_all
from noeta.core.plugin import Plugin
from noeta.core.registry import Registry
from noeta.core.runner.load import load
from noeta.core.state import TaskState
from noeta.core.tool import InvalidInput, Tool, ToolContext, ToolFlags, ToolOutput
from noeta.testing.function_model import ask_for, in_turn, say
from tests.core.scene import TASK, Input, scene


class Counter:
    """A plugin whose state is the numbers its tool was called with."""

    def __init__(self) -> None:
        self.states: list[object] = []

    def plugin(self) -> Plugin:
        """Count: records its number twice. Refuse: never starts."""
        flags = ToolFlags(retry_safe=True)
        count = Tool(name="Count", description="", input=Input, run=self._count, flags=flags)
        refuse = Tool(
            name="Refuse", description="", input=Input, run=self._count, prepare=self._refuse
        )
        return Plugin(name="counter", version="1", tools=(count, refuse), fold=_fold)

    async def _count(self, asked: Input, ctx: ToolContext) -> ToolOutput:
        self.states.append(ctx.state)
        return ToolOutput(text="", records=(msgspec.Raw(b"%d" % asked.x),) * 2)

    async def _refuse(self, asked: Input, ctx: ToolContext) -> msgspec.Raw:
        raise InvalidInput(f"not {asked.x} after {ctx.state}")


def _fold(state: object, record: msgspec.Raw) -> object:
    number = msgspec.json.decode(record, type=int)
    if number < 0:
        raise ValueError("no such number")
    assert state is None or isinstance(state, tuple)
    return (*(state or ()), number)


async def test_records_land_in_the_append_of_their_result_and_right_after_it() -> None:
    """`ToolOutput.records`: a plugin never remembers more than the model reads."""
    counter = Counter()
    async with scene(in_turn([ask_for(("Count", {"x": 4})), say("ok")])) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go")
        before = s.store.counters.commits
        await s.run()
        assert s.store.counters.commits - before - 1 == 4  # As without records: two a step.
        record = e.PluginRecorded(plugin="counter", record=msgspec.Raw(b"4"))
        log = await s.events()
        at = next(n for n, event in enumerate(log) if isinstance(event, e.ToolFinished))
        assert log[at + 1 : at + 3] == [record, record]
        assert isinstance(log[at + 3], e.ModelCalled)


async def test_a_call_sees_what_the_calls_before_it_recorded() -> None:
    """`ToolContext.state`, within one reply too."""
    counter = Counter()
    replies = [ask_for(("Count", {"x": 1}), ("Count", {"x": 2})), ask_for(("Count", {})), say("ok")]
    async with scene(in_turn(replies)) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go")
        await s.run()
    assert counter.states == [None, (1, 1), (1, 1, 2, 2)]


async def test_another_worker_folds_the_same_state_from_the_log() -> None:
    counter = Counter()
    replies = [ask_for(("Count", {"x": 1})), say("ok"), ask_for(("Count", {"x": 2})), say("ok")]
    async with scene(in_turn(replies)) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go", kind="interactive")
        await s.run()
        await s.say("again")
        await s.run()
    assert counter.states == [None, (1, 1)]


async def test_a_call_that_prepare_refuses_never_starts() -> None:
    """InvalidInput from `prepare`: its message is the result, and recovery never meets the call."""
    counter = Counter()
    replies = [ask_for(("Count", {"x": 1})), ask_for(("Refuse", {"x": 7})), say("ok")]
    async with scene(in_turn(replies)) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go")
        await s.run()
        log = await s.events()
    started = [event.name for event in log if isinstance(event, e.ToolStarted)]
    assert started == ["Count"]
    last = [event for event in log if isinstance(event, e.ToolFinished)][-1]
    assert (last.reason, last.is_error) == ("invalid", True)
    assert [str(getattr(block, "text", "")) for block in last.content] == ["not 7 after (1, 1)"]


async def test_a_record_that_its_plugin_cannot_fold_does_not_land() -> None:
    """Else no worker could ever load the task again."""
    counter = Counter()
    async with scene(in_turn([ask_for(("Count", {"x": -1})), say("ok")])) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go", kind="interactive")
        await s.run()
        log = await s.events()
        assert [str(bug) for bug in s.bugs] == ["no such number"]
        assert not any(isinstance(event, e.PluginRecorded) for event in log)
        assert [ev.reason for ev in log if isinstance(ev, e.ToolFinished)] == ["unknown"]
        state = await load(s.store, TASK, Registry(s.plugins))
        assert state.plugin_states == {}


@pytest.mark.parametrize("plugins", [True, False])
async def test_a_worker_without_the_plugin_passes_its_records_over(plugins: bool) -> None:
    counter = Counter()
    async with scene(in_turn([ask_for(("Count", {"x": 3})), say("ok")])) as s:
        s.plugins = (counter.plugin(),)
        await s.create("go")
        await s.run()
        folders = {"counter": _fold} if plugins else {}
        log = enumerate(await s.events(), start=1)
    expected = {"counter": (3, 3)} if plugins else {}
    assert fold_all(TaskState(), log, folders).plugin_states == expected
