"""A model behind a wire: what the adapters have in common, which is all but their words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from noeta.backends.models.endpoint import Endpoint
from noeta.backends.models.http import Http, Sink
from noeta.core.context import Request
from noeta.core.model import Delta, Reply


class ReplySink(Sink, Protocol):
    """Takes a dialect's stream in, and gives the reply once it is whole."""

    def result(self) -> Reply:
        """The whole reply. Raises ModelError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a dialect says its own way."""

    path: str
    """Below the base URL."""
    headers: Callable[[Endpoint], Mapping[str, str]]
    """A function, so that no model holds its key but in its endpoint."""
    render: Callable[[Request], bytes]
    reply: Callable[[Endpoint, str, Callable[[Delta], None]], ReplySink]
    """From the endpoint, the route and who hears of it."""


def bearer(endpoint: Endpoint) -> Mapping[str, str]:
    """The key as OpenAI's dialects send it."""
    return {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}


class WireModel:
    """`noeta.core.model.Model` in one dialect, at one endpoint."""

    def __init__(self, endpoint: Endpoint, words: Words) -> None:
        self._endpoint = endpoint
        self._words = words
        self._http = Http(endpoint)

    async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
        """`Model.call`."""
        words = self._words
        reply = words.reply(self._endpoint, request.model, on_delta)
        await self._http.post(
            words.path,
            headers=words.headers(self._endpoint),
            body=words.render(request),
            sink=reply,
            route=request.model,
        )
        return reply.result()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()
