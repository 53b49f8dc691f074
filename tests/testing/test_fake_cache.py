"""The fake's prompt cache reads and writes what the providers' would."""

from collections.abc import Callable
from typing import Any

import pytest

from noeta.testing.fake_clock import FakeClock
from noeta.testing.fake_provider import Counted, Dialect, FakeProvider, PrefixChanged
from tests.testing.fake_bodies import CLAUDE, GPT, Body, ephemeral, post

pytestmark = pytest.mark.anyio

WORDS = "All work and no play makes a dull log. "
LONG = WORDS * 200
"""About 1,950 tokens."""


def text(words: str, **fields: object) -> Body:
    """A text block."""
    return {"type": "text", "text": words, **fields}


def asking(*blocks: Body, system: str = LONG, **fields: object) -> Body:
    """A request to Messages: a marked system prompt and one user message."""
    return {
        "model": CLAUDE,
        "max_tokens": 9,
        "system": [text(system, cache_control=ephemeral())],
        "messages": [{"role": "user", "content": list(blocks) or [text("Hi")]}],
        **fields,
    }


async def counted(fake: FakeProvider, body: Body, dialect: Dialect = "anthropic") -> Counted:
    """What a request cost."""
    answer = await post(fake, dialect, body)
    assert answer.status_code == 200, answer.text
    found = fake.requests[-1].counted
    assert found is not None
    return found


def provider(**options: Any) -> FakeProvider:
    """A fake that caches from 1,024 tokens and says `ok` at every turn."""
    return FakeProvider(["ok"] * 200, **{"cache_tokens_min": 1024, **options})


async def test_what_stands_before_a_breakpoint_is_written_once_and_then_read() -> None:
    """The first request pays for writing, the second for reading; input_tokens excludes both."""
    async with provider() as fake:
        first = await counted(fake, asking())
        answer = (await post(fake, "anthropic", asking())).json()["usage"]
        second = fake.requests[-1].counted
    assert second is not None
    assert (first.read_tokens, first.written_5m_tokens > 1900) == (0, True)
    assert (second.read_tokens, second.written_tokens) == (first.written_tokens, 0)
    assert answer["cache_read_input_tokens"] == second.read_tokens
    assert answer["input_tokens"] == second.input_tokens - second.read_tokens


async def test_a_prefix_that_is_too_short_is_not_cached_in_silence() -> None:
    """The model's minimum."""
    async with provider() as fake:
        costs = [await counted(fake, asking(system=WORDS)) for _ in range(2)]
    assert {(cost.read_tokens, cost.written_tokens) for cost in costs} == {(0, 0)}


def no_change(body: Body) -> None:
    """Nothing."""


def system_changed(body: Body) -> None:
    body["system"][0]["text"] = "X" + LONG


def tools_changed(body: Body) -> None:
    body["tools"] = [{"name": "Bash", "input_schema": {"type": "object"}}]


def model_changed(body: Body) -> None:
    body["model"] = "claude-opus-4-8"


def message_changed(body: Body) -> None:
    body["messages"][0]["content"][0]["text"] = "Y" + LONG


