"""Every way a provider can fail: the class the kernel acts on, and a sentence for a person."""

import json
import ssl
from email.utils import formatdate
from pathlib import Path

import anyio
import pytest

from noeta.backends.models.endpoint import Endpoint, Patience
from noeta.backends.models.wire_errors import Refusal, error_of, refusal_of, retry_after
from noeta.core.model import ErrorKind, ModelError
from noeta.testing.fake_provider import Misbehaviour, fake_provider, say
from tests.backends.wire_bytes import stream_of
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, ask, heard
from tests.backends.wire_server import response, serving, stream

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
CALM = Patience(grace_seconds=0.2)
"""Long enough for a busy machine; what is to run out is given by the test."""
THERE = Endpoint(
    provider="acme", base_url="http://acme", key="sk-canary-123456", key_env="ACME_API_KEY"
)


async def failure(dialect: Dialect, url: str, patience: Patience = CALM) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await heard(dialect.at(url, patience=patience), ask(dialect.model))
    error = raised.value
    # One sentence that names the provider; no chain may lead to the request and its key.
    assert dialect.name in str(error)
    assert "\n" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    return error


def error_body(**fields: object) -> bytes:
    return json.dumps({"type": "error", "error": fields}).encode()


@pytest.mark.parametrize(
    ("status", "fields", "kind", "says"),
    [
        (529, {"type": "overloaded_error", "message": "Overloaded"}, "transient", "Overloaded"),
        (500, {"type": "api_error", "message": "Oops"}, "transient", "Oops"),
        (504, {"type": "timeout_error", "message": "Slow"}, "transient", "Slow"),
        (429, {"type": "rate_limit_error", "message": "per minute"}, "transient", "per minute"),
        (429, {"type": "requests", "code": "rate_limit_exceeded"}, "transient", ""),
        (429, {"type": "insufficient_quota", "code": "insufficient_quota"}, "quota", "--resume"),
        (429, {"type": "rate_limit_error", "message": "your spend limit"}, "quota", "--resume"),
        (402, {"type": "billing_error", "message": "Pay."}, "quota", "Pay; raise"),
        (
            400,
            {"type": "invalid_request_error", "message": "Your credit balance is too low"},
            "quota",
            "add credit",
        ),
        (401, {"type": "authentication_error", "message": "bad"}, "auth", "set ACME_API_KEY to"),
        (401, {"type": "invalid_request_error", "code": "invalid_api_key"}, "auth", "ACME_API_KEY"),
        (403, {"type": "permission_error", "message": "no"}, "auth", "ACME_API_KEY"),
        (
            400,
            {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"},
            "overflow",
            "larger context",
        ),
        (400, {"code": "context_length_exceeded", "message": "x"}, "overflow", "new task"),
        (413, {"type": "request_too_large", "message": "x"}, "overflow", "new task"),
        (413, {}, "overflow", "new task"),
        (404, {"type": "not_found_error", "message": "model: x"}, "fatal", "check the model 'r'"),
        (404, {"code": "model_not_found", "message": "x"}, "fatal", "base_url http://acme"),
        (400, {"type": "invalid_request_error", "message": "tools.0: bad"}, "fatal", "tools.0"),
        (422, {"detail": "nope"}, "fatal", "nope"),
        (418, {"type": "surprise", "message": "x"}, "fatal", "surprise"),
        (408, {"type": "surprise", "message": "x"}, "transient", ""),
        (503, {"type": "surprise", "message": "x"}, "transient", ""),
        (0, {"type": "overloaded_error", "message": "x"}, "transient", ""),
        (0, {"type": "surprise", "message": "x"}, "transient", ""),
        (0, {"type": "invalid_request_error", "message": "x"}, "fatal", ""),
        (0, {"code": "context_length_exceeded", "message": "x"}, "overflow", ""),
    ],
)
def test_a_refusal_has_the_class_of_its_type_before_that_of_its_status(
    status: int, fields: dict[str, object], kind: ErrorKind, says: str
) -> None:
    """An error in mid-stream has no status at all."""
    error = error_of(refusal_of(error_body(**fields), status=status), THERE, route="r")
    assert error.kind == kind
    assert str(error).startswith("acme ")
    assert says in str(error)


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached for m on requests per min: Limit 3. Please try again in 20s. You can"
        " raise it by adding a payment method at https://platform.example.com/account/billing.",
        "RESOURCE_EXHAUSTED: you exceeded your quota; please retry in 20s.",
    ],
)
def test_a_rate_limit_that_passes_is_no_exhausted_account(message: str) -> None:
    """Though it points to the billing page, or calls itself a quota."""
    for type in ("rate_limit_exceeded", ""):
        assert error_of(Refusal(status=429, type=type, message=message), THERE).kind == "transient"


