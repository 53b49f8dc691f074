"""Whether Anthropic's Messages would take a request: its fields, tools, settings and breakpoints.

The order and content of the messages are in `anthropic_thread`. Rules: the Messages reference and
the pages on tool use, thinking and prompt caching, read in 2026.
"""

from collections.abc import Iterator

from noeta.testing.fake_provider import anthropic_thread
from noeta.testing.fake_provider.anthropic_block import check_cache_control
from noeta.testing.fake_provider.anthropic_tools import check_tool_choice, check_tools
from noeta.testing.fake_provider.models import FakeModel
from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.shape import (
    a_list,
    a_number,
    a_string,
    an_integer,
    an_object,
    needed,
    nothing_else,
    one_of,
)
from noeta.testing.fake_provider.turn import Json

VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")
"""Of the API, as `anthropic-version` names them."""
LATEST = VERSIONS[-1]
REMOVED_FIELDS = frozenset({"temperature", "top_p", "top_k"})
"""Not taken since 2026-10-21, not even with their default values."""

FIELDS = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "cache_control",
        "container",
        "diagnostics",
        "inference_geo",
        "metadata",
        "output_config",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_k",
        "top_p",
        "user_profile_id",
        "workspace_id",
    ]
)
BETA_FIELDS = frozenset(
    [
        "billing_policy",
        "compaction",
        "context_management",
        "fallback_credit_token",
        "fallbacks",
        "mcp_servers",
        "thread",
    ]
)
"""Taken with an `anthropic-beta` header only."""
COUNT_FIELDS = frozenset(
    ["model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"]
)

BREAKPOINTS_MAX = 4
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def check_messages(
    body: Json,
    model: FakeModel,
    *,
    version: str = LATEST,
    beta: bool = False,
    goes_on: bool = False,
) -> None:
    """Refused when Messages would not take this body. The model is known to be there."""
    allowed = FIELDS | BETA_FIELDS if beta else FIELDS
    nothing_else(body, allowed - REMOVED_FIELDS if version == LATEST else allowed)
    limit = an_integer(needed(body, "max_tokens"), "max_tokens", least=1)
    if limit > model.output_tokens_max:
        raise invalid(
            f"max_tokens: {limit} > {model.output_tokens_max}, which is the maximum allowed "
            f"number of output tokens for {model.name}"
        )
    if not isinstance(body.get("stream", False), bool):
        raise invalid("stream: Input should be a valid boolean")
    _system(body.get("system"))
    check_tools(body.get("tools"))
    thinking = _thinking(body, model, limit)
    _sampling(body, model, thinking)
    check_tool_choice(body, model, thinking)
    _output_config(body, thinking)
    for index, each in enumerate(a_list(body.get("stop_sequences", []), "stop_sequences")):
        if not a_string(each, f"stop_sequences.{index}").strip():
            raise invalid("stop_sequences: each stop sequence must contain non-whitespace")
    # Where breakpoints may stand is said block by block; how many and in which order, here.
    anthropic_thread.check_thread(body, model, thinking=thinking, goes_on=goes_on)
    if version == LATEST:
        _citations(body)
    _breakpoints(body)


def _system(system: object) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise invalid("system: Input should be a valid string or a valid list")
    for index, entry in enumerate(system):
        path = f"system.{index}"
        block = an_object(entry, path)
        one_of(needed(block, "type", path), ("text",), f"{path}.type")
        nothing_else(block, ("type", "text", "cache_control", "citations"), path)
        if not a_string(needed(block, "text", path), f"{path}.text"):
            if "cache_control" in block:
                raise invalid(f"{path}: cache_control cannot be set for empty text blocks")
            raise invalid("system: text content blocks must be non-empty")
        check_cache_control(block, path)


