"""Who is told of changes: callbacks after our own commits, and after other processes'.

Another process's commit is seen by polling `PRAGMA data_version` on the writing connection, whose
own commits do not move it, and only while somebody listens. It says that something changed, not
what.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from noeta.core.errors import NoetaError
from noeta.core.store import Change, Changed

POLL_SECONDS = 0.025


class Feed:
    """The listeners of one store handle."""

    def __init__(self, data_version: Callable[[], int], *, polls: bool) -> None:
        self._data_version = data_version
        self._polls = polls
        self._lock = threading.Lock()
        self._listeners: list[Changed] = []
        self._stop: threading.Event | None = None
        self._poller: threading.Thread | None = None

    @contextmanager
    def listening(self, callback: Changed) -> Iterator[None]:
        """Call back while the context is open."""
        with self._lock:
            self._listeners.append(callback)
            if self._polls and self._stop is None:
                self._stop = threading.Event()
                self._poller = threading.Thread(
                    target=self._poll, args=(self._stop,), name="noeta-sqlite-feed", daemon=True
                )
                self._poller.start()
        try:
            yield
        finally:
            with self._lock:
                self._listeners.remove(callback)
                if not self._listeners and self._stop is not None:
                    self._stop.set()
                    self._stop = None

    def tell(self, changes: list[Change]) -> None:
        """Our own commit made these changes."""
        for callback in list(self._listeners):
            for change in changes:
                callback(change)

    def close(self) -> None:
        """Stop polling, whoever still listens, and let go of the file."""
        with self._lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None
            poller = self._poller
        if poller is not None:
            poller.join(POLL_SECONDS * 40)

    def _poll(self, stop: threading.Event) -> None:
        seen: int | None = None
        while not stop.is_set():
            # Whoever waits also polls, and hears an error where it acts.
            with suppress(NoetaError):
                version = self._data_version()
                if version != seen and seen is not None:
                    for callback in list(self._listeners):
                        callback(Change(None))
                seen = version
            stop.wait(POLL_SECONDS)
