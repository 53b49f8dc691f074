"""LocalEnv: files and commands of the machine the worker runs on, as the worker's user.

It is no sandbox. What a command may do is decided before it comes here; what we add is that
nothing half-written stays, that no command outlives its call, and that our own secrets are not
handed over. Files are in `local_files.py`, `local_find.py` and `local_write.py`, commands in
`local_run.py`, `local_output.py` and `guardian.py`.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from functools import partial
from typing import Self

import anyio
import anyio.from_thread
import anyio.to_thread

from noeta.backends.execenvs import local_files, local_find, local_output, local_write
from noeta.backends.execenvs.local_environ import scrub
from noeta.backends.execenvs.local_run import Order, run_guarded
from noeta.core.execenv import Command, ExecEnvError, FileRefused, FileStat, Finished, Found

SILENCE_SECONDS = 60.0
"""A worker whose event loop stands still this long is taken for frozen, and its commands end."""


class LocalEnv:
    """An ExecEnv of this machine.

    `environ` is what commands get, whole: give it scrubbed (`LocalEnv.here` does).
    `scratch_dir` takes the output of commands that name no file for it, while they run; it is
    made at first use, for our eyes only.
    """

    def __init__(
        self,
        cwd: str,
        *,
        environ: Mapping[str, str],
        scratch_dir: str,
        shell: str,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        assert os.path.isabs(cwd)
        assert os.path.isabs(scratch_dir)
        self._cwd = cwd
        self._environ = dict(environ)
        self._scratch_dir = scratch_dir
        self._shell = shell
        self._silence_seconds = silence_seconds

    @classmethod
    def here(cls, cwd: str, *, silence_seconds: float = SILENCE_SECONDS) -> Self:
        """One with this process's environment, scrubbed, and the user's directory in /tmp."""
        return cls(
            os.path.abspath(cwd),
            environ=scrub(os.environ),
            scratch_dir=os.path.join(tempfile.gettempdir(), f"noeta-{os.geteuid()}"),
            shell=shutil.which("bash") or "/bin/sh",
            silence_seconds=silence_seconds,
        )

    @property
    def cwd(self) -> str:
        return self._cwd

    async def stat(self, path: str) -> FileStat | None:
        return await anyio.to_thread.run_sync(local_files.stat_file, self._absolute(path))

    async def read(self, path: str, *, bytes_max: int) -> bytes:
        return await anyio.to_thread.run_sync(
            local_files.read_file, self._absolute(path), bytes_max
        )

    async def read_part(self, path: str, *, start_bytes: int, bytes_max: int) -> bytes:
        return await anyio.to_thread.run_sync(
            local_files.read_part, self._absolute(path), start_bytes, bytes_max
        )

    async def digest(self, path: str) -> str | None:
        return await anyio.to_thread.run_sync(
            local_files.digest_file, self._absolute(path), anyio.from_thread.check_cancelled
        )

    async def write(
        self, path: str, data: bytes, *, expect: str | None = None, create_only: bool = False
    ) -> str:
        assert not (create_only and expect is not None)
        return await anyio.to_thread.run_sync(
            partial(
                local_write.write_file,
                self._absolute(path),
                data,
                expect=expect,
                create_only=create_only,
            )
        )

    async def list_dir(self, path: str) -> list[str]:
        return await anyio.to_thread.run_sync(local_files.list_names, self._absolute(path))

    async def find(
        self, path: str, *, regex: str, skip_names: Collection[str] = (), count_max: int
    ) -> Found:
        return await anyio.to_thread.run_sync(
            partial(
                local_find.find_files,
                self._absolute(path),
                regex=regex,
                skip_names=frozenset(skip_names),
                count_max=count_max,
                check=anyio.from_thread.check_cancelled,
            )
        )

    async def run(self, command: Command, *, preview_bytes: int = 30_000) -> Finished:
        order = self._order(command)
        asked_path = None if command.output_path is None else self._absolute(command.output_path)
        output = await anyio.to_thread.run_sync(
            local_output.open_output, asked_path, self._scratch_dir
        )
        try:
            ending = await run_guarded(order, output)
            # By descriptor, as the command may have removed the path.
            output_bytes, head, tail = await anyio.to_thread.run_sync(
                local_output.read_ends, output, preview_bytes
            )
        finally:
            os.close(output)
        return Finished(
            exit_code=ending.exit_code,
            signal=ending.signal,
            reason=ending.reason,
            output_path=asked_path,
            output_bytes=output_bytes,
            head=head,
            tail=tail,
        )

    def _order(self, command: Command) -> Order:
        assert bool(command.argv) != (command.shell is not None)
        argv = command.argv
        if command.shell is not None:
            # After "--" a script that begins with a dash is a script and no option.
            argv = (self._shell, "-c", "--", command.shell)
        if bad := [name for name in command.env if not name or "=" in name]:
            raise ExecEnvError(f"{bad[0]!r} cannot be the name of an environment variable")
        cwd = self._cwd if command.cwd is None else self._absolute(command.cwd)
        return Order(
            argv=argv,
            cwd=cwd,
            environ={**self._environ, "PWD": cwd, **command.env},
            guardian_environ=self._environ,
            timeout_seconds=command.timeout_seconds,
            output_bytes_max=command.output_bytes_max,
            silence_seconds=self._silence_seconds,
        )

    def _absolute(self, path: str) -> str:
        if not path:
            raise FileRefused("an empty path names nothing")
        return os.path.join(self._cwd, path)
