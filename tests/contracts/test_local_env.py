"""LocalEnv keeps the exec env contract."""

import os
from pathlib import Path

import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.backends.execenvs.local_environ import scrub
from noeta.testing.execenv_check import Check
from noeta.testing.execenv_contract import CHECKS, PLANTED_ENVIRON

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_contract_is_kept(check: Check, tmp_path: Path) -> None:
    """Every rule of noeta/core/execenv.py, on this machine."""
    made = iter(range(10))

    def make() -> LocalEnv:
        cwd = tmp_path / f"cwd{next(made)}"
        cwd.mkdir()
        return LocalEnv(
            str(cwd),
            environ=scrub({**os.environ, **PLANTED_ENVIRON}),
            scratch_dir=str(tmp_path / "scratch"),
            shell="/bin/bash",
        )

    await check(make)
