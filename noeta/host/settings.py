"""Settings: from files, the environment and flags, each stronger than the one before.

In rising strength: `NOETA_HOME/settings.toml`, the workspace's `.noeta/settings.toml` and
`.noeta/settings.local.toml` (both only once the workspace is trusted), environment variables,
flags. A mistake in any of them is a SettingsError that names the place, the key and the mend.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from noeta.core.errors import NoetaError
from noeta.host.client import readable
from noeta.host.home import Home
from noeta.host.trust import is_trusted

FILE_BYTES_MAX = 1024 * 1024
PERMISSION_MODES = ("default", "acceptEdits", "bypassPermissions")


class SettingsError(NoetaError):
    """A setting is wrong; the message names where it stands and what to write instead."""


Tokens = Annotated[int, msgspec.Meta(ge=0)]
Price = Annotated[float, msgspec.Meta(ge=0)]


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[providers.NAME]`: a server that speaks one of the dialects; empty fields keep what noeta
    knows of a provider of that name."""

    dialect: str = ""
    """`anthropic`, `openai-chat` or `openai-responses`."""
    base_url: str = ""
    key_env: str = ""
    """The environment variable that holds the key; empty: the server needs none."""
    headers: dict[str, str] = {}
    """Sent with every request; no place for a secret."""
    idle_seconds: float = 300.0
    """How long a server may send nothing at all."""


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[models."provider/model"]`: what noeta does not know of a model, or is to do otherwise."""

    context_tokens: Tokens = 0
    output_tokens_max: Tokens = 0
    effort: str = ""
    thinking_tokens: Tokens = 0
    input_usd: Price | None = None
    """US dollars for a million tokens; None: as the price table says."""
    output_usd: Price | None = None
    cache_read_usd: Price | None = None
    """None, with an input_usd: as much as that; and so for writes."""
    cache_write_usd: Price | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting there is, with its default."""

    store: str = ""
    """A path of a sqlite file; empty: the one in NOETA_HOME."""
    model: str = ""
    """The model's route, such as `scripted:FILE`; empty: none is chosen."""
    permission_mode: str = "default"
    """What runs without asking: `default` nothing that writes, `acceptEdits` file edits,
    `bypassPermissions` everything."""
    lease_seconds: float = 30.0
    """How long a silent worker keeps its tasks, 0.2 to 3600."""
    effort: str = ""
    """How hard models should try, in the provider's own word; empty: as the provider does."""
    aliases: dict[str, str] = {}
    """Short names of routes."""
    providers: dict[str, ProviderSettings] = {}
    models: dict[str, ModelSettings] = {}
    """By route."""


SETTING_NAMES = tuple(Settings.__struct_fields__)
ENVIRONMENT = {
    "NOETA_STORE": "store",
    "NOETA_MODEL": "model",
    "NOETA_PERMISSION_MODE": "permission_mode",
    "NOETA_LEASE_SECONDS": "lease_seconds",
    "NOETA_EFFORT": "effort",
}
"""Environment variables that set a setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One place settings come from, as doctor shows it."""

    name: str
    values: Mapping[str, Any]
    problem: str = ""
    """Why its values do not count, when they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings in force and where they came from, the weakest first."""

    settings: Settings
    sources: tuple[Source, ...]

    def origin(self, name: str) -> str:
        """The place that decided this setting."""
        for source in reversed(self.sources):
            if name in source.values and not source.problem:
                return source.name
        return "default"


def load_settings(
    home: Home,
    workspace: Path,
    *,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
) -> Loaded:
    """The settings for a run in this workspace. Raises SettingsError."""
    sources = [_file(home.settings_path)]
    trusted = _trusted(home, workspace)
    for name in ("settings.toml", "settings.local.toml"):
        path = workspace / ".noeta" / name
        if trusted:
            sources.append(_file(path))
        elif os.path.exists(path):
            sources.append(
                Source(name=str(path), values={}, problem="not trusted; see `noeta trust`")
            )
    sources.append(_environment(environ))
    sources.append(Source(name="flags", values={k: v for k, v in flags.items() if v is not None}))
    merged: dict[str, Any] = {}
    for source in sources:
        for name, value in _checked(source).items():
            # Of a table, a stronger place replaces the entries it names and keeps the others.
            is_table = isinstance(value, dict)
            merged[name] = {**merged.get(name, {}), **value} if is_table else value
    return Loaded(settings=Settings(**merged), sources=tuple(sources))


def _trusted(home: Home, workspace: Path) -> bool:
    try:
        return is_trusted(home, workspace)
    except OSError as error:
        raise SettingsError(
            f"cannot read {home.trust_path} ({error.strerror}); make it a file that you may"
            " read, or remove it"
        ) from error


def _file(path: Path) -> Source:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return Source(name=str(path), values={})
    except OSError as error:
        raise SettingsError(
            f"cannot read {path} ({error.strerror}); make it a file that you may read, or remove it"
        ) from error
    if len(data) > FILE_BYTES_MAX:
        raise SettingsError(f"{path} is larger than a settings file may be (1 MiB)")
    try:
        return Source(name=str(path), values=tomllib.loads(data.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error


def _environment(environ: Mapping[str, str]) -> Source:
    values: dict[str, Any] = {}
    for variable, name in ENVIRONMENT.items():
        text = environ.get(variable, "")
        if not text:
            continue
        if name == "lease_seconds":
            try:
                values[name] = float(text)
            except ValueError as error:
                raise SettingsError(f"{variable} is {text!r}; give seconds, such as 30") from error
        else:
            values[name] = text
    return Source(name="environment", values=values)


def _checked(source: Source) -> dict[str, Any]:
    values = dict(source.values)
    for name in values:
        if name not in SETTING_NAMES:
            raise SettingsError(
                f"{source.name}: there is no setting {name!r}; the settings are"
                f" {', '.join(SETTING_NAMES)}"
            )
    _refuse_secrets(source)
    try:
        settings = msgspec.convert(values, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{source.name}: {_in_words(error)}") from error
    if settings.permission_mode not in PERMISSION_MODES:
        raise SettingsError(
            f"{_place(source, 'permission_mode')} is {settings.permission_mode!r}; it is one of"
            f" {', '.join(PERMISSION_MODES)}"
        )
    if not 0.2 <= settings.lease_seconds <= 3600:
        raise SettingsError(
            f"{_place(source, 'lease_seconds')} is {settings.lease_seconds:g}; it may be 0.2"
            " to 3600, and 30 is usual"
        )
    return {name: getattr(settings, name) for name in values}


def _place(source: Source, name: str) -> str:
    """A setting and where it was made."""
    if source.name == "environment":
        return next(variable for variable, of in ENVIRONMENT.items() if of == name)
    return f"{source.name}: {name}"


def _in_words(error: msgspec.ValidationError) -> str:
    """Such as "lease_seconds: expected `float`, got `str`"."""
    what, _, where = str(error).partition(" - at `$.")
    name = where.rstrip("`")
    return f"{name}: {what[0].lower()}{what[1:]}" if name else what


