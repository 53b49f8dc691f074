"""The three dialects as the tests of the wires go through them."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from noeta.backends.models import anthropic, openai_chat, openai_responses
from noeta.backends.models.anthropic import AnthropicModel
from noeta.backends.models.endpoint import Endpoint, Patience
from noeta.backends.models.openai_chat import OpenAIChatModel
from noeta.backends.models.openai_responses import OpenAIResponsesModel
from noeta.core import events as e
from noeta.core.context import Renderer, Request
from noeta.core.fold import fold
from noeta.core.message import Limits, Message, Text, ToolSpec, UserMessage
from noeta.core.model import Delta, Model, Reply
from noeta.core.state import TaskState
from noeta.testing.fake_provider import FakeModel
from noeta.testing.fake_provider.anthropic_check import check_messages
from noeta.testing.fake_provider.chat_check import check_chat
from noeta.testing.fake_provider.responses_check import check_responses

KEY = "sk-canary-0123456789abcdef"


class Wire(Model, Protocol):
    """An adapter."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One dialect: our adapter, and the fake's judgement of a body."""

    name: str
    make: Callable[[Endpoint], Wire]
    render: Callable[[Request], bytes]
    encode: Callable[[Message], bytes]
    check: Callable[[dict[str, Any], FakeModel], None]
    path: str
    """Of the base URL below the server's root."""
    model: str

    @property
    def owner(self) -> str:
        return "anthropic" if self.name == "anthropic" else "openai"

    def fake_model(self, name: str) -> FakeModel:
        """A model of this dialect's owner."""
        if self.owner == "anthropic":
            return FakeModel(
                name=name,
                owner="anthropic",
                context_tokens=1_000_000,
                output_tokens_max=64_000,
                prefill=False,
            )
        return FakeModel(
            name=name,
            owner="openai",
            context_tokens=1_000_000,
            output_tokens_max=64_000,
            reasons=self.name == "openai-responses",
        )

    @asynccontextmanager
    async def at(
        self, url: str, *, patience: Patience | None = None, **fields: Any
    ) -> AsyncIterator[Wire]:
        """The adapter for a server at this URL, closed at the end."""
        wire = self.make(
            Endpoint(
                provider=self.name,
                base_url=url + self.path,
                key=KEY,
                key_env="WIRE_API_KEY",
                patience=patience or Patience(),
                **fields,
            )
        )
        try:
            yield wire
        finally:
            await wire.close()


DIALECTS = (
    Dialect(
        name="anthropic",
        make=AnthropicModel,
        render=anthropic.render,
        encode=anthropic.encode_message,
        check=lambda body, model: check_messages(
            body, model, version="2023-06-01", beta=False, goes_on=False
        ),
        path="",
        model="claude-sonnet-4-5",
    ),
    Dialect(
        name="openai-chat",
        make=OpenAIChatModel,
        render=openai_chat.render,
        encode=openai_chat.encode_message,
        check=check_chat,
        path="/v1",
        model="gpt-4.1",
    ),
    Dialect(
        name="openai-responses",
        make=OpenAIResponsesModel,
        render=openai_responses.render,
        encode=openai_responses.encode_message,
        check=check_responses,
        path="/v1",
        model="gpt-5",
    ),
)
IDS = [dialect.name for dialect in DIALECTS]


def ask(
    model: str,
    *messages: Message,
    system: Sequence[str] = ("Be brief.",),
    tools: Sequence[ToolSpec] = (),
    limits: Limits | None = None,
) -> Request:
    """A request; a greeting without messages."""
    return Request(
        model=f"p/{model}",
        system=tuple(system),
        tools=tuple(tools),
        limits=limits or Limits(),
        messages=messages or (UserMessage((Text("hello"),)),),
        digest="",
    )


def requests_of(log: Sequence[e.Event]) -> Iterator[Request]:
    """The request of every prefix that has one, from a renderer that lives with the log."""
    state, renderer = TaskState(), Renderer()
    for seq, event in enumerate(log, 1):
        fold(state, seq, event)
        if state.messages:
            yield renderer.render(state)


def refused(dialect: Dialect, body: bytes) -> str:
    """Why the fake refuses a body; empty when it takes it."""
    found = json.loads(body)
    try:
        dialect.check(found, dialect.fake_model(found["model"]))
    except Exception as error:  # The fake's, whatever it is.
        return f"{error} in {body.decode()}"
    return ""


async def heard(
    opening: AbstractAsyncContextManager[Wire], request: Request
) -> tuple[Reply, list[Delta]]:
    """The reply, and what was heard of it on the way."""
    deltas: list[Delta] = []
    async with opening as wire:
        return await wire.call(request, deltas.append), deltas
