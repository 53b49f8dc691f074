"""Settings: which place wins, which does not count, and how mistakes are told."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from noeta.host.home import Home
from noeta.host.settings import (
    ENVIRONMENT,
    FILE_BYTES_MAX,
    SETTING_NAMES,
    Loaded,
    Settings,
    SettingsError,
    load_settings,
    workspace_of,
)
from noeta.host.trust import trust


@dataclass
class Place:
    """A home and a workspace, and what stands in their files."""

    home: Home
    workspace: Path

    @property
    def user_file(self) -> Path:
        return self.home.settings_path

    @property
    def shared_file(self) -> Path:
        return self.workspace / ".noeta" / "settings.toml"

    @property
    def local_file(self) -> Path:
        return self.workspace / ".noeta" / "settings.local.toml"

    def load(
        self, environ: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
    ) -> Loaded:
        return load_settings(self.home, self.workspace, environ=environ or {}, flags=flags or {})

    def mistake(self, environ: Mapping[str, str] | None = None, **flags: object) -> str:
        with pytest.raises(SettingsError) as raised:
            self.load(environ, flags)
        return str(raised.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(Home(tmp_path / "home"), tmp_path / "work")
    made.home.make()
    (made.workspace / ".noeta").mkdir(parents=True)
    return made


def test_without_any_place_the_defaults_hold(place: Place) -> None:
    """And each says so."""
    loaded = place.load()
    assert loaded.settings == Settings()
    assert {loaded.origin(name) for name in SETTING_NAMES} == {"default"}


def test_each_place_is_stronger_than_the_one_before(place: Place) -> None:
    """User, workspace, workspace for this machine, environment, flags."""
    trust(place.home, place.workspace)
    expected: list[tuple[str, str]] = []
    files = (place.user_file, place.shared_file, place.local_file)
    for number, path in enumerate(files):
        path.write_text(f'model = "m{number}"\n')
        expected.append((f"m{number}", str(path)))
        assert _model(place.load()) == expected[-1]
    environ = {"NOETA_MODEL": "m3"}
    assert _model(place.load(environ)) == ("m3", "environment")
    assert _model(place.load(environ, {"model": "m4"})) == ("m4", "flags")
    # A flag that was not given is no value.
    assert _model(place.load(environ, {"model": None})) == ("m3", "environment")
    for path, (model, origin) in zip(reversed(files), reversed(expected), strict=True):
        assert _model(place.load()) == (model, origin)
        path.unlink()


def test_a_place_says_only_what_it_sets(place: Place) -> None:
    """A stronger place leaves the other settings of a weaker one."""
    place.user_file.write_text('model = "m"\nlease_seconds = 5\n')
    loaded = place.load({"NOETA_MODEL": "n"})
    assert loaded.settings == Settings(model="n", lease_seconds=5.0)
    assert loaded.origin("lease_seconds") == str(place.user_file)
    assert loaded.origin("permission_mode") == "default"


def test_every_setting_can_come_from_the_environment(place: Place) -> None:
    """NOETA_ and its name; an empty variable is none."""
    environ = {
        "NOETA_STORE": "/s",
        "NOETA_MODEL": "m",
        "NOETA_PERMISSION_MODE": "acceptEdits",
        "NOETA_LEASE_SECONDS": "2.5",
        "NOETA_EFFORT": "high",
    }
    assert set(ENVIRONMENT) == set(environ)
    loaded = place.load(environ)
    assert loaded.settings == Settings(
        store="/s",
        model="m",
        permission_mode="acceptEdits",
        lease_seconds=2.5,
        effort="high",
    )
    assert place.load(dict.fromkeys(environ, "")).settings == Settings()


def test_files_of_an_untrusted_workspace_do_not_count_and_say_so(place: Place) -> None:
    """A workspace that was only downloaded must not choose what runs without asking."""
    for path in (place.shared_file, place.local_file):
        path.write_text('permission_mode = "bypassPermissions"\n')
    loaded = place.load()
    assert loaded.settings.permission_mode == "default"
    assert [(s.name, s.problem) for s in loaded.sources if s.problem] == [
        (str(path), "not trusted; see `noeta trust`")
        for path in (place.shared_file, place.local_file)
    ]
    trust(place.home, place.workspace)
    assert place.load().settings.permission_mode == "bypassPermissions"


def test_a_mistake_in_an_untrusted_file_is_not_looked_at(place: Place) -> None:
    """It is not even read."""
    place.shared_file.write_text("model = [broken")
    assert place.load().settings == Settings()


def test_a_setting_that_is_not_there_is_told_with_those_that_are(place: Place) -> None:
    """A misspelt name must not be ignored."""
    place.user_file.write_text('modle = "m"\n')
    assert place.mistake() == (
        f"{place.user_file}: there is no setting 'modle'; the settings are store, model,"
        " permission_mode, lease_seconds, effort, aliases, providers, models"
    )


def test_a_value_of_a_wrong_type_is_told_with_its_key(place: Place) -> None:
    """And with what was expected."""
    place.user_file.write_text("model = 3\n")
    assert place.mistake() == (f"{place.user_file}: model: expected `str`, got `int`")
    place.user_file.write_text('lease_seconds = "30"\n')
    assert place.mistake() == (f"{place.user_file}: lease_seconds: expected `float`, got `str`")


def test_a_file_that_is_no_toml_is_told_with_its_line(place: Place) -> None:
    """Where to look."""
    place.user_file.write_text('model = "m"\n\nmodel m\n')
    assert place.mistake() == (
        f"{place.user_file} is not valid TOML: Expected '=' after a key in a key/value pair"
        " (at line 3, column 7)"
    )
    place.user_file.write_bytes(b'model = "\xff"\n')
    assert place.mistake().startswith(f"{place.user_file} is not valid TOML: ")


def test_a_mistake_in_a_trusted_workspace_names_its_file(place: Place) -> None:
    """Not the user's."""
    trust(place.home, place.workspace)
    place.local_file.write_text("permission_mode = 'yes'\n")
    assert place.mistake() == (
        f"{place.local_file}: permission_mode is 'yes'; it is one of default, acceptEdits,"
        " bypassPermissions"
    )


