"""A small model of one store: what each call should answer, and what should be seen after it.

It keeps whole tasks as plain values and applies the contract's words one after the other; the
state machine (`test_store_machine.py`) runs it beside a real store.
"""

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from noeta.core.store import (
    Append,
    Claim,
    Conflict,
    End,
    Go,
    InboxNotEmpty,
    Keep,
    NewItem,
    NewTask,
    NoSuchTask,
    Post,
    TaskExists,
    TaskOver,
    Wait,
)


@dataclass(slots=True, kw_only=True)
class ModelTask:
    """One task as the model sees it."""

    new: NewTask
    created_at: float
    status: str = "ready"
    owner: str | None = None
    epoch: int = 0
    lease_until: float | None = None
    ready_at: float | None = None
    log: list[tuple[int, bytes]] = field(default_factory=list)
    inbox: list[NewItem] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    taken: list[NewItem] = field(default_factory=list)
    cancelled: bool = False
    claims: int = 0

    def due_at(self) -> float | None:
        """When a claim may take it."""
        match self.status:
            case "ready":
                return self.created_at if self.ready_at is None else self.ready_at
            case "waiting":
                return self.ready_at
            case "running" | "kept":
                return self.lease_until
        return None

    def put(self, item: NewItem) -> bool:
        """An item comes in."""
        if item.key is not None:
            if item.key in self.keys:
                return False
            self.keys.add(item.key)
        self.inbox.append(item)
        self.cancelled = self.cancelled or item.kind == "cancel"
        if self.status in ("waiting", "ready"):
            self.status, self.ready_at = "ready", None
        return True

    def hold(self, worker: str, lease_until: float) -> None:
        """A claim."""
        self.status, self.owner, self.lease_until, self.ready_at = (
            "running",
            worker,
            lease_until,
            None,
        )
        self.epoch += 1
        self.claims += 1

    def give_up(self, status: str, ready_at: float | None = None) -> None:
        """Without an owner from now on."""
        self.status, self.owner, self.lease_until, self.ready_at = status, None, None, ready_at


class StoreModel:
    """All tasks; each verb raises what the store should raise and then has changed nothing."""

    def __init__(self) -> None:
        self.tasks: dict[str, ModelTask] = {}

    def create(
        self, new: NewTask, now: float, worker: str | None = None, lease_seconds: float = 0.0
    ) -> int | None:
        """The epoch of the creator's claim."""
        known = self.tasks.get(new.id)
        if known is not None:
            if known.new.events != new.events:
                raise TaskExists
            return 1 if worker is not None and known.owner == worker and known.epoch == 1 else None
        task = self.tasks[new.id] = ModelTask(new=new, created_at=now)
        if worker is not None:
            task.hold(worker, now + lease_seconds)
        task.log = [(task.epoch, body) for body in new.events]
        for item in new.items:
            task.put(item)
        return None if worker is None else 1

    def claimable(
        self, now: float, queues: Collection[str], root: str | None, dead: Collection[str]
    ) -> set[str]:
        """The tasks a claim may take: those of the earliest `due_at`."""
        due: dict[str, float] = {}
        for task_id, task in self.tasks.items():
            due_at = task.due_at()
            if task.new.queue not in queues or due_at is None:
                continue
            if root is not None and root != (task.new.root or task_id):
                continue
            if due_at <= now or task.owner in dead:
                due[task_id] = due_at
        return {task_id for task_id, due_at in due.items() if due_at == min(due.values())}

    def holds(self, claim: Claim) -> bool:
        """Whether the claim may still write."""
        task = self.tasks.get(claim.task_id)
        return task is not None and (task.owner, task.epoch) == (claim.owner, claim.epoch)

    def release(self, claim: Claim) -> None:
        """Give back."""
        if not self.holds(claim):
            raise Conflict
        task = self.tasks[claim.task_id]
        stays_asleep = task.status == "kept" and not task.inbox
        task.give_up(
            "waiting" if stays_asleep else "ready", task.ready_at if stays_asleep else None
        )

    def post(self, post: Post, *, strict: bool = True) -> bool:
        """An item for a task, if it is there and lives."""
        task = self.tasks.get(post.task_id)
        must_be_read = strict and post.item.kind in ("message", "answer")
        if task is None:
            if must_be_read:
                raise NoSuchTask
            return True
        if task.status != "ended":
            return task.put(post.item)
        if post.item.key in task.keys:
            return False
        if must_be_read:
            raise TaskOver
        return True

    def append(self, claim: Claim, append: Append, taken: Sequence[int], now: float) -> None:
        """`taken` are positions in the inbox; one that is not there is a Conflict."""
        before = copy.deepcopy(self.tasks)
        try:
            self._append(claim, append, taken, now)
        except Exception:
            self.tasks = before
            raise

    def _append(self, claim: Claim, append: Append, taken: Sequence[int], now: float) -> None:
        if not self.holds(claim):
            raise Conflict
        task = self.tasks[claim.task_id]
        if append.expected_seq != len(task.log):
            raise Conflict
        if any(index >= len(task.inbox) for index in taken) or len(set(taken)) != len(taken):
            raise Conflict
        if append.children and task.cancelled:
            raise Conflict
        task.log += [(claim.epoch, body) for body in append.events]
        task.claims = 0 if append.events else task.claims
        task.taken += [task.inbox[index] for index in taken]
        task.inbox = [item for index, item in enumerate(task.inbox) if index not in taken]
        for child in append.children:
            self.create(child, now)
        for post in append.posts:
            self.post(post, strict=False)
        self._move(task, append)

    def _move(self, task: ModelTask, append: Append) -> None:
        match append.move:
            case Go():
                task.status, task.ready_at = "running", None
            case Keep(ready_at=ready_at):
                task.status, task.ready_at = "kept", ready_at
            case Wait(ready_at=ready_at, or_ready=or_ready):
                if task.inbox and not or_ready:
                    raise InboxNotEmpty
                if task.inbox:
                    task.give_up("ready")
                else:
                    task.give_up("waiting", ready_at)
            case End(despite_inbox=despite_inbox):
                if task.inbox and not despite_inbox:
                    raise InboxNotEmpty
                task.give_up("ended")
