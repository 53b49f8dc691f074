"""The desk of the file tools' tests."""

from pathlib import Path

import pytest

from tests.plugins.files.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A fresh one."""
    return Desk.at(tmp_path)
