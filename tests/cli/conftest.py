"""A home and a workspace for each test."""

from pathlib import Path

import pytest

from tests.cli.command import Noeta


@pytest.fixture
def noeta(tmp_path: Path) -> Noeta:
    work = tmp_path / "work"
    work.mkdir()
    return Noeta(home=tmp_path / "home", work=work)
