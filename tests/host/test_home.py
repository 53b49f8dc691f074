"""NOETA_HOME: where it is, and who may look into it."""

import os
from pathlib import Path

import pytest

from noeta.host.assemble import open_store
from noeta.host.home import Home
from noeta.host.settings import Settings, SettingsError, home_of

pytestmark = pytest.mark.anyio


def test_the_home_is_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~/.noeta` without one; a relative path counts from here."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert Home.from_environ({}).path == tmp_path / ".noeta"
    assert Home.from_environ({"NOETA_HOME": ""}).path == tmp_path / ".noeta"
    assert Home.from_environ({"NOETA_HOME": "/a/b"}).path == Path("/a/b")
    assert Home.from_environ({"NOETA_HOME": "~/c"}).path == tmp_path / "c"
    assert Home.from_environ({"NOETA_HOME": "d"}).path == tmp_path / "d"


async def test_the_home_and_its_store_are_for_the_user_alone(tmp_path: Path) -> None:
    """Whatever the umask: they hold what tasks said and did."""
    home = Home(tmp_path / "deep" / "home")
    before = os.umask(0)
    try:
        async with open_store(home, Settings()):
            pass
    finally:
        os.umask(before)
    assert home.path.stat().st_mode & 0o777 == 0o700
    assert home.store_path.stat().st_mode & 0o777 == 0o600
    for path in home.path.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """Before anything is looked for in it."""
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(SettingsError) as refused:
        home_of({"NOETA_HOME": str(path)})
    assert str(refused.value) == (
        f"NOETA_HOME, {str(path)!r}, is not a directory; set it to a directory, or to where one"
        " can be made"
    )


def test_a_home_below_a_file_is_told_when_it_is_made(tmp_path: Path) -> None:
    """What is not there yet may be made there later; a link that leads nowhere may not."""
    assert home_of({"NOETA_HOME": str(tmp_path / "new")}).path == tmp_path / "new"
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(SettingsError, match="does not exist"):
        home_of({"NOETA_HOME": str(link)})


def test_a_home_of_an_unknown_user_is_refused() -> None:
    """`~name` of nobody."""
    with pytest.raises(SettingsError, match="NOETA_HOME cannot be told"):
        home_of({"NOETA_HOME": "~no-such-user-here/x"})