@pytest.mark.parametrize("status", [501, 505])
def test_a_server_that_takes_no_post_is_no_model_server(status: int) -> None:
    """Such as a server of files: waiting does not mend the address."""
    page = b"<!doctype html><html><title>Error response</title></html>"
    error = error_of(refusal_of(page, status=status), THERE)
    assert error.kind == "fatal"
    assert "check base_url" in str(error)


def test_a_complaint_that_quotes_the_request_is_told_without_it() -> None:
    """As servers built on a well-known framework do."""
    body = {"detail": [{"loc": ["body", "messages"], "msg": "too odd", "input": "SECRET PROMPT"}]}
    for whole in (body, {"error": {"param": "SECRET PROMPT"}}, {"error": ["SECRET PROMPT"]}):
        told = str(error_of(refusal_of(json.dumps(whole).encode(), status=422), THERE))
        assert "SECRET" not in told
    told = str(error_of(refusal_of(json.dumps(body).encode(), status=422), THERE))
    assert "body.messages: too odd" in told


def test_a_spend_cap_that_says_when_to_come_back_is_waited_for() -> None:
    """It is a rate limit then."""
    refusal = Refusal(
        status=429, type="rate_limit_error", message="usage limit reached", retry_after=5.0
    )
    error = error_of(refusal, THERE)
    assert (error.kind, error.retry_after) == ("transient", 5.0)


@pytest.mark.parametrize(
    ("should_retry", "status", "kind"),
    [(True, 400, "transient"), (False, 503, "fatal"), (False, 429, "quota"), (True, 401, "auth")],
)
def test_the_provider_s_own_word_on_trying_again_counts(
    should_retry: bool, status: int, kind: ErrorKind
) -> None:
    """`x-should-retry`, as the official SDKs obey it."""
    refusal = Refusal(status=status, message="x", should_retry=should_retry)
    assert error_of(refusal, THERE).kind == kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "999999"}, 999999.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": formatdate(1030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(10, usegmt=True)}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:17:10"}, 30.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 99 Jan 1970 00:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after_is_read_in_every_form_and_rubbish_is_nothing(
    headers: dict[str, str], seconds: float | None
) -> None:
    """The kernel caps it."""
    assert retry_after(headers, now=1000.0) == seconds


@EACH
async def test_retry_after_comes_with_the_error(dialect: Dialect) -> None:
    """Over the wire."""
    async with fake_provider([say("Hi.")]) as fake:
        fake.misbehave(Misbehaviour(status=429, retry_after="7"))
        error = await failure(dialect, fake.url)
        assert (error.kind, error.retry_after) == ("transient", 7.0)
        fake.misbehave(Misbehaviour(spend_cap=True))
        assert (await failure(dialect, fake.url)).kind == "quota"