def _refuse_secrets(source: Source) -> None:
    """A settings file is shared, printed and committed: no key may stand in it."""
    providers = source.values.get("providers")
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if not isinstance(table, dict):
            continue
        headers = table.get("headers")
        named = [*table, *(headers if isinstance(headers, dict) else ())]
        for field in named:
            if field != "key_env" and _SECRET.search(field):
                raise SettingsError(
                    f"{source.name}: providers.{name} must not hold a secret ({field}); put it"
                    " into an environment variable and write its name, such as key_env ="
                    ' "MY_API_KEY"'
                )


_SECRET = re.compile(r"key|token|secret|password|authorization|cookie", re.IGNORECASE)


def workspace_of(directory: str | None) -> Path:
    """The directory a run is about, absolute. Raises SettingsError when it is none."""
    path = expanded(directory) if directory else _current_directory()
    if (problem := _directory_problem(path)) is not None:
        raise SettingsError(f"{str(path)!r} {problem}; name another directory")
    if str(path) != readable(str(path)):
        raise SettingsError(f"the name of {str(path)!r} is not UTF-8; rename it to use it here")
    return path.absolute()


def home_of(environ: Mapping[str, str]) -> Home:
    """The home these environment variables name. Raises SettingsError when it can be none."""
    try:
        home = Home.from_environ(dict(environ))
    except RuntimeError as error:
        raise SettingsError(f"NOETA_HOME cannot be told: {error}; set it to a path") from error
    if os.path.lexists(home.path) and (problem := _directory_problem(home.path)) is not None:
        raise SettingsError(
            f"NOETA_HOME, {str(home.path)!r}, {problem}; set it to a directory, or to where"
            " one can be made"
        )
    return home


def expanded(path: str) -> Path:
    """The path with a leading ~ put in full. Raises SettingsError for a user there is not."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{path!r} names a home that is not known; write it in full") from error


def _directory_problem(path: Path) -> str | None:
    """Why the path is no directory to work in; None when it is one."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    return None if stat.S_ISDIR(mode) else "is not a directory"


def _current_directory() -> Path:
    try:
        return Path(os.getcwd())
    except FileNotFoundError as error:
        raise SettingsError("the current directory was deleted; cd to another one") from error