def _thinking(body: Json, model: FakeModel, limit: int) -> str | None:
    """The type of thinking that was asked for."""
    if body.get("thinking") is None:
        return None
    thinking = an_object(body["thinking"], "thinking")
    types = ("adaptive", "between_tools", "disabled", "enabled")
    kind = one_of(needed(thinking, "type", "thinking"), types, "thinking.type")
    if kind not in model.thinking:
        advice = '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior'
        if kind == "disabled" and "between_tools" in model.thinking:
            advice = '"thinking.type.between_tools" to turn off up-front thinking'
        elif kind != "enabled" and model.prefill:
            advice = '"thinking.type.enabled" with a budget'
        raise invalid(f'"thinking.type.{kind}" is not supported for this model. Use {advice}.')
    path = f"thinking.{kind}"
    fields = {"enabled": ("type", "budget_tokens", "display"), "adaptive": ("type", "display")}
    nothing_else(thinking, fields.get(kind, ("type",)), path)
    if thinking.get("display") is not None:
        one_of(thinking["display"], ("summarized", "omitted"), f"{path}.display")
    if kind == "enabled":
        name = f"{path}.budget_tokens"
        budget = an_integer(needed(thinking, "budget_tokens", path), name, least=1024)
        if budget >= limit:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return kind


def _sampling(body: Json, model: FakeModel, thinking: str | None) -> None:
    on = thinking in ("enabled", "adaptive", "between_tools")
    given = [name for name in ("temperature", "top_p", "top_k") if body.get(name) is not None]
    if given and not model.sampling:
        raise invalid(f"`{given[0]}` is not supported for this model.")
    if "temperature" in given:
        value = a_number(body["temperature"], "temperature", most=1)
        if on and value != 1:
            raise invalid("`temperature` may only be set to 1 when thinking is enabled.")
    if "top_p" in given:
        value = a_number(body["top_p"], "top_p", most=1)
        if on and value < 0.95:
            raise invalid(
                "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
            )
    if "top_k" in given:
        an_integer(body["top_k"], "top_k", least=0)
        if on:
            raise invalid("`top_k` must be unset when thinking is enabled.")


def _output_config(body: Json, thinking: str | None) -> None:
    if body.get("output_config") is None:
        return
    config = an_object(body["output_config"], "output_config")
    nothing_else(config, ("effort", "format", "task_budget"), "output_config")
    if config.get("effort") is not None:
        effort = one_of(config["effort"], EFFORTS, "output_config.effort")
        if thinking == "between_tools" and effort in ("xhigh", "max"):
            raise invalid(
                'output_config.effort: "thinking.type.between_tools" may be used with '
                "low, medium and high effort only."
            )


def _citations(body: Json) -> None:
    """Since 2026-10-21, text of the user's cites nothing."""
    for path, block in anthropic_thread.content_blocks(body):
        index = int(path.split(".")[1])
        of_user = body["messages"][index]["role"] == "user"
        if of_user and block["type"] == "text" and block.get("citations"):
            raise invalid(f"{path}.text.citations: citations are not permitted in user text")


def _breakpoints(body: Json) -> None:
    found = list(breakpoints(body))
    if len(found) > BREAKPOINTS_MAX:
        raise invalid(
            f"A maximum of {BREAKPOINTS_MAX} blocks with cache_control may be provided. "
            f"Found {len(found)}."
        )
    short = False
    for path, control in found:
        if control.get("ttl") == "1h" and short:
            raise invalid(
                f"{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: `tools`, `system`, `messages`."
            )
        short = short or control.get("ttl") != "1h"


def breakpoints(body: Json) -> Iterator[tuple[str, Json]]:
    """(path, cache_control) of every breakpoint, in the order in which the prompt is read."""
    for group in ("tools", "system"):
        blocks = body.get(group)
        for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield f"{group}.{index}", block["cache_control"]
    for path, block in anthropic_thread.content_blocks(body):
        if block.get("cache_control"):
            yield path, block["cache_control"]
        inner = block.get("content")
        for index, part in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(part, dict) and part.get("cache_control"):
                yield f"{path}.content.{index}", part["cache_control"]
    if body.get("cache_control"):
        yield "cache_control", body["cache_control"]
