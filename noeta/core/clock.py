"""The clock as a value: whatever needs the time is given one of these.

Instants are seconds since the Unix epoch, UTC, as floats. `monotonic` has no origin and only
measures; leases and `ready_at` belong to the store's clock, not to this one.
"""

from typing import Protocol


class Clock(Protocol):
    """Time as the kernel sees it."""

    def wall(self) -> float:
        """Seconds since the Unix epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back; only differences mean something."""
