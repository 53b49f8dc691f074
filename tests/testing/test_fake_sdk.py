"""The official SDKs decode from the fake what the turn says: it speaks as the real ones do."""

import anthropic
import openai
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from noeta.testing.fake_provider import (
    Call,
    Dialect,
    FakeProvider,
    Misbehaviour,
    Redacted,
    Refusal,
    Text,
    Thinking,
    Turn,
    say,
)
from noeta.testing.fake_provider.turn import Stop
from tests.testing.fake_bodies import messages_body
from tests.testing.fake_sdk_clients import (
    anthropic_client,
    completion,
    decoded,
    message,
    of_completion,
    of_message,
    of_response,
    openai_client,
    response,
    told,
)

pytestmark = pytest.mark.anyio

DIALECTS: tuple[Dialect, ...] = ("anthropic", "chat", "responses")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
bounded = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
BLOCKS = st.one_of(
    WORDS.map(Text),
    WORDS.map(Thinking),
    WORDS.map(Redacted),
    st.builds(Call, st.sampled_from(["Bash", "Read"]), st.dictionaries(WORDS, VALUES, max_size=3)),
)
TURNS = st.builds(
    Turn,
    blocks=st.lists(BLOCKS, min_size=1, max_size=5).map(tuple),
    piece_chars=st.integers(1, 12),
)
CUTS = 24
SMALL = say(Thinking("ö"), "ü☃", Call("Bash", {"é": 1}), Call("Read"), piece_chars=2, stop="calls")
LINES = "next\u0085line\u2028separator\u2029and\x0bold\x1cones\r\n"
"""What Unicode calls the end of a line, and an event stream does not."""


@every_dialect
@bounded
@given(turn=TURNS, chunk_bytes=st.integers(0, 5), crlf=st.booleans())
@example(turn=say(LINES, Call("Bash", {LINES: LINES})), chunk_bytes=0, crlf=False)
async def test_what_an_sdk_decodes_is_what_the_turn_says(
    dialect: Dialect, turn: Turn, chunk_bytes: int, crlf: bool
) -> None:
    """Over generated turns, in pieces of any size."""
    async with FakeProvider([turn]) as fake:
        fake.misbehave(Misbehaviour(chunk_bytes=chunk_bytes, crlf=crlf))
        assert await decoded(fake, dialect) == told(turn.blocks, dialect)


@every_dialect
@pytest.mark.parametrize("crlf", [False, True])
async def test_a_stream_may_be_split_at_every_byte(dialect: Dialect, crlf: bool) -> None:
    """Many cuts at a time, far from each other, until each byte has begun a piece."""
    async with FakeProvider([SMALL]) as fake:
        fake.misbehave(Misbehaviour(crlf=crlf))
        wanted = await decoded(fake, dialect)
        assert wanted == told(SMALL.blocks, dialect)
        size = fake.requests[0].body_bytes
        stride = max(size // CUTS, 64) + 1
        for start in range(1, stride):
            cuts = tuple(range(start, size, stride))
            fake.misbehave(Misbehaviour(split_at=cuts, crlf=crlf))
            assert await decoded(fake, dialect) == wanted, cuts


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end", "end_turn"),
        ("calls", "tool_use"),
        ("length", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause", "pause_turn"),
        ("refusal", "refusal"),
        ("context", "model_context_window_exceeded"),
    ],
)
async def test_messages_stops_for_every_reason(stop: Stop, reason: str) -> None:
    """Each reason there is, and the sequence that stopped it."""
    async with FakeProvider([say("a", stop=stop)]) as fake:
        said = await message(fake, stop_sequences=["END"])
    assert said.stop_reason == reason
    assert said.stop_sequence == ("END" if stop == "stop_sequence" else None)


@pytest.mark.parametrize(
    ("stop", "chat", "responses"),
    [("end", "stop", "completed"), ("calls", "tool_calls", "completed")],
)
async def test_openai_stops_for_every_reason(stop: Stop, chat: str, responses: str) -> None:
    """`finish_reason` of one dialect, `status` of the other."""
    async with FakeProvider([say("a", Call("Bash"), stop=stop)]) as fake:
        assert (await completion(fake)).choices[0].finish_reason == chat
        assert (await response(fake)).status == responses


