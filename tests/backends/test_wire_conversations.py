"""Conversations over real sockets with the validating fake: it takes every request of them."""

import json

import msgspec
import pytest

from noeta.core.message import Limits, Media, Text, Thinking, ToolCall, ToolSpec
from noeta.core.model import ModelError
from noeta.testing.fake_provider import (
    KNOWN_MODELS,
    Call,
    FakeProvider,
    Misbehaviour,
    Redacted,
    Turn,
    fake_provider,
    say,
)
from noeta.testing.fake_provider import Thinking as Thought
from noeta.testing.generated_logs import PIXEL
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, ask, heard, requests_of
from tests.backends.wire_task import WireTask

READ = ToolSpec(
    name="Read",
    description="Reads a file. " * 400,
    input_schema=msgspec.Raw(b'{"type":"object","properties":{"path":{"type":"string"}}}'),
)
PICTURE = Media(media_type="image/png", data=PIXEL)
LIMITS = Limits(output_tokens_max=8000, thinking_tokens=2000)
EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)


def limits_of(dialect: Dialect) -> Limits:
    """Thinking, where it is asked for with the request."""
    return LIMITS if dialect.name == "anthropic" else Limits(output_tokens_max=8000)


@EACH
async def test_a_conversation_with_tools_and_thinking_is_taken_throughout(
    dialect: Dialect,
) -> None:
    """Thinking comes back byte for byte, calls in parallel are answered together, pictures are
    shown inside a result too."""
    turns = [
        say(Thought("First I look."), "Looking.", Call("Read", {"path": "a"}), Call("Read")),
        say(Thought("Hm."), Redacted("hidden"), Call("Read", {"path": "\u00e9\U0001f600"})),
        say("All done."),
        say(Thought("Again."), "Yes?"),
    ]
    async with fake_provider(turns) as fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", tools=[READ], limits=limits_of(dialect))
        task.say("Read a and tell me.")
        first = await task.step(wire)
        assert [b.name for b in first.content if isinstance(b, ToolCall)] == ["Read", "Read"]
        assert first.stop == "calls"
        task.answer_calls(Text("a line"), PICTURE)
        second = await task.step(wire)
        assert second.stop == "calls"
        task.answer_calls(Text("not found"), PICTURE, is_error=True)
        assert (await task.step(wire)).stop == "end"
        task.end_turn()
        task.say("Sure?")
        assert (await task.step(wire)).content[-1] == Text("Yes?")
        assert fake.refusals == []
        if dialect.name != "openai-chat":
            sent = task.state.messages[:-1]
            thoughts = [b for m in sent for b in m.content if type(b) is Thinking]
            assert len(thoughts) == 3
            for thought in thoughts:
                assert thought.opaque.encode() in fake.requests[-1].raw


@EACH
async def test_every_prefix_of_a_recorded_conversation_is_taken(dialect: Dialect) -> None:
    """Real thinking and sealed reasoning in it, at whatever event a worker took over."""
    turns = [
        say(Thought("Look."), "Looking.", Call("Read", {"path": "a"}), Call("Read")),
        say(Thought("Cut"), "Cut", Call("Read", {"path": "x" * 99}), stop="length"),
        say(Redacted("hidden"), Call("Read")),
        say(Thought("Done."), "Done."),
    ]
    left = list(turns)
    async with FakeProvider(lambda asked: left.pop(0)) as fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", tools=[READ], limits=limits_of(dialect))
        task.say("Go.")
        while left:
            reply = await task.step(wire)
            if task.state.calls:
                task.answer_calls(Text("a line"), PICTURE)
            elif reply.stop == "cut":
                task.say("Go on.")
        task.end_turn()
    model = next(each for each in KNOWN_MODELS if each.name == dialect.model)
    bodies = [json.loads(dialect.render(request)) for request in requests_of(task.log)]
    for found in bodies:
        dialect.check(found, model)
    assert len(bodies) == 14


@EACH
async def test_a_long_task_is_read_from_the_cache(dialect: Dialect) -> None:
    """Of 30 steps over 95 % of the input is read from the provider's cache."""
    turns = [say("Next.", Call("Read", {"path": str(n)})) for n in range(30)] + [say("Done.")]
    async with fake_provider(turns, must_hit=True) as fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", system=["Rules. " * 3000], tools=[READ])
        task.say("Go.")
        while (await task.step(wire)).stop == "calls":
            task.answer_calls(Text("a result of some length " * 4))
        [totals] = fake.cache.values()
        assert totals.requests_count == 31
        used = task.state.usage
        read, new = used.cache_read_tokens, used.input_tokens + used.cache_write_tokens
        # The first request reads nothing; what matters is every later one.
        assert read / (read + new) > 0.95
        assert (read, read + new) == (totals.read_tokens, totals.input_tokens)


async def test_a_step_of_many_calls_is_still_read_from_the_cache() -> None:
    """Anthropic looks back twenty blocks from a breakpoint; a step may have more."""
    calls = [Call("Read", {"path": str(n)}) for n in range(15)]
    async with (
        fake_provider([say(*calls)] * 4 + [say("Done.")], must_hit=True) as fake,
        DIALECTS[0].at(fake.url) as wire,
    ):
        task = WireTask("p/claude-sonnet-4-5", system=["Rules. " * 3000], tools=[READ])
        task.say("Go.")
        while (await task.step(wire)).stop == "calls":
            task.answer_calls(Text("a result " * 40))
        assert task.state.usage.cache_read_tokens > task.state.usage.cache_write_tokens


