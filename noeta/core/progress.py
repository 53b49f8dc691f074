"""What a watcher may see of a step while it runs; none of it is stored."""

from dataclasses import dataclass

from noeta.core.model import Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """A model request failed and will be tried again."""

    attempt: int
    """The attempt that comes next, from 2."""
    attempts_max: int
    delay_seconds: float
    error: str


@dataclass(frozen=True, slots=True)
class GaveUp:
    """This worker gave the task up: its log or the store could not be used. What was recorded
    stands, and whoever claims the task next goes on from there."""

    error: str


Progress = Delta | Retrying | GaveUp
