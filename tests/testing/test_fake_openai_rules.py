"""The fake refuses what OpenAI's two dialects refuse, in their words, and takes the rest."""

from collections.abc import Callable

import pytest

from noeta.testing.fake_provider import FakeProvider, Thinking, say
from tests.testing.fake_bodies import (
    Body,
    Rule,
    broken,
    chat_body,
    function_call,
    post,
    reasoning,
    responses_body,
)

pytestmark = pytest.mark.anyio

UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages responding"
NO_REPLY = "messages with role 'tool' must be a response to a preceeding message"


def top(**fields: object) -> Callable[[Body], object]:
    """Change top-level fields."""
    return lambda body: body.update(fields)


def message(index: int, /, **fields: object) -> Callable[[Body], object]:
    """Change one message."""
    return lambda body: body["messages"][index].update(fields)


def item(index: int, /, **fields: object) -> Callable[[Body], object]:
    """Change one input item."""
    return lambda body: body["input"][index].update(fields)


def without(field: str, index: int) -> Callable[[Body], object]:
    """Take one message or item out."""
    return lambda body: body[field].pop(index)


def picture(url: str) -> Callable[[Body], object]:
    """Change the picture of either dialect."""

    def spoil(body: Body) -> None:
        if "input" in body:
            body["input"][0]["content"][1]["image_url"] = url
        else:
            body["messages"][1]["content"][1]["image_url"]["url"] = url

    return spoil


BOTH: tuple[Rule, ...] = (
    Rule(
        rule="no unknown field is there",
        spoil=top(max_token=5),
        says="Unknown parameter: 'max_token'.",
        code="unknown_parameter",
    ),
    Rule(
        rule="the model is one there is",
        spoil=top(model="gpt-nobody"),
        says="The model `gpt-nobody` does not exist or you do not have access to it.",
        status=404,
        code="model_not_found",
    ),
    Rule(
        rule="a reasoning model has no temperature",
        spoil=top(temperature=0.2),
        says="'temperature' is not supported with this model",
        code="unsupported_parameter",
    ),
    Rule(
        rule="an image is of a known type",
        spoil=picture("data:image/bmp;base64,AAAA"),
        says="Invalid MIME type",
        code="invalid_image_format",
    ),
    Rule(
        rule="an image is one",
        spoil=picture("data:image/png;base64,AAAA"),
        says="You uploaded an unsupported image",
        code="invalid_image_format",
    ),
    Rule(
        rule="an image is base64",
        spoil=picture("data:image/png;base64,no!"),
        says="Invalid base64 image_url.",
        code="invalid_base64",
    ),
    Rule(
        rule="an image has an address",
        spoil=picture("picture.png"),
        says="Expected a valid URL",
        code="invalid_value",
    ),
)
CHAT: tuple[Rule, ...] = (
    *BOTH,
    Rule(
        rule="every call has a tool message",
        spoil=without("messages", 3),
        says=f"{UNANSWERED} to each 'tool_call_id'. The following tool_call_ids did not have "
        "response messages: call_2",
    ),
    Rule(
        rule="tool messages come directly after",
        spoil=lambda b: b["messages"].insert(3, {"role": "user", "content": "Well?"}),
        says=UNANSWERED,
    ),
    Rule(
        rule="the last calls have tool messages",
        spoil=lambda b: b["messages"].append(
            {"role": "assistant", "tool_calls": [function_call("call_3", "Bash")]}
        ),
        says=UNANSWERED,
    ),
    Rule(rule="a tool message has a call before it", spoil=without("messages", 2), says=NO_REPLY),
    Rule(
        rule="a tool message names a call",
        spoil=message(3, tool_call_id="call_9"),
        says="'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message",
    ),
    Rule(
        rule="a call is answered once",
        spoil=message(3, tool_call_id="call_1"),
        says="'tool_call_id' of 'call_1' not found",
    ),
    Rule(
        rule="ids of calls are unique",
        spoil=lambda b: b["messages"][2]["tool_calls"][1].update(id="call_1"),
        says="Duplicate value for 'tool_call_id'",
    ),
    Rule(
        rule="a call's arguments are a string",
        spoil=lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments={}),
        says="Invalid type for 'messages[2].tool_calls[0].function.arguments': expected a string",
        code="invalid_type",
    ),
    Rule(
        rule="a role is one there is",
        spoil=message(0, role="robot"),
        says="Invalid value: 'robot'. Supported values are: 'system'",
        code="invalid_value",
    ),
    Rule(
        rule="a user message has content",
        spoil=message(5, content=None),
        says="expected a string, got null",
    ),
    Rule(
        rule="an assistant message has content or calls",
        spoil=lambda b: b["messages"].append({"role": "assistant", "content": None}),
        says="expected a string, got null",
    ),
    Rule(
        rule="thinking is not sent to OpenAI",
        spoil=message(2, reasoning_content="hm"),
        says="Unknown parameter: 'messages[2].reasoning_content'.",
        code="unknown_parameter",
    ),
    Rule(
        rule="there is a message",
        spoil=top(messages=[]),
        says="Invalid 'messages': empty array",
        code="empty_array",
    ),
    Rule(
        rule="messages are there",
        spoil=lambda b: b.pop("messages"),
        says="Missing required parameter: 'messages'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="stream_options go with a stream",
        spoil=top(stream=False),
        says="'stream_options' parameter is only allowed when 'stream' is enabled",
    ),
    Rule(
        rule="a reasoning model has no max_tokens",
        spoil=top(max_tokens=5),
        says="Use 'max_completion_tokens' instead.",
        code="unsupported_parameter",
    ),
    Rule(
        rule="max_completion_tokens is what the model gives at most",
        spoil=top(max_completion_tokens=128_001),
        says="This model supports at most 128000 completion tokens, whereas you provided 128001.",
        code="invalid_value",
    ),
    Rule(
        rule="a tool's name fits the pattern",
        spoil=lambda b: b["tools"][0]["function"].update(name="my tool"),
        says="the pattern '^[a-zA-Z0-9_-]+$'",
        code="invalid_value",
    ),
    Rule(
        rule="a tool's name has 64 characters at most",
        spoil=lambda b: b["tools"][0]["function"].update(name="x" * 65),
        says="string too long. Expected a string with maximum length 64",
        code="string_above_max_length",
    ),
    Rule(
        rule="names of tools are unique",
        spoil=lambda b: b["tools"][0]["function"].update(name="Read"),
        says="Tool names must be unique.",
    ),
    Rule(
        rule="a schema is of an object",
        spoil=lambda b: b["tools"][0]["function"].update(parameters={"type": "array"}),
        says="Invalid schema for function 'Bash'",
        code="invalid_function_parameters",
    ),
    Rule(
        rule="a strict schema is closed",
        spoil=lambda b: b["tools"][0]["function"].update(strict=True),
        says="'additionalProperties' is required to be supplied and to be false",
        code="invalid_function_parameters",
    ),
    Rule(
        rule="a list of tools is not empty",
        spoil=top(tools=[]),
        says="Invalid 'tools': empty array",
        code="empty_array",
    ),
    Rule(
        rule="parallel_tool_calls goes with tools",
        spoil=lambda b: b.pop("tools"),
        says="'parallel_tool_calls' is only allowed when 'tools' are specified",
    ),
    Rule(
        rule="the tool that is chosen is there",
        spoil=top(tool_choice={"type": "function", "function": {"name": "Write"}}),
        says="Tool choice 'Write' not found in 'tools' parameter.",
    ),
)