@EACH
async def test_another_model_goes_on_with_the_conversation(dialect: Dialect) -> None:
    """Its thinking is dropped whole; what was said and done stays."""
    turns = [say(Thought("Mine."), "I look.", Call("Read")), say(Thought("x"), "Hello.")]
    other = {"openai-responses": "gpt-5-mini", "openai-chat": "gpt-4o"}
    async with fake_provider(turns) as fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", tools=[READ], limits=limits_of(dialect))
        task.say("Go.")
        await task.step(wire)
        task.answer_calls(Text("a line"))
        task.end_turn()
        route = f"p/{other.get(dialect.name, 'claude-opus-4-5')}"
        task.prompt(route, tools=[READ], limits=limits_of(dialect))
        task.say("Go on, you.")
        assert (await task.step(wire)).content[-1] == Text("Hello.")
        assert fake.refusals == []


@EACH
async def test_a_route_that_changes_its_dialect_drops_what_is_no_longer_understood(
    dialect: Dialect,
) -> None:
    """A provider's dialect is a setting; the log does not know of it."""
    async with fake_provider([say(Thought("Mine."), "Hi."), say("Hello.")]) as fake:
        task = WireTask("p/m", limits=limits_of(dialect))
        task.say("Go.")
        first = FakeProvider([say(Thought("Mine."), "Hi.")], models=[dialect.fake_model("m")])
        async with first, dialect.at(first.url) as wire:
            await task.step(wire)
        task.end_turn()
        task.say("Again.")
        request = task.renderer.render(task.state)
        for other in DIALECTS:
            if other is not dialect:
                body = json.loads(other.render(request))
                other.check(body, other.fake_model("m"))
        assert fake.requests == []


@EACH
async def test_a_pause_a_cut_and_an_empty_reply_are_gone_on_from(dialect: Dialect) -> None:
    """Whatever a reply left behind, the next request is taken."""
    turns: list[Turn] = [
        say("Half of", stop="pause"),
        say(Thought("and the"), "other half", Call("Read", {"path": "x" * 200}), stop="length"),
        say(Thought("only thought")),
        say("Done."),
    ]
    turns[1] = say(*turns[1].blocks, stop="length", misbehave=(Misbehaviour(truncate_json=True),))
    # By request: replies that are empty or go on leave no message of their own.
    left = list(turns)
    fake = FakeProvider(lambda asked: left.pop(0))
    async with fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", tools=[READ], limits=limits_of(dialect))
        task.say("Go.")
        first = await task.step(wire)
        assert first.stop == ("pause" if dialect.name == "anthropic" else "end")
        if first.stop == "end":
            task.end_turn()
            task.say("Go on.")
        cut = await task.step(wire)
        assert cut.stop == "cut"
        assert not any(isinstance(block, ToolCall) for block in cut.content)
        task.say("Smaller, please.")
        await task.step(wire)
        task.say("Anything?")
        assert (await task.step(wire)).content == (Text("Done."),)
        assert fake.refusals == []


@EACH
async def test_a_tool_name_that_the_model_made_up_does_not_end_the_conversation(
    dialect: Dialect,
) -> None:
    """It is recorded as it came, and sent back in a form that every provider takes."""
    odd = Misbehaviour(tool_name="read file/\u00e9!" * 9)
    turns = [say(Call("Read"), misbehave=(odd,)), say("Sorry.")]
    async with fake_provider(turns) as fake, dialect.at(fake.url) as wire:
        task = WireTask(f"p/{dialect.model}", tools=[READ])
        task.say("Go.")
        first = await task.step(wire)
        assert [b.name for b in first.content if isinstance(b, ToolCall)] == [odd.tool_name]
        task.answer_calls(Text("no such tool"), is_error=True)
        assert (await task.step(wire)).stop == "end"


@EACH
async def test_five_megabytes_of_arguments_arrive(dialect: Dialect) -> None:
    """In time that grows with their size and not with its square."""
    turns = [say(Call("Read"), misbehave=(Misbehaviour(arguments_bytes=5_000_000),))]
    async with fake_provider(turns) as fake:
        request = ask(dialect.model, tools=[READ])
        reply, _ = await heard(dialect.at(fake.url), request)
        [call] = reply.content
        assert isinstance(call, ToolCall)
        assert len(bytes(call.input)) == 5_000_000


async def test_thinking_of_a_compatible_server_goes_back_while_its_calls_go_on() -> None:
    """In the field it came in, and not after the turn."""
    how = (Misbehaviour(reasoning_content=True),)
    turns = [say(Thought("Hm."), Call("Read"), misbehave=how), say("Done."), say("Yes.")]
    async with fake_provider(turns, compatible=True) as fake, DIALECTS[1].at(fake.url) as wire:
        task = WireTask("p/gpt-4.1", tools=[READ])
        task.say("Go.")
        first = await task.step(wire)
        assert [b.text for b in first.content if isinstance(b, Thinking)] == ["Hm."]
        task.answer_calls(Text("a line"))
        await task.step(wire)
        assert fake.requests[1].messages[2]["reasoning_content"] == "Hm."


async def test_a_context_that_is_full_is_an_overflow() -> None:
    """Found out in the middle of a reply as well."""
    async with fake_provider([say("Half", stop="context")]) as fake:
        with pytest.raises(ModelError) as raised:
            await heard(DIALECTS[0].at(fake.url), ask("claude-sonnet-4-5"))
        assert raised.value.kind == "overflow"
