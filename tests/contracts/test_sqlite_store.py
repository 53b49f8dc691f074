"""The sqlite store keeps the store's contract, in memory and in a file."""

from pathlib import Path

import pytest

from noeta.testing.store_contract import CHECKS, Check
from tests.contracts.sqlite_makers import MakeIt, file_maker, lone_maker, memory_maker

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "maker", [memory_maker, file_maker, lone_maker], ids=["memory", "file", "lone"]
)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_sqlite_store_keeps_its_contract(
    check: Check, maker: MakeIt, tmp_path: Path
) -> None:
    """Each named check of `noeta.testing.store_contract`."""
    async with maker(tmp_path) as make:
        await check(make)


def test_every_check_has_its_own_name() -> None:
    """A check that hides another would never run."""
    names = [check.__name__ for check in CHECKS]
    assert len(names) == len(set(names))
