"""Random calls in any order: the sqlite store answers as the model does, and is left as it is.

Stale claims stay in the bundle on purpose. The store runs in memory and in the caller,
so a coroutine of it never waits and can be run without a loop.
"""

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    multiple,
    rule,
)

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lane import InlineExecutor
from noeta.core.errors import NoetaError
from noeta.core.store import (
    Append,
    Claim,
    End,
    Go,
    Keep,
    Move,
    NewItem,
    NewTask,
    Post,
    Wait,
)
from noeta.testing.fake_clock import FakeClock
from tests.contracts.store_model import StoreModel

T = TypeVar("T")

ROOTS = ["t1", "t2", "t3", "t4", "t5"]
TASKS = st.sampled_from([*ROOTS, "t1.c1.1"])
WORKERS = st.sampled_from(["A", "B", "C"])
LEASES = st.sampled_from([0.5, 5.0, 30.0])
PICKS = st.integers(0, 7)
KEYS = st.sampled_from([None, "k1", "k1", "k2"])
ITEMS = st.builds(
    NewItem,
    kind=st.sampled_from(["message", "report", "message", "report", "answer", "notice", "cancel"]),
    body=st.sampled_from([b"x", b"y"]),
    key=KEYS,
)
POSTS = st.builds(Post, task_id=st.sampled_from([*ROOTS, "absent"]), item=ITEMS)
QUEUES = st.sampled_from([("default",), ("default", "other"), ("other",), ()])
# Few ends: a store full of ended tasks has nothing left to say.
MOVES: st.SearchStrategy[Move] = st.sampled_from(
    [
        *(Go(), Go()),
        *(Wait(), Wait(), Wait(ready_at=100.0), Wait(ready_at=130.0), Wait(or_ready=True)),
        *(Keep(), Keep(ready_at=120.0)),
        *(End(outcome="done"), End(outcome="failed", despite_inbox=True)),
    ]
)


