"""The table of models: limits and prices, from the settings, a saved list and genai-prices."""

import json
import sys
from pathlib import Path

import pytest

from noeta.core.message import Limits, Usage
from noeta.host.home import Home
from noeta.host.prices import listed_models
from noeta.host.routes import Routes, checked_route
from noeta.host.settings import ModelSettings, ProviderSettings, Settings

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-2"}
MILLION = 1_000_000


def routes(settings: Settings | None = None, home: Home | None = None) -> Routes:
    return Routes(settings or Settings(), environ=KEYS, home=home)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    (made.path / "cache" / "models").mkdir(parents=True)
    return made


def test_a_known_model_has_its_limits() -> None:
    """Anthropic wants a limit with each request; OpenAI has its own."""
    assert routes().limits_for("anthropic/claude-opus-4-5") == Limits(
        context_tokens=200_000, output_tokens_max=32_000
    )
    assert routes().limits_for("anthropic/claude-3-haiku-20240307").output_tokens_max == 4096
    assert routes().limits_for("openai/gpt-5") == Limits(context_tokens=400_000)


def test_the_effort_of_the_settings_is_part_of_the_limits() -> None:
    """And so of the log; a model's own wins."""
    settings = Settings(effort="low", models={"openai/gpt-5": ModelSettings(effort="high")})
    assert routes(settings).limits_for("openai/gpt-5").effort == "high"
    assert routes(settings).limits_for("openai/gpt-5-mini").effort == "low"


def test_a_call_costs_what_the_table_says_cached_tokens_apart() -> None:
    """Input, output, cache reads and cache writes each have a price."""
    cost = routes().cost_of
    route = "anthropic/claude-opus-4-5"
    assert cost(route, Usage(input_tokens=MILLION)) == pytest.approx(5.0)
    assert cost(route, Usage(output_tokens=MILLION)) == pytest.approx(25.0)
    assert cost(route, Usage(cache_read_tokens=MILLION)) == pytest.approx(0.5)
    assert cost(route, Usage(cache_write_tokens=MILLION)) == pytest.approx(6.25)
    assert cost(route, Usage()) == 0.0


def test_a_model_that_no_table_knows_has_no_price() -> None:
    """It is never guessed."""
    given = ProviderSettings(dialect="openai-chat", base_url="http://127.0.0.1:1/v1")
    settings = Settings(providers={"local": given})
    assert routes(settings).cost_of("local/gpt-5", Usage(input_tokens=1)) is None
    assert routes(settings).limits_for("local/gpt-5") == Limits()


def test_a_server_is_found_in_the_table_by_its_address() -> None:
    """Whatever the settings call it."""
    given = ProviderSettings(dialect="openai-chat", base_url="https://api.deepseek.com/v1")
    settings = Settings(providers={"mine": given})
    assert routes(settings).cost_of("mine/deepseek-chat", Usage(input_tokens=MILLION))


def test_the_settings_give_a_price_of_their_own() -> None:
    """For a server of one's own, or a contract."""
    given = ModelSettings(input_usd=2.0, output_usd=8.0, cache_read_usd=0.5, context_tokens=9)
    settings = Settings(models={"anthropic/claude-opus-4-5": given})
    usage = Usage(
        input_tokens=MILLION,
        output_tokens=MILLION,
        cache_read_tokens=MILLION,
        cache_write_tokens=MILLION,
    )
    made = routes(settings)
    assert made.cost_of("anthropic/claude-opus-4-5", usage) == pytest.approx(12.5)
    assert made.limits_for("anthropic/claude-opus-4-5").context_tokens == 9


def test_a_provider_s_own_list_that_was_saved_counts(home: Home) -> None:
    """`/v1/models` as Anthropic and as others answer it."""
    (home.path / "cache" / "models" / "anthropic.json").write_text(
        json.dumps(
            {
                "data": [
                    {"id": "claude-new", "max_input_tokens": 77_000, "max_tokens": 6000},
                    {"id": "claude-wide", "context_length": 88_000, "display_name": "W"},
                ]
            }
        )
    )
    made = routes(home=home)
    assert made.limits_for("anthropic/claude-new") == Limits(
        context_tokens=77_000, output_tokens_max=6000
    )
    assert made.limits_for("anthropic/claude-wide").context_tokens == 88_000
    assert checked_route("anthropic/claude-new", home.path, environ=KEYS, home=home)


@pytest.mark.parametrize("text", ["", "[1]", '{"data": 3}', '{"data": [{"name": "x"}]}', "\xff"])
def test_a_saved_list_that_cannot_be_read_counts_as_none(home: Home, text: str) -> None:
    """It is a cache; a run does not fail for it."""
    path = home.path / "cache" / "models" / "anthropic.json"
    path.write_bytes(text.encode("latin-1"))
    assert listed_models(home, "anthropic") == {}
    assert listed_models(home, "nobody") == {}


def test_without_the_package_models_work_and_have_no_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The extra `models` brings the table; nothing else needs it."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    made = routes()
    assert made.cost_of("anthropic/claude-opus-4-5", Usage(input_tokens=1)) is None
    assert made.limits_for("anthropic/claude-opus-4-5") == Limits(output_tokens_max=32_000)
    assert checked_route("anthropic/claude-any", Path("/w"), environ=KEYS)
