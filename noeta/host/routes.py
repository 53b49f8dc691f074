"""Model routes: from the name in a log to the model behind it."""

from pathlib import Path

from noeta.backends.models.scripted import ScriptedModel, ScriptError
from noeta.core.model import Model, ModelError
from noeta.host.client import readable
from noeta.host.settings import SettingsError, expanded


class Routes:
    """The models of this process, made when first asked for."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    def model_for(self, route: str) -> Model:
        """The model of a route. Raises ModelError when this process cannot make it."""
        if route not in self._models:
            try:
                self._models[route] = _make(route)
            except (ScriptError, SettingsError) as error:
                raise ModelError(str(error), kind="fatal") from error
        return self._models[route]


def checked_route(route: str, cwd: Path) -> str:
    """The route as a task records it, with its file absolute. Raises SettingsError, ScriptError."""
    if not route:
        raise SettingsError("no model is chosen; give --model scripted:FILE or set NOETA_MODEL")
    kind, colon, rest = route.partition(":")
    if kind != "scripted" or not colon:
        raise SettingsError(f"there is no model {route!r}; this version knows scripted:FILE")
    if not rest:
        raise SettingsError("--model scripted:FILE needs a file, such as scripted:demo.yaml")
    path = expanded(rest)
    absolute = path if path.is_absolute() else cwd / path
    if str(absolute) != readable(str(absolute)):
        raise SettingsError(f"the name of {str(absolute)!r} is not UTF-8; rename the script")
    ScriptedModel.load(str(absolute))
    return f"scripted:{absolute}"


def _make(route: str) -> Model:
    kind, _, rest = route.partition(":")
    if kind != "scripted":
        raise SettingsError(f"this noeta knows no model {route!r}")
    return ScriptedModel.load(rest)
