"""What a runner is given: every effect it has, injected."""

from collections.abc import Callable
from dataclasses import dataclass

from noeta.core.execenv import ExecEnv
from noeta.core.message import Limits, Usage
from noeta.core.model import Model
from noeta.core.progress import Progress
from noeta.core.registry import Registry
from noeta.core.state import TaskState
from noeta.core.store import Store

Publish = Callable[[str, int, Progress], None]
"""Called with the task, the seq of the ModelCalled that it belongs to (0: no call) and what there
is to show. Must not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The world of one worker's steps."""

    store: Store
    registry: Registry
    model_for: Callable[[str], Model]
    """The model behind a route. Raises ModelError for one this process does not know."""
    limits_for: Callable[[str], Limits]
    """What the log records of a route before a turn; empty for one this process does not know."""
    cost_of: Callable[[str, Usage], float | None]
    """What a call of a route cost in US dollars; None: its price is not known."""
    env_for: Callable[[TaskState], ExecEnv]
    """The exec env of a task."""
    jitter: Callable[[], float]
    """Numbers from 0 to 1."""
    publish: Publish
    """Hears what a task's step shows while it runs."""
    lease_seconds: float
