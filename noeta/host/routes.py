"""Model routes: from the name in a log to the model behind it, its limits and its price.

A route is `provider/model` or `scripted:FILE`. Aliases are resolved before a task is created, so
that a log means the same on every worker.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from noeta.backends.models.scripted import ScriptedModel, ScriptError
from noeta.core.message import Limits, Usage
from noeta.core.model import Model, ModelError
from noeta.host.client import readable
from noeta.host.home import Home
from noeta.host.providers import BUILT_IN, endpoint_of, near, provider_of
from noeta.host.settings import Settings, SettingsError, expanded

if TYPE_CHECKING:
    from noeta.backends.models.anthropic import AnthropicModel
    from noeta.backends.models.openai_chat import OpenAIChatModel
    from noeta.backends.models.openai_responses import OpenAIResponsesModel
    from noeta.host.prices import ModelTable

    Wire = AnthropicModel | OpenAIChatModel | OpenAIResponsesModel

SCRIPTED = "scripted"
NO_MODEL = "no model is chosen; give --model provider/model or scripted:FILE, or set NOETA_MODEL"


class Routes:
    """The models of this process, made when first asked for; one of a provider serves them all."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        home: Home | None = None,
    ) -> None:
        """environ gives keys and addresses; None is this process's own. home gives cached lists
        of models; None: there are none."""
        self._settings = settings if settings is not None else Settings()
        self._environ = environ if environ is not None else os.environ
        self._home = home
        self._scripts: dict[str, ScriptedModel] = {}
        self._wires: dict[str, Wire] = {}
        self._tables: dict[str, ModelTable] = {}

    def model_for(self, route: str) -> Model:
        """The model of a route. Raises ModelError when this process cannot make it."""
        kind, colon, rest = route.partition(":")
        try:
            if colon and kind == SCRIPTED:
                if route not in self._scripts:
                    self._scripts[route] = ScriptedModel.load(rest)
                return self._scripts[route]
            return self._wire(_provider_name(route))
        except (ScriptError, SettingsError) as error:
            raise ModelError(str(error), kind="fatal") from error

    def limits_for(self, route: str) -> Limits:
        """What the log records of a route; empty for one this process does not know."""
        try:
            return self._table(route).limits(_model(route), effort=self._settings.effort)
        except SettingsError:
            return Limits()

    def cost_of(self, route: str, usage: Usage) -> float | None:
        """What a call cost in US dollars; None when its price is not known."""
        try:
            return self._table(route).cost(_model(route), usage)
        except SettingsError:
            return None

    async def aclose(self) -> None:
        """Close the connections to providers."""
        wires, self._wires = self._wires, {}
        for wire in wires.values():
            await wire.close()

    def checked(self, route: str) -> str:
        """The `provider/model` itself. Raises SettingsError when it cannot be called from here."""
        name = _provider_name(route)
        provider = provider_of(name, self._settings, self._environ)
        table = self._table(route)
        model = _model(route)
        if not model:
            raise SettingsError(f"{route!r} names no model; write {name}/MODEL")
        if model != readable(model) or not model.isprintable():
            raise SettingsError(f"{route!r} is no name of a model")
        names = table.names()
        if provider.lists_models and names and not table.is_known(model):
            raise SettingsError(
                f"{name} has no model {model!r} that noeta knows of{near(model, names)}; to use"
                f' it all the same, write [models."{route}"] into the settings'
            )
        endpoint_of(provider, self._environ)
        return route

    def names(self) -> list[str]:
        """What may be written for a model: aliases, and every model that is known by name."""
        found = list(self._settings.aliases)
        for name in (*BUILT_IN, *self._settings.providers):
            with suppress(SettingsError):
                found += [f"{name}/{model}" for model in self._table(f"{name}/").names()]
        return sorted(set(found))

    def _table(self, route: str) -> "ModelTable":
        name = _provider_name(route)
        if name not in self._tables:
            # The price table takes a while to load, and a scripted model needs none.
            from noeta.host.prices import ModelTable, listed_models

            provider = provider_of(name, self._settings, self._environ)
            listed = listed_models(self._home, name) if self._home is not None else {}
            self._tables[name] = ModelTable(provider, listed=listed, models=self._settings.models)
        return self._tables[name]

    def _wire(self, name: str) -> "Wire":
        if name not in self._wires:
            provider = provider_of(name, self._settings, self._environ)
            endpoint = endpoint_of(provider, self._environ)
            # Each brings httpx2, which a scripted model and `noeta --version` do without.
            match provider.dialect:
                case "anthropic":
                    from noeta.backends.models.anthropic import AnthropicModel

                    self._wires[name] = AnthropicModel(endpoint)
                case "openai-chat":
                    from noeta.backends.models.openai_chat import OpenAIChatModel

                    self._wires[name] = OpenAIChatModel(endpoint)
                case _:
                    from noeta.backends.models.openai_responses import OpenAIResponsesModel

                    self._wires[name] = OpenAIResponsesModel(endpoint)
        return self._wires[name]


def checked_route(
    route: str,
    cwd: Path,
    settings: Settings | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: Home | None = None,
) -> str:
    """The route as a task records it: no alias, a script's file absolute.

    Raises SettingsError, also when there is no key for it; ScriptError.
    """
    settings = settings if settings is not None else Settings()
    route = settings.aliases.get(route, route)
    if not route:
        raise SettingsError(NO_MODEL)
    kind, colon, rest = route.partition(":")
    if kind == SCRIPTED and not route.startswith(f"{SCRIPTED}/"):
        return _checked_script(rest if colon else "", cwd)
    routes = Routes(settings, environ=environ, home=home)
    if "/" not in route:
        raise SettingsError(
            f"there is no model {route!r}{near(route, routes.names())}; write provider/model,"
            " scripted:FILE or an alias of the settings"
        )
    return routes.checked(route)


def _checked_script(file: str, cwd: Path) -> str:
    if not file:
        raise SettingsError("--model scripted:FILE needs a file, such as scripted:demo.yaml")
    path = expanded(file)
    absolute = path if path.is_absolute() else cwd / path
    if str(absolute) != readable(str(absolute)):
        raise SettingsError(f"the name of {str(absolute)!r} is not UTF-8; rename the script")
    ScriptedModel.load(str(absolute))
    return f"scripted:{absolute}"


def _provider_name(route: str) -> str:
    """The provider in a route. Raises SettingsError when it names none."""
    name, slash, _ = route.partition("/")
    if not slash or not name or ":" in name:
        raise SettingsError(f"this noeta knows no model {route!r}")
    return name


def _model(route: str) -> str:
    return route.partition("/")[2]
