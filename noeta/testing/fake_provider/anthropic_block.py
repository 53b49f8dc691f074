"""Whether Anthropic's Messages would take one content block: its type, fields, text and media."""

from noeta.testing.fake_provider import media
from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.shape import (
    ID_PATTERN,
    a_list,
    a_string,
    an_object,
    matching,
    needed,
    nothing_else,
    one_of,
)
from noeta.testing.fake_provider.turn import Json

BLOCK_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text", "citations", "cache_control"),
    "image": ("source", "cache_control"),
    "document": ("source", "title", "context", "citations", "cache_control"),
    "search_result": ("source", "title", "content", "citations", "cache_control"),
    "tool_use": ("id", "name", "input", "cache_control", "caller", "toolset_name"),
    "tool_result": ("tool_use_id", "content", "is_error", "cache_control", "toolset_name"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
}
OF_USER = ("text", "image", "document", "search_result", "tool_result")
OF_ASSISTANT = ("text", "tool_use", "thinking", "redacted_thinking")
IN_RESULT = ("text", "image", "document", "search_result")
DOCUMENT_TEXT_TYPES = ("text/plain",)


def check_block(block: Json, allowed: tuple[str, ...], path: str) -> None:
    """Refused when a content block is none of the allowed, or has a mistake."""
    kind = one_of(needed(block, "type", path), allowed, f"{path}.type")
    typed = f"{path}.{kind}"
    nothing_else(block, ("type", *BLOCK_FIELDS[kind]), typed)
    check_cache_control(block, path)
    match kind:
        case "text":
            text = a_string(needed(block, "text", typed), f"{typed}.text")
            if not text and block.get("cache_control"):
                raise invalid(f"{typed}: cache_control cannot be set for empty text blocks")
            if not text:
                raise invalid("messages: text content blocks must be non-empty")
            if not text.strip():
                raise invalid("messages: text content blocks must contain non-whitespace text")
        case "image":
            _image(an_object(needed(block, "source", typed), f"{typed}.source"), path)
        case "document":
            _document(an_object(needed(block, "source", typed), f"{typed}.source"), path)
        case "tool_use":
            matching(needed(block, "id", typed), ID_PATTERN, f"{typed}.id")
            name = needed(block, "name", typed)
            matching(name, "^[a-zA-Z0-9_-]{1,200}$", f"{typed}.name")
            if not isinstance(needed(block, "input", typed), dict):
                raise invalid(f"{typed}.input: Input should be a valid dictionary")
        case "tool_result":
            matching(needed(block, "tool_use_id", typed), ID_PATTERN, f"{typed}.tool_use_id")
            _result(block, path)
        case "thinking":
            a_string(needed(block, "thinking", typed), f"{typed}.thinking")
            a_string(needed(block, "signature", typed), f"{typed}.signature")
        case "redacted_thinking":
            a_string(needed(block, "data", typed), f"{typed}.data")
        case _:
            pass


def check_cache_control(holder: Json, path: str) -> None:
    """Refused when a block's breakpoint is not of its form."""
    if holder.get("cache_control") is None:
        return
    path = f"{path}.cache_control"
    control = an_object(holder["cache_control"], path)
    one_of(needed(control, "type", path), ("ephemeral",), f"{path}.type")
    nothing_else(control, ("type", "ttl"), f"{path}.ephemeral")
    if control.get("ttl") is not None:
        one_of(control["ttl"], ("5m", "1h"), f"{path}.ephemeral.ttl")


def _result(block: Json, path: str) -> None:
    if not isinstance(block.get("is_error", False), bool):
        raise invalid(f"{path}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    parts = a_list(content, f"{path}.tool_result.content")
    for at, part in enumerate(parts):
        where = f"{path}.tool_result.content.{at}"
        held = an_object(part, where)
        check_block(held, IN_RESULT, where)
        if block.get("is_error") and held["type"] != "text":
            raise invalid(
                f"{path}.tool_result: all content must be type `text` if `is_error` is true"
            )


def _image(source: Json, path: str) -> None:
    where = f"{path}.image.source"
    kind = one_of(needed(source, "type", where), ("base64", "url", "file"), f"{where}.type")
    if kind != "base64":
        return
    where = f"{where}.base64"
    media_type = one_of(
        needed(source, "media_type", where), media.IMAGE_TYPES, f"{where}.media_type"
    )
    text = a_string(needed(source, "data", where), f"{where}.data")
    if len(text) > media.IMAGE_BYTES_MAX:
        raise invalid(
            f"{where}: image exceeds 5 MB maximum: {len(text)} bytes > "
            f"{media.IMAGE_BYTES_MAX} bytes"
        )
    data = media.decoded(text)
    if data is None:
        raise invalid(f"{where}.data: invalid base64 data")
    shown = media.kind_of(data)
    if shown not in media.IMAGE_TYPES:
        raise invalid("Could not process image")
    if shown != media_type:
        raise invalid(f"{where}.data: Image does not match the provided media type {media_type}")


def _document(source: Json, path: str) -> None:
    where = f"{path}.document.source"
    kinds = ("base64", "text", "content", "url", "file")
    kind = one_of(needed(source, "type", where), kinds, f"{where}.type")
    typed = f"{where}.{kind}"
    if kind == "base64":
        one_of(needed(source, "media_type", typed), ("application/pdf",), f"{typed}.media_type")
        data = media.decoded(a_string(needed(source, "data", typed), f"{typed}.data"))
        if data is None:
            raise invalid(f"{typed}.data: invalid base64 data")
        if media.kind_of(data) != "application/pdf":
            raise invalid(f"{typed}.data: The PDF specified was not valid.")
    elif kind == "text":
        one_of(needed(source, "media_type", typed), DOCUMENT_TEXT_TYPES, f"{typed}.media_type")
        a_string(needed(source, "data", typed), f"{typed}.data")
