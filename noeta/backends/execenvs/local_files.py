"""Looking at files of this machine: plain blocking functions for LocalEnv's threads.

Paths come in absolute. Every OSError leaves as an error of the exec env contract.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from noeta.core.execenv import ExecEnvError, FileMissing, FileRefused, FileStat

CHUNK_BYTES = 1024 * 1024


def stat_file(path: str) -> FileStat | None:
    """What the path leads to; None when nothing is there."""
    with errors_named(path):
        real = os.path.realpath(path)
        try:
            found = os.stat(real)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileStat(
            path=real,
            kind=_kind(found.st_mode),
            size_bytes=found.st_size,
            modified_at=found.st_mtime,
            mode=stat.S_IMODE(found.st_mode),
            links_count=found.st_nlink,
        )


def read_file(path: str, bytes_max: int) -> bytes:
    """A whole regular file of at most bytes_max bytes."""
    with errors_named(path), opened(path) as (descriptor, size_bytes):
        # Files of /proc give their size as 0, and any file may grow: count what was read.
        parts: list[bytes] = []
        room_bytes = bytes_max + 1
        while size_bytes <= bytes_max and room_bytes > 0:
            part = os.read(descriptor, min(room_bytes, CHUNK_BYTES))
            if not part:
                return b"".join(parts)
            parts.append(part)
            room_bytes -= len(part)
        raise FileRefused(f"{path!r} is larger than {bytes_max} bytes")


def read_part(path: str, start_bytes: int, bytes_max: int) -> bytes:
    """At most bytes_max bytes of a regular file from start_bytes on."""
    with errors_named(path), opened(path) as (descriptor, _):
        parts: list[bytes] = []
        while bytes_max > 0 and (part := os.pread(descriptor, bytes_max, start_bytes)):
            parts.append(part)
            start_bytes += len(part)
            bytes_max -= len(part)
        return b"".join(parts)


def digest_file(path: str, check: Callable[[], None]) -> str | None:
    """The sha256 of a regular file, None when there is none; `check` is called between chunks."""
    try:
        with errors_named(path), opened(path) as (descriptor, _):
            digest = hashlib.sha256()
            while part := os.read(descriptor, CHUNK_BYTES):
                digest.update(part)
                check()
            return digest.hexdigest()
    except FileMissing:
        return None


def list_names(path: str) -> list[str]:
    """The names in a directory, sorted, without `.` and `..`."""
    with errors_named(path):
        try:
            return sorted(os.listdir(path))
        except NotADirectoryError:
            if os.path.exists(path):
                raise FileRefused(f"{path!r} is no directory") from None
            raise


def _kind(mode: int) -> Literal["file", "directory", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


@contextmanager
def opened(path: str) -> Iterator[tuple[int, int]]:
    """A regular file open for reading, and its size.

    The look before keeps us from opening devices, which some of them answer with an act; the one
    after is the truth. O_NONBLOCK: opening a fifo that took the file's place must not hang.
    """
    demand_regular(path, os.stat(path).st_mode)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = os.fstat(descriptor)
        demand_regular(path, found.st_mode)
        yield descriptor, found.st_size
    finally:
        os.close(descriptor)


def demand_regular(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise FileRefused(f"{path!r} is a directory")
    if not stat.S_ISREG(mode):
        raise FileRefused(f"{path!r} is no regular file")


UNREACHABLE = frozenset(
    (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE)
)
"""Trouble of the machine and not of the path."""


@contextmanager
def errors_named(path: str) -> Iterator[None]:
    """Turn what the OS says into what the contract says."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileMissing(f"{path!r} does not exist") from error
    except OSError as error:
        kind = ExecEnvError if error.errno in UNREACHABLE else FileRefused
        raise kind(f"{path!r}: {error.strerror}") from error
    except ValueError as error:  # A NUL, or a character that no file name can have.
        raise FileRefused(f"{path!r} is no path: {error}") from error
