"""Who is told of changes: callbacks after our own commits, and after other processes'.

Another process's commit is seen by polling `PRAGMA data_version` on a connection of our own,
only while somebody listens. It says that something changed, not what.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from noeta.backends.stores.sqlite_open import Source
from noeta.core.store import Changed

POLL_SECONDS = 0.025


class Feed:
    """The listeners of one store handle."""

    def __init__(self, source: Source, *, polls: bool) -> None:
        self._source = source
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

    def tell(self, task_ids: list[str]) -> None:
        """Our own commit changed these tasks."""
        for callback in list(self._listeners):
            for task_id in task_ids:
                callback(task_id)

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
        connection: sqlite3.Connection | None = None
        seen = -1
        while not stop.is_set():
            try:
                if connection is None:
                    connection = self._source.connect()
                (version,) = connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                version = seen  # Whoever waits also polls, and hears the error where it acts.
            if version != seen:
                is_first = seen == -1
                seen = version
                if not is_first:
                    for callback in list(self._listeners):
                        callback(None)
            stop.wait(POLL_SECONDS)
        if connection is not None:
            connection.close()
