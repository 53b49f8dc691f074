"""What the strictest provider demands of a request, as one function over ours."""

from noeta.core.context import Request
from noeta.core.message import (
    AssistantMessage,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserBlock,
    UserMessage,
)


def broken_rules(request: Request) -> list[str]:
    """Every rule the request breaks, in words; empty when any provider would take it."""
    broken: list[str] = []
    seen: set[str] = set()
    owed: list[str] = []
    previous: Message | None = None
    for index, message in enumerate(request.messages):
        where = f"message {index}"
        if type(message) is type(previous):
            broken.append(f"{where}: two messages of one role in a row")
        if previous is None and not isinstance(message, UserMessage):
            broken.append(f"{where}: the first message is not the user's")
        if not message.content:
            broken.append(f"{where}: no content")
        if any(isinstance(b, Text) and not b.text for b in message.content):
            broken.append(f"{where}: empty text")
        match message:
            case UserMessage(content=content):
                broken += [f"{where}: {rule}" for rule in _user(content, owed)]
                owed = []
            case AssistantMessage(content=content):
                if owed:
                    broken.append(f"{where}: calls {owed} have no result")
                owed = [b.call_id for b in content if isinstance(b, ToolCall)]
                repeats = seen.intersection(owed) or len(set(owed)) < len(owed)
                if repeats:
                    broken.append(f"{where}: call ids repeat")
                seen.update(owed)
                if any(isinstance(b, Thinking) and b.model != request.model for b in content):
                    broken.append(f"{where}: another model's thinking")
        previous = message
    if owed:
        broken.append(f"the last calls {owed} have no result")
    return broken


def _user(content: tuple[UserBlock, ...], owed: list[str]) -> list[str]:
    results = [b.call_id for b in content if isinstance(b, ToolResult)]
    broken: list[str] = []
    if sorted(results) != sorted(owed):
        broken.append(f"results {results} for calls {owed}")
    kinds = [isinstance(b, ToolResult) for b in content]
    if kinds != sorted(kinds, reverse=True):
        broken.append("text before a result")
    return broken
