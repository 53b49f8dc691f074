"""The store's contract as checks: plain async functions over a maker, all in `CHECKS`.

A store is done when each of them passes. Each opens the store it needs from a fresh maker, and
holds the rule that its name says; none needs pytest. The checks stand by subject in
`store_claim_checks`, `store_log_checks`, `store_inbox_checks` and `store_task_checks`.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_store(check: Check) -> None:
        async with my_maker() as make:
            await check(make)
"""

from collections.abc import Awaitable, Callable

from noeta.testing.store_claim_checks import CLAIM_CHECKS
from noeta.testing.store_inbox_checks import INBOX_CHECKS
from noeta.testing.store_log_checks import LOG_CHECKS
from noeta.testing.store_maker import StoreMaker
from noeta.testing.store_task_checks import TASK_CHECKS

__all__ = ["CHECKS", "Check", "StoreMaker"]

Check = Callable[[StoreMaker], Awaitable[None]]

CHECKS: tuple[Check, ...] = (*TASK_CHECKS, *CLAIM_CHECKS, *LOG_CHECKS, *INBOX_CHECKS)
