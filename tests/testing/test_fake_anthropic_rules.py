"""The fake refuses what Anthropic's Messages refuses, in its words, and takes the rest."""

from collections.abc import Callable

import pytest

from noeta.testing.fake_provider import FakeProvider, Thinking, say
from noeta.testing.fake_provider.signing import seal
from tests.testing.fake_bodies import (
    CLAUDE,
    PDF,
    PNG,
    Body,
    Rule,
    broken,
    document,
    ephemeral,
    image,
    messages_body,
    post,
    thought,
)

pytestmark = pytest.mark.anyio

HUGE = "A" * (5 * 1024 * 1024 + 4)
REDACTED = {
    "type": "redacted_thinking",
    "data": seal(model=CLAUDE, kind="redacted", item_id="x", hidden="hm"),
}


def content(index: int, at: int, /, **fields: object) -> Callable[[Body], object]:
    """Change one content block."""
    return lambda body: body["messages"][index]["content"][at].update(fields)


def put(index: int, at: int, block: object) -> Callable[[Body], object]:
    """Put a content block in."""
    return lambda body: body["messages"][index]["content"].insert(at, block)


def top(**fields: object) -> Callable[[Body], object]:
    """Change top-level fields."""
    return lambda body: body.update(fields)


def tool(**fields: object) -> Callable[[Body], object]:
    """Change the first tool."""
    return lambda body: body["tools"][0].update(fields)


def results_late(body: Body) -> None:
    blocks = body["messages"][4]["content"]
    blocks.insert(0, blocks.pop())


def result_in_two_messages(body: Body) -> None:
    second = body["messages"][4]["content"].pop(1)
    body["messages"].append({"role": "user", "content": [second]})


def picture(**source: object) -> Callable[[Body], object]:
    """Change the picture's source."""
    return lambda body: body["messages"][2]["content"][1]["source"].update(source)


