"""Leases: which claims this worker holds, renewed from a thread of their own.

The keeper's tick is called by a `Background` (a thread of the host; inline in a simulation): work
that keeps the loop busy for long must not cost a lease. A claim that a renewal does not give back
is lost; so is every claim once renewals failed for as long as a lease lasts by our own clock.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from noeta.core.clock import Clock
from noeta.core.store import Claim, CommitUnknown, Store, StoreUnavailable


class Background(Protocol):
    """What the kernel may have of threads."""

    def every(self, seconds: float, tick: Callable[[], None]) -> AbstractContextManager[None]:
        """Call tick every so many seconds, off the loop, while the context is open."""

    def call_on_loop(self, call: Callable[[], None]) -> None:
        """Call it on the event loop soon; from any thread."""


@dataclass(slots=True)
class _Held:
    claim: Claim
    lost: Callable[[], None]


class LeaseKeeper:
    """The claims of one worker. `hold` and `drop` are for the loop, `tick` for the keeper."""

    def __init__(
        self,
        store: Store,
        lease_seconds: float,
        *,
        clock: Clock,
        background: Background,
    ) -> None:
        self._store = store
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._background = background
        # Replaced whole, never changed in place: the keeper's thread reads it without a lock.
        self._held: dict[str, _Held] = {}
        self._renewed_at = clock.monotonic()

    def hold(self, claim: Claim, lost: Callable[[], None]) -> None:
        """Renew this claim from now on; `lost` is called on the loop when that fails."""
        assert claim.task_id not in self._held, "a worker claims no task it runs"
        if not self._held:
            self._renewed_at = self._clock.monotonic()
        self._held = {**self._held, claim.task_id: _Held(claim, lost)}

    def drop(self, claim: Claim) -> None:
        """Renew it no more."""
        self._held = {k: h for k, h in self._held.items() if h.claim != claim}

    def tick(self) -> None:
        """One renewal of everything held; from the keeper's thread."""
        held = self._held
        if not held:
            return
        asked_at = self._clock.monotonic()
        try:
            kept = self._store.renew_all([h.claim for h in held.values()], self._lease_seconds)
        except (StoreUnavailable, CommitUnknown):
            if self._clock.monotonic() - self._renewed_at >= self._lease_seconds:
                self._lose(list(held.values()))
            return
        self._renewed_at = asked_at
        self._lose([h for h in held.values() if (h.claim.task_id, h.claim.epoch) not in kept])

    def _lose(self, gone: list[_Held]) -> None:
        for held in gone:
            self._background.call_on_loop(partial(self._lost, held))

    def _lost(self, held: _Held) -> None:
        # On the loop again: it may have been handed back since the keeper looked.
        if self._held.get(held.claim.task_id) is held:
            self.drop(held.claim)
            held.lost()
