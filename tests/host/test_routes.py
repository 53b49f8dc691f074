"""Model routes: checked before a task is created, and again where it runs."""

from pathlib import Path
from typing import Any

import pytest

from noeta.backends.models.scripted import ScriptedModel, ScriptError
from noeta.core.message import Limits, Usage
from noeta.core.model import ModelError
from noeta.host.home import Home
from noeta.host.providers import provider_of
from noeta.host.routes import Routes, checked_route
from noeta.host.settings import (
    ModelSettings,
    ProviderSettings,
    Settings,
    SettingsError,
    load_settings,
)

SCRIPT = "steps:\n  - text: hi\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yaml"
    path.write_text(SCRIPT)
    return path


def test_a_route_is_recorded_with_its_file_absolute(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that starts elsewhere finds the same file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("script.yaml", str(script), "~/script.yaml"):
        assert checked_route(f"scripted:{given}", tmp_path) == f"scripted:{script}"


@pytest.mark.parametrize(
    ("route", "says"),
    [
        (
            "",
            "no model is chosen; give --model provider/model or scripted:FILE, or set NOETA_MODEL",
        ),
        (
            "zzz",
            "there is no model 'zzz'; write provider/model, scripted:FILE or an alias of the"
            " settings",
        ),
        ("scripted", "--model scripted:FILE needs a file, such as scripted:demo.yaml"),
        (
            "other:x",
            "there is no model 'other:x'; write provider/model, scripted:FILE or an alias of the"
            " settings",
        ),
        ("scripted:", "--model scripted:FILE needs a file, such as scripted:demo.yaml"),
        ("scripted:~nobody-x/s", "'~nobody-x/s' names a home that is not known; write it in full"),
    ],
)
def test_a_route_that_leads_nowhere_is_told(route: str, says: str, tmp_path: Path) -> None:
    """With what to write instead."""
    with pytest.raises(SettingsError) as raised:
        checked_route(route, tmp_path)
    assert str(raised.value) == says


def test_a_script_with_a_name_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    """The log could not name it."""
    (tmp_path / "caf\udce9").write_text(SCRIPT)
    with pytest.raises(SettingsError, match="not UTF-8; rename the script"):
        checked_route("scripted:caf\udce9", tmp_path)


def test_a_script_is_read_before_a_task_is_created_with_it(tmp_path: Path, script: Path) -> None:
    """A mistake is told to the one who typed it, and leaves no task behind."""
    with pytest.raises(ScriptError, match="there is no script file"):
        checked_route("scripted:gone.yaml", tmp_path)
    script.write_text("steps: 3\n")
    with pytest.raises(ScriptError):
        checked_route(f"scripted:{script}", tmp_path)


def test_a_route_gives_one_model(script: Path) -> None:
    """It is made when it is first asked for, and kept."""
    routes = Routes()
    model = routes.model_for(f"scripted:{script}")
    assert isinstance(model, ScriptedModel)
    assert routes.model_for(f"scripted:{script}") is model


@pytest.mark.parametrize("route", ["other:x", "", "scripted:/no/such/file"])
def test_a_route_of_a_log_that_cannot_be_had_here_fails_the_turn(route: str) -> None:
    """Not the worker: a ModelError that is not worth another attempt."""
    with pytest.raises(ModelError) as raised:
        Routes().model_for(route)
    assert raised.value.kind == "fatal"
    assert str(raised.value)


def test_a_script_that_was_missing_is_looked_for_again(tmp_path: Path) -> None:
    """Who puts it there can carry the task on, without a restart."""
    routes, path = Routes(), tmp_path / "late.yaml"
    with pytest.raises(ModelError):
        routes.model_for(f"scripted:{path}")
    path.write_text(SCRIPT)
    assert isinstance(routes.model_for(f"scripted:{path}"), ScriptedModel)


# Providers


KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "OPENAI_API_KEY": "sk-2", "LOCAL_API_KEY": "x1"}
LOCAL = ProviderSettings(dialect="openai-chat", base_url="http://127.0.0.1:8080/v1/")
ADDED = Settings(providers={"local": LOCAL})


def check(route: str, settings: Settings | None = None, **environ: str) -> str:
    return checked_route(route, Path("/w"), settings or ADDED, environ={**KEYS, **environ})


