"""A clock that moves when told, and a background that ticks when told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class FakeClock:
    """A `noeta.core.clock.Clock` whose time stands until `advance`."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now

    def wall(self) -> float:
        """The instant it was set to."""
        return self._now

    def monotonic(self) -> float:
        """The same instant: one clock serves both."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move both clocks on."""
        self._now += seconds


class InlineBackground:
    """A `noeta.core.runner.lease.Background` without a thread: calls come at once."""

    def __init__(self) -> None:
        self._ticks: list[Callable[[], None]] = []

    @contextmanager
    def every(self, seconds: float, tick: Callable[[], None]) -> Iterator[None]:
        """Keep the tick for `tick_all` while the context is open."""
        self._ticks.append(tick)
        try:
            yield
        finally:
            self._ticks.remove(tick)

    def call_on_loop(self, call: Callable[[], None]) -> None:
        """Call it now."""
        call()

    def tick_all(self) -> None:
        """What the thread would do once an interval."""
        for tick in list(self._ticks):
            tick()
