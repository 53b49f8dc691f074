"""Trust is given to a real directory, by the user alone."""

import errno
from pathlib import Path

import pytest

from noeta.host.home import Home
from noeta.host.trust import distrust, is_trusted, trust


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def test_nothing_is_trusted_at_first(home: Home, workspace: Path) -> None:
    """And looking makes no home."""
    assert not is_trusted(home, workspace)
    assert not home.path.exists()


def test_trust_is_given_and_taken_back(home: Home, workspace: Path) -> None:
    """Twice is as good as once."""
    assert [trust(home, workspace) for _ in range(2)] == [workspace.resolve()] * 2
    assert is_trusted(home, workspace)
    assert home.trust_path.read_text().splitlines() == [str(workspace.resolve())]
    assert [distrust(home, workspace) for _ in range(2)] == [True, False]
    assert not is_trusted(home, workspace)


def test_a_link_to_a_trusted_directory_is_trusted(
    home: Home, workspace: Path, tmp_path: Path
) -> None:
    """A workspace is its real path, however it is reached."""
    link = tmp_path / "link"
    link.symlink_to(workspace)
    assert trust(home, link) == workspace.resolve()
    assert is_trusted(home, workspace)
    assert is_trusted(home, link)
    assert distrust(home, link)


def test_a_link_that_leads_elsewhere_now_is_not_trusted(
    home: Home, workspace: Path, tmp_path: Path
) -> None:
    """What was put in a trusted place's stead was never seen by the user."""
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    link.symlink_to(workspace)
    trust(home, link)
    link.unlink()
    link.symlink_to(other)
    assert not is_trusted(home, link)


def test_neither_a_child_nor_a_parent_of_a_trusted_directory_is_trusted(
    home: Home, workspace: Path
) -> None:
    """Trust is for one directory."""
    child = workspace / "child"
    child.mkdir()
    trust(home, workspace)
    assert not is_trusted(home, child)
    assert not is_trusted(home, workspace.parent)


def test_a_path_with_a_line_break_trusts_no_other_one(home: Home, tmp_path: Path) -> None:
    """In the file it would stand as two paths."""
    victim = tmp_path / "victim"
    victim.mkdir()
    trick = tmp_path / f"a\n{str(victim).lstrip('/')}"
    trick.mkdir(parents=True)
    with pytest.raises(OSError, match="line break") as refused:
        trust(home, trick)
    assert refused.value.errno == errno.EINVAL
    assert not is_trusted(home, victim)


@pytest.mark.parametrize("name", ["a\u2028b", "a\x0bb", "caf\udce9", "with space", "ü"])
def test_a_strange_path_can_be_trusted(home: Home, tmp_path: Path, name: str) -> None:
    """Only a line feed parts two paths."""
    strange = tmp_path / name
    strange.mkdir()
    trust(home, strange)
    assert is_trusted(home, strange)
    assert distrust(home, strange)


def test_the_home_is_for_the_user_alone(home: Home, workspace: Path) -> None:
    """It holds what tasks said and did."""
    trust(home, workspace)
    assert home.path.stat().st_mode & 0o777 == 0o700