def mistake(route: str, settings: Settings | None = None, **environ: str) -> str:
    with pytest.raises(SettingsError) as raised:
        check(route, settings, **environ)
    return str(raised.value)


@pytest.mark.parametrize(
    "route",
    [
        "anthropic/claude-opus-5-5",
        "anthropic/claude-opus-4-5-20251101",
        "openai/gpt-5",
        "local/any/thing:8b",
    ],
)
def test_a_model_of_a_known_provider_is_a_route(route: str) -> None:
    """Under a dated name too; a server of the user's own may have any model."""
    assert check(route) == route


def test_an_alias_is_recorded_as_what_it_stands_for() -> None:
    """A log means the same on a worker with other settings."""
    settings = Settings(aliases={"fast": "openai/gpt-5-mini"})
    assert check("fast", settings) == "openai/gpt-5-mini"


def test_a_key_that_is_missing_is_named() -> None:
    """Before there is a task."""
    says = mistake("anthropic/claude-opus-5-5", ANTHROPIC_API_KEY=" ")
    assert says == "there is no key for anthropic; set ANTHROPIC_API_KEY in the environment"


def test_a_key_that_cannot_be_one_is_not_shown() -> None:
    """HTTP's own error would quote it."""
    says = mistake("anthropic/claude-opus-5-5", ANTHROPIC_API_KEY="sk-ant-canary\u00e9")
    assert says.startswith("ANTHROPIC_API_KEY holds characters that no key has")
    assert "canary" not in says


