"""A task that talks to a provider without a runner: events are folded as a step would add them."""

from collections.abc import Sequence

from noeta.core import events as e
from noeta.core import ids
from noeta.core.context import Renderer
from noeta.core.fold import fold
from noeta.core.message import Limits, ReplyBlock, Shown, Text, ToolCall, ToolSpec, Usage
from noeta.core.model import Model, Reply, checked
from noeta.core.state import TaskState


class WireTask:
    """One conversation and its log."""

    def __init__(
        self,
        route: str,
        *,
        system: Sequence[str] = ("You are a test.",),
        tools: Sequence[ToolSpec] = (),
        limits: Limits | None = None,
    ) -> None:
        self.state = TaskState()
        self.log: list[e.Event] = []
        self.renderer = Renderer()
        self.add(e.TaskCreated(task_id="t1", kind="interactive", cwd="/w", model=route))
        self.prompt(route, system=system, tools=tools, limits=limits)

    def add(self, event: e.Event) -> None:
        self.log.append(event)
        fold(self.state, len(self.log), event)

    def prompt(
        self,
        route: str,
        *,
        system: Sequence[str] = ("You are a test.",),
        tools: Sequence[ToolSpec] = (),
        limits: Limits | None = None,
    ) -> None:
        self.add(
            e.PromptSet(
                model=route, system=tuple(system), tools=tuple(tools), limits=limits or Limits()
            )
        )

    def say(self, text: str) -> None:
        self.add(e.MessageReceived(item=1, content=(Text(text),), sender="user"))

    async def step(self, model: Model) -> Reply:
        """One model call, recorded with ids of ours."""
        request = self.renderer.render(self.state)
        self.add(e.ModelCalled(model=request.model, request_digest=request.digest))
        reply = checked(await model.call(request, lambda delta: None))
        content: list[ReplyBlock] = []
        number = self.state.calls_count
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
        self.add(
            e.ModelReplied(content=tuple(content), stop=reply.stop, usage=reply.usage or Usage())
        )
        return reply

    def answer_calls(self, *content: Shown, is_error: bool = False) -> None:
        """The same result for every open call."""
        for call in list(self.state.calls.values()):
            self.add(
                e.ToolFinished(
                    call_id=call.call.call_id,
                    content=content,
                    is_error=is_error,
                    reason="failed" if is_error else "done",
                )
            )

    def end_turn(self) -> None:
        self.add(e.TurnEnded(outcome="done", detail=""))
