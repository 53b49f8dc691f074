"""ThreadBackground: ticks while the loop is busy, and a way back to the loop."""

import threading
import time

import anyio
import anyio.to_thread
import pytest

from noeta.backends.stores.sqlite import SqliteStore
from noeta.core.runner.lease import LeaseKeeper
from noeta.core.store import Claim, NewTask
from noeta.host.background import ThreadBackground
from noeta.host.system_clock import SystemClock

pytestmark = pytest.mark.anyio

TICK_SECONDS = 0.05
BUSY_SECONDS = 0.5


async def test_it_ticks_off_the_loop_while_the_loop_is_blocked() -> None:
    """A hook that computes, or a huge fold, must not cost a claim."""
    ticks: list[int] = []
    with ThreadBackground().every(TICK_SECONDS, lambda: ticks.append(threading.get_ident())):
        _block_the_loop(BUSY_SECONDS)
        count = len(ticks)
    # Ten fit; half of them is enough on a machine with other things to do.
    assert count >= 5
    assert threading.get_ident() not in ticks


async def test_the_ticking_ends_with_the_context() -> None:
    """And its thread with it."""
    before = set(threading.enumerate())
    ticked = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        ticked.set()

    with ThreadBackground().every(0.01, tick):
        assert await anyio.to_thread.run_sync(ticked.wait, 5)
        (beat,) = (t for t in set(threading.enumerate()) - before if t.name == "noeta-leases")
    assert not beat.is_alive()
    count = ticks
    _block_the_loop(0.05)
    assert ticks == count


async def test_a_lease_is_kept_while_the_loop_is_blocked() -> None:
    """The keeper at work: the lease ends later than without it, and nothing is lost."""
    clock, background = SystemClock(), ThreadBackground()
    store = await SqliteStore.open(":memory:", clock=clock)
    try:
        task = NewTask(id="t1", kind="one_shot", queue="q", events=(b"first",))
        claim = await store.create(task, worker="w1", lease_seconds=0.15)
        assert claim is not None
        lost: list[str] = []
        keeper = LeaseKeeper(store, 0.15, clock=clock, background=background)
        with background.every(TICK_SECONDS, keeper.tick):
            keeper.hold(claim, lambda: lost.append("t1"))
            _block_the_loop(BUSY_SECONDS)
            taken: Claim | None = await store.claim("w2", ["q"], 30.0)
        assert taken is None
        assert lost == []
    finally:
        await store.close()


async def test_a_call_from_a_thread_is_made_on_the_loop() -> None:
    """Store callbacks come from any thread; only the loop touches its events."""
    background = ThreadBackground()
    called: list[int] = []
    done = anyio.Event()

    def on_loop() -> None:
        called.append(threading.get_ident())
        done.set()

    thread = threading.Thread(target=background.call_on_loop, args=(on_loop,))
    thread.start()
    with anyio.fail_after(5):
        await done.wait()
    thread.join(5)
    assert called == [threading.get_ident()]


def test_a_call_after_the_loop_has_closed_does_nothing() -> None:
    """The last notifications of a store may come when nobody listens any more."""

    async def make() -> ThreadBackground:
        return ThreadBackground()

    background = anyio.run(make)
    background.call_on_loop(lambda: pytest.fail("called on a closed loop"))


def _block_the_loop(seconds: float) -> None:
    """Compute, as a bad hook would, without letting the loop turn."""
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        sum(range(1000))
