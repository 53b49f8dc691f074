"""What the model has seen of which file: folded from the log, so that every worker knows it.

A read, a write and an edit each leave a record beside their result. Write asks whether the whole
of the present content was seen, Edit whether any of the file was.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from noeta.core.tool import ToolContext


class FileSeen(msgspec.Struct, frozen=True, kw_only=True, tag="seen", omit_defaults=True):
    """The model has seen a file, or part of it, as it was then."""

    path: str
    """Resolved: two names of one file are one file."""
    sha256: str
    """Of all its bytes."""
    whole: bool = False
    """Every line was shown in full."""


@dataclass(frozen=True, slots=True)
class SeenFiles:
    """The newest record of each file, by its path."""

    files: Mapping[str, FileSeen] = field(default_factory=dict)


def fold(state: object, record: msgspec.Raw) -> SeenFiles:
    """The plugin's fold."""
    new = msgspec.json.decode(record, type=FileSeen)
    files = dict(state.files) if isinstance(state, SeenFiles) else {}
    old = files.get(new.path)
    if old is not None and old.sha256 == new.sha256 and old.whole:
        # A look at some lines takes nothing away from having seen all of them.
        new = old
    files[new.path] = new
    return SeenFiles(files)


def seen_of(ctx: ToolContext, path: str) -> FileSeen | None:
    """What was seen of the file with this resolved path."""
    return ctx.state.files.get(path) if isinstance(ctx.state, SeenFiles) else None


def record(*, path: str, sha256: str, whole: bool) -> tuple[msgspec.Raw, ...]:
    """The records of a call that showed or wrote this."""
    seen = FileSeen(path=path, sha256=sha256, whole=whole)
    try:
        return (msgspec.Raw(msgspec.json.encode(seen)),)
    except UnicodeEncodeError:
        # A file name that is no UTF-8 cannot be written down, nor can the model name it.
        return ()