def unreasoning(**fields: object) -> Callable[[Body], object]:
    """A model without reasoning, and what it is given."""
    return lambda body: (body.pop("reasoning_effort"), body.update(model="gpt-4.1", **fields))


def strict(**fields: object) -> Callable[[Body], object]:
    """A strict tool with this schema."""
    schema = {"type": "object", "properties": {"a": {}}, **fields}
    return lambda body: body["tools"][0]["function"].update(strict=True, parameters=schema)


def file(**fields: object) -> Callable[[Body], object]:
    """A file in the last message."""
    return message(5, content=[{"type": "file", "file": fields}])


CHAT += (
    Rule(
        rule="a message is an object",
        spoil=lambda b: b["messages"].append("hi"),
        says="Invalid type for 'messages[6]': expected an object, but got a string instead.",
        code="invalid_type",
    ),
    Rule(
        rule="there are 128 tools at most",
        spoil=top(tools=[{"type": "function", "function": {"name": f"t{n}"}} for n in range(129)]),
        says="Invalid 'tools': array too long.",
        code="array_above_max_length",
    ),
    Rule(
        rule="effort goes with a model that reasons",
        spoil=top(model="gpt-4.1"),
        says="'reasoning_effort' is not supported with this model",
        code="unsupported_parameter",
    ),
    Rule(
        rule="a strict schema requires all it has",
        spoil=strict(additionalProperties=False),
        says="'required' is required to be supplied",
        code="invalid_function_parameters",
    ),
    Rule(
        rule="temperature is a number",
        spoil=unreasoning(temperature="hot"),
        says="Invalid type for 'temperature': expected a decimal",
        code="invalid_type",
    ),
    Rule(
        rule="temperature is 2 at most",
        spoil=unreasoning(temperature=3),
        says="Invalid 'temperature': decimal out of range.",
        code="decimal_above_max_value",
    ),
    Rule(
        rule="a file is named",
        spoil=file(filename="a.pdf"),
        says="Missing required parameter: 'messages[5].content[0].file.file_id'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a file's data has its type",
        spoil=file(filename="a.pdf", file_data="AAAA"),
        says="Expected a base64-encoded data URL with a MIME type",
        code="invalid_value",
    ),
    Rule(
        rule="a model is named",
        spoil=lambda b: b.pop("model"),
        says="you must provide a model parameter",
    ),
    Rule(
        rule="messages are a list",
        spoil=top(messages={}),
        says="Invalid type for 'messages': expected an array of objects, but got an object",
        code="invalid_type",
    ),
    Rule(
        rule="an id of a call is not empty",
        spoil=message(3, tool_call_id=""),
        says="Invalid 'messages[3].tool_call_id': empty string.",
        code="empty_string",
    ),
    Rule(
        rule="an id of a call has 64 characters at most",
        spoil=message(3, tool_call_id="x" * 65),
        says="Expected a string with maximum length 64",
        code="string_above_max_length",
    ),
    Rule(
        rule="a limit of output is a number",
        spoil=top(max_completion_tokens="9"),
        says="Invalid type for 'max_completion_tokens': expected an integer",
        code="invalid_type",
    ),
    Rule(
        rule="stream is yes or no",
        spoil=top(stream="yes"),
        says="Invalid type for 'stream': expected a boolean, but got a string instead.",
        code="invalid_type",
    ),
    Rule(
        rule="content is text or parts",
        spoil=message(5, content=7),
        says="Invalid type for 'messages[5].content'",
        code="invalid_type",
    ),
    Rule(
        rule="parts of content are not none",
        spoil=message(5, content=[]),
        says="Invalid 'messages[5].content': empty array.",
        code="empty_array",
    ),
    Rule(
        rule="calls are not none",
        spoil=lambda b: b["messages"].append(
            {"role": "assistant", "content": "a", "tool_calls": []}
        ),
        says="Invalid 'messages[6].tool_calls': empty array.",
        code="empty_array",
    ),
    Rule(
        rule="a choice of tools goes with tools",
        spoil=lambda b: (
            b.pop("tools"),
            b.pop("parallel_tool_calls"),
            b.update(tool_choice="auto"),
        ),
        says="'tool_choice' is only allowed when 'tools' are specified.",
    ),
)
RESPONSES: tuple[Rule, ...] = (
    *BOTH,
    Rule(
        rule="stream_options go with a stream",
        spoil=lambda b: (b.pop("stream"), b.update(stream_options={"include_obfuscation": False})),
        says="'stream_options' parameter is only allowed when 'stream' is enabled",
    ),
    Rule(
        rule="the tool that is chosen is there",
        spoil=top(tool_choice={"type": "function", "name": "Write"}),
        says="Tool choice 'function' not found in 'tools' parameter: 'Write'.",
    ),
    Rule(
        rule="a model is named",
        spoil=lambda b: b.pop("model"),
        says="Missing required parameter: 'model'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="an item has a type or a role",
        spoil=lambda b: b["input"][3].pop("type"),
        says="Missing required parameter: 'input[3].type'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a message item has content",
        spoil=lambda b: b["input"][7].pop("content"),
        says="Missing required parameter: 'input[7].content'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a reasoning item has a summary",
        spoil=lambda b: b["input"][1].pop("summary"),
        says="Missing required parameter: 'input[1].summary'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a part of text has its text",
        spoil=lambda b: b["input"][0]["content"][0].pop("text"),
        says="Missing required parameter: 'input[0].content[0].text'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="input is there",
        spoil=lambda b: b.pop("input"),
        says="Missing required parameter: 'input'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a model that does not reason seals nothing",
        spoil=lambda b: (b.pop("reasoning"), b.update(model="gpt-4.1")),
        says="Encrypted content is not supported with this model.",
    ),
    Rule(
        rule="a choice of tools goes with tools",
        spoil=lambda b: (b.pop("tools"), b.update(tool_choice="required")),
        says="Tool choice 'required' needs 'tools'.",
    ),
    Rule(
        rule="every call has an output",
        spoil=without("input", 6),
        says="No tool output found for function call call_2.",
    ),
    Rule(
        rule="an output has a call before it",
        spoil=without("input", 3),
        says="No tool call found for function call output with call_id call_1.",
    ),
    Rule(
        rule="call ids are unique",
        spoil=item(4, call_id="call_1"),
        says="Duplicate function call with call_id call_1.",
    ),
    Rule(
        rule="ids of items are unique",
        spoil=item(4, id="fc_1"),
        says="Duplicate item found with id fc_1.",
    ),
    Rule(
        rule="an id begins as its kind's do",
        spoil=item(3, id="call_1"),
        says="Expected an ID that begins with 'fc'.",
        code="invalid_value",
    ),
    Rule(
        rule="reasoning is unaltered",
        spoil=item(1, encrypted_content="AAAA"),
        says="The encrypted content for item rs_1 could not be verified.",
        code="invalid_encrypted_content",
    ),
    Rule(
        rule="reasoning is sealed with its own id",
        spoil=item(1, id="rs_2"),
        says="The encrypted content for item rs_2 could not be verified.",
        code="invalid_encrypted_content",
    ),
    Rule(
        rule="reasoning is this model's own",
        spoil=lambda b: b["input"][1].update(reasoning(model="gpt-5-mini")),
        says="could not be verified",
        code="invalid_encrypted_content",
    ),
    Rule(
        rule="reasoning that is not stored comes sealed",
        spoil=lambda b: b["input"][1].pop("encrypted_content"),
        says="Items are not persisted when `store` is set to false.",
        status=404,
    ),
    Rule(
        rule="what reasoning led to follows it",
        spoil=lambda b: b["input"].append(reasoning("rs_3")),
        says="Item 'rs_3' of type 'reasoning' was provided without its required following item.",
    ),
    Rule(
        rule="a response before is one that is kept",
        spoil=top(previous_response_id="resp_1"),
        says="Previous response with id 'resp_1' not found.",
        code="previous_response_not_found",
    ),
    Rule(
        rule="output is 16 tokens at least",
        spoil=top(max_output_tokens=5),
        says="Expected a value >= 16, but got 5 instead.",
        code="integer_below_min_value",
    ),
    Rule(
        rule="what is included is there",
        spoil=top(include=["everything"]),
        says="Invalid value: 'everything'.",
        code="invalid_value",
    ),
    Rule(
        rule="an item is of a known type",
        spoil=item(3, type="tool_use"),
        says="Invalid value: 'tool_use'.",
        code="invalid_value",
    ),
    Rule(
        rule="an assistant message holds output text",
        spoil=lambda b: b["input"][2]["content"][0].update(type="input_text"),
        says="Invalid value: 'input_text'. Supported values are: 'output_text', and 'refusal'.",
        code="invalid_value",
    ),
    Rule(
        rule="there is input",
        spoil=top(input=[]),
        says="Missing required parameter: 'input'.",
        code="missing_required_parameter",
    ),
    Rule(
        rule="a tool's name fits the pattern",
        spoil=lambda b: b["tools"][0].update(name="my tool"),
        says="Invalid 'tools[0].name': string does not match pattern.",
        code="invalid_value",
    ),
    Rule(
        rule="messages are no field of it",
        spoil=top(messages=[]),
        says="Unknown parameter: 'messages'.",
        code="unknown_parameter",
    ),
)


