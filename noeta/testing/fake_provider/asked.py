"""What a client asked, as tests and turn functions read it, and what became of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from noeta.testing.fake_provider.refused import Dialect, Refused
from noeta.testing.fake_provider.turn import Counted, Json, compact

SECRET_HEADERS = frozenset(
    {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization", "x-goog-api-key"}
)
REDACTED = "(redacted)"


@dataclass(slots=True, kw_only=True)
class Asked:
    """One request to a model."""

    dialect: Dialect
    path: str
    headers: Mapping[str, str]
    """Names in small letters; keys are not shown."""
    raw: bytes = field(repr=False)
    """The body as it came."""
    body: Json = field(default_factory=dict, repr=False)
    """The body as JSON; empty when it is no JSON object."""
    status: int | None = None
    """Of the answer; None while there is none."""
    refused: Refused | None = None
    """Why the checks refused it. A refusal that was asked for (`misbehave`) is not here."""
    counted: Counted | None = None
    """What it cost; None when no turn was played."""
    body_bytes: int = 0
    """The size of the answer's body before it was disturbed on its way: what positions count."""
    outcome: str = "open"
    """How it ended: `sent` whole, `stall`, `reset` or `close` as told, `gone` when the client
    left first."""

    @property
    def model(self) -> str:
        """The model asked for; empty when none is named."""
        name = self.body.get("model")
        return name if isinstance(name, str) else ""

    @property
    def streams(self) -> bool:
        """Whether the answer is to be a stream."""
        return self.body.get("stream") is True

    @property
    def messages(self) -> list[Json]:
        """The messages, or the input items of Responses."""
        given = self.body.get("input" if self.dialect == "responses" else "messages")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []

    @property
    def position(self) -> int:
        """How many replies of the model are in the conversation: which turn is next.

        Items of Responses with nothing of the user's between them are one reply.
        """
        if self.dialect != "responses":
            return sum(message.get("role") == "assistant" for message in self.messages)
        own = [_is_own(item) for item in self.messages]
        return sum(mine and (at == 0 or not own[at - 1]) for at, mine in enumerate(own))

    @property
    def conversation(self) -> str:
        """A name for the conversation, from its first user message."""
        for message in self.messages:
            if message.get("role") == "user":
                first = _texts(message.get("content"))
                return hashlib.sha256(compact([self.dialect, first]).encode()).hexdigest()[:12]
        return ""

    @property
    def last_text(self) -> str:
        """The last user message that has text; without its tool results."""
        for message in reversed(self.messages):
            if message.get("role") == "user" and (text := _texts(message.get("content"))):
                return text
        return ""

    @property
    def new_text(self) -> str:
        """What the user said since the model's last reply; without tool results."""
        said: list[str] = []
        for message in self.messages:
            if message.get("role") == "user":
                said.append(_texts(message.get("content")))
            elif message.get("role") == "assistant" or _is_own(message):
                said.clear()
        return "\n".join(filter(None, said))

    @property
    def results(self) -> dict[str, str]:
        """The tool results that came with this request, by the id of their call."""
        if self.dialect == "anthropic":
            content = self.messages[-1].get("content") if self.messages else None
            return {
                str(block.get("tool_use_id")): _texts(block.get("content"))
                for block in (content if isinstance(content, list) else ())
                if isinstance(block, dict) and block.get("type") == "tool_result"
            }
        found: dict[str, str] = {}
        for message in self.messages:
            if message.get("role") == "tool":
                found[str(message.get("tool_call_id"))] = _texts(message.get("content"))
            elif message.get("type") == "function_call_output":
                found[str(message.get("call_id"))] = _texts(message.get("output"))
            elif message.get("role") == "assistant" or _is_own(message):
                found.clear()
        return found

    @property
    def tools(self) -> list[str]:
        """The names of the tools on offer."""
        return [
            str(tool.get("name") or tool.get("function", {}).get("name"))
            for tool in self.body.get("tools") or ()
        ]


def asked_from(dialect: Dialect, path: str, headers: Mapping[str, str], raw: bytes) -> Asked:
    """What was asked, with the keys taken out."""
    shown = {name: REDACTED if name in SECRET_HEADERS else value for name, value in headers.items()}
    return Asked(dialect=dialect, path=path, headers=shown, raw=raw, body=_object(raw))


def _object(raw: bytes) -> Json:
    try:
        value: Any = json.loads(raw)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _is_own(item: Json) -> bool:
    """An item of Responses that the model made."""
    return item.get("type") in ("reasoning", "function_call") or item.get("role") == "assistant"


def _texts(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        str(part["text"]) for part in content if isinstance(part, dict) and "text" in part
    )