def test_an_unknown_permission_mode_is_told_with_the_ones_there_are(place: Place) -> None:
    """Wherever it comes from."""
    says = "is 'yolo'; it is one of default, acceptEdits, bypassPermissions"
    environ = {"NOETA_PERMISSION_MODE": "yolo"}
    assert place.mistake(environ) == f"NOETA_PERMISSION_MODE {says}"
    assert place.mistake(permission_mode="yolo") == f"flags: permission_mode {says}"


@pytest.mark.parametrize("seconds", ["0", "0.1", "-1", "3601", "nan", "inf"])
def test_a_lease_out_of_its_range_is_refused(place: Place, seconds: str) -> None:
    """Shorter than a renewal, or longer than anybody waits."""
    says = f"is {seconds}; it may be 0.2 to 3600, and 30 is usual"
    assert place.mistake({"NOETA_LEASE_SECONDS": seconds}) == f"NOETA_LEASE_SECONDS {says}"
    place.user_file.write_text(f"lease_seconds = {seconds}\n")
    assert place.mistake() == f"{place.user_file}: lease_seconds {says}"


def test_the_ends_of_the_lease_range_are_in_it(place: Place) -> None:
    """0.2 and 3600."""
    for seconds in (0.2, 3600.0):
        loaded = place.load({"NOETA_LEASE_SECONDS": str(seconds)})
        assert loaded.settings.lease_seconds == seconds


def test_a_lease_that_is_no_number_is_told_with_an_example(place: Place) -> None:
    """By the variable's name."""
    assert place.mistake({"NOETA_LEASE_SECONDS": "soon"}) == (
        "NOETA_LEASE_SECONDS is 'soon'; give seconds, such as 30"
    )


def test_a_settings_file_that_cannot_be_read_is_told(place: Place) -> None:
    """Ignoring it would run under other settings than the user wrote."""
    place.user_file.mkdir()
    assert place.mistake() == (
        f"cannot read {place.user_file} (Is a directory); make it a file that you may read, or"
        " remove it"
    )


def test_a_settings_file_has_a_size(place: Place) -> None:
    """Whatever lies there is not read without a bound."""
    place.user_file.write_text("#" * (FILE_BYTES_MAX + 1))
    assert place.mistake() == (f"{place.user_file} is larger than a settings file may be (1 MiB)")


def test_a_list_of_trust_that_cannot_be_read_is_told(place: Place) -> None:
    """Neither trusting all nor nothing would be what the user said."""
    place.home.trust_path.mkdir()
    assert place.mistake() == (
        f"cannot read {place.home.trust_path} (Is a directory); make it a file that you may"
        " read, or remove it"
    )


def test_a_workspace_is_a_directory_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute one; a relative path counts from the current directory."""
    (tmp_path / "file").touch()
    (tmp_path / "dir").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert workspace_of(None) == tmp_path
    assert workspace_of("dir") == workspace_of("~/dir") == tmp_path / "dir"
    for given, says in (
        ("gone", "'gone' does not exist; name another directory"),
        ("file", "'file' is not a directory; name another directory"),
        ("file/dir", "'file/dir' does not exist; name another directory"),
        (
            "loop",
            "'loop' cannot be used (Too many levels of symbolic links); name another directory",
        ),
        (
            "~nobody-here/x",
            "'~nobody-here/x' names a home that is not known; write it in full",
        ),
    ):
        assert _no_workspace(given) == says
    assert "(File name too long)" in _no_workspace("x" * 10_000)


def test_a_directory_whose_name_is_no_unicode_is_refused(tmp_path: Path) -> None:
    """A log is text: it could not say where the task works."""
    path = tmp_path / "caf\udce9"
    path.mkdir()
    assert _no_workspace(str(path)) == (
        f"the name of {str(path)!r} is not UTF-8; rename it to use it here"
    )


def test_a_current_directory_that_was_deleted_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to work in."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    os.rmdir(gone)
    assert _no_workspace(None) == "the current directory was deleted; cd to another one"


def _no_workspace(given: str | None) -> str:
    with pytest.raises(SettingsError) as raised:
        workspace_of(given)
    return str(raised.value)


def _model(loaded: Loaded) -> tuple[str, str]:
    return loaded.settings.model, loaded.origin("model")
