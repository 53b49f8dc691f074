"""The rules that OpenAI's two dialects share: fields, tools, limits, images."""

import re
from collections.abc import Collection, Mapping

from noeta.testing.fake_provider import media
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import Refused, invalid
from noeta.testing.fake_provider.turn import Json

NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
NAME_CHARS_MAX = 64
TOOLS_MAX = 128
CALL_ID_CHARS_MAX = 64
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
IMAGES = "['png', 'jpeg', 'gif', 'webp']"

_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    type(None): "null",
}


def wrong_type(value: object, expected: str, param: str) -> Refused:
    """A value of the wrong type."""
    got = _KINDS.get(type(value), "something else")
    return invalid(
        f"Invalid type for '{param}': expected {expected}, but got {got} instead.",
        code="invalid_type",
        param=param,
    )


def missing(param: str) -> Refused:
    """A parameter that is not there."""
    return invalid(
        f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param
    )


def needed(holder: Mapping[str, object], name: str, path: str = "") -> object:
    """The field. Refused when it is missing or null."""
    param = f"{path}.{name}" if path else name
    if holder.get(name) is None:
        raise missing(param)
    return holder[name]


def a_string(value: object, param: str) -> str:
    """Refused when it is no string."""
    if not isinstance(value, str):
        raise wrong_type(value, "a string", param)
    return value


def an_object(value: object, param: str) -> Json:
    """Refused when it is no object."""
    if not isinstance(value, dict):
        raise wrong_type(value, "an object", param)
    return value


def a_list(value: object, param: str, of: str = "objects") -> list[object]:
    """Refused when it is no list."""
    if not isinstance(value, list):
        raise wrong_type(value, f"an array of {of}", param)
    return value


def one_of(value: object, allowed: Collection[str], param: str) -> str:
    """Refused when it is not among the allowed."""
    if not isinstance(value, str) or value not in allowed:
        *most, last = [f"'{each}'" for each in allowed]
        words = f"{', '.join(most)}, and {last}" if most else last
        raise invalid(
            f"Invalid value: '{value}'. Supported values are: {words}.",
            code="invalid_value",
            param=param,
        )
    return value


def nothing_else(holder: Mapping[str, object], allowed: Collection[str], path: str = "") -> None:
    """Refused when there is a field that is not among the allowed."""
    for name in holder:
        if name not in allowed:
            param = f"{path}.{name}" if path else name
            raise invalid(f"Unknown parameter: '{param}'.", code="unknown_parameter", param=param)


def check_name(value: object, param: str) -> str:
    """Refused when a tool cannot be called so."""
    name = a_string(value, param)
    if not re.fullmatch(NAME_PATTERN.strip("^$"), name):
        raise invalid(
            f"Invalid '{param}': string does not match pattern. Expected a string that matches "
            f"the pattern '{NAME_PATTERN}'.",
            code="invalid_value",
            param=param,
        )
    if len(name) > NAME_CHARS_MAX:
        raise _too_long(name, NAME_CHARS_MAX, param)
    return name


def check_call_id(value: object, param: str) -> str:
    """Refused when it is no id of a call."""
    call_id = a_string(value, param)
    if not call_id:
        raise invalid(
            f"Invalid '{param}': empty string. Expected a string with minimum length 1, but got "
            "an empty string instead.",
            code="empty_string",
            param=param,
        )
    if len(call_id) > CALL_ID_CHARS_MAX:
        raise _too_long(call_id, CALL_ID_CHARS_MAX, param)
    return call_id


def check_function(function: Json, path: str) -> str:
    """The name of a function tool. Refused when its declaration has a mistake."""
    name = check_name(needed(function, "name", path), f"{path}.name")
    if function.get("description") is not None:
        a_string(function["description"], f"{path}.description")
    if function.get("parameters") is None:
        return name
    schema = an_object(function["parameters"], f"{path}.parameters")
    if schema.get("type", "object") != "object":
        raise invalid(
            f"Invalid schema for function '{name}': schema must be a JSON Schema of "
            f"'type: \"object\"', got 'type: \"{schema['type']}\"'.",
            code="invalid_function_parameters",
            param=f"{path}.parameters",
        )
    if function.get("strict"):
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            raise invalid(
                f"Invalid schema for function '{name}': In context=(), 'additionalProperties' is "
                "required to be supplied and to be false.",
                code="invalid_function_parameters",
                param=f"{path}.parameters",
            )
        if set(schema.get("required", ())) != set(properties):
            raise invalid(
                f"Invalid schema for function '{name}': In context=(), 'required' is required to "
                "be supplied and to be an array including every key in properties.",
                code="invalid_function_parameters",
                param=f"{path}.parameters",
            )
    return name