@pytest.mark.parametrize("rule", CHAT, ids=lambda rule: rule.rule.replace(" ", "_"))
async def test_a_chat_that_breaks_one_rule_is_refused_for_it(rule: Rule) -> None:
    """Each request is fine but for one thing."""
    await broken("chat", rule)


@pytest.mark.parametrize("rule", RESPONSES, ids=lambda rule: rule.rule.replace(" ", "_"))
async def test_a_response_that_breaks_one_rule_is_refused_for_it(rule: Rule) -> None:
    """Each request is fine but for one thing."""
    await broken("responses", rule)


async def test_sealed_reasoning_makes_the_round_trip() -> None:
    """With store=false, what the fake sealed comes back in the next request and is known again."""
    async with FakeProvider([say(Thinking("hm"), "Yes"), "ok"]) as fake:
        body = {**responses_body(), "stream": False, "input": [{"role": "user", "content": "?"}]}
        output = (await post(fake, "responses", body)).json()["output"]
        assert output[0]["encrypted_content"]
        body["input"] += [*output, {"role": "user", "content": "Sure?"}]
        answer = await post(fake, "responses", body)
    assert answer.json()["output"][0]["content"][0]["text"] == "ok"


async def test_a_compatible_server_takes_its_own_thinking_back() -> None:
    """DeepSeek's and Qwen's `reasoning_content`, which OpenAI would not know."""
    body = chat_body()
    body["messages"][2]["reasoning_content"] = "hm"
    async with FakeProvider(["ok"] * 3, compatible=True) as fake:
        assert (await post(fake, "chat", body)).status_code == 200
