"""The files that commands write their output to: made before, looked into after."""

import os
import secrets
import stat
from pathlib import Path

from noeta.backends.execenvs.local_files import errors_named
from noeta.backends.execenvs.local_write import make_directories
from noeta.core.execenv import FileRefused


def open_output(path: str | None, scratch_dir: str) -> int:
    """An empty file for a command's output, open for appending and reading.

    Without a path it has no name once it is open, so that nothing stays of it, also after a kill.
    """
    if path is not None:
        return _open(path)
    _make_private(scratch_dir)
    path = os.path.join(scratch_dir, f"output-{secrets.token_hex(8)}")
    descriptor = _open(path)
    Path(path).unlink(missing_ok=True)
    return descriptor


def _open(path: str) -> int:
    with errors_named(path):
        make_directories(os.path.dirname(path))
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY
        descriptor = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileRefused(f"output cannot go to {path!r}: it is no regular file")
            os.ftruncate(descriptor, 0)
            os.set_blocking(descriptor, True)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def read_ends(descriptor: int, preview_bytes: int) -> tuple[int, bytes, bytes]:
    """An open file's size, its first bytes, and its last bytes after those."""
    size_bytes = os.fstat(descriptor).st_size
    head = _read_at(descriptor, 0, min(size_bytes, preview_bytes))
    tail_bytes = min(size_bytes - len(head), preview_bytes)
    return size_bytes, head, _read_at(descriptor, size_bytes - tail_bytes, tail_bytes)


def _make_private(path: str) -> None:
    """A directory only we can look into; a stranger's of the same name is refused."""
    with errors_named(path):
        make_directories(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            found = os.lstat(path)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                raise FileRefused(f"the scratch directory {path!r} is not ours") from None


def _read_at(descriptor: int, offset: int, size_bytes: int) -> bytes:
    parts = []
    while size_bytes > 0 and (part := os.pread(descriptor, size_bytes, offset)):
        parts.append(part)
        offset += len(part)
        size_bytes -= len(part)
    return b"".join(parts)
