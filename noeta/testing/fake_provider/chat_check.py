"""Whether OpenAI's Chat Completions would take a request."""

from noeta.testing.fake_provider import openai_check as o
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import Refused, invalid
from noeta.testing.fake_provider.turn import Json

FIELDS = frozenset(
    [
        "messages",
        "model",
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    ]
)
MESSAGE_FIELDS: dict[str, tuple[str, ...]] = {
    "system": ("content", "name"),
    "developer": ("content", "name"),
    "user": ("content", "name"),
    "assistant": ("content", "name", "refusal", "tool_calls", "audio", "function_call"),
    "tool": ("content", "tool_call_id"),
}
PARTS: dict[str, tuple[str, ...]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "file", "input_audio"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}


def check_chat(body: Json, model: FakeModel, *, compatible: bool = False) -> None:
    """Refused when Chat Completions would not take this body. The model is known to be there.

    `compatible` takes the assistant's `reasoning_content` back, as servers do that send it.
    """
    o.nothing_else(body, FIELDS)
    if "max_tokens" in body and model.reasons:
        raise invalid(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            code="unsupported_parameter",
            param="max_tokens",
        )
    for name in ("max_tokens", "max_completion_tokens"):
        o.check_output_limit(body, name, model)
    o.check_sampling(body, model)
    o.check_effort(body.get("reasoning_effort"), model, "reasoning_effort")
    _stream_options(body)
    names = _tools(body)
    _tool_choice(body, names)
    messages = o.a_list(o.needed(body, "messages"), "messages")
    if not messages:
        raise invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            code="empty_array",
            param="messages",
        )
    for index, entry in enumerate(messages):
        _message(o.an_object(entry, f"messages[{index}]"), index, compatible=compatible)
    _pairs([entry for entry in messages if isinstance(entry, dict)])


def _stream_options(body: Json) -> None:
    if not isinstance(body.get("stream") or False, bool):
        raise o.wrong_type(body["stream"], "a boolean", "stream")
    if body.get("stream_options") is None:
        return
    options = o.an_object(body["stream_options"], "stream_options")
    if not body.get("stream"):
        raise invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    o.nothing_else(options, ("include_usage", "include_obfuscation"), "stream_options")


def _tools(body: Json) -> list[str]:
    tools = body.get("tools")
    if tools is None:
        if body.get("parallel_tool_calls") is not None:
            raise invalid(
                "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed "
                "when 'tools' are specified.",
                param="parallel_tool_calls",
            )
        return []
    listed = o.a_list(tools, "tools")
    if not listed:
        raise invalid(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            code="empty_array",
            param="tools",
        )
    names = []
    for index, entry in enumerate(listed):
        path = f"tools[{index}]"
        tool = o.an_object(entry, path)
        if o.one_of(o.needed(tool, "type", path), ("function", "custom"), path) == "function":
            function = o.an_object(o.needed(tool, "function", path), f"{path}.function")
            fields = ("name", "description", "parameters", "strict")
            o.nothing_else(function, fields, f"{path}.function")
            names.append(o.check_function(function, f"{path}.function"))
    o.check_names_unique(names)
    return names


