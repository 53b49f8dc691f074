"""The system's clock."""

import time


class SystemClock:
    """`noeta.core.clock.Clock` of this machine."""

    def wall(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that go on in a suspend too, where the system has such a clock."""
        return time.clock_gettime(_CLOCK)


# A lease goes on while a laptop sleeps, so what measures it must too.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