def run(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a coroutine that never waits."""
    try:
        call.send(None)
    except StopIteration as stop:
        answer: T = stop.value
        return answer
    raise AssertionError("an inline store waited")


def outcome(call: Coroutine[Any, Any, object]) -> tuple[type[Exception] | None, object]:
    """The error's type, or None and the answer."""
    try:
        return None, run(call)
    except NoetaError as error:
        return type(error), None


class StoreMachine(RuleBasedStateMachine):
    """The store and the model, called with the same arguments."""

    claims: Bundle[Claim] = Bundle("claims")

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock(100.0)
        self.store = run(SqliteStore.open(":memory:", clock=self.clock, executor=InlineExecutor()))
        self.model = StoreModel()
        self.epochs: dict[str, int] = {}

    def teardown(self) -> None:
        """Close what was opened."""
        run(self.store.close())

    def same(self, call: Coroutine[Any, Any, object], error: type[Exception] | None) -> object:
        """The answer; the error must be the model's."""
        got, answer = outcome(call)
        assert got is error, f"the store says {got}, the model {error}"
        return answer

    @rule(
        target=claims,
        task_id=TASKS,
        queue=st.sampled_from(["default", "default", "other"]),
        events=st.sampled_from([(b"a",), (b"a",), (b"a", b"b"), ()]),
        items=st.lists(ITEMS, max_size=1),
        worker=st.one_of(st.none(), WORKERS),
        lease=LEASES,
    )
    def create(
        self,
        task_id: str,
        queue: str,
        events: tuple[bytes, ...],
        items: list[NewItem],
        worker: str | None,
        lease: float,
    ) -> Any:
        """A root or a child, ready or claimed, new or a repeat."""
        new = NewTask(
            id=task_id,
            kind="one_shot",
            queue=queue,
            events=events,
            items=tuple(items),
            root="t1" if "." in task_id else None,
        )
        error, epoch = None, None
        try:
            epoch = self.model.create(new, self.clock.wall(), worker, lease)
        except NoetaError as raised:
            error = type(raised)
        claim = self.same(
            self.store.create(new, worker=worker, lease_seconds=lease if worker else None), error
        )
        if epoch is None:
            assert claim is None
            return multiple()
        assert isinstance(claim, Claim)
        assert (claim.task_id, claim.owner, claim.epoch) == (task_id, worker, epoch)
        return claim

    @rule(
        target=claims,
        worker=WORKERS,
        queues=QUEUES,
        lease=LEASES,
        root=st.sampled_from([None, None, "t1"]),
        dead=st.sampled_from([(), (), ("A",)]),
    )
    def claim(
        self,
        worker: str,
        queues: tuple[str, ...],
        lease: float,
        root: str | None,
        dead: tuple[str, ...],
    ) -> Any:
        """I9 and I10: only what is due, the earliest first, and no live lease."""
        now = self.clock.wall()
        due = self.model.claimable(now, queues, root, dead)
        claim = run(self.store.claim(worker, queues, lease, root=root, dead=dead))
        if claim is None:
            assert not due
            return multiple()
        assert claim.task_id in due
        task = self.model.tasks[claim.task_id]
        task.hold(worker, now + lease)
        assert (claim.epoch, claim.last_seq) == (task.epoch, len(task.log))
        assert claim.claims_since_append == task.claims
        return claim

    @rule(target=claims, worker=WORKERS, known=st.sampled_from([(), ("t1",)]), lease=LEASES)
    def adopt(self, worker: str, known: tuple[str, ...], lease: float) -> Any:
        """What a worker owns without knowing it."""
        adopted = run(self.store.adopt(worker, known, lease))
        expected = [
            task_id
            for task_id, task in self.model.tasks.items()
            if task.owner == worker and task_id not in known
        ]
        assert {claim.task_id for claim in adopted} == set(expected)
        for claim in adopted:
            self.model.tasks[claim.task_id].hold(worker, self.clock.wall() + lease)
            assert claim.epoch == self.model.tasks[claim.task_id].epoch
        return multiple(*adopted)

    def one_held(self, pick: int, claim: Claim) -> Claim:
        """The claim of a task that is held now, or the one given when nothing is."""
        held = sorted(task_id for task_id, task in self.model.tasks.items() if task.owner)
        if pick < 2 or not held:
            return claim
        task_id = held[pick % len(held)]
        task = self.model.tasks[task_id]
        assert task.owner is not None
        # Some are almost right: only the owner is another, or only the epoch is old.
        owner = "X" if pick == 2 else task.owner
        epoch = task.epoch - 1 if pick == 3 else task.epoch
        return replace(claim, task_id=task_id, owner=owner, epoch=epoch)

    @rule(claim=claims, pick=PICKS, lease=LEASES)
    def renew(self, claim: Claim, pick: int, lease: float) -> None:
        """Only what is held."""
        claim = self.one_held(pick, claim)
        renewed = run(self.store.renew(claim, lease))
        assert (renewed is not None) == self.model.holds(claim)
        if renewed is not None:
            self.model.tasks[claim.task_id].lease_until = self.clock.wall() + lease

    @rule(claim=claims, other=claims, pick=PICKS, lease=LEASES)
    def renew_all(self, claim: Claim, other: Claim, pick: int, lease: float) -> None:
        """Those of one worker's claims that are held, and no other task of it."""
        claim = self.one_held(pick, claim)
        asked = [claim, *([other] if other.owner == claim.owner else [])]
        held = self.store.renew_all(asked, lease)
        expected = {
            (one.task_id, one.epoch): self.model.tasks[one.task_id]
            for one in asked
            if self.model.holds(one)
        }
        assert held == set(expected)
        for task in expected.values():
            task.lease_until = self.clock.wall() + lease

    @rule(claim=claims, pick=PICKS)
    def release(self, claim: Claim, pick: int) -> None:
        """Ready, or asleep again."""
        claim = self.one_held(pick, claim)
        error = None
        try:
            self.model.release(claim)
        except NoetaError as raised:
            error = type(raised)
        self.same(self.store.release(claim), error)

    @rule(post=POSTS)
    def post(self, post: Post) -> None:
        """From outside."""
        error, is_new = None, None
        try:
            is_new = self.model.post(post)
        except NoetaError as raised:
            error = type(raised)
        assert self.same(self.store.post(post), error) == is_new

    @rule(
        claim=claims,
        pick=PICKS,
        seq_off=st.sampled_from([0, 0, 0, 0, 0, -1, 1]),
        events=st.lists(st.sampled_from([b"e", b"f"]), max_size=2),
        taken=st.sampled_from(["none", "all", "all", "first", "twice", "absent"]),
        posts=st.lists(POSTS, max_size=2),
        child=st.sampled_from([False, False, False, True]),
        move=MOVES,
    )
    def append(
        self,
        claim: Claim,
        pick: int,
        seq_off: int,
        events: list[bytes],
        taken: str,
        posts: list[Post],
        child: bool,
        move: Move,
    ) -> None:
        """I6 and I7: as the model says, or nothing at all (seen by the invariants)."""
        claim = self.one_held(pick, claim)
        task = self.model.tasks[claim.task_id]
        items = [item.id for item in run(self.store.inbox(claim.task_id))]
        all_of_them = list(range(len(task.inbox)))
        indexes = {
            "none": [],
            "all": all_of_them,
            "first": all_of_them[:1],
            "twice": all_of_them[:1] * 2,
            "absent": [*all_of_them, len(all_of_them)],
        }[taken]
        new = NewTask(id="t1.c1.1", kind="one_shot", queue="default", root="t1", events=(b"a",))
        append = Append(
            expected_seq=len(task.log) + seq_off,
            events=tuple(events),
            takes=tuple(items[index] if index < len(items) else 10_000 for index in indexes),
            posts=tuple(posts),
            children=(new,) if child else (),
            move=move,
        )
        error = None
        try:
            self.model.append(claim, append, indexes, self.clock.wall())
        except NoetaError as raised:
            error = type(raised)
        appended = self.same(self.store.append(claim, append), error)
        if error is None:
            after = self.model.tasks[claim.task_id]
            assert appended is not None
            assert (appended.last_seq, appended.inbox_count) == (len(after.log), len(after.inbox))  # type: ignore[attr-defined] # an Appended
            assert (appended.status, appended.cancelled) == (after.status, after.cancelled)  # type: ignore[attr-defined] # as above

    @rule(seconds=st.sampled_from([0.25, 1.0, 10.0, 40.0]))
    def tick(self, seconds: float) -> None:
        """Time goes on."""
        self.clock.advance(seconds)

    @invariant()
    def the_store_shows_what_the_model_holds(self) -> None:
        """Rows, logs and inboxes: I1, I2, I4, I6, I7."""
        rows = run(self.store.rows(limit=1000))
        assert {row.id for row in rows} == set(self.model.tasks)
        for row in rows:
            task = self.model.tasks[row.id]
            assert (row.status, row.owner, row.owner_epoch) == (task.status, task.owner, task.epoch)
            assert (row.lease_until, row.ready_at) == (task.lease_until, task.ready_at)
            assert (row.cancelled, row.claims_since_append) == (task.cancelled, task.claims)
            assert (row.inbox_count, row.taken_count) == (len(task.inbox), len(task.taken))
            log = run(self.store.read(row.id))
            assert [(event.seq, event.epoch, event.body) for event in log] == [
                (seq, epoch, body) for seq, (epoch, body) in enumerate(task.log, 1)
            ]
            assert row.last_seq == len(log)
            inbox = run(self.store.inbox(row.id))
            assert [(item.kind, item.body, item.key) for item in inbox] == [
                (item.kind, item.body, item.key) for item in task.inbox
            ]

    @invariant()
    def what_must_hold_holds(self) -> None:
        """I2 epochs along a log, I3 one owner while held, I5 no lost wake, I8 the row's epoch."""
        for row in run(self.store.rows(limit=1000)):
            epochs = [event.epoch for event in run(self.store.read(row.id))]
            assert epochs == sorted(epochs)
            assert all(epoch <= row.owner_epoch for epoch in epochs)
            assert (row.owner is not None) == (row.status in ("running", "kept"))
            assert row.status != "waiting" or row.inbox_count == 0, "a wake was lost"
            assert row.owner_epoch >= self.epochs.get(row.id, 0)
            self.epochs[row.id] = row.owner_epoch


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=500,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
