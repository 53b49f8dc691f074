"""Whether Anthropic's Messages would take a request's messages: order, pairs and thinking."""

from collections.abc import Iterator

from noeta.testing.fake_provider import signing
from noeta.testing.fake_provider.anthropic_block import OF_ASSISTANT, OF_USER, check_block
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.shape import a_list, an_object, needed, nothing_else, one_of
from noeta.testing.fake_provider.turn import Json


def check_thread(
    body: Json, model: FakeModel, *, thinking: str | None, goes_on: bool = False
) -> None:
    """Refused when the messages break a rule.

    goes_on: the last message is a reply that the provider paused, sent back to be gone on with.
    """
    messages = a_list(needed(body, "messages"), "messages")
    if not messages:
        raise invalid("messages: at least one message is required")
    for index, entry in enumerate(messages):
        _message(an_object(entry, f"messages.{index}"), index, last=index == len(messages) - 1)
    said = [entry for entry in messages if isinstance(entry, dict)]
    if said[0]["role"] != "user":
        raise invalid('messages: first message must use the "user" role')
    _pairs(said)
    _thoughts(said, model, thinking, goes_on=goes_on)
    if said[-1]["role"] == "assistant" and not goes_on:
        _prefill(said[-1], model, thinking, last=len(said) - 1)


def content_blocks(body: Json) -> Iterator[tuple[str, Json]]:
    """(path, block) of every content block of every message; text stands for one block."""
    for index, message in enumerate(body["messages"]):
        for at, block in enumerate(blocks_of(message)):
            yield f"messages.{index}.content.{at}", block


def blocks_of(message: Json) -> list[Json]:
    """A message's content as blocks."""
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)]


def _message(message: Json, index: int, *, last: bool) -> None:
    path = f"messages.{index}"
    role = needed(message, "role", path)
    if role == "system":
        raise invalid(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
            'parameter, not "system" as an input message role.'
        )
    one_of(role, ("user", "assistant"), f"{path}.role")
    nothing_else(message, ("role", "content"), path)
    content = needed(message, "content", path)
    if not isinstance(content, str | list):
        raise invalid(f"{path}.content: Input should be a valid string or a valid list")
    if not content and not (last and role == "assistant"):
        raise invalid(
            f"{path}: all messages must have non-empty content except for the optional final "
            "assistant message"
        )
    if isinstance(content, str):
        if content and not content.strip():
            raise invalid("messages: text content blocks must contain non-whitespace text")
        return
    for at, entry in enumerate(content):
        where = f"{path}.content.{at}"
        check_block(an_object(entry, where), OF_USER if role == "user" else OF_ASSISTANT, where)


def _pairs(messages: list[Json]) -> None:
    """Every call is answered in the next message, before anything else there, once."""
    seen: set[str] = set()
    owed: list[str] = []
    for index, message in enumerate(messages):
        blocks = blocks_of(message)
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        for at, block in enumerate(blocks):
            if block["type"] == "tool_result" and block["tool_use_id"] not in owed:
                raise invalid(
                    f"messages.{index}.content.{at}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must "
                    "have a corresponding `tool_use` block in the previous message."
                )
        if len(set(results)) < len(results):
            raise invalid(
                f"messages.{index}.content: each tool_use must have a single result. Found "
                "multiple `tool_result` blocks with the same id"
            )
        first = blocks[: len(results)]
        late = any(block["type"] != "tool_result" for block in first)
        missing = owed if late else [call_id for call_id in owed if call_id not in results]
        if missing:
            raise _unanswered(index - 1, missing)
        owed = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if seen.intersection(owed) or len(set(owed)) < len(owed):
            raise invalid("messages: `tool_use` ids must be unique")
        seen.update(owed)
    if owed:
        raise _unanswered(len(messages) - 1, owed)


def _unanswered(index: int, missing: list[str]) -> Exception:
    return invalid(
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
        "`tool_result` block in the next message."
    )


def _thoughts(
    messages: list[Json], model: FakeModel, thinking: str | None, *, goes_on: bool
) -> None:
    """Thinking is unaltered, and where a turn with tools is open, it is still there."""
    latest = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    for index, message in enumerate(messages):
        for at, block in enumerate(blocks_of(message)):
            if _holds(block, model):
                continue
            path = f"messages.{index}.content.{at}"
            if index == latest:
                raise invalid(
                    f"{path}: `thinking` or `redacted_thinking` blocks in the latest assistant "
                    "message cannot be modified. These blocks must remain as they were in the "
                    "original response."
                )
            if block["type"] == "thinking":
                raise invalid(f"{path}: Invalid `signature` in `thinking` block")
            raise invalid(f"{path}: Invalid `data` in `redacted_thinking` block")
    if latest < 0:
        return
    blocks = blocks_of(messages[latest])
    if not blocks:
        return
    ends_in_thought = blocks[-1]["type"] in ("thinking", "redacted_thinking")
    if ends_in_thought and latest == len(messages) - 1 and not goes_on:
        raise invalid(
            f"messages.{latest}: The final block in an assistant message cannot be `thinking`."
        )
    open_turn = any(block["type"] == "tool_use" for block in blocks)
    if thinking == "enabled" and open_turn and latest == len(messages) - 2:
        _starts_with_thinking(blocks, latest)


def _starts_with_thinking(blocks: list[Json], index: int) -> None:
    if blocks[0]["type"] not in ("thinking", "redacted_thinking"):
        raise invalid(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
            f"found `{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message "
            "must start with a thinking block (preceding the lastmost set of `tool_use` and "
            "`tool_result` blocks). To avoid this requirement, disable `thinking`."
        )


def _holds(block: Json, model: FakeModel) -> bool:
    if block["type"] == "thinking":
        return signing.signature_holds(
            block["signature"], model=model.name, shown=block["thinking"]
        )
    if block["type"] == "redacted_thinking":
        return signing.opened(block["data"], model=model.name, kind="redacted") is not None
    return True


def _prefill(message: Json, model: FakeModel, thinking: str | None, *, last: int) -> None:
    """A last assistant message is what the reply goes on from."""
    blocks = blocks_of(message)
    if not model.prefill:
        raise invalid(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
    if thinking == "enabled" and blocks:
        _starts_with_thinking(blocks, last)
    if (
        blocks
        and blocks[-1]["type"] == "text"
        and blocks[-1]["text"] != blocks[-1]["text"].rstrip()
    ):
        raise invalid("messages: final assistant content cannot end with trailing whitespace")
