"""Tool calls: gates before one, running one, and finding out about one that was cut short.

Nothing here writes: each function gives back the events it stands for and, for a call that may
run, what to run once those are written.
"""

from dataclasses import dataclass

import msgspec

from noeta.core import codec, texts
from noeta.core import events as e
from noeta.core.execenv import ExecEnv
from noeta.core.message import Text
from noeta.core.plugin import Allow, Ask, Deny, GateCall, Verdict
from noeta.core.registry import Registry
from noeta.core.state import CallState, TaskState
from noeta.core.tool import AnyTool, InvalidInput, ToolContext, ToolOutput
from noeta.core.view import TaskView


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A call that runs as soon as its ToolStarted is written."""

    tool: AnyTool
    plugin: str
    """That the tool is of."""
    input: msgspec.Struct
    context: ToolContext


@dataclass(frozen=True, slots=True)
class Begun:
    """What starting a call came to: its event, and the launch when it may run."""

    event: e.ToolStarted | e.CallParked | e.ToolFinished
    launch: Launch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a call that ran came to: its result, and what its plugin remembers of it."""

    finished: e.ToolFinished
    records: tuple[e.PluginRecorded, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMaker:
    """What is the same for every call of one claim."""

    registry: Registry
    state: TaskState
    env: ExecEnv
    epoch: int

    async def begin(self, call: CallState) -> Begun:
        """Gate a call whose turn it is, and prepare it when it may run."""
        tool = self.registry.tools.get(call.call.name)
        if tool is None:
            text = texts.unknown_tool(call.call.name, sorted(self.registry.tools))
            return Begun(_refused(call, "invalid", text))
        raw = call.input
        try:
            parsed = tool.parse(raw)
            verdict, rewritten = self._gated(call, parsed)
            if call.parked is not None:
                verdict = _after_answer(call, verdict)
            elif rewritten is not None:
                raw = rewritten
                parsed = tool.parse(raw)
        except InvalidInput as error:
            return Begun(_refused(call, "invalid", str(error)))
        match verdict:
            case Deny(reason=reason):
                return Begun(_refused(call, "denied", texts.denied(reason)))
            case Ask(reason=reason) if self.state.on_ask == "deny":
                return Begun(_refused(call, "denied", texts.nobody_to_ask(reason)))
            case Ask(reason=reason):
                return Begun(
                    e.CallParked(
                        call_id=call.call.call_id,
                        input=raw,
                        input_digest=codec.digest(bytes(raw)),
                        reason=reason,
                    )
                )
            case Allow():
                return await self._start(call, tool, parsed, raw)

    def _gated(self, call: CallState, parsed: msgspec.Struct) -> tuple[Verdict, msgspec.Raw | None]:
        """What the gates say together, and the input as they rewrote it, if they did.

        All are asked; a deny wins over an ask, an ask over an allow.
        """
        at_gate = GateCall(call_id=call.call.call_id, name=call.call.name, input=parsed)
        view = TaskView(self.state)
        ask: Ask | None = None
        rewritten: msgspec.Raw | None = None
        for plugin, gate in self.registry.gates:
            try:
                verdict = gate(at_gate, view)
            except Exception as error:  # A plugin's boundary: a gate that raises denies.
                verdict = Deny(f"the gate of plugin {plugin!r} failed: {error!r}")
            match verdict:
                case Deny():
                    return verdict, None
                case Ask():
                    ask = ask or verdict
                case Allow(input=changed) if changed is not None:
                    rewritten = changed
        return ask or Allow(), rewritten

    async def _start(
        self, call: CallState, tool: AnyTool, parsed: msgspec.Struct, raw: msgspec.Raw
    ) -> Begun:
        plugin = self.registry.owners[tool.name]
        context = self._context(call.call.call_id, plugin)
        evidence = e.NO_EVIDENCE
        if tool.prepare is not None:
            try:
                evidence = await tool.prepare(parsed, context)
            except InvalidInput as error:
                return Begun(_refused(call, "invalid", str(error)))
            except Exception as error:  # A tool's boundary: what it raises is its result.
                return Begun(_refused(call, "failed", f"{type(error).__name__}: {error}"))
        started = e.ToolStarted(
            call_id=call.call.call_id,
            name=tool.name,
            input=raw,
            version=tool.version,
            retry_safe=tool.flags.retry_safe,
            evidence=evidence,
        )
        context = self._context(call.call.call_id, plugin, evidence)
        return Begun(started, Launch(tool=tool, plugin=plugin, input=parsed, context=context))

    def _context(
        self, call_id: str, plugin: str, evidence: msgspec.Raw = e.NO_EVIDENCE
    ) -> ToolContext:
        return ToolContext(
            task_id=self.state.task_id,
            call_id=call_id,
            epoch=self.epoch,
            env=self.env,
            evidence=evidence,
            state=self.state.plugin_states.get(plugin),
        )


async def run_call(launch: Launch) -> Ran:
    """Run the tool; whatever it raises is an error result."""
    try:
        output: ToolOutput = await launch.tool.run(launch.input, launch.context)
        reason: e.FinishReason = "done"
    except Exception as error:  # A tool's boundary: what it raises is its result.
        output = ToolOutput(text=f"{type(error).__name__}: {error}", is_error=True)
        reason = "failed"
    finished = e.ToolFinished(
        call_id=launch.context.call_id,
        content=(*((Text(output.text),) if output.text else ()), *output.media),
        is_error=output.is_error,
        reason=reason,
    )
    records = tuple(e.PluginRecorded(plugin=launch.plugin, record=r) for r in output.records)
    return Ran(finished=finished, records=records)


def recover_calls(calls: tuple[CallState, ...]) -> list[e.ToolFinished]:
    """Answer calls that a worker started and never finished: their outcome is unknown.

    A side effect is at most once: nothing is run again here. They are not gated again either,
    they were allowed when they ran.
    """
    return [_refused(call, "unknown", texts.OUTCOME_UNKNOWN) for call in calls]


def _after_answer(call: CallState, verdict: Verdict) -> Verdict:
    """The answer decides; of the gates only a deny still counts."""
    if not call.allowed:
        return Deny(call.answer_reason)
    return verdict if isinstance(verdict, Deny) else Allow()


def close_call(call: CallState, text: str | None = None) -> e.ToolFinished:
    """The result of an open call that was stopped and does not run here any more."""
    if text is None:
        text = texts.CALL_NOT_STARTED if call.started is None else texts.CALL_INTERRUPTED
    return _refused(call, "interrupted", text)


def _refused(call: CallState, reason: e.FinishReason, text: str) -> e.ToolFinished:
    return e.ToolFinished(
        call_id=call.call.call_id, content=(Text(text),), is_error=True, reason=reason
    )
