"""The exec env: where a task's tools read files and run commands.

Tools reach the world only through one of these, so that the same tool works on this machine, in
a container or over ssh. Paths are absolute inside the env or relative to its `cwd`. Each rule
below is held by a check in `noeta/testing/execenv_contract.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from noeta.core.errors import NoetaError

OUTPUT_BYTES_MAX = 64 * 1024 * 1024
"""What a command's output file may grow to before the command is killed."""


class ExecEnvError(NoetaError):
    """Files or commands of the env could not be reached; the message says which and why."""


class FileMissing(ExecEnvError):
    """There is no such file or directory."""


class FileChanged(ExecEnvError):
    """The file is not what the writer expected it to be; nothing was written."""


class FileRefused(ExecEnvError):
    """The path is a directory, a device, too large, not permitted or otherwise unusable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStat:
    """What a path is. `path` is the resolved one: no links, no `..`."""

    path: str
    kind: Literal["file", "directory", "other"]
    size_bytes: int
    modified_at: float
    mode: int
    links_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Files that were looked for."""

    paths: tuple[str, ...]
    """The newest of them, the newest first, as paths from where the search began."""
    files_count: int
    """How many there are in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command to run to its end.

    Exactly one of `argv` and `shell` is given; `shell` is a script for `/bin/sh`-compatible bash.
    """

    argv: tuple[str, ...] = ()
    shell: str | None = None
    cwd: str | None = None
    """None: the env's cwd."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the env's scrubbed environment."""
    timeout_seconds: float = 120.0
    output_path: str | None = None
    """Where stdout and stderr go, together, as they come; what was there is replaced. None:
    a file that is gone when the call returns; only the previews are left of it."""
    output_bytes_max: int = OUTPUT_BYTES_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended. Exactly one of exit_code and signal is set, by what the OS reported."""

    exit_code: int | None
    signal: int | None
    reason: Literal["exited", "timeout", "output_limit"]
    """Who ended it: itself, its time limit, or its output limit. `output_limit` is also said when
    it had ended by itself: the output is then cut at the limit."""
    output_path: str | None
    """The file that was named for it, absolute."""
    output_bytes: int
    head: bytes
    """The first bytes of the output, at most `preview_bytes` of them."""
    tail: bytes
    """The last bytes after the head, at most `preview_bytes`; empty when the head is all."""


class ExecEnv(Protocol):
    """Files and commands at one place. All methods may raise ExecEnvError."""

    @property
    def cwd(self) -> str:
        """The absolute directory that relative paths start from."""

    async def stat(self, path: str) -> FileStat | None:
        """What the path leads to, links followed; None when nothing is there."""

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        """A whole file. FileMissing; FileRefused when it is no regular file or larger than
        bytes_max (never loads more than that)."""

    async def read_part(self, path: str, *, start_bytes: int, bytes_max: int) -> bytes:
        """At most bytes_max bytes of a file from start_bytes on; fewer only at its end, none
        after it. FileMissing; FileRefused when it is no regular file. Two parts of a file that
        is being replaced may be of two files."""

    async def digest(self, path: str) -> str | None:
        """The sha256 of a file's bytes, hex; None when it does not exist."""

    async def write(
        self, path: str, data: bytes, *, expect: str | None = None, create_only: bool = False
    ) -> str:
        """Replace a file's bytes and give their sha256; parents are made.

        Atomic: a reader sees the old file or the new one, also after a crash (temporary file,
        fsync, rename, fsync of the directory). Mode is kept; through a link the target is
        written. `expect` is the sha256 the file must still have just before the rename,
        `create_only` demands that there is none: FileChanged otherwise.
        """

    async def list_dir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted. FileMissing; FileRefused when it is none."""

    async def find(
        self, path: str, *, regex: str, skip_names: Collection[str] = (), count_max: int
    ) -> Found:
        """The regular files below a directory whose path from there, with `/`, is matched whole
        by the regex (of Python's `re`).

        A link to a file counts as that file under the link's own path; links to directories and
        directories named in skip_names are not entered, those that cannot be read are passed
        over. Equal times are in the order of the paths. FileMissing; FileRefused when it is no
        directory.
        """

    async def run(self, command: Command, *, preview_bytes: int = 30_000) -> Finished:
        """Run a command to its end and say how it ended.

        stdin is empty and there is no terminal. Output goes to a file, so memory is bounded by
        the previews. Secrets (provider keys, NOETA_* tokens, DSNs) are not in its environment.
        It waits for the command itself, not for whoever else holds its output; whom the command
        leaves behind is killed when it ends. The command has its own process group, which is
        killed whole when the time or output limit is passed, when the caller is cancelled, and
        within 2 s when the calling process dies in any way (a guardian process sees to that).
        As in a shell, exit code 127 means there is no such command and 126 that it cannot be
        executed; the output says which. FileMissing: the cwd is gone.
        """
