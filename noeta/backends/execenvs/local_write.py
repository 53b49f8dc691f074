"""Writing files of this machine so that no reader and no crash ever meets half a file.

Plain blocking functions for LocalEnv's threads; paths come in absolute.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noeta.backends.execenvs.local_files import demand_regular, digest_file, errors_named
from noeta.core.execenv import ExecEnvError, FileChanged, FileRefused

LOCK_SECONDS = 10.0
"""How long a write waits for other writers in its directory; each holds it for milliseconds."""


def write_file(path: str, data: bytes, *, expect: str | None, create_only: bool) -> str:
    """Replace the file's bytes in one moment, or change nothing; the sha256 of what it holds now.

    The other names of a hard-linked file keep the old bytes: that is the price of a rename. A
    file its owner made read-only is refused, although a rename could get round that.
    """
    with errors_named(path):
        if path.endswith("/"):
            raise FileRefused(f"{path!r} names a directory")
        if os.path.islink(path) and not os.path.exists(path):
            raise FileRefused(f"{path!r} is a link that leads nowhere")
        target = os.path.realpath(path)
        old = _writable(target)
        if old is None and expect is not None:
            raise FileChanged(f"{path!r} is gone")
        directory = os.path.dirname(target)
        make_directories(directory)
        temporary = os.path.join(directory, f".noeta-{secrets.token_hex(8)}.tmp")
        try:
            _write_temporary(temporary, data, old)
            with _locked(directory):
                if expect is not None and digest_file(target, _nothing) != expect:
                    raise FileChanged(f"{path!r} is not what it was when it was read")
                _put_in_place(temporary, target, create_only=create_only)
        finally:
            # After a rename there is nothing of this name; after a link or an error there is.
            Path(temporary).unlink(missing_ok=True)
        sync_directory(directory)
        return hashlib.sha256(data).hexdigest()


def make_directories(path: str) -> None:
    """Make a directory and its parents, each so that it is still there after a crash."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directories(parent)
    try:
        os.mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise FileRefused(f"{path!r} is no directory") from None
    sync_directory(parent)


def sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # Some file systems have no such thing.
            raise
    finally:
        os.close(descriptor)


def _writable(target: str) -> os.stat_result | None:
    """What is to be replaced, None when there is nothing yet."""
    try:
        found = os.lstat(target)
    except (FileNotFoundError, NotADirectoryError):
        return None
    demand_regular(target, found.st_mode)
    if not os.access(target, os.W_OK):
        raise FileRefused(f"{target!r} is read-only")
    return found


def _write_temporary(path: str, data: bytes, old: os.stat_result | None) -> None:
    # A new file gets what the umask leaves of 0666; the kernel knows the umask, and asking for
    # it in Python would set it for all threads. A replacement stays closed until it is complete.
    mode = 0o666 if old is None else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if old is not None:
            _keep_owner(descriptor, old)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _keep_owner(descriptor: int, old: os.stat_result) -> None:
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        # Only root gives files away; otherwise it belongs to whoever wrote it last.
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)


def _put_in_place(temporary: str, target: str, *, create_only: bool) -> None:
    if create_only:
        try:
            # Unlike a rename, a link never replaces, also not what others than noeta just made.
            os.link(temporary, target)
            return
        except FileExistsError:
            raise FileChanged(f"{target!r} exists already") from None
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
                raise
        # No hard links on this file system; under the lock, looking is good against noeta.
        if os.path.lexists(target):
            raise FileChanged(f"{target!r} exists already")
    os.rename(temporary, target)


@contextmanager
def _locked(directory: str) -> Iterator[None]:
    """Only one noeta writer in this directory, of any thread and process of this machine.

    The directory itself is what we lock (flock, so each opening counts for itself). That leaves
    no lock files about and needs no agreement on where they are. Whoever holds it checks a
    digest and renames, no more; all the writing is done before. Where a directory cannot be
    locked (NFS), the check still stands immediately before the rename, unguarded.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        give_up_at = time.monotonic() + LOCK_SECONDS
        while not _try_lock(descriptor):
            if time.monotonic() > give_up_at:
                raise ExecEnvError(f"another process has held {directory!r} for {LOCK_SECONDS} s")
            time.sleep(0.001)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
            raise
    return True


def _nothing() -> None:
    pass
