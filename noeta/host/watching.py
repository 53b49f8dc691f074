"""Watching: the order in which a watcher is given what is recorded and what is live.

What is recorded comes from the store, without a gap. What is live carries the seq of the model
call it belongs to, and is given right after that call's entry and before its reply's, or not at
all.
"""

from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from noeta.core import events as e
from noeta.core.progress import Progress
from noeta.host.client import Entry

POLL_SECONDS = 1.0
"""A watcher looks this often without being told: notifications only make it quick."""


@dataclass(frozen=True, slots=True)
class Live:
    """Something live, and the seq of its ModelCalled; 0: it belongs to no call."""

    seq: int
    progress: Progress


LiveStream = MemoryObjectReceiveStream[Live | None]
"""None is a nudge: something was recorded, or may have been."""


class Given:
    """What a watch has given so far, and what is live and waits for its place."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self._open_call: int | None = None
        """Seq of the model call that was given last, while its reply was not."""
        self._queued: list[Live] = []

    def drain(self, live: LiveStream) -> None:
        """Take what is queued by now."""
        with suppress(anyio.WouldBlock):
            while True:
                self._take(live.receive_nowait())

    async def wait(self, live: LiveStream) -> None:
        """Until something is live or may have been recorded."""
        with anyio.move_on_after(POLL_SECONDS):
            self._take(await live.receive())

    def after(self, entry: Entry) -> list[Progress]:
        """What is live right after this entry."""
        self.seq = entry.seq
        if isinstance(entry.event, e.ModelCalled):
            self._open_call = entry.seq
        elif isinstance(entry.event, e.ModelReplied | e.TurnEnded):
            self._open_call = None
        return self.now()

    def now(self) -> list[Progress]:
        """What belongs to the open call or to none; what is too late is dropped."""
        ready = [live.progress for live in self._queued if live.seq in (0, self._open_call)]
        self._queued = [live for live in self._queued if live.seq > self.seq]
        return ready

    def _take(self, live: Live | None) -> None:
        if live is not None:
            self._queued.append(live)
