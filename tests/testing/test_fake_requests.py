"""What holds for every dialect of the fake: keys, types, sizes, models, and what tests see."""

import json

import anyio
import anyio.lowlevel
import httpx2
import pytest

from noeta.testing.fake_provider import Asked, Call, Dialect, FakeModel, FakeProvider, Turn, say
from tests.testing.fake_bodies import (
    BODIES,
    HEADERS,
    PATHS,
    chat_body,
    messages_body,
    plain_client,
    post,
)

pytestmark = pytest.mark.anyio

DIALECTS: tuple[Dialect, ...] = ("anthropic", "chat", "responses")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


async def sent(
    fake: FakeProvider,
    dialect: Dialect,
    *,
    drop: tuple[str, ...] = (),
    body: bytes = b"{}",
    **put: str,
) -> httpx2.Response:
    """A request with other headers, or another body."""
    headers = {name: value for name, value in HEADERS.items() if name not in drop}
    headers |= {name.replace("_", "-"): value for name, value in put.items()}
    async with plain_client(fake) as client:
        return await client.post(PATHS[dialect], content=body, headers=headers)


@every_dialect
async def test_a_request_without_a_key_is_refused(dialect: Dialect) -> None:
    """401, with each provider's own type."""
    async with FakeProvider() as fake:
        answer = await sent(fake, dialect, drop=("x-api-key", "authorization"))
    kind = "authentication_error" if dialect == "anthropic" else "invalid_request_error"
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, kind)


@every_dialect
async def test_a_wrong_key_is_refused_and_not_repeated(dialect: Dialect) -> None:
    """The key is nowhere: neither in the error nor in what tests see."""
    wrong = "sk-very-wrong-key-0123456789"
    async with FakeProvider(key="right") as fake:
        answer = await sent(fake, dialect, x_api_key=wrong, authorization=f"Bearer {wrong}")
        shown = repr(fake.requests)
    assert answer.status_code == 401
    assert wrong not in answer.text + shown
    assert ("invalid x-api-key" in answer.text) == (dialect == "anthropic")


async def test_the_right_key_is_taken_in_either_header() -> None:
    """The SDK sends Authorization since 2.0, curl's users x-api-key; the latter counts if both."""
    body = json.dumps(messages_body()).encode()
    async with FakeProvider(["ok"] * 9, key="right") as fake:
        for drop, put in (
            (("x-api-key",), {"authorization": "Bearer right"}),
            (("authorization",), {"x_api_key": "right"}),
            ((), {"x_api_key": "right", "authorization": "Bearer wrong"}),
        ):
            answer = await sent(fake, "anthropic", drop=drop, body=body, **put)
            assert answer.status_code == 200


@pytest.mark.parametrize("version", [None, "2026-13-01"])
async def test_messages_wants_a_version_it_knows(version: str | None) -> None:
    """The header is required."""
    says = "header is required" if version is None else "is not a valid version"
    async with FakeProvider() as fake:
        if version is None:
            answer = await sent(fake, "anthropic", drop=("anthropic-version",))
        else:
            answer = await sent(fake, "anthropic", anthropic_version=version)
    assert (answer.status_code, says in answer.text) == (400, True)


@every_dialect
async def test_a_body_that_is_not_called_json_is_refused(dialect: Dialect) -> None:
    """A wrong content type."""
    async with FakeProvider() as fake:
        answer = await sent(fake, dialect, content_type="text/plain")
    assert answer.status_code == (400 if dialect == "anthropic" else 415)
    assert answer.json()["error"]["type"] == "invalid_request_error"


@every_dialect
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}"])
async def test_a_body_that_is_no_json_object_is_refused(dialect: Dialect, body: bytes) -> None:
    """Neither nothing, nor half of something, nor a list."""
    async with FakeProvider() as fake:
        answer = await sent(fake, dialect, body=body)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    assert ("JSON" in answer.json()["error"]["message"]) == (body in (b"", b"{"))


@every_dialect
async def test_a_request_of_more_than_32_mb_is_refused(dialect: Dialect) -> None:
    """413, whatever is in it."""
    async with FakeProvider() as fake:
        answer = await sent(fake, dialect, body=b" " * (32 * 1024 * 1024 + 1))
    assert answer.status_code == 413
    if dialect == "anthropic":
        assert answer.json()["error"]["type"] == "request_too_large"


@every_dialect
async def test_a_prompt_longer_than_the_window_is_refused(dialect: Dialect) -> None:
    """The window can be set, so that a test need not fill a real one."""
    async with FakeProvider(context_tokens=50) as fake:
        error = (await post(fake, dialect, BODIES[dialect]())).json()["error"]
    if dialect == "anthropic":
        assert error["message"].startswith("prompt is too long: ")
        assert error["message"].endswith(" tokens > 50 maximum")
    else:
        assert error["code"] == "context_length_exceeded"
        says = {"chat": "maximum context length is 50 tokens", "responses": "the context window"}
        assert says[dialect] in error["message"]


async def test_both_lists_of_models_are_those_of_their_owner() -> None:
    """`GET /v1/models`; the version header tells whose it is."""
    async with FakeProvider() as fake, plain_client(fake) as client:
        key = {"authorization": "Bearer x"}
        ours = (await client.get("/v1/models", headers=key)).json()
        theirs = (await client.get("/v1/models", headers=HEADERS)).json()
        one = (await client.get("/v1/models/claude-opus-5-5", headers=HEADERS)).json()
        none = await client.get("/v1/models/nobody", headers=HEADERS)
        bare = await client.get("/v1/models")
    assert ours["object"] == "list"
    assert {entry["object"] for entry in ours["data"]} == {"model"}
    assert theirs["first_id"] == theirs["data"][0]["id"]
    assert one["type"] == "model"
    assert (none.status_code, bare.status_code) == (404, 401)