@EACH
@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        (Misbehaviour(status=529), "transient", "could not answer now"),
        (Misbehaviour(status=401), "auth", "set WIRE_API_KEY"),
        (Misbehaviour(html=True), "fatal", "answered with a web page (Proxy); check base_url"),
        (Misbehaviour(html=True, status=403), "fatal", "a web page answered"),
        (Misbehaviour(html=True, status=502), "transient", "Proxy"),
        (Misbehaviour(empty=True), "fatal", "no stream of events"),
        (Misbehaviour(error_after=3), "transient", ""),
        (
            Misbehaviour(error_after=3, error_type="invalid_request_error", message="bad"),
            "fatal",
            "bad",
        ),
        (Misbehaviour(close_first=True), "transient", ""),
        (Misbehaviour(then="reset"), "transient", ""),
        (Misbehaviour(then="close"), "transient", ""),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
)
async def test_a_bad_day_of_the_provider(
    dialect: Dialect, how: Misbehaviour, kind: ErrorKind, says: str
) -> None:
    """Each has a class and a sentence."""
    async with fake_provider([say("Hello there, this is a reply of some length.")]) as fake:
        fake.misbehave(how)
        error = await failure(dialect, fake.url)
        assert says in str(error)
        assert error.kind == kind


@EACH
@pytest.mark.parametrize(
    ("how", "patience", "says"),
    [
        (Misbehaviour(then="stall"), Patience(idle_seconds=0.3), "sent nothing for 0.3 seconds"),
        (
            Misbehaviour(then="stall", at_byte=0),
            Patience(idle_seconds=0.3),
            "sent nothing for 0.3 seconds",
        ),
        (
            Misbehaviour(slow_headers_seconds=30.0),
            Patience(idle_seconds=0.3),
            "sent nothing for 0.3 seconds",
        ),
        (
            Misbehaviour(pings_only=True, delay_seconds=0.05),
            Patience(quiet_seconds=0.5),
            "took too long",
        ),
        (
            Misbehaviour(chunk_bytes=30, delay_seconds=0.05),
            Patience(total_seconds=0.5),
            "took too long",
        ),
    ],
    ids=["stall", "stall at once", "no headers", "pings only", "too slow"],
)
async def test_every_wait_has_an_end(
    dialect: Dialect, how: Misbehaviour, patience: Patience, says: str
) -> None:
    """Of each kind, and not only of all of them together."""
    async with fake_provider([say("Hello there. " * 100)]) as fake:
        fake.misbehave(how)
        with anyio.fail_after(20):
            error = await failure(dialect, fake.url, patience)
        assert says in str(error)
        assert error.kind == "transient"


@EACH
async def test_a_stream_without_its_end_is_no_reply(dialect: Dialect) -> None:
    """However much of it came."""
    data = stream_of(dialect, say("Hello."), Misbehaviour(missing_stop=True))
    if dialect.name == "openai-chat":
        # There a reason to stop is the end; servers that send no `[DONE]` are many.
        data = data.replace(b'"finish_reason":"stop"', b'"finish_reason":null')
    async with serving(stream(data)) as server:
        error = await failure(dialect, server.url)
        assert error.kind == "transient"
        assert "broke its reply off" in str(error)


@EACH
async def test_what_comes_after_the_end_spoils_nothing(dialect: Dialect) -> None:
    """A second end, rubbish, or a server that never closes."""
    data = stream_of(dialect, say("Hello."), Misbehaviour(duplicate_stop=True))
    for tail in ((data, b'data: {"error": {"message": "late"}}\n\n'), (data, 30.0)):
        async with serving(stream(*tail)) as server:
            with anyio.fail_after(5):
                reply, _ = await heard(dialect.at(server.url, patience=CALM), ask(dialect.model))
            assert reply.stop == "end"


@EACH
async def test_nobody_listens(dialect: Dialect) -> None:
    """A server that is down may come back."""
    error = await failure(dialect, "http://127.0.0.1:9")
    assert error.kind == "transient"
    assert "cannot be reached at http://127.0.0.1:9" in str(error)


@EACH
async def test_an_address_that_is_not_a_model_server(dialect: Dialect) -> None:
    """It is told at once, not after nine attempts."""
    async with serving(
        response(404, b"<html><title>Nothing</title></html>", "text/html")
    ) as server:
        error = await failure(dialect, server.url)
        assert error.kind == "fatal"
        assert "check base_url" in str(error)
    async with serving(response(200, b'{"hello": 1}', "application/json")) as server:
        error = await failure(dialect, server.url)
        assert error.kind == "fatal"
        assert "is the base URL of a model server" in str(error)
    async with serving(response(307, b"", "text/plain", "location: http://b/?k=1")) as server:
        error = await failure(dialect, server.url)
        assert error.kind == "fatal"
        assert "redirects to http://b/ (307); put that address in base_url" in str(error)


