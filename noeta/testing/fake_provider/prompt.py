"""A request as the prompt that the provider's cache sees: pieces in the order they are read."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from noeta.testing.fake_provider.anthropic_thread import blocks_of
from noeta.testing.fake_provider.refused import Dialect
from noeta.testing.fake_provider.turn import Json, compact

BYTES_PER_TOKEN = 4
"""An estimate that is the same everywhere."""
IMAGE_TOKENS = 1600
"""What a picture of about a megapixel costs; the fake takes it for every image and document."""

_BINARY_FIELDS = frozenset({"data", "url", "image_url", "file_data", "encrypted_content"})
_BINARY_CHARS_MIN = 4 * IMAGE_TOKENS

Ttl: TypeAlias = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of the prompt."""

    path: str
    data: bytes
    breakpoint: Ttl | None = None
    salt: bytes = b""
    """Settings that part one cache entry from another and cost nothing."""


def pieces_of(dialect: Dialect, body: Json) -> list[Piece]:
    """The prompt of a request that was found to be valid."""
    match dialect:
        case "anthropic":
            return list(_anthropic(body))
        case "chat":
            return [*_plain("tools", body.get("tools")), *_plain("messages", body["messages"])]
        case "responses":
            given = body["input"]
            items = [{"role": "user", "content": given}] if isinstance(given, str) else given
            instructions = body.get("instructions")
            return [
                *_plain("tools", body.get("tools")),
                *([Piece("instructions", instructions.encode())] if instructions else []),
                *_plain("input", items),
            ]


def tokens_of(pieces: list[Piece]) -> int:
    """The size of a prompt."""
    return -(-sum(len(piece.data) for piece in pieces) // BYTES_PER_TOKEN)


def _anthropic(body: Json) -> Iterator[Piece]:
    found = [_piece(f"tools.{i}", tool) for i, tool in enumerate(body.get("tools") or ())]
    system = body.get("system")
    if isinstance(system, str):
        system = [{"type": "text", "text": system}] if system else []
    found += [_piece(f"system.{i}", block) for i, block in enumerate(system or ())]
    # Thinking and tool_choice part the messages' entries, not those of tools and system.
    salt = compact([body.get("thinking"), body.get("tool_choice")]).encode()
    thoughts = 0
    for index, message in enumerate(body["messages"]):
        for at, block in enumerate(blocks_of(message)):
            path = f"messages.{index}.content.{at}"
            piece = _piece(path, block, role=message["role"], salt=salt)
            found.append(piece)
            salt = b""
            thoughts = thoughts + 1 if "thinking" in block["type"] else 0
    automatic = body.get("cache_control")
    last = len(found) - 1 - thoughts
    for index, piece in enumerate(found):
        if automatic and index == last and piece.breakpoint is None:
            yield Piece(piece.path, piece.data, automatic.get("ttl") or "5m", piece.salt)
        else:
            yield piece


def _piece(path: str, block: Json, *, role: str = "", salt: bytes = b"") -> Piece:
    control = block.get("cache_control")
    inner = block.get("content")
    for part in inner if isinstance(inner, list) else ():
        # A breakpoint inside a result ends where the result ends, as far as the fake is concerned.
        control = control or (isinstance(part, dict) and part.get("cache_control"))
    ttl: Ttl | None = None
    if control:
        ttl = "1h" if control.get("ttl") == "1h" else "5m"
    return Piece(path, f"{role}{compact(_shrunk(block))}\n".encode(), ttl, salt)


def _plain(name: str, entries: list[Json] | None) -> list[Piece]:
    return [
        Piece(f"{name}[{index}]", f"{compact(_shrunk(entry))}\n".encode())
        for index, entry in enumerate(entries or ())
    ]


def _shrunk(value: Any) -> Any:
    """The value without breakpoints, and with images in as many bytes as they cost tokens."""
    if isinstance(value, Mapping):
        return {
            name: _stand_in(each) if _is_binary(name, each) else _shrunk(each)
            for name, each in value.items()
            if name != "cache_control"
        }
    return [_shrunk(each) for each in value] if isinstance(value, list) else value


def _is_binary(name: str, value: object) -> bool:
    return name in _BINARY_FIELDS and isinstance(value, str) and len(value) > _BINARY_CHARS_MIN


def _stand_in(text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return digest * (IMAGE_TOKENS * BYTES_PER_TOKEN // len(digest))