@pytest.mark.parametrize(
    ("route", "says"),
    [
        ("antropic/x", "there is no provider 'antropic' (near it: anthropic); there are"),
        ("anthropic/claude-opus-55", "anthropic has no model 'claude-opus-55' that noeta knows of"),
        ("anthropic/", "'anthropic/' names no model; write anthropic/MODEL"),
        ("claude-opus-5", "there is no model 'claude-opus-5' (near it: anthropic/claude-opus-5,"),
        ("local/a\nb", "'local/a\\nb' is no name of a model"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_those_near_it(route: str, says: str) -> None:
    """Nobody looks a name up elsewhere."""
    assert mistake(route).startswith(says)


def test_a_model_that_is_too_new_can_be_used_all_the_same() -> None:
    """With an entry in the settings, or at an address of the user's."""
    says = mistake("anthropic/claude-epic-9")
    assert says.endswith('write [models."anthropic/claude-epic-9"] into the settings')
    settings = Settings(models={"anthropic/claude-epic-9": ModelSettings()})
    assert check("anthropic/claude-epic-9", settings)
    assert check("anthropic/claude-epic-9", ANTHROPIC_BASE_URL="http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"base_url": "http://h"}, "providers.p needs a dialect in the settings"),
        ({"dialect": "openai-chat"}, "providers.p needs a base_url in the settings"),
        ({"dialect": "grpc", "base_url": "http://h"}, "providers.p: dialect is 'grpc'; it is one"),
        ({"dialect": "anthropic", "base_url": "ftp://h"}, "providers.p: base_url is no http addr"),
        ({"dialect": "anthropic", "base_url": "h:80"}, "providers.p: base_url is no http address"),
        ({"dialect": "anthropic", "base_url": "http://u:p@h"}, "providers.p: base_url must not"),
        ({"dialect": "anthropic", "base_url": "http://h?k=1"}, "providers.p: base_url must not"),
        ({"dialect": "anthropic", "base_url": "http://h:x"}, "providers.p: base_url is no http"),
        (
            {"dialect": "anthropic", "base_url": "http://h", "key_env": "HOME"},
            "providers.p: key_env is 'HOME'; give it a name that ends in _API_KEY",
        ),
        (
            {"dialect": "anthropic", "base_url": "http://h", "headers": {"a": "b\nc"}},
            "providers.p: the header 'a' holds characters HTTP forbids",
        ),
        (
            {"dialect": "anthropic", "base_url": "http://h", "idle_seconds": 0.0},
            "providers.p: idle_seconds is 1 to 3600",
        ),
    ],
)
def test_a_provider_with_a_mistake_is_told(given: dict[str, Any], says: str) -> None:
    """Before there is a task."""
    assert mistake("p/m", Settings(providers={"p": ProviderSettings(**given)})).startswith(says)


def test_each_dialect_gets_its_adapter_and_keeps_it() -> None:
    """One connection serves all models of a provider."""
    routes = Routes(ADDED, environ=KEYS)
    assert type(routes.model_for("anthropic/a")).__name__ == "AnthropicModel"
    assert type(routes.model_for("openai/a")).__name__ == "OpenAIResponsesModel"
    assert type(routes.model_for("local/a")).__name__ == "OpenAIChatModel"
    assert routes.model_for("local/a") is routes.model_for("local/b")


def test_a_log_whose_provider_is_not_here_fails_the_turn_and_says_how_to_go_on() -> None:
    """Another worker may have the key."""
    routes = Routes(ADDED, environ={})
    for route in ("anthropic/a", "elsewhere/a"):
        with pytest.raises(ModelError) as raised:
            routes.model_for(route)
        assert raised.value.kind == "fatal"
        assert routes.limits_for("elsewhere/a") == Limits()
        assert routes.cost_of("elsewhere/a", Usage(input_tokens=1)) is None


def test_the_address_of_a_provider_may_come_from_the_environment() -> None:
    """Of the official SDKs; the settings are meant more."""
    environ = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9/v1/"}
    assert provider_of("anthropic", Settings(), environ).base_url == "http://127.0.0.1:9"
    given = ProviderSettings(base_url="http://other/")
    settings = Settings(providers={"anthropic": given})
    assert provider_of("anthropic", settings, environ).base_url == "http://other"
    with pytest.raises(SettingsError, match="ANTHROPIC_BASE_URL is no http address"):
        provider_of("anthropic", Settings(), {"ANTHROPIC_BASE_URL": "nowhere"})


# Settings


def written(tmp_path: Path, user: str, workspace: str = "") -> Settings:
    """The settings of a user's file and of a trusted workspace's."""
    home, work = Home(tmp_path / "home"), tmp_path / "work"
    home.make()
    (work / ".noeta").mkdir(parents=True)
    home.settings_path.write_text(user)
    (work / ".noeta" / "settings.toml").write_text(workspace)
    home.trust_path.write_text(f"{work.resolve()}\n")
    return load_settings(home, work, environ={}, flags={}).settings


def test_tables_of_several_places_are_joined_entry_by_entry(tmp_path: Path) -> None:
    """A workspace adds a provider and keeps the user's."""
    settings = written(
        tmp_path,
        '[providers.a]\nbase_url = "http://a"\n[providers.b]\nbase_url = "http://b"\n'
        '[aliases]\nfast = "a/x"\n',
        '[providers.b]\nbase_url = "http://c"\n[models."a/x"]\ninput_usd = 1\n',
    )
    assert {name: each.base_url for name, each in settings.providers.items()} == {
        "a": "http://a",
        "b": "http://c",
    }
    assert settings.aliases == {"fast": "a/x"}
    assert settings.models["a/x"].input_usd == 1.0


@pytest.mark.parametrize(
    "table",
    [
        '[providers.a]\napi_key = "sk-canary"',
        '[providers.a]\ntoken = "sk-canary"',
        '[providers.a]\nheaders = { Authorization = "Bearer sk-canary" }',
        '[providers.a.headers]\nx-api-key = "sk-canary"',
        '[providers.a.headers]\nCookie = "sk-canary"',
    ],
)
def test_a_settings_file_that_holds_a_secret_is_refused(tmp_path: Path, table: str) -> None:
    """It is shared, printed and committed; what it holds is not repeated."""
    with pytest.raises(SettingsError) as raised:
        written(tmp_path, table)
    assert "providers.a must not hold a secret" in str(raised.value)
    assert "key_env" in str(raised.value)
    assert "canary" not in str(raised.value)


def test_a_price_below_nothing_is_refused(tmp_path: Path) -> None:
    """And so is a count."""
    for name in ("input_usd", "context_tokens"):
        with pytest.raises(SettingsError, match="models"):
            written(tmp_path / name, f'[models."a/b"]\n{name} = -1\n')
