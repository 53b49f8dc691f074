"""Each misbehaviour of the fake, seen from a plain client: what was asked for is what comes."""

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
import msgspec
import pytest

from noeta.testing.fake_provider import (
    Call,
    Dialect,
    FakeProvider,
    Misbehaviour,
    Thinking,
    parse_misbehaviour,
    say,
)
from noeta.testing.fake_provider.misbehaviour import BadMisbehaviour
from noeta.testing.fake_provider.provider import MISBEHAVE_HEADER
from tests.testing.fake_bodies import BODIES, HEADERS, PATHS, Body, plain_client, post

pytestmark = pytest.mark.anyio

DIALECTS: tuple[Dialect, ...] = ("anthropic", "chat", "responses")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
TURN = say(Thinking("hm"), "Grüße ☃", Call("Bash", {"command": "ls", "why": "ümläut"}))


@asynccontextmanager
async def disturbed(dialect: Dialect, how: Misbehaviour) -> AsyncIterator[httpx2.Response]:
    """The answer to one request, its body still to be read."""
    async with (
        FakeProvider([TURN] * 9) as fake,
        plain_client(fake, timeout_seconds=0.3) as client,
    ):
        fake.misbehave(how)
        body = BODIES[dialect]()
        async with client.stream("POST", PATHS[dialect], json=body, headers=HEADERS) as answer:
            yield answer


async def whole(dialect: Dialect, how: Misbehaviour | None = None) -> httpx2.Response:
    """The whole answer to one request."""
    async with disturbed(dialect, how or Misbehaviour()) as answer:
        await answer.aread()
        return answer


async def until_it_breaks(answer: httpx2.Response, error: type[Exception]) -> bytes:
    """What arrives before the error that must come."""
    got = b""
    try:
        async for piece in answer.aiter_raw():
            got += piece
    except error:
        return got
    raise AssertionError("it came to its end")


def events(answer: httpx2.Response) -> list[Body]:
    """The events of a stream, without `[DONE]`."""
    lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if "data: " in line]
    return [msgspec.json.decode(line) for line in lines if line != "[DONE]"]


