"""How LocalEnv replaces files: what reaches the disk when, and what is left after trouble."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.core.execenv import Command, ExecEnvError, FileChanged, FileRefused

pytestmark = pytest.mark.anyio

COUNTER = """
import sys, anyio
from noeta.backends.execenvs.local import LocalEnv
from noeta.testing.execenv_file_checks import increment

async def main():
    env = LocalEnv.here(sys.argv[1])
    sys.stdin.read(1)
    for _ in range(50):
        await increment(env, "count")

anyio.run(main)
"""


@pytest.fixture
def env(tmp_path: Path) -> LocalEnv:
    return make_env(tmp_path, scratch_dir=tmp_path / "scratch")


def test_compare_and_swap_of_two_processes_loses_nothing(tmp_path: Path) -> None:
    """Also across tasks, that is across workers."""
    (tmp_path / "count").write_bytes(b"0")
    # Different temporary directories: the lock must not depend on agreeing about one.
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTER, str(tmp_path)],
            stdin=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path / name)},
        )
        for name in ("one", "two")
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"g")
        process.stdin.flush()
    assert [process.wait(timeout=30) for process in processes] == [0, 0]
    for process in processes:
        process.communicate()
    assert (tmp_path / "count").read_bytes() == b"100"
    assert os.listdir(tmp_path) == ["count"]


async def test_bytes_are_on_disk_before_the_name_and_the_name_before_the_answer(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ExecEnv.write: temporary file, fsync, rename, fsync of the directory."""
    (tmp_path / "file").write_bytes(b"old")
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def spy_fsync(descriptor: int) -> None:
        done.append("fsync " + ("dir" if os.path.isdir(f"/dev/fd/{descriptor}") else "file"))
        fsync(descriptor)

    def spy_rename(source: str, target: str) -> None:
        done.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "rename", spy_rename)
    await env.write("file", b"new")
    assert done == ["fsync file", "rename", "fsync dir"]
    done.clear()
    await env.write("new/file", b"new", create_only=True)
    assert done == ["fsync dir", "fsync file", "fsync dir"]


@pytest.mark.parametrize("call", ["rename", "fsync", "fchmod"])
async def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """ExecEnv.write: a reader sees the old file or the new one."""
    (tmp_path / "file").write_bytes(b"old")

    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        with pytest.raises(ExecEnvError, match="No space left") as caught:
            await env.write("file", b"new")
    assert not isinstance(caught.value, FileRefused | FileChanged)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


async def test_an_existing_file_wins_though_it_appeared_last(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """create_only and expect hold against those who know nothing of our lock."""
    fsync = os.fsync

    def meddle(descriptor: int) -> None:
        (tmp_path / "file").write_bytes(b"theirs")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", meddle)
    with pytest.raises(FileChanged):
        await env.write("file", b"ours", create_only=True)
    ours = await env.write("file", b"ours")
    with pytest.raises(FileChanged):
        await env.write("file", b"later", expect=ours)
    assert (tmp_path / "file").read_bytes() == b"theirs"


async def test_creating_works_without_hard_links(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAT and some network file systems have none."""

    def fail(source: str, target: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", fail)
    await env.write("file", b"first", create_only=True)
    with pytest.raises(FileChanged):
        await env.write("file", b"second", create_only=True)
    assert (tmp_path / "file").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


async def test_a_read_only_file_is_refused(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename would get round the mode; whoever set it did not mean that."""
    (tmp_path / "file").write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # Root may all.
    with pytest.raises(FileRefused, match="read-only"):
        await env.write("file", b"new")


async def test_a_new_file_has_the_mode_the_umask_leaves(env: LocalEnv, tmp_path: Path) -> None:
    """A file of ours is like one of any other program's."""
    umask = os.umask(0o027)
    try:
        await env.write("file", b"new")
    finally:
        os.umask(umask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


async def test_a_file_without_a_size_is_still_capped(env: LocalEnv) -> None:
    """Files of /proc say 0 and hold more."""
    assert (await env.read("/proc/self/status", bytes_max=100_000)).startswith(b"Name:")
    with pytest.raises(FileRefused, match="larger"):
        await env.read("/proc/self/status", bytes_max=10)


async def test_a_fifo_that_takes_a_files_place_does_not_hang_a_read(
    env: LocalEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the opening anything may happen."""
    path = tmp_path / "file"
    path.write_bytes(b"data")
    stat = os.stat

    def swap(looked_at: str) -> os.stat_result:
        found = stat(looked_at)
        path.unlink()
        os.mkfifo(path)
        return found

    # Frees a read that does hang, so that the test fails and does not hang as well.
    rescue = threading.Timer(2, lambda: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)))
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", swap)
        rescue.start()
        with pytest.raises(FileRefused, match="no regular file"):
            await env.read("file", bytes_max=10)
    assert rescue.is_alive()
    rescue.cancel()


async def test_bytes_that_are_no_text_may_be_a_name(env: LocalEnv, tmp_path: Path) -> None:
    """Names are bytes on Linux; Python's surrogates carry them through."""
    name = os.fsdecode(b"caf\xe9")
    await env.write(name, b"data")
    assert name in await env.list_dir(".")
    finished = await env.run(Command(argv=("cat", name)))
    assert finished.head == b"data"
    with pytest.raises(FileRefused, match="no path"):
        await env.write("\ud800", b"data")


async def test_a_strangers_scratch_directory_is_refused(tmp_path: Path) -> None:
    """/tmp is everybody's: a link laid there must not decide where our output goes."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "scratch").symlink_to(tmp_path / "elsewhere")
    env = make_env(tmp_path, scratch_dir=tmp_path / "scratch")
    with pytest.raises(FileRefused, match="not ours"):
        await env.run(Command(argv=("true",)))


async def test_output_is_for_our_eyes_only(env: LocalEnv, tmp_path: Path) -> None:
    """A command may print what nobody else on the machine should read."""
    await env.run(Command(argv=("true",), output_path="named"))
    assert os.stat(tmp_path / "named").st_mode & 0o777 == 0o600
    await env.run(Command(argv=("true",)))
    assert os.stat(tmp_path / "scratch").st_mode & 0o777 == 0o700


async def test_output_that_nobody_named_leaves_nothing(env: LocalEnv, tmp_path: Path) -> None:
    """Neither after a call nor while it runs, when a kill would leave it for ever."""
    seen = await env.run(Command(shell=f"echo x; ls {tmp_path / 'scratch'}"))
    assert seen.head == b"x\n"
    assert os.listdir(tmp_path / "scratch") == []


async def test_output_goes_to_regular_files_only(env: LocalEnv, tmp_path: Path) -> None:
    """A fifo nobody reads would hang the call, a device would act on it."""
    os.mkfifo(tmp_path / "fifo")
    for path in ("fifo", "/dev/null", "."):
        with pytest.raises(FileRefused):
            await env.run(Command(argv=("true",), output_path=path))


def make_env(cwd: Path, *, scratch_dir: Path) -> LocalEnv:
    return LocalEnv(
        str(cwd),
        environ={"PATH": "/usr/bin:/bin"},
        scratch_dir=str(scratch_dir),
        shell="/bin/bash",
    )
