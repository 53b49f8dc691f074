"""The table of models: what fits into them, what they may say, and what they cost.

Three sources, the strongest first: `[models."provider/model"]` in the settings, the provider's own
list in NOETA_HOME/cache/models, and the package genai-prices (extra `models`), whose table comes
with it and is never fetched. A model that none of them knows has no price and no limits.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from noeta.core.message import Limits, Usage
from noeta.host.home import Home
from noeta.host.providers import Provider
from noeta.host.settings import ModelSettings

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo
    from genai_prices.types import Provider as PricedProvider

OUTPUT_TOKENS_WANTED = 32_000
"""Enough for any one step; a reply that is cut there goes on in the next."""
LIST_BYTES_MAX = 16 * 1024 * 1024

_OLD_CLAUDE = (
    (re.compile(r"claude-3-(opus|sonnet|haiku)|claude-2|claude-instant"), 4096),
    (re.compile(r"claude-3-5"), 8192),
)
"""The Claude models that cannot write as much; docs.anthropic.com, models overview, 2026."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A model in a provider's own list. 0: the list does not say."""

    context_tokens: int = 0
    output_tokens_max: int = 0


def listed_models(home: Home, provider: str) -> dict[str, Listed]:
    """A provider's own list, as its `/v1/models` gave it and someone saved it; empty without.

    A file that cannot be read counts as none: it is a cache.
    """
    path = home.path / "cache" / "models" / f"{provider}.json"
    try:
        if path.stat().st_size > LIST_BYTES_MAX:
            return {}
        found = msgspec.json.decode(path.read_bytes(), type=_List)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}
    return {
        entry.id: Listed(
            context_tokens=entry.max_input_tokens
            or entry.context_length
            or entry.context_window
            or entry.max_model_len
            or 0,
            output_tokens_max=entry.max_tokens or entry.max_output_tokens or 0,
        )
        for entry in found.data
    }


class _Listed(msgspec.Struct):
    """A model as Anthropic, OpenRouter, Groq and vLLM list theirs."""

    id: str
    max_input_tokens: int | None = None
    context_length: int | None = None
    context_window: int | None = None
    max_model_len: int | None = None
    max_tokens: int | None = None
    max_output_tokens: int | None = None


class _List(msgspec.Struct):
    data: list[_Listed]


class ModelTable:
    """What is known of the models of one provider."""

    def __init__(
        self,
        provider: Provider,
        *,
        listed: Mapping[str, Listed],
        models: Mapping[str, ModelSettings],
    ) -> None:
        """models are those of the settings, by route."""
        self._provider = provider
        self._listed = listed
        self._models = models
        self._priced = _priced_provider(provider)

    def names(self) -> list[str]:
        """Every name that is known, sorted."""
        start = f"{self._provider.name}/"
        named = {route[len(start) :] for route in self._models if route.startswith(start)}
        priced = {model.id for model in self._priced.models} if self._priced is not None else set()
        return sorted({*named, *self._listed, *priced})

    def is_known(self, name: str) -> bool:
        """Whether any source knows the model, under this or a dated name."""
        return (
            f"{self._provider.name}/{name}" in self._models
            or name in self._listed
            or self._is_priced_name(name)
        )

    def limits(self, name: str, *, effort: str) -> Limits:
        """What the log records for a route of this model."""
        given = self._settings(name)
        listed = self._listed.get(name, Listed())
        model = self._model(name)
        context = (model.context_window if model is not None else None) or 0
        output = given.output_tokens_max
        if not output and self._provider.dialect == "anthropic":
            output = min(_claude_output(name), listed.output_tokens_max or OUTPUT_TOKENS_WANTED)
        return Limits(
            context_tokens=given.context_tokens or listed.context_tokens or context,
            output_tokens_max=output,
            effort=given.effort or effort,
            thinking_tokens=given.thinking_tokens,
        )

    def cost(self, name: str, usage: Usage) -> float | None:
        """What the usage cost in US dollars; None when there is no price."""
        given = self._settings(name)
        if given.input_usd is not None and given.output_usd is not None:
            read = given.input_usd if given.cache_read_usd is None else given.cache_read_usd
            write = given.input_usd if given.cache_write_usd is None else given.cache_write_usd
            total = (
                usage.input_tokens * given.input_usd
                + usage.output_tokens * given.output_usd
                + usage.cache_read_tokens * read
                + usage.cache_write_tokens * write
            )
            return total / 1_000_000
        return self._table_cost(name, usage)

    def _table_cost(self, name: str, usage: Usage) -> float | None:
        if self._priced is None or self._model(name) is None:
            return None
        import genai_prices

        counted = genai_prices.Usage(
            # Theirs includes the cached ones.
            input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        try:
            price = genai_prices.calc_price(counted, name, provider_id=self._priced.id)
        except (LookupError, ValueError):
            return None
        return float(price.total_price)

    def _settings(self, name: str) -> ModelSettings:
        return self._models.get(f"{self._provider.name}/{name}", ModelSettings())

    def _is_priced_name(self, name: str) -> bool:
        """Whether the table has this name, perhaps without its date; its own search is looser."""
        model = self._model(name)
        if model is None:
            return False
        undated = _DATE.sub("", name.lower())
        return undated in (model.id, _DATE.sub("", model.id)) or name in self.names()

    def _model(self, name: str) -> "ModelInfo | None":
        return self._priced.find_model(name.lower()) if self._priced is not None else None


_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


def _claude_output(name: str) -> int:
    for pattern, tokens in _OLD_CLAUDE:
        if pattern.search(name):
            return tokens
    return OUTPUT_TOKENS_WANTED


def _priced_provider(provider: Provider) -> "PricedProvider | None":
    """The provider in genai-prices, by its address or, for one that is built in, by its name.

    None when it has no such provider, or is not installed.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    for priced in get_snapshot().providers:
        if re.match(priced.api_pattern, provider.base_url) or priced.id == provider.name:
            return priced
    return None