MESSAGES = (
    Rule(
        rule="there is a message",
        spoil=top(messages=[]),
        says="at least one message is required",
    ),
    Rule(
        rule="the first message is the user's",
        spoil=lambda body: body["messages"].pop(0),
        says="first message must use the",
    ),
    Rule(
        rule="no message is the system's",
        spoil=lambda body: body["messages"][0].update(role="system"),
        says='Unexpected role "system"',
    ),
    Rule(
        rule="a role is user or assistant",
        spoil=lambda body: body["messages"][0].update(role="tool"),
        says="messages.0.role: Input should be 'user' or 'assistant'",
    ),
    Rule(
        rule="a message has no other field",
        spoil=lambda body: body["messages"][0].update(name="x"),
        says="messages.0.name: Extra inputs are not permitted",
    ),
    Rule(
        rule="a message has content",
        spoil=lambda body: body["messages"][0].update(content=[]),
        says="messages.0: all messages must have non-empty content",
    ),
    Rule(
        rule="text is not empty",
        spoil=content(2, 0, text=""),
        says="text content blocks must be non-empty",
    ),
    Rule(
        rule="text is more than white space",
        spoil=content(2, 0, text=" \n"),
        says="must contain non-whitespace text",
    ),
    Rule(
        rule="a block has no other field",
        spoil=content(2, 0, index=1),
        says="messages.2.content.0.text.index: Extra inputs are not permitted",
    ),
    Rule(
        rule="a block is of a known type",
        spoil=content(2, 0, type="audio"),
        says="messages.2.content.0.type: Input should be",
    ),
    Rule(
        rule="a call stands in an assistant message",
        spoil=put(2, 0, {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}),
        says="messages.2.content.0.type: Input should be",
    ),
    Rule(
        rule="a document does not stand in an assistant message",
        spoil=put(1, 0, document()),
        says="messages.1.content.0.type: Input should be",
    ),
    Rule(
        rule="user text has no citations",
        spoil=content(2, 0, citations=[{"type": "char_location"}]),
        says="citations are not permitted",
    ),
)
PAIRS = (
    Rule(
        rule="every call has a result in the next message",
        spoil=lambda body: body["messages"][4]["content"].pop(1),
        says="`tool_use` ids were found without `tool_result` blocks immediately after: toolu_2.",
    ),
    Rule(
        rule="all results are in the one next message",
        spoil=result_in_two_messages,
        says="`tool_use` ids were found without `tool_result` blocks immediately after: toolu_2.",
    ),
    Rule(
        rule="results come before anything else",
        spoil=results_late,
        says="`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    Rule(
        rule="the last calls have results",
        spoil=lambda body: body["messages"].pop(),
        says="`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
    ),
    Rule(
        rule="a result has a call in the message before",
        spoil=put(2, 0, {"type": "tool_result", "tool_use_id": "toolu_0", "content": "x"}),
        says="unexpected `tool_use_id` found in `tool_result` blocks: toolu_0",
    ),
    Rule(
        rule="a call has one result",
        spoil=put(4, 0, {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}),
        says="each tool_use must have a single result",
    ),
    Rule(
        rule="ids of calls are unique",
        spoil=lambda body: (
            content(3, 3, id="toolu_1")(body),
            body["messages"][4]["content"].pop(1),
        ),
        says="`tool_use` ids must be unique",
    ),
    Rule(
        rule="an id of a call fits the pattern",
        spoil=lambda body: (
            content(3, 2, id="call.1")(body),
            content(4, 0, tool_use_id="call.1")(body),
        ),
        says="tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Rule(
        rule="a call's input is an object",
        spoil=content(3, 2, input="{}"),
        says="tool_use.input: Input should be a valid dictionary",
    ),
    Rule(
        rule="a failed result is text",
        spoil=content(4, 1, content=[image()]),
        says="all content must be type `text` if `is_error` is true",
    ),
)
THINKING = (
    Rule(
        rule="thinking in the latest turn is unaltered",
        spoil=content(3, 0, thinking="I need neither."),
        says="messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest",
    ),
    Rule(
        rule="thinking in the latest turn keeps its signature",
        spoil=content(3, 0, signature="AAAA"),
        says="cannot be modified",
    ),
    Rule(
        rule="earlier thinking is signed",
        spoil=content(1, 0, thinking="Later."),
        says="messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Rule(
        rule="thinking is this model's own",
        spoil=lambda body: body["messages"][1]["content"][0].update(
            thought("Earlier.", "claude-opus-4-8")
        ),
        says="Invalid `signature` in `thinking` block",
    ),
    Rule(
        rule="redacted thinking is unaltered",
        spoil=lambda body: put(1, 0, {**REDACTED, "data": "AAAA"})(body),
        says="messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ),
    Rule(
        rule="an open turn starts with its thinking",
        spoil=lambda body: body["messages"][3]["content"].pop(0),
        says="Expected `thinking` or `redacted_thinking`, but found `text`",
    ),
    Rule(
        rule="thinking carries no breakpoint",
        spoil=content(3, 0, cache_control=ephemeral()),
        says="thinking.cache_control: Extra inputs are not permitted",
    ),
    Rule(
        rule="a budget is less than max_tokens",
        spoil=top(max_tokens=2000),
        says="`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    Rule(
        rule="a budget is 1,024 at least",
        spoil=top(thinking={"type": "enabled", "budget_tokens": 1000}),
        says="budget_tokens: Input should be greater than or equal to 1024",
    ),
    Rule(
        rule="a type of thinking is one the model has",
        spoil=top(thinking={"type": "between_tools"}),
        says='"thinking.type.between_tools" is not supported for this model',
    ),
    Rule(
        rule="thinking does not go with a forced tool",
        spoil=top(tool_choice={"type": "any"}),
        says="Thinking may not be enabled when tool_choice forces tool use.",
    ),
)
FIELDS = (
    Rule(rule="max_tokens is there", spoil=lambda b: b.pop("max_tokens"), says="max_tokens: Field"),
    Rule(rule="max_tokens is 1 at least", spoil=top(max_tokens=0), says="max_tokens: Input should"),
    Rule(
        rule="max_tokens is what the model gives at most",
        spoil=top(max_tokens=128_001),
        says="max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens",
    ),
    Rule(
        rule="no unknown field is there",
        spoil=top(max_completion_tokens=5),
        says="max_completion_tokens: Extra inputs are not permitted",
    ),
    Rule(
        rule="no beta's field is there without its header",
        spoil=top(context_management={}),
        says="context_management: Extra inputs are not permitted",
    ),
    Rule(
        rule="temperature is no field of this version",
        spoil=top(temperature=1),
        says="temperature: Extra inputs are not permitted",
    ),
    Rule(
        rule="system is text or blocks of it",
        spoil=top(system={"text": "x"}),
        says="system: Input should be a valid string or a valid list",
    ),
    Rule(
        rule="system has text only",
        spoil=top(system=[image()]),
        says="system.0.type: Input should be 'text'",
    ),
    Rule(
        rule="system text is not empty",
        spoil=top(system=[{"type": "text", "text": ""}]),
        says="system: text content blocks must be non-empty",
    ),
    Rule(
        rule="the model is one there is",
        spoil=top(model="claude-nobody"),
        says="model: claude-nobody",
        status=404,
        type="not_found_error",
    ),
    Rule(
        rule="the model is this provider's",
        spoil=top(model="gpt-5"),
        says="model: gpt-5",
        status=404,
        type="not_found_error",
    ),
    Rule(rule="a model is named", spoil=lambda b: b.pop("model"), says="model: Field required"),
    Rule(
        rule="effort is one there is",
        spoil=top(output_config={"effort": "huge"}),
        says="output_config.effort: Input should be",
    ),
)
TOOLS = (
    Rule(
        rule="a tool's name fits the pattern",
        spoil=tool(name="my tool"),
        says="tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    Rule(
        rule="a tool's name has 128 characters at most",
        spoil=tool(name="x" * 129),
        says="tools.0.custom.name: String should match pattern",
    ),
    Rule(
        rule="names of tools are unique", spoil=tool(name="Read"), says="Tool names must be unique"
    ),
    Rule(
        rule="a tool has a schema",
        spoil=lambda body: body["tools"][0].pop("input_schema"),
        says="tools.0.custom.input_schema: Field required",
    ),
    Rule(
        rule="a schema is of an object",
        spoil=tool(input_schema={"type": "string"}),
        says="tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    Rule(
        rule="a schema has no choice at its top",
        spoil=tool(input_schema={"type": "object", "anyOf": []}),
        says="does not support oneOf, allOf, or anyOf at the top level",
    ),
    Rule(
        rule="a tool has no unknown field",
        spoil=tool(parameters={}),
        says="tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    Rule(
        rule="the tool that is chosen is there",
        spoil=lambda body: (
            body.pop("thinking"),
            body.update(tool_choice={"type": "tool", "name": "Write"}),
        ),
        says="Tool 'Write' not found in provided tools",
    ),
)
CACHE = (
    Rule(
        rule="there are four breakpoints at most",
        spoil=lambda body: (
            content(2, 0, cache_control=ephemeral())(body),
            content(4, 0, cache_control=ephemeral())(body),
        ),
        says="A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Rule(
        rule="a breakpoint is ephemeral",
        spoil=content(4, 2, cache_control={"type": "always"}),
        says="cache_control.type: Input should be 'ephemeral'",
    ),
    Rule(
        rule="a breakpoint lives 5 minutes or an hour",
        spoil=content(4, 2, cache_control=ephemeral("2h")),
        says="cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    Rule(
        rule="long breakpoints come before short ones",
        spoil=content(4, 2, cache_control=ephemeral("1h")),
        says="must not come after a ttl='5m' cache_control block",
    ),
    Rule(
        rule="a breakpoint does not stand on empty text",
        spoil=content(4, 2, text=""),
        says="cache_control cannot be set for empty text blocks",
    ),
)
MEDIA = (
    Rule(
        rule="an image is of a known type",
        spoil=picture(media_type="image/bmp"),
        says="media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    Rule(rule="an image is base64", spoil=picture(data="no base64!"), says="invalid base64 data"),
    Rule(
        rule="an image is no more than 5 MB", spoil=picture(data=HUGE), says="exceeds 5 MB maximum"
    ),
    Rule(rule="an image is one", spoil=picture(data="AAAA"), says="Could not process image"),
    Rule(
        rule="an image is of the type it names",
        spoil=picture(media_type="image/jpeg"),
        says="does not match the provided media type image/jpeg",
    ),
    Rule(
        rule="a document is a PDF",
        spoil=put(2, 0, {"type": "document", "source": {**document()["source"], "data": PNG}}),
        says="The PDF specified was not valid.",
    ),
    Rule(
        rule="a document's type is a PDF's",
        spoil=put(
            2,
            0,
            {"type": "document", "source": {**document()["source"], "media_type": "text/html"}},
        ),
        says="source.base64.media_type: Input should be 'application/pdf'",
    ),
)
MORE = (
    Rule(
        rule="a result failed or did not",
        spoil=content(4, 1, is_error="yes"),
        says="tool_result.is_error: Input should be a valid boolean",
    ),
    Rule(
        rule="a document is base64",
        spoil=put(2, 0, {"type": "document", "source": {**document()["source"], "data": "no!"}}),
        says="document.source.base64.data: invalid base64 data",
    ),
    Rule(
        rule="a reply does not end in thinking",
        spoil=lambda body: body["messages"].append(
            {"role": "assistant", "content": [thought("Hm.")]}
        ),
        says="The final block in an assistant message cannot be `thinking`.",
    ),
    Rule(
        rule="a message of text alone is more than white space",
        spoil=lambda body: body["messages"][0].update(content=" "),
        says="must contain non-whitespace text",
    ),
    Rule(
        rule="content is text or blocks",
        spoil=lambda body: body["messages"][0].update(content={"type": "text"}),
        says="messages.0.content: Input should be a valid string or a valid list",
    ),
    Rule(
        rule="stream is yes or no", spoil=top(stream="yes"), says="stream: Input should be a valid"
    ),
    Rule(
        rule="a stop sequence is more than white space",
        spoil=top(stop_sequences=["\n"]),
        says="each stop sequence must contain non-whitespace",
    ),
    Rule(
        rule="a choice of tools goes with tools",
        spoil=lambda body: (body.pop("tools"), body.update(tool_choice={"type": "auto"})),
        says="tool_choice may only be specified while providing tools.",
    ),
    Rule(
        rule="a breakpoint does not stand on empty system text",
        spoil=lambda body: body["system"][0].update(text=""),
        says="system.0: cache_control cannot be set for empty text blocks",
    ),
)
SHAPES = (
    Rule(
        rule="tools are a list",
        spoil=top(tools={"a": 1}),
        says="tools: Input should be a valid list",
    ),
    Rule(
        rule="max_tokens is a number",
        spoil=top(max_tokens="9"),
        says="max_tokens: Input should be a valid integer",
    ),
    Rule(
        rule="a message is an object",
        spoil=lambda body: body["messages"].append("hi"),
        says="messages.5: Input should be an object",
    ),
    Rule(
        rule="text is a string",
        spoil=content(2, 0, text=7),
        says="messages.2.content.0.text.text: Input should be a valid string",
    ),
)
RULES = (*SHAPES, *MORE, *MESSAGES, *PAIRS, *THINKING, *FIELDS, *TOOLS, *CACHE, *MEDIA)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.rule.replace(" ", "_"))
async def test_a_request_that_breaks_one_rule_is_refused_for_it(rule: Rule) -> None:
    """Each request is fine but for one thing."""
    await broken("anthropic", rule)


def with_redacted(body: Body) -> None:
    body["messages"][3]["content"].insert(0, REDACTED)


def with_document(body: Body) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": PDF}
    body["messages"][2]["content"].insert(0, {"type": "document", "source": source})


def with_two_user_messages(body: Body) -> None:
    body["messages"].append({"role": "user", "content": "And?"})


def without_earlier_thinking(body: Body) -> None:
    body["messages"][1]["content"].pop(0)


def switched_off(body: Body) -> None:
    body["thinking"] = {"type": "disabled"}
    body["messages"][3]["content"].pop(0)


def adaptive(body: Body) -> None:
    body["thinking"] = {"type": "adaptive", "display": "omitted"}


def automatic(body: Body) -> None:
    body["cache_control"] = ephemeral()


TAKEN = (
    with_redacted,
    with_document,
    with_two_user_messages,
    without_earlier_thinking,
    switched_off,
    adaptive,
    automatic,
)


@pytest.mark.parametrize("change", TAKEN, ids=lambda change: change.__name__)
async def test_what_the_rules_allow_is_taken(change: Callable[[Body], None]) -> None:
    """Strict is not more than strict."""
    body = messages_body()
    change(body)
    async with FakeProvider(["ok"] * 9) as fake:
        answer = await post(fake, "anthropic", body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("model", "thinking", "says"),
    [
        ("claude-opus-5-5", {"type": "disabled"}, 'Use "thinking.type.adaptive" and'),
        ("claude-opus-5-5", {"type": "enabled", "budget_tokens": 2000}, "thinking.type.enabled"),
        ("claude-sonnet-5-5", {"type": "disabled"}, "thinking.type.between_tools"),
        ("claude-haiku-4-5", {"type": "adaptive"}, "thinking.type.adaptive"),
    ],
)
async def test_a_model_takes_only_its_own_types_of_thinking(
    model: str, thinking: Body, says: str
) -> None:
    """The migration pages of the 5.5 models, read in November 2026."""
    user = {"role": "user", "content": "Hi"}
    body = {"model": model, "max_tokens": 4000, "thinking": thinking, "messages": [user]}
    async with FakeProvider(["ok"]) as fake:
        answer = await post(fake, "anthropic", body)
    assert (answer.status_code, says in answer.text.replace("\\", "")) == (400, True), answer.text


@pytest.mark.parametrize(
    ("model", "fields", "says"),
    [
        (
            "claude-sonnet-5-5",
            {"thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}},
            "low, medium and high effort only",
        ),
        (
            "claude-opus-5-5",
            {"tool_choice": {"type": "any"}, "tools": messages_body()["tools"]},
            "forcing tool use is not supported for this model",
        ),
    ],
)
async def test_the_latest_models_have_limits_of_their_own(
    model: str, fields: Body, says: str
) -> None:
    """The migration pages of the 5.5 models, read in November 2026."""
    user = {"role": "user", "content": "Hi"}
    body = {"model": model, "max_tokens": 4000, "messages": [user], **fields}
    async with FakeProvider(["ok"]) as fake:
        answer = await post(fake, "anthropic", body)
    assert (answer.status_code, says in answer.text) == (400, True), answer.text


async def test_a_prefill_is_taken_by_the_models_that_have_it() -> None:
    """Models from 4.6 on end a conversation with the user's message only."""
    said = [{"role": "user", "content": "Sing"}, {"role": "assistant", "content": "La"}]
    async with FakeProvider(["ok", "ok"]) as fake:
        body: Body = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": said}
        assert (await post(fake, "anthropic", body)).status_code == 200
        refused = await post(fake, "anthropic", {**body, "model": "claude-opus-4-8"})
        assert "does not support assistant message prefill" in refused.text
        said[1]["content"] = "La "
        refused = await post(fake, "anthropic", body)
        assert "final assistant content cannot end with trailing whitespace" in refused.text


async def test_a_paused_turn_is_taken_back_as_it_was_and_gone_on_with() -> None:
    """`pause_turn`: the assistant content is sent again unchanged, as the last message."""
    paused = say(Thinking("long"), "Half", stop="pause")
    async with FakeProvider([paused, "done"]) as fake:
        user = {"role": "user", "content": "Go"}
        body: Body = {"model": "claude-opus-5-5", "max_tokens": 4000, "messages": [user]}
        first = (await post(fake, "anthropic", body)).json()
        assert first["stop_reason"] == "pause_turn"
        body["messages"].append({"role": "assistant", "content": first["content"]})
        assert (await post(fake, "anthropic", body)).json()["content"][0]["text"] == "done"
        body["messages"][1]["content"][1]["text"] = "Other"
        assert (await post(fake, "anthropic", body)).status_code == 400


async def test_thinking_comes_back_altered_only_to_be_refused() -> None:
    """What the fake signed it takes; one letter more and it is a 400."""
    async with FakeProvider([say(Thinking("hm"), "Yes"), "ok"]) as fake:
        body = {**messages_body(), "stream": False, "messages": [{"role": "user", "content": "?"}]}
        said = (await post(fake, "anthropic", body)).json()["content"]
        again = [*body["messages"], {"role": "assistant", "content": said}]
        again.append({"role": "user", "content": "Sure?"})
        assert (await post(fake, "anthropic", {**body, "messages": again})).status_code == 200
        said[0]["thinking"] += "!"
        answer = await post(fake, "anthropic", {**body, "messages": again})
    assert "cannot be modified" in answer.json()["error"]["message"]


async def test_the_older_version_takes_a_temperature_but_not_beside_thinking() -> None:
    """Fields that 2026-10-21 removed still stand in 2023-06-01."""
    older = {"anthropic-version": "2023-06-01"}
    body = {**messages_body(), "temperature": 0.5}
    async with FakeProvider(["ok"] * 4) as fake:
        answer = await post(fake, "anthropic", body, older)
        assert "may only be set to 1 when thinking is enabled" in answer.text
        body["temperature"] = 1
        assert (await post(fake, "anthropic", body, older)).status_code == 200
        for field, value in (("top_p", 0.5), ("top_k", 5)):
            answer = await post(fake, "anthropic", {**body, field: value}, older)
            assert f"`{field}` must be" in answer.text
        newer = {**body, "model": "claude-opus-4-8", "thinking": None}
        newer["messages"] = body["messages"][:1]
        answer = await post(fake, "anthropic", newer, older)
        assert "`temperature` is not supported for this model" in answer.text
        del body["thinking"]
        body["temperature"] = 0.5
        assert (await post(fake, "anthropic", body, older)).status_code == 200
        for degree, says in (
            (2, "range: 0..1"),
            (-1, "than or equal to 0"),
            ("hot", "valid number"),
        ):
            answer = await post(fake, "anthropic", {**body, "temperature": degree}, older)
            assert (answer.status_code, says in answer.text) == (400, True)
