"""A model that is a function: for tests and benches that need no script file."""

from collections.abc import Callable, Sequence

import msgspec

from noeta.core.context import Request
from noeta.core.message import AssistantMessage, ReplyBlock, Text, ToolCall
from noeta.core.model import Delta, Reply, TextDelta


class FunctionModel:
    """Answers each request with what `answer` gives for it, at once."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self._answer = answer
        self.requests: list[Request] = []
        """Every request it was asked, in order."""

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """`Model.call`."""
        self.requests.append(request)
        reply = self._answer(request)
        for block in reply.content:
            if isinstance(block, Text):
                on_delta(TextDelta(block.text))
        return reply


def say(text: str) -> Reply:
    """A final answer."""
    return Reply(content=(Text(text),), stop="end")


def ask_for(*calls: tuple[str, object], text: str = "") -> Reply:
    """A reply that calls tools: (name, input) pairs."""
    blocks: list[ReplyBlock] = [Text(text)] if text else []
    blocks += [
        ToolCall(call_id="", name=name, input=msgspec.Raw(msgspec.json.encode(value)))
        for name, value in calls
    ]
    return Reply(content=tuple(blocks), stop="calls")


def in_turn(replies: Sequence[Reply]) -> FunctionModel:
    """A model that gives the n-th reply to a request with n-1 assistant messages in it, so
    that any worker, asked again, answers the same."""

    def answer(request: Request) -> Reply:
        done = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return replies[done]

    return FunctionModel(answer)
