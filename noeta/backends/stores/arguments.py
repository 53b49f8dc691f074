"""What a store refuses before it touches SQL: ids, keys, queues and leases.

Each raises BadId with a sentence for people; a lease that is no length of time is a ValueError.
"""

from collections.abc import Collection

from noeta.core import ids
from noeta.core.store import NewItem, NewTask, Post


def check_new_task(task: NewTask) -> None:
    """A task to create, with its items."""
    for task_id in (task.id, task.root, task.parent):
        if task_id is not None:
            ids.check_task_id(task_id)
    ids.check_queue(task.queue)
    for item in task.items:
        check_item(item)


def check_post(post: Post) -> None:
    """A post: its task and its item."""
    ids.check_task_id(post.task_id)
    check_item(post.item)


def check_item(item: NewItem) -> None:
    """An item: its key, if it has one."""
    if item.key is not None:
        ids.check_key(item.key)


def check_lease(worker: str, lease_seconds: float) -> None:
    """A worker's name and the length of its lease."""
    if not worker:
        raise ids.BadId("a worker needs a name, unique for each process start")
    if not lease_seconds > 0:
        raise ValueError(f"a lease is a positive number of seconds, not {lease_seconds!r}")


def check_queues(queues: Collection[str]) -> None:
    """The names of queues to claim from."""
    for queue in queues:
        ids.check_queue(queue)
