"""Whether OpenAI's Responses would take a request."""

from noeta.testing.fake_provider import openai_check as o
from noeta.testing.fake_provider import signing
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import Refused, invalid
from noeta.testing.fake_provider.responses_stream import SEALED
from noeta.testing.fake_provider.turn import Json

FIELDS = frozenset(
    [
        "access_programs",
        "background",
        "background_options",
        "context_management",
        "conversation",
        "image",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "moderation",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    ]
)
INCLUDES = (
    SEALED,
    "message.output_text.logprobs",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
)
ITEM_FIELDS: dict[str, tuple[str, ...]] = {
    "message": ("id", "role", "content", "status", "phase"),
    "function_call": ("id", "call_id", "name", "arguments", "status", "namespace", "caller"),
    "function_call_output": ("id", "call_id", "output", "status", "name", "namespace", "caller"),
    "reasoning": ("id", "summary", "content", "encrypted_content", "status"),
    "item_reference": ("id",),
}
ID_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
ROLES = ("user", "system", "developer", "assistant")
INPUT_PARTS = ("input_text", "input_image", "input_file", "input_audio")
OUTPUT_PARTS = ("output_text", "refusal")
OUTPUT_TOKENS_MIN = 16


def check_responses(body: Json, model: FakeModel) -> None:
    """Refused when Responses would not take this body. The model is known to be there."""
    o.nothing_else(body, FIELDS)
    o.check_output_limit(body, "max_output_tokens", model, least=OUTPUT_TOKENS_MIN)
    o.check_sampling(body, model)
    reasoning = o.an_object(body.get("reasoning") or {}, "reasoning")
    fields = ("effort", "summary", "generate_summary", "context", "mode")
    o.nothing_else(reasoning, fields, "reasoning")
    o.check_effort(reasoning.get("effort"), model, "reasoning.effort")
    if body.get("instructions") is not None:
        o.a_string(body["instructions"], "instructions")
    for index, each in enumerate(o.a_list(body.get("include") or [], "include", "strings")):
        o.one_of(each, INCLUDES, f"include[{index}]")
    if SEALED in (body.get("include") or ()) and not model.reasons:
        raise invalid("Encrypted content is not supported with this model.", param="include")
    if body.get("stream_options") is not None and not body.get("stream"):
        raise invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    if body.get("previous_response_id") is not None:
        # The fake keeps no responses; a client that renders from its own log needs none.
        raise invalid(
            f"Previous response with id '{body['previous_response_id']}' not found.",
            code="previous_response_not_found",
            param="previous_response_id",
        )
    _tools(body)
    given = body.get("input")
    if given is None:
        raise o.missing("input")
    if isinstance(given, str):
        return
    listed = o.a_list(given, "input")
    items = [o.an_object(entry, f"input[{index}]") for index, entry in enumerate(listed)]
    if not items:
        raise o.missing("input")
    for index, item in enumerate(items):
        _item(item, index)
    _ids(items)
    _pairs(items)
    _reasoning(items, body, model)


def kind_of(item: Json) -> object:
    """An item's type; a message may leave it out."""
    return item.get("type", "message" if "role" in item else None)


def _tools(body: Json) -> None:
    names = []
    for index, entry in enumerate(o.a_list(body.get("tools") or [], "tools")):
        path = f"tools[{index}]"
        tool = o.an_object(entry, path)
        if o.needed(tool, "type", path) == "function":
            fields = ("type", "name", "description", "parameters", "strict", "defer_loading")
            o.nothing_else(tool, fields, path)
            names.append(o.check_function(tool, path))
    o.check_names_unique(names)
    choice = body.get("tool_choice")
    if isinstance(choice, str):
        o.one_of(choice, ("none", "auto", "required"), "tool_choice")
        if choice == "required" and not names:
            raise invalid("Tool choice 'required' needs 'tools'.", param="tool_choice")
    elif choice is not None:
        chosen = o.an_object(choice, "tool_choice")
        if chosen.get("type") == "function" and chosen.get("name") not in names:
            raise invalid(
                f"Tool choice 'function' not found in 'tools' parameter: {chosen.get('name')!r}.",
                param="tool_choice",
            )