@every_dialect
@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
@pytest.mark.parametrize(
    "retry_after", ["0", "2", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "soon", "999999", None]
)
async def test_a_refusal_has_its_status_and_any_retry_after(
    dialect: Dialect, status: int, retry_after: str | None
) -> None:
    """The header goes out as it is given."""
    answer = await whole(dialect, Misbehaviour(status=status, retry_after=retry_after))
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
    kinds = {429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
    if dialect == "anthropic" and status in kinds:
        assert answer.json()["error"]["type"] == kinds[status]


@every_dialect
async def test_a_spend_cap_has_no_retry_after(dialect: Dialect) -> None:
    """429 that no waiting mends."""
    answer = await whole(dialect, Misbehaviour(spend_cap=True, retry_after="2"))
    assert (answer.status_code, answer.headers.get("retry-after")) == (429, None)
    wanted = "rate_limit_error" if dialect == "anthropic" else "insufficient_quota"
    assert answer.json()["error"]["type"] == wanted


async def test_the_headers_of_the_sdks_are_sent() -> None:
    """`retry-after-ms` and `x-should-retry`."""
    how = Misbehaviour(status=429, retry_after_ms="250", should_retry=False)
    headers = (await whole("chat", how)).headers
    assert (headers["retry-after-ms"], headers["x-should-retry"]) == ("250", "false")


@every_dialect
@pytest.mark.parametrize("status", [200, 502])
async def test_a_proxys_page_comes_for_an_answer(dialect: Dialect, status: int) -> None:
    """HTML, with either status."""
    answer = await whole(dialect, Misbehaviour(html=True, status=status))
    assert (answer.status_code, answer.text[:9]) == (status, "<!DOCTYPE")
    assert answer.headers["content-type"].startswith("text/html")


async def test_an_answer_can_be_empty_or_called_something_else() -> None:
    """An empty body, and a wrong content type."""
    empty = await whole("chat", Misbehaviour(empty=True))
    assert (empty.status_code, empty.content) == (200, b"")
    odd = await whole("anthropic", Misbehaviour(content_type="text/plain"))
    assert (odd.headers["content-type"], "message_stop" in odd.text) == ("text/plain", True)


@every_dialect
async def test_an_error_event_ends_a_stream_that_began_well(dialect: Dialect) -> None:
    """After a 200, with no status of its own."""
    answer = await whole(dialect, Misbehaviour(error_after=3, message="Too busy"))
    *before, last = events(answer)
    assert (answer.status_code, len(before), "Too busy" in str(last)) == (200, 3, True)
    if dialect == "anthropic":
        error = {"type": "overloaded_error", "message": "Too busy"}
        assert last == {"type": "error", "error": error}
    elif dialect == "chat":
        assert last["error"]["message"] == "Too busy"
    else:
        assert (last["type"], last["sequence_number"]) == ("error", 3)


async def test_a_response_can_fail_in_its_own_words() -> None:
    """`response.failed` in place of `error`."""
    how = Misbehaviour(error_after=2, failed_response=True)
    assert events(await whole("responses", how))[-1]["response"]["status"] == "failed"


@every_dialect
async def test_a_tools_input_is_cut_in_half(dialect: Dialect) -> None:
    """Truncated JSON: no client can read it."""
    found = arguments(dialect, await whole(dialect, Misbehaviour(truncate_json=True)))
    assert '{"command":"ls","why":"ümläut"}'.startswith(found)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(found)


@every_dialect
async def test_a_tools_input_can_have_5_mb(dialect: Dialect) -> None:
    """In fragments, and valid."""
    size = 5 * 1024 * 1024
    async with FakeProvider([TURN] * 9) as fake:
        fake.misbehave(Misbehaviour(arguments_bytes=size))
        answer = await post(fake, dialect, BODIES[dialect]())
    found = arguments(dialect, answer)
    assert len(found.encode()) == size
    assert msgspec.json.decode(found)["command"] == "ls"


def arguments(dialect: Dialect, answer: httpx2.Response) -> str:
    """The fragments of a tool's input, put together."""
    found = ""
    for event in events(answer):
        if dialect == "anthropic":
            found += event.get("delta", {}).get("partial_json", "")
        elif dialect == "responses":
            delta = event["type"] == "response.function_call_arguments.delta"
            found += event["delta"] if delta else ""
        else:
            for choice in event["choices"]:
                for call in choice["delta"].get("tool_calls", ()):
                    found += call["function"]["arguments"]
    return found


@every_dialect
async def test_the_stop_comes_twice_or_never(dialect: Dialect) -> None:
    """`message_stop`, `[DONE]` and `response.completed`."""
    stop = {
        "anthropic": "event: message_stop",
        "chat": "data: [DONE]",
        "responses": "event: response.completed",
    }[dialect]
    counts = [
        (await whole(dialect, how)).text.count(stop)
        for how in (
            Misbehaviour(),
            Misbehaviour(duplicate_stop=True),
            Misbehaviour(missing_stop=True),
        )
    ]
    assert counts == [1, 2, 0]


@every_dialect
async def test_a_call_can_have_any_name_and_any_id(dialect: Dialect) -> None:
    """Names and ids that no pattern allows."""
    text = (await whole(dialect, Misbehaviour(tool_name="no such tool!", tool_id="bad.id"))).text
    assert '"no such tool!"' in text
    assert '"bad.id"' in text
    assert '"Bash"' not in text.replace('"name":"Bash","parameters"', "")


async def fragments(how: Misbehaviour) -> list[Body]:
    """The fragments of a chat's tool call."""
    chunks = events(await whole("chat", how))
    deltas = [choice["delta"] for chunk in chunks for choice in chunk.get("choices", ())]
    return [call for delta in deltas for call in delta.get("tool_calls", ())]


async def test_compatible_servers_place_the_id_as_they_like() -> None:
    """On the first fragment, on each, on none."""
    for where, wanted in (("first", {True, False}), ("every", {True}), ("none", {False})):
        how = msgspec.convert({"id_on": where}, Misbehaviour)
        assert {"id" in call for call in await fragments(how)} == wanted


async def test_compatible_servers_leave_out_the_index() -> None:
    """Which tells parallel calls apart."""
    assert {"index" in call for call in await fragments(Misbehaviour(missing_index=True))} == {
        False
    }


async def test_compatible_servers_send_arguments_as_an_object() -> None:
    """In one piece."""
    [call] = await fragments(Misbehaviour(arguments_object=True))
    assert call["function"]["arguments"] == {"command": "ls", "why": "ümläut"}


async def test_compatible_servers_stream_thinking_in_a_field_of_its_own() -> None:
    """`reasoning_content`, as DeepSeek and Qwen do."""
    said = await whole("chat", Misbehaviour(reasoning_content=True))
    assert '"reasoning_content":"hm"' in said.text
    assert "reasoning_content" not in (await whole("chat")).text


@every_dialect
async def test_lines_can_end_as_on_windows(dialect: Dialect) -> None:
    """CR LF, which a split may part."""
    plain, crlf = await whole(dialect), await whole(dialect, Misbehaviour(crlf=True))
    assert crlf.content == plain.content.replace(b"\n", b"\r\n")


@every_dialect
async def test_a_stream_arrives_in_the_pieces_asked_for(dialect: Dialect) -> None:
    """Cut anywhere: inside a character, byte by byte, from the end."""
    plain = (await whole(dialect)).content
    inside = plain.index("ü".encode()) + 1
    for how, sizes in (
        (Misbehaviour(split_at=(inside,)), [inside, len(plain) - inside]),
        (Misbehaviour(split_at=(5, -1)), [5, len(plain) - 6, 1]),
        (Misbehaviour(chunk_bytes=1), [1] * len(plain)),
    ):
        async with disturbed(dialect, how) as answer:
            pieces = [piece async for piece in answer.aiter_raw()]
        assert [len(piece) for piece in pieces] == sizes
        assert b"".join(pieces) == plain


@every_dialect
async def test_a_stall_after_the_headers_sends_nothing_more(dialect: Dialect) -> None:
    """The connection stays open."""
    async with disturbed(dialect, Misbehaviour(then="stall", at_byte=0)) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx2.ReadTimeout):
            await answer.aread()


