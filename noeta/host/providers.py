"""Providers: from a name in a route to a dialect, an address and a key.

Two are built in; settings add servers that speak one of their dialects. Keys come from the
environment and from nowhere else. Nothing here loads an adapter or opens a connection.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from noeta.backends.execenvs.local_environ import scrub
from noeta.backends.models.endpoint import Endpoint, Patience
from noeta.host.settings import ProviderSettings, Settings, SettingsError

DIALECTS = ("anthropic", "openai-chat", "openai-responses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A server of models."""

    name: str
    dialect: str
    base_url: str
    base_url_env: str = ""
    """A variable that stands in for base_url when it is set; the official SDKs read it too."""
    key_env: str = ""
    """Empty: no key is sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    idle_seconds: float = 300.0
    lists_models: bool = False
    """Its models are known by name, so an unknown one is a mistake."""


BUILT_IN: Mapping[str, Provider] = {
    "anthropic": Provider(
        name="anthropic",
        dialect="anthropic",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_env="ANTHROPIC_API_KEY",
        lists_models=True,
    ),
    "openai": Provider(
        name="openai",
        dialect="openai-responses",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        key_env="OPENAI_API_KEY",
        lists_models=True,
    ),
}


def provider_of(name: str, settings: Settings, environ: Mapping[str, str]) -> Provider:
    """The provider of a route. Raises SettingsError: there is none, or its settings are wrong."""
    known = BUILT_IN.get(name)
    given = settings.providers.get(name)
    if given is None:
        if known is None:
            raise SettingsError(_unknown(name, settings))
        found = known
    elif known is None:
        found = _added(name, given)
    else:
        found = replace(
            known,
            dialect=given.dialect or known.dialect,
            base_url=given.base_url or known.base_url,
            # An address in the settings is meant more than one in the environment.
            base_url_env="" if given.base_url else known.base_url_env,
            key_env=given.key_env or known.key_env,
            headers=given.headers,
            idle_seconds=given.idle_seconds,
        )
    base_url = environ.get(found.base_url_env, "") if found.base_url_env else ""
    if base_url or (given is not None and given.base_url):
        # Another server may have models of its own.
        found = replace(found, base_url=base_url or found.base_url, lists_models=False)
    return replace(_checked(found), base_url=_base_url(found))


def endpoint_of(provider: Provider, environ: Mapping[str, str]) -> Endpoint:
    """How this process reaches the provider. Raises SettingsError: there is no key, or none that
    can be sent."""
    key = environ.get(provider.key_env, "").strip() if provider.key_env else ""
    if provider.key_env and not key:
        raise SettingsError(
            f"there is no key for {provider.name}; set {provider.key_env} in the environment"
        )
    if not all("!" <= char <= "~" for char in key):
        raise SettingsError(
            f"{provider.key_env} holds characters that no key has (a space, a line break or a"
            " letter that is not ASCII); copy the key again"
        )
    return Endpoint(
        provider=provider.name,
        base_url=provider.base_url,
        key=key,
        key_env=provider.key_env,
        headers=provider.headers,
        patience=Patience(idle_seconds=provider.idle_seconds),
    )


def near(name: str, names: list[str]) -> str:
    """Names like this one, in brackets; empty when none is. Of `provider/model` the model alone
    may be what was meant."""
    by_tail = {each.rpartition("/")[2]: each for each in reversed(names)}
    close = difflib.get_close_matches(name, names, n=4, cutoff=0.6)
    close += [by_tail[tail] for tail in difflib.get_close_matches(name, by_tail, n=4, cutoff=0.6)]
    found = list(dict.fromkeys(close))[:4]
    return f" (near it: {', '.join(found)})" if found else ""


def _unknown(name: str, settings: Settings) -> str:
    names = sorted({*BUILT_IN, *settings.providers})
    return (
        f"there is no provider {name!r}{near(name, names)}; there are {', '.join(names)}, and"
        f" [providers.{name}] in the settings would add it"
    )


def _added(name: str, given: ProviderSettings) -> Provider:
    for field_name in ("dialect", "base_url"):
        if not getattr(given, field_name):
            raise SettingsError(f"providers.{name} needs a {field_name} in the settings")
    return Provider(
        name=name,
        dialect=given.dialect,
        base_url=given.base_url,
        key_env=given.key_env,
        headers=given.headers,
        idle_seconds=given.idle_seconds,
    )


def _checked(provider: Provider) -> Provider:
    where = f"providers.{provider.name}"
    if provider.dialect not in DIALECTS:
        raise SettingsError(
            f"{where}: dialect is {provider.dialect!r}; it is one of {', '.join(DIALECTS)}"
        )
    if not 1 <= provider.idle_seconds <= 3600:
        raise SettingsError(f"{where}: idle_seconds is 1 to 3600")
    if provider.key_env and provider.key_env in scrub({provider.key_env: "x"}):
        raise SettingsError(
            f"{where}: key_env is {provider.key_env!r}; give it a name that ends in _API_KEY, so"
            " that no command of a task sees it"
        )
    for name, value in provider.headers.items():
        if not all("!" <= c <= "~" for c in name) or not all(" " <= c <= "~" for c in value):
            raise SettingsError(f"{where}: the header {name!r} holds characters HTTP forbids")
    return provider


def _base_url(provider: Provider) -> str:
    """The address without a slash at its end, and without the part that the dialect adds."""
    from_env = provider.base_url_env and provider.base_url != BUILT_IN[provider.name].base_url
    where = provider.base_url_env if from_env else f"providers.{provider.name}: base_url"
    url = provider.base_url.strip().rstrip("/")
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
        parts = urlsplit("")
    if not sound or not url.isprintable() or " " in url:
        raise SettingsError(
            f"{where} is no http address; write one such as https://models.example.org/v1"
        )
    if parts.username is not None or parts.password is not None:
        raise SettingsError(f"{where} must not hold a user or a password; use key_env")
    if parts.query or parts.fragment:
        raise SettingsError(f"{where} must not have a query; give the address up to the version")
    if provider.dialect == "anthropic":
        url = url.removesuffix("/v1/messages").removesuffix("/v1")
    return url.removesuffix("/chat/completions").removesuffix("/responses")
