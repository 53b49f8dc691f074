"""The fake provider itself: it takes requests over loopback, checks them, and plays turns."""

import hashlib
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import isawaitable
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from noeta.testing.fake_provider import answers, anthropic_stream
from noeta.testing.fake_provider.asked import Asked, asked_from
from noeta.testing.fake_provider.cache import CacheTotals, PromptCache
from noeta.testing.fake_provider.check import Rules, check, check_body, check_headers
from noeta.testing.fake_provider.choose import Turns, by_position, echo
from noeta.testing.fake_provider.delivery import Answer, deliver
from noeta.testing.fake_provider.elsewhere import elsewhere
from noeta.testing.fake_provider.http_wire import Connection, Gone, HttpRequest, listen
from noeta.testing.fake_provider.misbehaviour import (
    BEHAVES,
    BadMisbehaviour,
    Misbehaviour,
    parse_misbehaviour,
)
from noeta.testing.fake_provider.models import KNOWN_MODELS, FakeModel, by_name
from noeta.testing.fake_provider.prompt import Piece, pieces_of, tokens_of
from noeta.testing.fake_provider.refused import Dialect, Refused, invalid
from noeta.testing.fake_provider.turn import Counted, Reply, Turn, compact, say

DIALECTS: tuple[Dialect, ...] = ("anthropic", "chat", "responses")
PATHS: dict[str, Dialect] = {
    "/v1/messages": "anthropic",
    "/v1/messages/count_tokens": "anthropic",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
}
MISBEHAVE_HEADER = "x-fake-misbehave"


class PrefixChanged(AssertionError):
    """With `must_hit`: a request did not read from cache what the one before it had left there."""


