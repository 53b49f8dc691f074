"""A fair lock between processes, for the writers of one sqlite file.

sqlite's own busy handler sleeps and tries again, so whoever just wrote wins again: of eight
processes one wrote thousands of times while another wrote once. Two `flock`s make it fair.
`-turn` says who writes next: all waiters poll it with small jittered sleeps. `-lock` is held
while writing: only the holder of the turn polls it, finely, and gives the turn up once it has
it. The last writer therefore finds the turn taken and queues behind whoever held it.

Both locks die with their holder, whatever kills it. The holder's process id stands in `-lock`,
for the message of those who waited in vain.
"""

import contextlib
import fcntl
import functools
import os
import random
import time
import weakref
from collections.abc import Callable, Iterator

from noeta.core.store import StoreUnavailable

LOCK_SECONDS = 10.0
"""How long a writer waits for the others before it gives up."""

_TURN_POLL_SECONDS = 0.001
_WRITE_POLL_SECONDS = 0.0002

_open_locks: "weakref.WeakSet[FairLock]" = weakref.WeakSet()


class FairLock:
    """The right to write to one file, between processes and between handles of one process."""

    def __init__(
        self,
        path: str,
        *,
        seconds: float = LOCK_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the two lock files beside `path`; raises OSError when that cannot be done."""
        self._path = path
        self._seconds = seconds
        self._sleep = sleep
        self._monotonic = monotonic
        self._turn = _open(f"{path}-turn")
        try:
            self._write = _open(f"{path}-lock")
        except OSError:
            os.close(self._turn)
            raise
        self._pid = b"%d\n" % os.getpid()
        _watch_forks()
        _open_locks.add(self)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; raises StoreUnavailable, naming the holder, when it cannot be had."""
        self._acquire()
        try:
            yield
        finally:
            self.let_go()

    def try_hold(self) -> bool:
        """Take the lock when nobody holds or awaits it; `let_go` gives it back."""
        if not _try(self._turn):
            return False
        try:
            held = _try(self._write)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        if held:
            self._sign()
        return held

    def let_go(self) -> None:
        """Give back what `try_hold` or `held` took."""
        fcntl.flock(self._write, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock files; they stay on disk, where others may hold them."""
        _open_locks.discard(self)
        os.close(self._turn)
        os.close(self._write)

    def _acquire(self) -> None:
        give_up_at = self._monotonic() + self._seconds
        self._poll(self._turn, _TURN_POLL_SECONDS, give_up_at)
        try:
            self._poll(self._write, _WRITE_POLL_SECONDS, give_up_at)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._sign()

    def _sign(self) -> None:
        """Leave our process id for those who wait; a full disk must not make this a failure."""
        with contextlib.suppress(OSError):
            # Read first: a write would put this file's inode into the journal at each fsync.
            if os.pread(self._write, 32, 0) != self._pid:
                os.ftruncate(self._write, 0)
                os.pwrite(self._write, self._pid, 0)

    def _poll(self, descriptor: int, poll_seconds: float, give_up_at: float) -> None:
        while not _try(descriptor):
            if self._monotonic() >= give_up_at:
                raise StoreUnavailable(
                    f"{self._path} has been locked by process {self._holder()} for"
                    f" {self._seconds:g} s; wait for it, or end it if it hangs"
                )
            self._sleep(poll_seconds * random.uniform(0.5, 1.5))

    def _holder(self) -> str:
        return os.pread(self._write, 32, 0).decode("ascii", "replace").strip() or "unknown"


def _open(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreUnavailable(f"file locks do not work there ({error.strerror})") from error
    return True


@functools.cache
def _watch_forks() -> None:
    """Once a process, and not at import."""
    os.register_at_fork(after_in_child=_close_in_child)


def _close_in_child() -> None:
    """A forked child shares the parent's lock: were it kept open, it would outlive the parent."""
    for lock in list(_open_locks):
        lock.close()
