"""How the parts are set against each other."""

import pytest

from noeta.host.assemble import silence_seconds

ENDING_SECONDS = 0.7
"""What a guardian needs to end a tree: 0.1 s of grace, then SIGTERM, and SIGKILL after 0.5 s."""


@pytest.mark.parametrize("lease_seconds", [5.2, 10.0, 30.0, 3600.0])
def test_a_frozen_workers_commands_are_gone_before_its_lease_is(lease_seconds: float) -> None:
    """It froze just before the next renewal, a third of a lease after the last."""
    frozen_at = lease_seconds / 3
    assert frozen_at + silence_seconds(lease_seconds) + ENDING_SECONDS < lease_seconds


@pytest.mark.parametrize("lease_seconds", [0.2, 1.0, 3.0])
def test_a_short_lease_does_not_end_commands_at_every_pause_of_the_loop(
    lease_seconds: float,
) -> None:
    assert silence_seconds(lease_seconds) >= lease_seconds / 2
