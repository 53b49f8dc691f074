"""Ids: how they look, how they are made, and the check that stands before SQL and paths.

A task id is lower-case letters and digits; a child's id is its parent's, the call that made it
and a number, joined by dots (`<task>.<call>.<n>`), so it can be derived again after a crash. A
call id is ours, counted per task: providers repeat theirs, so a provider's id is only data.
"""

import re
from typing import Protocol

from noeta.core.errors import NoetaError

TASK_ID_CHARS_MAX = 200
KEY_CHARS_MAX = 300

# No vowels, no look-alikes: ids are read aloud and typed.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxyz"
_TASK_ID = re.compile(r"[a-z0-9][a-z0-9-]*(?:\.[a-z0-9][a-z0-9_-]*)*\Z")
_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*\Z")


class BadId(NoetaError):
    """An id, key or queue name that is empty, too long or malformed."""


class RandomSource(Protocol):
    """The one thing an id needs from randomness; `random.Random` and `SystemRandom` fit."""

    def choice(self, seq: str, /) -> str:
        """One character of seq."""


def new_task_id(random: RandomSource) -> str:
    """A fresh root id: ten characters, about 48 bits."""
    return "".join(random.choice(_ALPHABET) for _ in range(10))


def child_task_id(task_id: str, call_id: str, number: int) -> str:
    """The id of the number-th child (from 1) that a call creates; the same on every worker."""
    return f"{task_id}.{call_id}.{number}"


def call_id(number: int) -> str:
    """The id of a task's number-th tool call (from 1)."""
    return f"c{number}"


def idempotency_key(task_id: str, call: str) -> str:
    """The key an outside system may use to drop a repeat of this call."""
    return f"{task_id}:{call}"


def check_task_id(task_id: str) -> str:
    """The id itself; raises BadId when it could not be one of ours."""
    if len(task_id) > TASK_ID_CHARS_MAX or not _TASK_ID.match(task_id):
        raise BadId(f"{task_id[:80]!r} is not a task id; `noeta tasks list` shows them")
    return task_id


def check_key(key: str) -> str:
    """The dedupe key itself; raises BadId when it is empty or too long.

    An empty key would make every post after the first a repeat.
    """
    if not key or len(key) > KEY_CHARS_MAX:
        raise BadId(f"a dedupe key has 1 to {KEY_CHARS_MAX} characters, not {len(key)}")
    return key


def check_queue(queue: str) -> str:
    """The queue name itself; raises BadId when it is empty or malformed."""
    if len(queue) > TASK_ID_CHARS_MAX or not _QUEUE.match(queue):
        raise BadId(f"{queue[:80]!r} is not a queue name: letters, digits and . _ : - only")
    return queue