def _tool_choice(body: Json, names: list[str]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if body.get("tools") is None and choice != "none":
        raise invalid(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
            "specified.",
            param="tool_choice",
        )
    if isinstance(choice, str):
        o.one_of(choice, ("none", "auto", "required"), "tool_choice")
        return
    function = o.an_object(choice, "tool_choice").get("function", {})
    name = o.needed(o.an_object(function, "tool_choice.function"), "name", "tool_choice.function")
    if name not in names:
        raise invalid(f"Tool choice '{name}' not found in 'tools' parameter.", param="tool_choice")


def _message(message: Json, index: int, *, compatible: bool) -> None:
    path = f"messages[{index}]"
    role = o.one_of(o.needed(message, "role", path), tuple(MESSAGE_FIELDS), f"{path}.role")
    more = ("reasoning_content",) if compatible and role == "assistant" else ()
    o.nothing_else(message, ("role", *MESSAGE_FIELDS[role], *more), path)
    calls = message.get("tool_calls")
    if calls is not None:
        _calls(o.a_list(calls, f"{path}.tool_calls"), f"{path}.tool_calls")
    if role == "tool":
        o.check_call_id(o.needed(message, "tool_call_id", path), f"{path}.tool_call_id")
    content = message.get("content")
    if content is None:
        if role == "assistant" and (calls or message.get("refusal")):
            return
        raise invalid(
            f"Invalid value for 'content': expected a string, got null. ({path}.content)",
            param=f"{path}.content",
        )
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise o.wrong_type(content, "one of a string or array of objects", f"{path}.content")
    if not content:
        raise invalid(
            f"Invalid '{path}.content': empty array. Expected an array with minimum length 1, but "
            "got an empty array instead.",
            code="empty_array",
            param=f"{path}.content",
        )
    for at, part in enumerate(content):
        _part(o.an_object(part, f"{path}.content[{at}]"), PARTS[role], f"{path}.content[{at}]")


def _part(part: Json, allowed: tuple[str, ...], path: str) -> None:
    kind = o.one_of(o.needed(part, "type", path), allowed, f"{path}.type")
    o.nothing_else(part, ("type", kind, "prompt_cache_breakpoint"), path)
    match kind:
        case "text" | "refusal":
            o.a_string(o.needed(part, kind, path), f"{path}.{kind}")
        case "image_url":
            image = o.an_object(o.needed(part, kind, path), f"{path}.{kind}")
            o.nothing_else(image, ("url", "detail"), f"{path}.{kind}")
            url = o.needed(image, "url", f"{path}.{kind}")
            o.check_image_url(url, f"{path}.image_url.url")
        case "file":
            o.check_file(o.an_object(o.needed(part, kind, path), f"{path}.file"), f"{path}.file")
        case _:
            pass


def _calls(calls: list[object], path: str) -> None:
    if not calls:
        raise invalid(
            f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            code="empty_array",
            param=path,
        )
    for index, entry in enumerate(calls):
        where = f"{path}[{index}]"
        call = o.an_object(entry, where)
        o.nothing_else(call, ("id", "type", "function", "custom"), where)
        o.check_call_id(o.needed(call, "id", where), f"{where}.id")
        o.one_of(o.needed(call, "type", where), ("function", "custom"), f"{where}.type")
        function = o.an_object(o.needed(call, "function", where), f"{where}.function")
        o.nothing_else(function, ("name", "arguments"), f"{where}.function")
        o.check_name(o.needed(function, "name", f"{where}.function"), f"{where}.function.name")
        arguments = o.needed(function, "arguments", f"{where}.function")
        o.a_string(arguments, f"{where}.function.arguments")


def _pairs(messages: list[Json]) -> None:
    """Every call is answered by tool messages directly after, each once."""
    owed: list[str] = []
    asked: set[str] = set()
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            call_id = message["tool_call_id"]
            if not asked:
                raise invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'.",
                    param=f"messages.[{index}].role",
                )
            if call_id not in owed:
                raise invalid(
                    f"Invalid parameter: 'tool_call_id' of '{call_id}' not found in 'tool_calls' "
                    "of previous message.",
                    param=f"messages.[{index}].tool_call_id",
                )
            owed.remove(call_id)
            continue
        if owed:
            raise _unanswered(owed, index)
        owed = [call["id"] for call in message.get("tool_calls") or ()]
        asked = set(owed)
        if len(asked) < len(owed):
            raise invalid(
                f"Duplicate value for 'tool_call_id' in message {index}. Ids of tool calls must "
                "be unique.",
                param=f"messages.[{index}].tool_calls",
            )
    if owed:
        raise _unanswered(owed, len(messages))


def _unanswered(owed: list[str], index: int) -> Refused:
    return invalid(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(owed)}",
        param=f"messages.[{index}].role",
    )