async def test_a_model_of_ones_own_is_offered() -> None:
    """For compatible servers, whose models have other names."""
    mine = FakeModel(name="qwen", owner="openai", context_tokens=9000, output_tokens_max=99)
    body = {"model": "qwen", "messages": [{"role": "user", "content": "Hi"}]}
    async with FakeProvider(["ok"], models=[mine]) as fake:
        assert (await post(fake, "chat", body)).status_code == 200
        assert (await post(fake, "chat", {**body, "model": "gpt-5"})).status_code == 404


async def test_a_dialect_that_is_not_served_is_not_there() -> None:
    """404, as at any address that is no provider's."""
    async with FakeProvider(dialects=["chat"]) as fake:
        assert (await post(fake, "anthropic", messages_body())).status_code == 404


async def test_tokens_are_counted_as_a_request_would_cost() -> None:
    """`POST /v1/messages/count_tokens`."""
    body = messages_body()
    fields = {name: body[name] for name in ("model", "messages", "tools", "system", "thinking")}
    async with FakeProvider(["ok"] * 3) as fake, plain_client(fake) as client:
        path = "/v1/messages/count_tokens"
        counted = (await client.post(path, json=fields, headers=HEADERS)).json()
        await post(fake, "anthropic", body)
        played = fake.requests[-1].counted
    assert played is not None
    assert counted == {"input_tokens": played.input_tokens}


@every_dialect
async def test_the_turn_is_chosen_by_the_replies_in_the_conversation(dialect: Dialect) -> None:
    """A request asked again gets the same turn, and one past the end a refusal for good."""
    body = BODIES[dialect]()
    turns = ["one", "two", "three", "four"]
    played = {"anthropic": 2, "chat": 1, "responses": 1}[dialect]
    async with FakeProvider(turns) as fake:
        said = [(await post(fake, dialect, body)).text for _ in range(2)]
        assert [turns[played] in text for text in said] == [True, True]
    async with FakeProvider(turns[:played]) as fake:
        answer = await post(fake, dialect, body)
        assert (answer.status_code, f"has no turn {played}" in answer.text) == (400, True)


@every_dialect
async def test_a_function_of_the_request_chooses_the_turn(dialect: Dialect) -> None:
    """It reads what was asked: the last text, results, tools; it may wait."""
    seen: list[Asked] = []

    async def choose(asked: Asked) -> Turn:
        seen.append(asked)
        await anyio.lowlevel.checkpoint()
        return say(f"heard {asked.last_text}", piece_chars=99)

    async with FakeProvider(choose) as fake:
        answer = await post(fake, dialect, BODIES[dialect]())
    [asked] = seen
    assert (asked.new_text, asked.tools[0]) == ("Go on.", "Bash")
    assert "heard Go on." in answer.text
    prefix = "toolu" if dialect == "anthropic" else "call"
    assert asked.results == {f"{prefix}_1": "a b", f"{prefix}_2": "no"}


async def test_a_function_that_fails_fails_the_test() -> None:
    """It is not lost in the server."""

    def choose(asked: Asked) -> Turn:
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        async with FakeProvider(choose) as fake:
            assert (await post(fake, "chat", chat_body())).status_code == 400


async def test_a_tests_own_error_comes_out_as_it_is() -> None:
    """Not wrapped in a group."""

    async def fails() -> None:
        async with FakeProvider() as fake:
            await post(fake, "chat", chat_body())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()


async def test_it_starts_at_once_and_leaves_nothing_behind() -> None:
    """A test can have one of its own: under 20 ms, and the port is free again."""
    before = len(anyio.get_running_tasks())
    fakes = [FakeProvider() for _ in range(20)]
    start = anyio.current_time()
    for fake in fakes:
        async with fake:
            pass
    assert (anyio.current_time() - start) / len(fakes) < 0.02
    async with FakeProvider(port=fakes[0].port):
        pass
    assert len(anyio.get_running_tasks()) == before


@every_dialect
async def test_a_request_asked_again_gets_the_same_bytes(dialect: Dialect) -> None:
    """Ids follow from the request, so that recordings are steady."""
    turn = say("a", Call("Bash", {"command": "ls"}), Call("Bash"))
    said = []
    for _ in range(2):
        async with FakeProvider([turn] * 9) as fake:
            said.append((await post(fake, dialect, BODIES[dialect]())).content)
    assert said[0] == said[1]


async def test_the_echo_says_what_it_hears_and_calls_what_it_is_told() -> None:
    """Without a script, for trials by hand."""
    body = {**chat_body(), "stream": False, "stream_options": None}
    async with FakeProvider() as fake:
        first = (await post(fake, "chat", body)).json()["choices"][0]["message"]
        body["messages"][-1]["content"] = 'call Read {"path": "x"}'
        call = (await post(fake, "chat", body)).json()["choices"][0]["message"]["tool_calls"][0]
        body["messages"].append({"role": "assistant", "tool_calls": [call]})
        body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": "42"})
        last = (await post(fake, "chat", body)).json()["choices"][0]["message"]
    assert first["content"] == "You said: Go on."
    assert call["function"] == {"name": "Read", "arguments": '{"path":"x"}'}
    assert last["content"] == "The tool said: 42"


async def test_a_call_without_input_streams_one_empty_fragment() -> None:
    """As Messages does: no JSON at all stands for an empty object."""
    async with FakeProvider([say(Call("Bash"))] * 9) as fake:
        text = (await post(fake, "anthropic", messages_body())).text
    assert text.count('"partial_json":""') == text.count('"partial_json"') == 1
