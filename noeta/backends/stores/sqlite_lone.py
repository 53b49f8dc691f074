"""When an append may be written in the caller's own thread: the lone fast path.

A hand to the writer's thread and back costs about as much as a fast disk's fsync. A process that
works on one task gains nothing from it: there is nobody to share a commit with, and nothing else
to do meanwhile. So the append of a task that has been alone for a while is written where it is
called, as long as commits are quick and nobody else holds or awaits the file. With a second task,
a slow disk or a contended file the thread does it, and group commit works as ever.
"""

import time
from collections.abc import Callable

LONE_SECONDS = 0.1
"""A task is alone when no other appended for so long."""
COMMIT_SECONDS_MAX = 0.002
"""A commit that takes longer must not hold up the caller's loop."""


class Lone:
    """Watches who appends and how long commits take. For one thread, but for `took`."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._task_id = ""
        self._since = 0.0
        self._commit_seconds = COMMIT_SECONDS_MAX

    def may(self, task_id: str) -> bool:
        """Note an append of this task, and say whether it may be written here."""
        now = self._monotonic()
        if task_id != self._task_id:
            self._task_id = task_id
            self._since = now
        return now - self._since >= LONE_SECONDS and self._commit_seconds < COMMIT_SECONDS_MAX

    def took(self, seconds: float) -> None:
        """Note how long the newest commit took."""
        self._commit_seconds = seconds
