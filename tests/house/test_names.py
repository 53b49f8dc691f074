"""Names and numbers that others rely on are where the architecture page says."""

import dataclasses
import inspect
from importlib import import_module

import msgspec
import pytest

EXISTING = (
    "noeta.core.action:Interrupted",
    "noeta.core.action:next_action",
    "noeta.core.events:ModelCalled",
    "noeta.core.events:ModelReplied",
    "noeta.core.events:ToolFinished",
    "noeta.core.events:ToolStarted",
    "noeta.core.events:Waiting",
    "noeta.core.registry:pin",
    "noeta.core.runner.calls:recover_calls",
    "noeta.core.store:CommitUnknown",
    "noeta.core.store:Conflict",
    "noeta.core.store:StoreUnavailable",
    "noeta.host.local:Deltas.publish_deltas",
)

PARAMETERS = (
    ("noeta.core.store:Store.claim", ("worker", "queues", "lease_seconds")),
    ("noeta.core.store:Store.renew", ("claim", "lease_seconds")),
    ("noeta.core.store:Store.release", ("claim",)),
    ("noeta.core.runner.runtime:Runtime", ("env_for",)),
)

FIELDS = (
    ("noeta.core.state:TaskState", "model_attempts"),
    ("noeta.core.tool:ToolContext", "idempotency_key"),
    ("noeta.core.tool:ToolFlags", "retry_safe"),
)

NUMBERS = (
    ("noeta.core.retry:DEFAULT_MAX_ATTEMPTS", 9),
    ("noeta.core.task:LOAD_ATTEMPTS", 3),
    ("noeta.core.texts:MAX_MODEL_ATTEMPTS", 3),
    ("noeta.core.tool:MAX_ATTEMPTS", 3),
)


PENDING = {
    "background jobs": ("noeta.core.tool:ToolContext.keep",),
    "plugins": (
        "noeta.core.view:TaskView.enqueue",
        "noeta.core.view:TaskView.spawn",
        "noeta.core.plugin:Plugin.delivered_through",
    ),
    "serve": ("noeta.host.remote:RemoteClient",),
}
"""Promised names that come with a feature that is not here yet; whoever brings one moves it up."""


@pytest.mark.parametrize("where", [where for names in PENDING.values() for where in names])
def test_a_name_that_is_pending_is_not_there_yet(where: str) -> None:
    """Else it belongs among those that must stay."""
    module, _, path = where.partition(":")
    try:
        found: object = import_module(module)
    except ModuleNotFoundError:
        return
    for name in path.split("."):
        found = getattr(found, name, None)
    assert found is None


@pytest.mark.parametrize("where", EXISTING)
def test_a_promised_name_is_where_it_was_promised(where: str) -> None:
    """Hosts, plugins and the docs import these."""
    assert _find(where) is not None


@pytest.mark.parametrize(("where", "names"), PARAMETERS)
def test_a_promised_parameter_has_its_name(where: str, names: tuple[str, ...]) -> None:
    """Callers pass these by keyword."""
    promised = _find(where)
    assert callable(promised)
    assert set(names) <= set(inspect.signature(promised).parameters)


@pytest.mark.parametrize(("where", "name"), FIELDS)
def test_a_promised_field_has_its_name(where: str, name: str) -> None:
    """Tools and front ends read these."""
    owner = _find(where)
    assert isinstance(owner, type)
    assert name in _fields(owner)


@pytest.mark.parametrize(("where", "number"), NUMBERS)
def test_a_promised_bound_has_its_value(where: str, number: int) -> None:
    """The docs give these numbers."""
    assert _find(where) == number


def test_plugins_are_pinned_under_their_promised_tag() -> None:
    """A log says `core/plugins` where it pins the plugins, for any reader of logs."""
    events = import_module("noeta.core.events")
    tags = {
        value.__struct_config__.tag
        for value in vars(events).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    }
    assert "core/plugins" in tags


def _find(where: str) -> object:
    """The object at `module:name.name`."""
    module, _, names = where.partition(":")
    found: object = import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def _fields(owner: type) -> set[str]:
    """The names an instance answers to: fields, properties, and what a class body declares."""
    declared = {name for base in owner.__mro__ for name in inspect.get_annotations(base)}
    if dataclasses.is_dataclass(owner):
        declared |= {field.name for field in dataclasses.fields(owner)}
    return declared | {name for name, _ in inspect.getmembers(owner, inspect.isdatadescriptor)}