@every_dialect
async def test_a_stall_in_mid_stream_comes_after_what_was_sent(dialect: Dialect) -> None:
    """Half of an event, then nothing."""
    async with disturbed(dialect, Misbehaviour(then="stall", in_event=2)) as answer:
        got = await until_it_breaks(answer, httpx2.ReadTimeout)
    assert got.count(b"\n\n") == 2
    assert not got.endswith(b"\n")


@every_dialect
async def test_a_reset_in_mid_event_is_a_reset(dialect: Dialect) -> None:
    """RST, after what was sent before it."""
    async with disturbed(dialect, Misbehaviour(then="reset", in_event=1)) as answer:
        got = await until_it_breaks(answer, httpx2.ReadError)
    assert got.count(b"\n\n") == 1


@every_dialect
async def test_a_close_in_mid_stream_is_an_end_without_an_end(dialect: Dialect) -> None:
    """FIN before the last chunk."""
    async with disturbed(dialect, Misbehaviour(then="close", at_byte=100)) as answer:
        with pytest.raises(httpx2.RemoteProtocolError):
            await answer.aread()


async def test_a_connection_can_close_before_any_byte() -> None:
    """As a server does that is being restarted."""
    with pytest.raises(httpx2.RemoteProtocolError):
        await whole("chat", Misbehaviour(close_first=True))


async def test_headers_can_be_slow_and_pieces_late() -> None:
    """Both delays are kept."""
    start = anyio.current_time()
    await whole("chat", Misbehaviour(slow_headers_seconds=0.1))
    assert anyio.current_time() - start >= 0.1
    start = anyio.current_time()
    await whole("chat", Misbehaviour(delay_seconds=0.01))
    assert anyio.current_time() - start >= 0.05