async def test_a_cut_reply_says_so_in_openais_dialects() -> None:
    """The chat's helper raises; a response is incomplete."""
    async with FakeProvider([say("a", stop="length")]) as fake:
        with pytest.raises(openai.LengthFinishReasonError):
            await completion(fake)
        async with openai_client(fake) as client:
            stream = await client.responses.create(model="gpt-5", input="Hello", stream=True)
            last = [event async for event in stream][-1]
    assert last.type == "response.incomplete"
    assert last.response.incomplete_details is not None
    assert last.response.incomplete_details.reason == "max_output_tokens"


async def test_a_refusal_is_one_in_every_dialect() -> None:
    """A stop reason with its details; a field; a part."""
    async with FakeProvider([say(Refusal("I would rather not."))]) as fake:
        said = await message(fake)
        assert (said.content, said.stop_reason) == ([], "refusal")
        assert said.stop_details.explanation == "I would rather not."
        assert of_completion(await completion(fake)) == [("Refusal", "I would rather not.")]
        assert of_response(await response(fake)) == [("Refusal", "I would rather not.")]


async def test_citations_come_with_their_text() -> None:
    """As deltas of the text block."""
    citation = {
        "type": "char_location",
        "cited_text": "All work",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 8,
        "file_id": None,
    }
    async with FakeProvider([say(Text("So he says.", (citation,)))]) as fake:
        [block] = (await message(fake)).content
    assert [each.to_dict() for each in block.citations] == [citation]


async def test_usage_is_what_the_cache_and_the_script_say() -> None:
    """An override is taken as it is, in each dialect's own names."""
    usage = {
        "input_tokens": 100,
        "read_tokens": 60,
        "written_5m_tokens": 30,
        "output_tokens": 7,
        "thinking_tokens": 5,
    }
    async with FakeProvider([say("a", usage=usage)]) as fake:
        counts = (await message(fake)).usage
        assert (counts.input_tokens, counts.output_tokens) == (10, 7)
        assert counts.cache_read_input_tokens == 60
        assert counts.cache_creation_input_tokens == 30
        assert counts.cache_creation.ephemeral_5m_input_tokens == 30
        chat = (await completion(fake)).usage
        assert (chat.prompt_tokens, chat.completion_tokens, chat.total_tokens) == (100, 7, 107)
        assert chat.prompt_tokens_details.cached_tokens == 60
        assert chat.completion_tokens_details.reasoning_tokens == 5
        own = (await response(fake)).usage
        assert (own.input_tokens, own.output_tokens, own.total_tokens) == (100, 7, 107)
        assert own.input_tokens_details.cached_tokens == 60
        assert own.output_tokens_details.reasoning_tokens == 5


async def test_output_is_counted_with_its_thinking() -> None:
    """Four bytes a token, the same in each dialect."""
    turn = say(Thinking("12345678"), "1234", Call("Bash", {"a": 1}))
    async with FakeProvider([turn]) as fake:
        assert (await message(fake)).usage.output_tokens == 6
        assert (await completion(fake)).usage.completion_tokens_details.reasoning_tokens == 2
        assert (await response(fake)).usage.output_tokens == 6


async def test_thinking_is_shown_omitted_or_off_as_it_was_asked_for() -> None:
    """`display` and the type; what is omitted is still signed."""
    async with FakeProvider([say(Thinking("hm"), "a")]) as fake:
        shown = of_message(await message(fake, thinking={"type": "adaptive"}))
        mode = {"type": "adaptive", "display": "omitted"}
        omitted = of_message(await message(fake, thinking=mode))
        off = of_message(await message(fake, thinking={"type": "disabled"}))
    assert shown == [("Thinking", "hm"), ("Text", "a")]
    assert omitted == [("Thinking", ""), ("Text", "a")]
    assert off == [("Text", "a")]