def thinking_changed(body: Body) -> None:
    body["thinking"] = {"type": "adaptive"}


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (no_change, "all"),
        (message_changed, "system"),
        (thinking_changed, "system"),
        (system_changed, "none"),
        (tools_changed, "none"),
        (model_changed, "none"),
    ],
)
async def test_a_change_spoils_what_comes_after_it(
    change: Callable[[Body], None], read: str
) -> None:
    """Tools, then system, then messages; thinking parts the messages only."""
    async with provider() as fake:
        body = asking(text(LONG, cache_control=ephemeral()))
        first = await counted(fake, body)
        change(body)
        second = await counted(fake, body)
    wanted = {"all": first.written_tokens, "system": first.written_tokens // 2, "none": 0}[read]
    assert second.read_tokens == pytest.approx(wanted, abs=30)
    both = second.read_tokens + second.written_tokens
    assert both == pytest.approx(first.written_tokens, abs=30)


@pytest.mark.parametrize(("more", "found"), [(18, True), (19, True), (20, False)])
async def test_an_entry_is_found_20_blocks_back_and_no_further(more: int, found: bool) -> None:
    """The breakpoint itself is the first of the 20."""
    async with provider() as fake:
        start = [text(LONG, cache_control=ephemeral())]
        await counted(fake, asking(*start, system="Be brief."))
        blocks = [text(LONG), *(text(f"{n}") for n in range(more))]
        blocks[-1]["cache_control"] = ephemeral()
        body = asking(*blocks, system="Be brief.")
        del body["system"][0]["cache_control"]
        second = await counted(fake, body)
    assert (second.read_tokens > 0) == found


async def test_entries_live_five_minutes_or_an_hour() -> None:
    """Counted from their last use, by the clock that is given."""
    clock = FakeClock()
    for ttl, seconds in (("5m", 300), ("1h", 3600)):
        async with provider(clock=clock.monotonic) as fake:
            body = asking()
            body["system"][0]["cache_control"] = ephemeral(ttl)
            first = await counted(fake, body)
            assert (first.written_1h_tokens > 0) == (ttl == "1h")
            for wait, read in ((seconds - 1, True), (seconds - 1, True), (seconds + 1, False)):
                clock.advance(wait)
                assert ((await counted(fake, body)).read_tokens > 0) == read


async def test_the_automatic_mode_marks_the_last_block() -> None:
    """Top-level `cache_control` moves on with the conversation."""
    async with provider() as fake:
        body = asking(text(LONG), system="Be brief.", cache_control=ephemeral())
        first = await counted(fake, body)
        body["messages"].append({"role": "assistant", "content": "ok"})
        body["messages"].append({"role": "user", "content": "And?"})
        second = await counted(fake, body)
    assert second.read_tokens == first.written_tokens > 1900


def chatting(words: str, *more: Body, **fields: object) -> Body:
    """A request to Chat Completions."""
    return {"model": GPT, "messages": [{"role": "user", "content": words}, *more], **fields}


async def test_openai_reads_by_itself_in_steps_of_128_from_1024() -> None:
    """prompt_tokens include what was read."""
    # Its last step of 128 is more than half full.
    longer = WORDS * 205
    more = {"role": "user", "content": "And?"}
    async with provider() as fake:
        first = await counted(fake, chatting(longer), "chat")
        second = await counted(fake, chatting(longer, more), "chat")
        short = [await counted(fake, chatting(WORDS * 90), "chat") for _ in range(2)]
        usage = (await post(fake, "chat", chatting(longer, more))).json()["usage"]
    async with provider(cache_tokens_min=4096) as fake:
        short += [await counted(fake, chatting(longer), "chat") for _ in range(2)]
    assert first.read_tokens == 0
    assert second.read_tokens == first.input_tokens // 128 * 128
    assert [cost.read_tokens for cost in short] == [0, 0, 0, 0]
    assert usage["prompt_tokens_details"]["cached_tokens"] == second.read_tokens
    assert usage["prompt_tokens"] > second.read_tokens


async def test_responses_read_from_cache_as_chats_do() -> None:
    """`input_tokens_details.cached_tokens`."""
    body: Body = {"model": GPT, "input": LONG}
    async with provider() as fake:
        usages = [(await post(fake, "responses", body)).json()["usage"] for _ in range(2)]
    read = [usage["input_tokens_details"]["cached_tokens"] for usage in usages]
    assert read == [0, usages[0]["input_tokens"] // 128 * 128]


async def conversation(fake: FakeProvider, *, steps: int, mark: bool) -> None:
    """Turns of a conversation, the last block marked or not."""
    body = asking(text("Go"), system=LONG)
    if not mark:
        del body["system"][0]["cache_control"]
    for step in range(steps):
        last = body["messages"][-1]["content"][-1]
        if mark:
            last["cache_control"] = ephemeral()
        await counted(fake, body)
        last.pop("cache_control", None)
        body["messages"].append({"role": "assistant", "content": "ok"})
        body["messages"].append({"role": "user", "content": [text(f"{step}: {WORDS}")]})


async def test_the_hit_ratio_of_a_conversation_is_told() -> None:
    """Near one with a breakpoint on the last block, and nothing without."""
    async with provider(must_hit=True) as fake:
        await conversation(fake, steps=30, mark=True)
        [totals] = fake.cache.values()
    assert totals.requests_count == 30
    assert 0.95 < totals.hit_ratio < 1
    async with provider() as fake:
        await conversation(fake, steps=3, mark=False)
        [totals] = fake.cache.values()
    assert totals.hit_ratio == 0


@pytest.mark.parametrize("dialect", ["anthropic", "chat"])
async def test_must_hit_fails_a_test_whose_prefix_changed(dialect: Dialect) -> None:
    """It says where, and what was there."""

    async def tells_the_time() -> None:
        async with provider(must_hit=True) as fake:
            for at in ("12:00", "12:01"):
                told = f"It is {at}. {LONG}"
                chat = [{"role": "developer", "content": told}, {"role": "user", "content": "Hi"}]
                body = {"model": GPT, "messages": chat}
                await post(fake, dialect, body if dialect == "chat" else asking(system=told))

    with pytest.raises(PrefixChanged, match=r"request 2: 0 of \d+ .* at byte .*12:00") as seen:
        await tells_the_time()
    assert "12:01" in str(seen.value)


async def test_must_hit_lets_another_conversation_begin_anew() -> None:
    """Conversations are told apart by their first message."""
    async with provider(must_hit=True) as fake:
        await counted(fake, asking(text("one")))
        await counted(fake, asking(text("two"), system="Short."))
        assert len(fake.cache) == 2


async def test_a_picture_costs_what_a_picture_costs() -> None:
    """Not the size of its base64."""
    data = "iVBORw0KGgo" + "A" * 400_001
    source = {"type": "base64", "media_type": "image/png", "data": data}
    async with provider() as fake:
        cost = await counted(fake, asking({"type": "image", "source": source}))
    assert 1600 < cost.input_tokens - 1950 < 1700