@every_dialect
async def test_pings_come_and_no_answer(dialect: Dialect) -> None:
    """A stream that is alive and says nothing."""
    got = b""
    async with disturbed(dialect, Misbehaviour(pings_only=True, delay_seconds=0.005)) as answer:
        async for piece in answer.aiter_raw():
            got += piece
            if len(got) > 200:
                break
    lines = {line for line in got.split(b"\n") if line}
    wanted = (
        {b"event: ping", b'data: {"type":"ping"}'} if dialect == "anthropic" else {b": keep-alive"}
    )
    assert lines == wanted


async def test_tls_is_not_offered() -> None:
    """A client that wants it fails to connect, at once."""
    async with FakeProvider() as fake, httpx2.AsyncClient(verify=False, timeout=2) as client:
        with pytest.raises(httpx2.ConnectError):
            await client.post(f"https://127.0.0.1:{fake.port}/v1/messages", json={})
        assert (await post(fake, "chat", {})).status_code == 400


async def test_a_request_says_how_its_answer_ended() -> None:
    """`sent`, or as it was told to end, or `gone` when the client left first."""
    async with FakeProvider([TURN] * 9) as fake:
        for how in (Misbehaviour(), Misbehaviour(then="close", at_byte=9)):
            fake.misbehave(how)
            with suppress(httpx2.HTTPError):
                await post(fake, "chat", BODIES["chat"]())
        fake.misbehave(Misbehaviour(then="stall", at_byte=9))
        with anyio.move_on_after(0.1):
            await post(fake, "chat", BODIES["chat"]())
        with anyio.fail_after(2):
            while fake.requests[-1].outcome == "open":
                await anyio.sleep(0.005)
            await anyio.sleep(0.02)
        assert [asked.outcome for asked in fake.requests] == ["sent", "close", "gone"]


async def test_misbehaviours_are_queued_and_invalid_requests_do_not_use_them_up() -> None:
    """529, then 429, then an answer; a request that is refused is refused as ever."""
    body = BODIES["chat"]()
    async with FakeProvider([TURN] * 9) as fake:
        fake.misbehave(Misbehaviour(status=529), Misbehaviour(status=429))
        assert (await post(fake, "chat", {**body, "messages": []})).status_code == 400
        said = [(await post(fake, "chat", body)).status_code for _ in range(3)]
    assert said == [529, 429, 200]


async def test_a_turn_misbehaves_once_in_each_conversation() -> None:
    """The n-th request for it gets its n-th misbehaviour."""
    turn = say("ok", misbehave=(Misbehaviour(status=500),))
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "one"}]}
    other = {"model": "gpt-4o", "messages": [{"role": "user", "content": "two"}]}
    async with FakeProvider([turn]) as fake:
        said = [(await post(fake, "chat", each)).status_code for each in (body, body, other, body)]
    assert said == [500, 200, 500, 200]


async def test_a_header_asks_for_a_misbehaviour() -> None:
    """For trials by hand; one that is none is refused."""
    body = BODIES["chat"]()
    async with FakeProvider([TURN] * 9) as fake:
        told = {MISBEHAVE_HEADER: "status=503; retry-after=2"}
        answer = await post(fake, "chat", body, told)
        wrong = await post(fake, "chat", body, {MISBEHAVE_HEADER: "statsu=503"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert (wrong.status_code, "'statsu' is no misbehaviour" in wrong.text) == (400, True)


def test_a_misbehaviour_is_read_as_it_is_written() -> None:
    """`name=value; name`, with dashes or not."""
    assert parse_misbehaviour("then=reset; in-event=3; split_at=1,-2; crlf") == Misbehaviour(
        then="reset", in_event=3, split_at=(1, -2), crlf=True
    )
    with pytest.raises(BadMisbehaviour, match="then"):
        parse_misbehaviour("then=explode")


async def test_a_client_that_speaks_no_http_hurts_nobody() -> None:
    """Rubbish, half a request, and a reset: the next client is served."""
    async with FakeProvider([TURN] * 9) as fake:
        for rubbish in (
            b"\x00\x01\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            b"GE",
        ):
            sock = socket.create_connection(("127.0.0.1", fake.port))
            sock.sendall(rubbish)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await anyio.sleep(0.01)
            sock.close()
        assert (await post(fake, "chat", BODIES["chat"]())).status_code == 200
