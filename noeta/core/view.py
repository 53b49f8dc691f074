"""What a plugin sees of a task: a read-only view."""

from dataclasses import dataclass
from typing import Literal

from noeta.core.state import TaskState
from noeta.core.task import Kind


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as its plugins may know it. Holds no store and no runner."""

    _state: TaskState

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self._state.task_id

    @property
    def kind(self) -> Kind:
        """Interactive or one_shot."""
        return self._state.kind

    @property
    def cwd(self) -> str:
        """The task's directory in its exec env."""
        return self._state.cwd

    @property
    def on_ask(self) -> Literal["park", "deny"]:
        """Whether somebody can be asked."""
        return self._state.on_ask

    @property
    def permission_mode(self) -> str:
        """The mode the task was created with."""
        return self._state.permission_mode

    @property
    def last_seq(self) -> int:
        """The log's last seq in this view."""
        return self._state.last_seq