def check_names_unique(names: list[str]) -> None:
    """Refused when two tools have one name."""
    if len(names) > TOOLS_MAX:
        raise invalid(
            f"Invalid 'tools': array too long. Expected an array with maximum length {TOOLS_MAX}, "
            f"but got an array with length {len(names)} instead.",
            code="array_above_max_length",
            param="tools",
        )
    for index, name in enumerate(names):
        if name in names[:index]:
            raise invalid(
                f"Duplicate tool name '{name}'. Tool names must be unique.", param="tools"
            )


def check_output_limit(body: Json, name: str, model: FakeModel, *, least: int = 1) -> None:
    """Refused when more output is asked for than the model gives, or less than the least."""
    limit = body.get(name)
    if limit is None:
        return
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise wrong_type(limit, "an integer", name)
    if limit < least:
        raise invalid(
            f"Invalid '{name}': integer below minimum value. Expected a value >= {least}, but got "
            f"{limit} instead.",
            code="integer_below_min_value",
            param=name,
        )
    if limit > model.output_tokens_max:
        raise invalid(
            f"{name} is too large: {limit}. This model supports at most "
            f"{model.output_tokens_max} completion tokens, whereas you provided {limit}.",
            code="invalid_value",
            param=name,
        )


def check_sampling(body: Json, model: FakeModel) -> None:
    """Refused when temperature or top_p are out of range, or nothing for this model."""
    for name, most in (("temperature", 2.0), ("top_p", 1.0)):
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong_type(value, "a decimal", name)
        if not model.sampling and value != 1:
            raise invalid(
                f"Unsupported parameter: '{name}' is not supported with this model.",
                code="unsupported_parameter",
                param=name,
            )
        if not 0 <= value <= most:
            raise invalid(
                f"Invalid '{name}': decimal out of range. Expected a value from 0 to {most:g}.",
                code="decimal_above_max_value" if value > most else "decimal_below_min_value",
                param=name,
            )


def check_effort(value: object, model: FakeModel, param: str) -> None:
    """Refused when it is no effort, or the model does not reason."""
    if value is None:
        return
    one_of(value, EFFORTS, param)
    if not model.reasons:
        raise invalid(
            f"Unsupported parameter: '{param}' is not supported with this model.",
            code="unsupported_parameter",
            param=param,
        )


def check_image_url(value: object, param: str) -> None:
    """Refused when it is neither a web address nor a data URL of a known kind of image."""
    url = a_string(value, param)
    if url.startswith(("http://", "https://")):
        return
    parsed = media.parse_data_url(url)
    if parsed is None:
        raise invalid(
            f"Invalid '{param}'. Expected a valid URL, but got a value with an invalid format.",
            code="invalid_value",
            param=param,
        )
    media_type, text = parsed
    if media_type not in media.IMAGE_TYPES:
        raise invalid(
            f"Invalid MIME type. Only image types are supported, and of those: {IMAGES}.",
            code="invalid_image_format",
            param=param,
        )
    data = media.decoded(text)
    if data is None:
        raise invalid("Invalid base64 image_url.", code="invalid_base64", param=param)
    if media.kind_of(data) not in media.IMAGE_TYPES:
        raise invalid(
            "You uploaded an unsupported image. Please make sure your image has of one the "
            f"following formats: {IMAGES}.",
            code="invalid_image_format",
            param=param,
        )


def check_file(holder: Json, path: str) -> None:
    """Refused when a file is not named in one of the ways there are, or is no PDF."""
    data = holder.get("file_data")
    if data is None:
        if holder.get("file_id") is None and holder.get("file_url") is None:
            raise missing(f"{path}.file_id")
        return
    param = f"{path}.file_data"
    parsed = media.parse_data_url(a_string(data, param))
    if parsed is None or media.decoded(parsed[1]) is None:
        raise invalid(
            f"Invalid '{param}'. Expected a base64-encoded data URL with a MIME type (e.g. "
            "'data:application/pdf;base64,...'), but got a value without one.",
            code="invalid_value",
            param=param,
        )
    needed(holder, "filename", path)


def _too_long(text: str, most: int, param: str) -> Refused:
    return invalid(
        f"Invalid '{param}': string too long. Expected a string with maximum length {most}, but "
        f"got a string with length {len(text)} instead.",
        code="string_above_max_length",
        param=param,
    )
