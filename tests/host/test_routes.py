"""Model routes: checked before a task is created, and again where it runs."""

from pathlib import Path

import pytest

from noeta.backends.models.scripted import ScriptedModel, ScriptError
from noeta.core.model import ModelError
from noeta.host.routes import Routes, checked_route
from noeta.host.settings import SettingsError

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
        ("", "no model is chosen; give --model scripted:FILE or set NOETA_MODEL"),
        ("gpt", "there is no model 'gpt'; this version knows scripted:FILE"),
        ("scripted", "there is no model 'scripted'; this version knows scripted:FILE"),
        ("other:x", "there is no model 'other:x'; this version knows scripted:FILE"),
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