class FakeProvider:
    """One loopback server; use `async with`, which starts and stops it.

    Everything it knows lives in it. On the way out it raises what went wrong unseen: a turn
    function that failed, or with `must_hit` a prefix that changed.
    """

    def __init__(
        self,
        turns: Turns | None = None,
        *,
        dialects: Iterable[Dialect] = DIALECTS,
        models: Iterable[FakeModel] = KNOWN_MODELS,
        key: str | None = None,
        context_tokens: int | None = None,
        compatible: bool = False,
        must_hit: bool = False,
        cache_tokens_min: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.requests: list[Asked] = []
        """Every request to a model, in order, refused ones too."""
        self.failures: list[Exception] = []
        """What is raised on the way out."""
        self.port = port
        """The port, once it has started."""
        self.on_answered: Callable[[Asked], None] = lambda asked: None
        """Called when a request's answer was sent, or broke off."""
        self._choose = turns if callable(turns) else by_position(turns) if turns else echo
        self._dialects = frozenset(dialects)
        self._rules = Rules(
            models=by_name(models), key=key, context_tokens=context_tokens, compatible=compatible
        )
        self._must_hit = must_hit
        self._cache = PromptCache(clock, cache_tokens_min)
        self._host = host
        self._next: deque[Misbehaviour] = deque()
        self._played: dict[tuple[str, int], int] = {}
        """By conversation and position: how often a turn that misbehaves was asked for."""
        self._paused: set[str] = set()
        """Contents of replies that were paused, which may come back as the last message."""
        self._requests_count = 0
        self._group: TaskGroup | None = None
        self._listener: socket.socket | None = None

    @property
    def url(self) -> str:
        """The base URL of the Anthropic SDK."""
        return f"http://{self._host}:{self.port}"

    @property
    def openai_url(self) -> str:
        """The base URL of the OpenAI SDK."""
        return f"{self.url}/v1"

    @property
    def refusals(self) -> list[Refused]:
        """What the checks refused, in order."""
        return [asked.refused for asked in self.requests if asked.refused]

    @property
    def cache(self) -> dict[str, CacheTotals]:
        """What each conversation cost, by `Asked.conversation`."""
        return self._cache.totals

    def misbehave(self, *how: Misbehaviour, times: int = 1) -> None:
        """Disturb the next requests that the checks take: each in the order given, `times` over."""
        self._next.extend(how * times)

    async def __aenter__(self) -> Self:
        self._listener = listen(self._host, self.port)
        self.port = self._listener.getsockname()[1]
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._accept, self._listener, self._group)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._group is not None
        assert self._listener is not None
        self._group.cancel_scope.cancel()
        # The block's own error is not passed on, so that it is not wrapped in a group.
        await self._group.__aexit__(None, None, None)
        self._listener.close()
        if error is None and self.failures:
            raise self.failures[0]

    async def _accept(self, listener: socket.socket, group: TaskGroup) -> None:
        while True:
            await anyio.wait_readable(listener)
            try:
                sock, _ = listener.accept()
            except OSError:
                continue
            group.start_soon(self._serve, Connection(sock))

    async def _serve(self, connection: Connection) -> None:
        try:
            while request := await connection.read_request():
                if not await self._exchange(connection, request):
                    return
        except Gone:
            pass
        finally:
            connection.close()

    async def _exchange(self, connection: Connection, request: HttpRequest) -> bool:
        """One request and its answer; False when the connection is over."""
        path = request.target.partition("?")[0]
        dialect = PATHS.get(path)
        served = [each for each, spoken in PATHS.items() if spoken in self._dialects]
        if request.method != "POST" or dialect not in self._dialects:
            await deliver(connection, elsewhere(request, path, served, self._rules), BEHAVES)
            return True
        asked = asked_from(dialect, path, request.headers, request.body)
        self.requests.append(asked)
        self._requests_count += 1
        answer, how = await self._answer(asked, request)
        asked.status = answer.status
        asked.body_bytes = sum(map(len, answer.parts))
        asked.outcome = "gone"
        try:
            asked.outcome = await deliver(connection, answer, how)
        finally:
            self.on_answered(asked)
        if asked.outcome == "reset":
            connection.reset()
        return asked.outcome == "sent"

    async def _answer(self, asked: Asked, request: HttpRequest) -> tuple[Answer, Misbehaviour]:
        request_id = f"req_{self._requests_count:024d}"
        try:
            if asked.path.endswith("/count_tokens"):
                return self._count_only(asked, request), BEHAVES
            goes_on = (
                bool(asked.messages) and compact(asked.messages[-1].get("content")) in self._paused
            )
            pieces = check(asked, request, self._rules, goes_on=goes_on)
            told = _told(request)
            turn = await self._turn(asked)
            how = told or self._misbehaviour(asked, turn)
            if how.replaces_answer:
                return answers.misbehaved(how, asked.dialect, request_id), how
            reply = self._reply(asked, turn, how, pieces)
            return answers.played(reply, asked.dialect, request_id), how
        except Refused as refused:
            asked.refused = refused
            return answers.refusal(refused, asked.dialect, request_id), BEHAVES

    async def _turn(self, asked: Asked) -> Turn:
        try:
            turn = self._choose(asked)
            if isawaitable(turn):
                turn = await turn
        except Refused:
            raise
        except Exception as error:
            # The test's own function: what it raises is the test's to see, on the way out.
            self.failures.append(error)
            raise invalid(f"the turn function failed: {error!r}") from error
        return say(turn) if isinstance(turn, str) else turn

    def _misbehaviour(self, asked: Asked, turn: Turn) -> Misbehaviour:
        if self._next:
            return self._next.popleft()
        if not turn.misbehave:
            return BEHAVES
        place = (asked.conversation, asked.position)
        played = self._played[place] = self._played.get(place, 0) + 1
        return turn.misbehave[played - 1] if played <= len(turn.misbehave) else BEHAVES

    def _reply(self, asked: Asked, turn: Turn, how: Misbehaviour, pieces: list[Piece]) -> Reply:
        model = self._rules.models[asked.model]
        if self._must_hit:
            read = self._cache.would_read(model, pieces)
            if why := self._cache.missed(asked.conversation, pieces, read):
                self.failures.append(PrefixChanged(f"request {self._requests_count}: {why}"))
        counted = self._cache.count(model, asked.conversation, pieces)
        seed = hashlib.sha256(asked.raw).hexdigest()[:24]
        ids = answers.call_ids_of(turn, asked.dialect, seed)
        reply = Reply(
            id=seed,
            model=model.name,
            turn=turn,
            counted=counted,
            body=asked.body,
            quirks=how,
            call_ids=ids if how.tool_id is None else (how.tool_id,) * len(ids),
            thinking=answers.thinking_of(asked.body, model),
        )
        asked.counted = _overridden(answers.with_output(reply), turn)
        reply = replace(reply, counted=asked.counted)
        if turn.stopped == "pause" and asked.dialect == "anthropic":
            self._paused.add(compact(anthropic_stream.content(reply)))
        return reply

    def _count_only(self, asked: Asked, request: HttpRequest) -> Answer:
        check_headers(asked, request, self._rules)
        check_body(asked, self._rules)
        if not asked.messages:
            raise invalid("messages: at least one message is required")
        tokens = tokens_of(pieces_of("anthropic", asked.body))
        return answers.ok({"input_tokens": tokens}, "anthropic")


fake_provider = FakeProvider
"""Named as it is used: `async with fake_provider(turns=...) as fake`."""


def _told(request: HttpRequest) -> Misbehaviour | None:
    """What the request's own header asks for."""
    text = request.headers.get(MISBEHAVE_HEADER)
    if text is None:
        return None
    try:
        return parse_misbehaviour(text)
    except BadMisbehaviour as error:
        raise invalid(f"{MISBEHAVE_HEADER}: {error}") from error


def _overridden(counted: Counted, turn: Turn) -> Counted:
    return replace(counted, **turn.usage) if turn.usage else counted