def _item(item: Json, index: int) -> None:
    path = f"input[{index}]"
    kind = kind_of(item)
    if kind is None:
        raise o.missing(f"{path}.type")
    typed = o.one_of(kind, tuple(ITEM_FIELDS), path)
    o.nothing_else(item, ("type", *ITEM_FIELDS[typed]), path)
    prefix = ID_PREFIXES.get(typed)
    item_id = item.get("id")
    if item_id is not None and prefix and not str(item_id).startswith(f"{prefix}_"):
        if typed == "message" and item.get("role") != "assistant":
            return
        raise invalid(
            f"Invalid '{path}.id': '{item_id}'. Expected an ID that begins with '{prefix}'.",
            code="invalid_value",
            param=f"{path}.id",
        )
    match typed:
        case "message":
            _message(item, path)
        case "function_call":
            o.check_call_id(o.needed(item, "call_id", path), f"{path}.call_id")
            o.check_name(o.needed(item, "name", path), f"{path}.name")
            o.a_string(o.needed(item, "arguments", path), f"{path}.arguments")
        case "function_call_output":
            o.check_call_id(o.needed(item, "call_id", path), f"{path}.call_id")
            output = o.needed(item, "output", path)
            if not isinstance(output, str):
                _parts(output, INPUT_PARTS, f"{path}.output")
        case "reasoning":
            o.a_string(o.needed(item, "id", path), f"{path}.id")
            if "summary" not in item:
                raise o.missing(f"{path}.summary")
            _parts(item["summary"], ("summary_text",), f"{path}.summary")
        case _:
            o.a_string(o.needed(item, "id", path), f"{path}.id")


def _message(item: Json, path: str) -> None:
    role = o.one_of(o.needed(item, "role", path), ROLES, f"{path}.role")
    content = item.get("content")
    if content is None:
        raise o.missing(f"{path}.content")
    if not isinstance(content, str):
        allowed = OUTPUT_PARTS if role == "assistant" else INPUT_PARTS
        _parts(content, allowed, f"{path}.content")


def _parts(parts: object, allowed: tuple[str, ...], path: str) -> None:
    for index, entry in enumerate(o.a_list(parts, path)):
        where = f"{path}[{index}]"
        part = o.an_object(entry, where)
        match o.one_of(o.needed(part, "type", where), allowed, f"{where}.type"):
            case "input_text" | "output_text" | "summary_text":
                if "text" not in part:
                    raise o.missing(f"{where}.text")
                o.a_string(part["text"], f"{where}.text")
            case "refusal":
                o.a_string(o.needed(part, "refusal", where), f"{where}.refusal")
            case "input_image":
                if part.get("file_id") is None:
                    o.check_image_url(o.needed(part, "image_url", where), f"{where}.image_url")
            case "input_file":
                o.check_file(part, where)
            case _:
                pass


def _ids(items: list[Json]) -> None:
    seen: set[str] = set()
    for item in items:
        item_id = item.get("id")
        if item_id is None or kind_of(item) == "item_reference":
            continue
        if item_id in seen:
            raise invalid(
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input "
                "and try again.",
                param="input",
            )
        seen.add(item_id)


def _pairs(items: list[Json]) -> None:
    """Every call has one output after it, and every output a call before it."""
    owed: list[str] = []
    seen: set[str] = set()
    for item in items:
        match kind_of(item):
            case "function_call":
                if item["call_id"] in seen:
                    raise invalid(
                        f"Duplicate function call with call_id {item['call_id']}.", param="input"
                    )
                seen.add(item["call_id"])
                owed.append(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in owed:
                    raise invalid(
                        "No tool call found for function call output with call_id "
                        f"{item['call_id']}.",
                        param="input",
                    )
                owed.remove(item["call_id"])
            case _:
                pass
    if owed:
        raise invalid(f"No tool output found for function call {owed[0]}.", param="input")


def _reasoning(items: list[Json], body: Json, model: FakeModel) -> None:
    """Reasoning is whole and unaltered, and what it led to follows it."""
    for index, item in enumerate(items):
        if kind_of(item) != "reasoning":
            continue
        _sealed(item, body, model)
        following = next(
            (kind_of(after) for after in items[index + 1 :] if kind_of(after) != "reasoning"), None
        )
        led_to = items[index + 1] if index + 1 < len(items) else {}
        if following not in ("message", "function_call") or (
            kind_of(led_to) == "message" and led_to.get("role") != "assistant"
        ):
            raise invalid(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                "following item.",
                param="input",
            )


def _sealed(item: Json, body: Json, model: FakeModel) -> None:
    sealed = item.get("encrypted_content")
    if sealed is None:
        if body.get("store") is False:
            raise Refused(
                404,
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is "
                "set to false. Try again with `store` set to true, or remove this item from your "
                "input.",
                "invalid_request_error",
                None,
                "input",
            )
        return
    inside = signing.opened(str(sealed), model=model.name, kind="reasoning")
    if inside is None or inside[0] != item["id"]:
        raise invalid(
            f"The encrypted content for item {item['id']} could not be verified. Reason: "
            "Encrypted content could not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )
