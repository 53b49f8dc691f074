"""Finding files of this machine by their paths: blocking, for LocalEnv's threads."""

import heapq
import os
import re
import stat
from collections.abc import Callable, Iterator, Set

from noeta.backends.execenvs.local_files import errors_named
from noeta.core.execenv import FileRefused, Found


def find_files(
    path: str, *, regex: str, skip_names: Set[str], count_max: int, check: Callable[[], None]
) -> Found:
    """The files below a directory that the regex fits; `check` is called in each directory."""
    fits = re.compile(regex, re.DOTALL).fullmatch
    files_count = 0
    # Only the newest are kept while we walk: a tree may hold millions.
    newest: list[tuple[float, _Backwards]] = []
    with errors_named(path):
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise FileRefused(f"{path!r} is no directory")
        for name, entry in _walk(path, skip_names, check):
            if not fits(name):
                continue
            try:
                found = entry.stat()
            except OSError:  # A link that leads nowhere, or gone since.
                continue
            if not stat.S_ISREG(found.st_mode):
                continue
            files_count += 1
            heapq.heappush(newest, (found.st_mtime, _Backwards(name)))
            if len(newest) > count_max:
                heapq.heappop(newest)
    paths = tuple(str(name) for _, name in sorted(newest, reverse=True))
    return Found(paths=paths, files_count=files_count)


class _Backwards(str):
    """A path that counts as less the later it comes, so that among equal times the first stay."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def _walk(
    root: str, skip_names: Set[str], check: Callable[[], None]
) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Everything below root but directories, as (path from root, entry)."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        check()
        try:
            entries = list(os.scandir(os.path.join(root, prefix)))
        except OSError:
            if not prefix:
                raise
            continue
        for entry in entries:
            name = f"{prefix}{entry.name}"
            if not entry.is_dir(follow_symlinks=False):
                yield name, entry
            elif entry.name not in skip_names:
                waiting.append(f"{name}/")
