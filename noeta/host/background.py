"""The threads the kernel is given: a ticking one for leases, and the way back to the loop."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger("noeta")


class ThreadBackground:
    """`noeta.core.runner.lease.Background` for a running asyncio loop; made on that loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    @contextmanager
    def every(self, seconds: float, tick: Callable[[], None]) -> Iterator[None]:
        """Tick from a daemon thread; the thread is gone when the context closes."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(seconds):
                try:
                    tick()
                except Exception:  # A thread's boundary: a dead keeper would lose every lease.
                    log.exception("a renewal of the leases failed")

        thread = threading.Thread(target=beat, name="noeta-leases", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(timeout=seconds)

    def call_on_loop(self, call: Callable[[], None]) -> None:
        """Have it called soon; nothing when the loop has closed meanwhile."""
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:
            # The last notifications of a store may come after the loop's end.
            if not self._loop.is_closed():
                raise
