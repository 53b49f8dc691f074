"""The models that the fake offers, with the facts its checks need.

Limits are those of the providers' model pages in 2026, as far as they are public; a newer model of
a family is given the rules of the last one known. Tests bring their own with `models=`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeModel:
    """One model."""

    name: str
    owner: Literal["anthropic", "openai"]
    context_tokens: int
    output_tokens_max: int
    cache_tokens_min: int = 1024
    """A shorter prefix is not cached."""
    thinking: frozenset[str] = frozenset({"enabled", "disabled"})
    """Anthropic: the types of `thinking` that it takes."""
    thinks_unasked: bool = False
    """Anthropic: it thinks when the request says nothing about it."""
    thinking_shown: bool = True
    """Anthropic: the default of `display` is `summarized`, not `omitted`."""
    prefill: bool = True
    """Anthropic: a last assistant message may be gone on with."""
    forced_tools: bool = True
    """Anthropic: `tool_choice` may be `any` or `tool`."""
    sampling: bool = True
    """It takes temperature and top_p."""
    reasons: bool = False
    """OpenAI: a reasoning model."""


_OLDER = frozenset({"enabled", "disabled"})
_BOTH = frozenset({"adaptive", "enabled", "disabled"})
_ADAPTIVE = frozenset({"adaptive", "disabled"})
_BETWEEN = frozenset({"adaptive", "between_tools"})


def _claude(
    name: str,
    minimum: int,
    *,
    thinking: frozenset[str],
    context: int = 1_000_000,
    output: int = 128_000,
    latest: bool = False,
) -> FakeModel:
    """What a model takes follows from the types of thinking it knows; `latest` are 5 and newer."""
    takes_budgets = "enabled" in thinking
    return FakeModel(
        name=name,
        owner="anthropic",
        context_tokens=context,
        output_tokens_max=output,
        cache_tokens_min=minimum,
        thinking=thinking,
        thinks_unasked=latest,
        thinking_shown=takes_budgets,
        prefill=thinking == _OLDER,
        sampling=takes_budgets,
        forced_tools="disabled" in thinking,
    )


def _gpt(name: str, context: int, output: int, *, reasons: bool) -> FakeModel:
    return FakeModel(
        name=name,
        owner="openai",
        context_tokens=context,
        output_tokens_max=output,
        sampling=not reasons,
        reasons=reasons,
    )


KNOWN_MODELS: tuple[FakeModel, ...] = (
    _claude("claude-haiku-4-5", 4096, thinking=_OLDER, context=200_000, output=64_000),
    _claude("claude-sonnet-4-5", 1024, thinking=_OLDER, context=200_000, output=64_000),
    _claude("claude-opus-4-5", 4096, thinking=_OLDER, context=200_000, output=64_000),
    _claude("claude-sonnet-4-6", 1024, thinking=_BOTH, output=64_000),
    _claude("claude-opus-4-6", 4096, thinking=_BOTH),
    _claude("claude-opus-4-8", 1024, thinking=_ADAPTIVE),
    _claude("claude-sonnet-5", 1024, thinking=_ADAPTIVE, latest=True),
    _claude("claude-opus-5", 512, thinking=_ADAPTIVE, latest=True),
    # Of haiku-5-5 only limits are public here; it is given the rules of the 5 family.
    _claude("claude-haiku-5-5", 1024, thinking=_ADAPTIVE, latest=True),
    _claude("claude-sonnet-5-5", 1024, thinking=_BETWEEN, latest=True),
    _claude("claude-opus-5-5", 512, thinking=frozenset({"adaptive"}), latest=True),
    _gpt("gpt-4o", 128_000, 16_384, reasons=False),
    _gpt("gpt-4.1", 1_047_576, 32_768, reasons=False),
    _gpt("gpt-5", 400_000, 128_000, reasons=True),
    _gpt("gpt-5-mini", 400_000, 128_000, reasons=True),
    _gpt("gpt-5.5", 1_050_000, 128_000, reasons=True),
    _gpt("gpt-6-sol", 1_050_000, 128_000, reasons=True),
)


def by_name(models: Iterable[FakeModel]) -> dict[str, FakeModel]:
    """A table of them."""
    return {model.name: model for model in models}