@pytest.mark.parametrize("other", DIALECTS, ids=IDS)
@EACH
async def test_a_server_of_another_dialect(dialect: Dialect, other: Dialect) -> None:
    """A stream in the wrong words is a mistake in the settings."""
    if other is dialect:
        return
    async with serving(stream(stream_of(other, say("Hello.")))) as server:
        error = await failure(dialect, server.url)
        assert error.kind == "fatal"
        assert "dialect" in str(error)


@EACH
async def test_an_event_that_is_no_json(dialect: Dialect) -> None:
    """Something garbled it on the way."""
    async with serving(stream(b'data: {"type": \n\n')) as server:
        assert (await failure(dialect, server.url)).kind == "transient"


@EACH
async def test_a_reply_without_end_is_bounded(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing a server sends fills the memory."""
    monkeypatch.setattr("noeta.backends.models.http.REPLY_CHARS_MAX", 10_000)
    for data in (b": x\n" + b"data: " + b"y" * 20_000, stream_of(dialect, say("z" * 20_000))):
        async with serving(stream(data, 30.0)) as server:
            error = await failure(dialect, server.url)
            assert error.kind == "fatal"
            assert "larger than any model's" in str(error)


def test_a_provider_s_own_words_are_kept_short_and_clean() -> None:
    """On one line, without control characters, without a key in it."""
    words = "a\x1b[31mred\x1b[0m\nline \u202e" + "x" * 5000 + THERE.key
    error = error_of(Refusal(status=400, message=words), THERE)
    assert "a [31mred [0m line xxx" in str(error)
    assert len(str(error)) < 800
    assert "canary" not in str(error)


async def test_a_certificate_that_is_not_trusted_is_told_with_what_to_set(tmp_path: Path) -> None:
    """TLS trouble does not pass by waiting."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    await anyio.run_process(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        f" -keyout {key} -out {certificate}",
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    async with serving([b""], tls=context) as server:
        error = await failure(DIALECTS[0], server.url.replace("http:", "https:"))
    assert error.kind == "fatal"
    assert "SSL_CERT_FILE" in str(error)


async def test_https_to_a_server_that_speaks_plain_http_is_a_mistake() -> None:
    """Not a broken network."""
    async with serving(response(400, b"", "text/plain")) as server:
        error = await failure(DIALECTS[0], server.url.replace("http:", "https:"))
    assert error.kind == "fatal"


async def test_a_proxy_that_is_no_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment, which nobody remembers."""
    monkeypatch.setenv("HTTP_PROXY", "gopher://nowhere:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    error = await failure(DIALECTS[0], "http://models.invalid")
    assert error.kind == "fatal"
    assert "HTTPS_PROXY" in str(error)


async def test_a_request_goes_through_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the base URL is asked of it whole."""
    async with serving(stream(stream_of(DIALECTS[0], say("Hello.")))) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        reply, _ = await heard(DIALECTS[0].at("http://models.invalid"), ask("claude-opus-4-5"))
        assert reply.stop == "end"
        [(line, _, _)] = server.requests
        assert line.startswith("POST http://models.invalid/v1/messages ")


async def test_a_cancelled_call_drops_its_connection() -> None:
    """The provider stops working for nobody."""
    async with fake_provider([say("Hello." * 100)]) as fake:
        fake.misbehave(Misbehaviour(chunk_bytes=10, delay_seconds=0.05))
        async with DIALECTS[0].at(fake.url) as wire:
            with anyio.move_on_after(0.3):
                await wire.call(ask("claude-opus-4-5"), lambda delta: None)
            with anyio.fail_after(5):
                while fake.requests[0].outcome == "open":
                    await anyio.sleep(0.01)
            assert fake.requests[0].outcome == "gone"
