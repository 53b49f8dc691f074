"""A task's row: what the store keeps about a task beside its log.

Lists, search and claims work from rows alone, so a log that cannot be read never hides its task.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["interactive", "one_shot"]
"""What a failed turn does: `interactive` waits for the next message, `one_shot` ends the task."""

Status = Literal["ready", "running", "waiting", "kept", "ended"]
"""`kept` is a wait that holds its claim; people see it as waiting."""

LOAD_ATTEMPTS = 3
"""Claims in a row on one worker that may fail to load an unchanged log before the task ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task as the store lists it. Instants are the store's clock, seconds since 1970, UTC."""

    id: str
    root: str
    parent: str | None = None
    parent_call: str | None = None
    queue: str
    kind: Kind
    status: Status
    owner: str | None
    """The worker whose claim it is while running or kept, else None."""
    owner_epoch: int
    lease_until: float | None
    ready_at: float | None
    """When a ready or waiting task becomes claimable by itself; None: at once (ready) or only
    by a post (waiting)."""
    last_seq: int
    posted_count: int
    taken_count: int
    cancelled: bool = False
    claims_since_append: int = 0
    """Claims since the log last grew: what bounds crash loops."""
    title: str = ""
    cwd: str = ""
    outcome: str | None = None
    """How it ended; None while it has not."""
    created_at: float
    updated_at: float
    """When it was last created, posted to, claimed or handed back; appends in between do not
    move it, so that a step does not move the row in its list."""
    ended_at: float | None = None

    @property
    def inbox_count(self) -> int:
        """Items posted and not taken."""
        return self.posted_count - self.taken_count