async def test_what_is_not_streamed_says_the_same() -> None:
    """The SDKs' plain calls."""
    blocks = say("ü", Call("Bash", {"a": [1]}))
    async with FakeProvider([blocks]) as fake:
        async with anthropic_client(fake) as client:
            plain = await client.messages.create(
                model="claude-opus-4-6",
                max_tokens=9,
                messages=[{"role": "user", "content": "Hello"}],
            )
            assert of_message(plain) == told(blocks.blocks, "anthropic")
            models = [model.id async for model in await client.models.list()]
            assert "claude-opus-4-6" in models
        async with openai_client(fake) as client2:
            chat = await client2.chat.completions.create(
                model="gpt-5", messages=[{"role": "user", "content": "Hello"}]
            )
            assert of_completion(chat) == told(blocks.blocks, "chat")
            own = await client2.responses.create(model="gpt-5", input="Hello")
            assert of_response(own) == told(blocks.blocks, "responses")
            assert "gpt-5" in [model.id async for model in await client2.models.list()]


async def test_a_conversation_with_tools_goes_on_with_what_the_sdk_decoded() -> None:
    """Sent back as the SDK gives it: thinking, calls and all."""
    first_turn = say(Thinking("hm"), Call("Bash", {"command": "ls"}), Call("Bash"))
    async with FakeProvider([first_turn, "done"]) as fake:
        first = await message(fake, tools=messages_body()["tools"])
        calls = [block for block in first.content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": call.id} for call in calls]
        said = [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": [block.to_dict() for block in first.content]},
            {"role": "user", "content": results},
        ]
        assert of_message(await message(fake, messages=said)) == [("Text", "done")]
        async with openai_client(fake) as client:
            one = await client.responses.create(
                model="gpt-5",
                input="Hello",
                store=False,
                include=["reasoning.encrypted_content"],
            )
        made = [item for item in one.output if item.type == "function_call"]
        items = [
            {"role": "user", "content": "Hello"},
            *(item.to_dict() for item in one.output),
            *(
                {"type": "function_call_output", "call_id": call.call_id, "output": "a"}
                for call in made
            ),
        ]
        assert of_response(await response(fake, input=items)) == [("Text", "done")]
    assert fake.refusals == []


@pytest.mark.parametrize(
    ("status", "ours", "theirs"),
    [
        (400, anthropic.BadRequestError, openai.BadRequestError),
        (401, anthropic.AuthenticationError, openai.AuthenticationError),
        (403, anthropic.PermissionDeniedError, openai.PermissionDeniedError),
        (404, anthropic.NotFoundError, openai.NotFoundError),
        (413, anthropic.RequestTooLargeError, openai.APIStatusError),
        (429, anthropic.RateLimitError, openai.RateLimitError),
        (500, anthropic.InternalServerError, openai.InternalServerError),
        (529, anthropic.OverloadedError, openai.InternalServerError),
    ],
)
async def test_an_sdk_knows_every_refusal(
    status: int, ours: type[Exception], theirs: type[Exception]
) -> None:
    """By its status and its body."""
    async with FakeProvider(["a"]) as fake:
        fake.misbehave(Misbehaviour(status=status, message="No"), times=3)
        with pytest.raises(ours, match="No"):
            await message(fake)
        with pytest.raises(theirs, match="No"):
            await completion(fake)
        with pytest.raises(theirs, match="No"):
            await response(fake)


async def test_an_sdk_knows_an_error_after_a_200() -> None:
    """In each dialect's stream."""
    async with FakeProvider(["a"]) as fake:
        how = Misbehaviour(error_after=3, message="Too busy")
        fake.misbehave(how, times=3)
        with pytest.raises(anthropic.APIStatusError, match="Too busy"):
            await message(fake)
        with pytest.raises(openai.APIError, match="Too busy"):
            await completion(fake)
        async with openai_client(fake) as client:
            stream = await client.responses.create(model="gpt-5", input="Hello", stream=True)
            last = [event async for event in stream][-1]
            # The SDK hands this one on; only `response.failed` would end its helper.
            assert last.type == "error"
            assert last.message == "Too busy"
