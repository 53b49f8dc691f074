"""No key, header or request is in any error, log line, repr or chain of exceptions."""

import gc
import logging
import traceback

import pytest

from noeta.backends.models.endpoint import Endpoint
from noeta.core.message import Text, UserMessage
from noeta.core.model import ModelError
from noeta.testing.fake_provider import Misbehaviour, fake_provider, say
from tests.backends.wire_dialects import DIALECTS, IDS, KEY, Dialect, ask
from tests.backends.wire_server import response, serving

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
HEADER = "canary-header-0123456789"
PROMPT = "canary-prompt-0123456789"
ECHO = f'{{"error": {{"type": "x", "message": "you sent {KEY} and {HEADER}"}}}}'.encode()


def everything(error: BaseException | None) -> str:
    """All that a program might print of an error, its chain and what the errors hold."""
    told = []
    while error is not None:
        told += [str(error), repr(error), repr(error.args), repr(vars(error))]
        told += traceback.format_exception(error)
        error = error.__cause__ or error.__context__
    return "\n".join(told)


@EACH
async def test_a_key_is_nowhere_but_in_the_request(
    dialect: Dialect, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever goes wrong, with every logger at its most talkative."""
    caplog.set_level(logging.DEBUG)
    told = []
    request = ask(dialect.model, UserMessage((Text(PROMPT),)))

    async def fails(url: str) -> None:
        async with dialect.at(url, headers={"x-extra": HEADER}) as wire:
            told.append(repr(wire) + repr(vars(wire)))
            with pytest.raises(ModelError) as raised:
                await wire.call(request, lambda delta: None)
            told.append(everything(raised.value))

    async with fake_provider([say("Hi.")] * 3) as fake:
        for how in (
            Misbehaviour(status=401),
            Misbehaviour(html=True),
            Misbehaviour(error_after=2),
            Misbehaviour(then="reset"),
            Misbehaviour(close_first=True),
        ):
            fake.misbehave(how)
            await fails(fake.url)
    for status in (400, 401, 404, 500, 200):
        async with serving(response(status, ECHO, "application/json")) as server:
            await fails(server.url)
    await fails("http://127.0.0.1:9")
    await fails("https://127.0.0.1:9")
    text = "\n".join([*told, caplog.text])
    for canary in (KEY, HEADER, PROMPT):
        assert canary not in text


async def test_a_key_that_http_cannot_carry_is_not_quoted() -> None:
    """httpx2's own error would show it."""
    for dialect in DIALECTS:
        for key in ("canary\nkey-1234567", "canary-\u00e9-1234567"):
            wire = dialect.make(
                Endpoint(provider="p", base_url="http://127.0.0.1:9", key=key, key_env="K")
            )
            with pytest.raises(ModelError) as raised:
                await wire.call(ask(dialect.model), lambda delta: None)
            await wire.close()
            assert raised.value.kind == "fatal"
            assert "canary" not in everything(raised.value)
            # An error that was kept in a cycle would keep the request.
            gc.collect()


@pytest.mark.parametrize(
    "key",
    [
        "0123456789abcdef0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
        "my own words of 24 chars",
    ],
)
def test_a_key_is_scrubbed_whatever_it_looks_like(key: str) -> None:
    """Not only those that look like the keys of well-known providers."""
    there = Endpoint(provider="p", base_url="http://h", key=key, key_env="K", headers={"x": key})
    assert key not in there.scrubbed(f"you sent {key}, did you not?")
    alone = Endpoint(provider="p", base_url="http://h", headers={"x-team": key})
    assert key not in alone.scrubbed(f"you sent {key}")


async def test_the_key_goes_in_the_header_of_the_dialect() -> None:
    """And in no other, and extra headers go with it."""
    for dialect in DIALECTS:
        async with serving(response(500, b"", "text/plain")) as server:
            headers = {"x-extra": HEADER, "authorization-hint": "no", "content-type": "text/odd"}
            async with dialect.at(server.url, headers=headers) as wire:
                with pytest.raises(ModelError):
                    await wire.call(ask(dialect.model), lambda delta: None)
            [(_, sent, _)] = server.requests
        name = "x-api-key" if dialect.name == "anthropic" else "authorization"
        assert [key for key, value in sent.items() if KEY in value] == [name]
        assert sent["x-extra"] == HEADER
        assert sent["content-type"] == "application/json"
