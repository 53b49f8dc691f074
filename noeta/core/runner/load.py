"""Loading: a claimed task's log, read and folded from its start."""

import anyio
import anyio.lowlevel

from noeta.core import codec
from noeta.core.fold import UnreadableLog, fold
from noeta.core.registry import Registry
from noeta.core.state import TaskState
from noeta.core.store import Store

PAGE_EVENTS = 2000


async def load(store: Store, task_id: str, registry: Registry) -> TaskState:
    """The task's state now. Raises NewerEntry, UnreadableEntry, UnreadableLog, StoreUnavailable."""
    state = TaskState()
    while True:
        page = await store.read(task_id, after=state.last_seq, limit=PAGE_EVENTS)
        for entry in page:
            fold(state, entry.seq, codec.decode(entry.body), registry.folders)
        if len(page) < PAGE_EVENTS:
            break
        # A long log must not keep the loop from its other tasks.
        await anyio.lowlevel.checkpoint()
    if state.last_seq == 0:
        raise UnreadableLog(f"the log of task {task_id!r} is empty")
    return state
