"""The machine is against us: one sentence that says what to do, exit code 1, and nothing lost."""

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from noeta.backends.stores.sqlite_open import SCHEMA_VERSION
from tests.cli.bad_input import (
    Lived,
    as_a_user,
    copied,
    files_stay_below,
    make_home,
    sentence,
    small_disk,
)
from tests.cli.command import BOUND_SECONDS, COMMAND, ECHO, Noeta, Ran

ENDLESS = """\
steps:
  - label: more
    calls: [{tool: Bash, input: {command: 'head -c 20000 /dev/zero | tr "\\\\0" x'}}]
    goto: more
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Noeta, str]:
    directory = tmp_path_factory.mktemp("lived")
    (directory / "work").mkdir()
    noeta = Noeta(home=directory / "home", work=directory / "work")
    return noeta, make_home(noeta)


@pytest.fixture
def lived(template: tuple[Noeta, str], tmp_path: Path) -> Lived:
    noeta, earlier = template
    return Lived(copied(noeta, tmp_path), earlier)


def test_a_home_that_is_a_file(lived: Lived, tmp_path: Path) -> None:
    """For every command; the doctor finds it too."""
    path = tmp_path / "file"
    path.write_text("mine")
    environ = {"NOETA_HOME": str(path)}
    expected = (
        f"NOETA_HOME, {str(path)!r}, is not a directory; set it to a directory, or to where one"
        " can be made"
    )
    for args in (("-p", "hi", "--model", "scripted:x"), ("tasks", "list"), ("trust",)):
        assert lived.bad(2, *args, environ=environ) == expected
    ran = lived.noeta.run("doctor", environ=environ)
    assert (ran.code, ran.err) == (1, "")
    assert expected in ran.out
    assert path.read_text() == "mine"


def test_a_home_that_cannot_be_made(lived: Lived, tmp_path: Path) -> None:
    """Its parent may only be read."""
    parent = tmp_path / "readonly"
    parent.mkdir(mode=0o500)
    says = lived.bad(
        1,
        *("-p", "hi", "--model", lived.noeta.script(ECHO)),
        environ={"NOETA_HOME": str(parent / "home")},
        before=as_a_user,
    )
    assert says == (
        f"cannot make {str(parent / 'home')!r}: Permission denied; set NOETA_HOME to a directory"
        " that you may write to"
    )


def test_a_home_that_may_only_be_read(lived: Lived) -> None:
    """A run says so, and so does the doctor; once it may be written to, all is there."""
    home, model = lived.noeta.home, lived.noeta.script(ECHO)
    for path in (*home.iterdir(), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    says = lived.bad(1, "-p", "hi", "--model", model, before=as_a_user)
    assert says == (
        f"{home / 'noeta.db'} cannot be written (Permission denied); make it and its directory"
        " writable, or choose another place"
    )
    assert lived.bad(1, "trust", before=as_a_user).startswith(f"cannot write {home / 'trusted'} (")
    assert lived.noeta.run("doctor", before=as_a_user).code == 1
    for path in (home, *home.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    lived.assert_nothing_is_lost()


def test_a_home_that_may_not_be_looked_into(lived: Lived) -> None:
    """Not even whether there are settings is known."""
    home = lived.noeta.home
    home.chmod(0o000)
    for args in (("-p", "hi", "--model", lived.noeta.script(ECHO)), ("tasks", "list"), ("trust",)):
        ran = lived.noeta.run(*args, before=as_a_user)
        assert "Permission denied" in sentence(ran, ran.code)
        assert ran.code in (1, 2)
    ran = lived.noeta.run("doctor", before=as_a_user)
    assert (ran.code, ran.err) == (1, "")
    home.chmod(0o700)
    lived.assert_nothing_is_lost()


def test_a_store_of_a_newer_schema(lived: Lived) -> None:
    """It is left as it is, for the version that knows it."""
    store = lived.noeta.home / "noeta.db"
    _sql(store, f"UPDATE meta SET value = '{SCHEMA_VERSION + 1}' WHERE name = 'schema_version'")
    expected = (
        f"{store} has schema {SCHEMA_VERSION + 1} and this noeta knows {SCHEMA_VERSION}; upgrade"
        " noeta"
    )
    for args in (("-p", "hi", "--model", lived.noeta.script(ECHO)), ("tasks", "list")):
        assert lived.bad(1, *args) == expected
    _sql(store, f"UPDATE meta SET value = '{SCHEMA_VERSION}' WHERE name = 'schema_version'")
    lived.assert_nothing_is_lost()


def test_a_store_that_is_garbage(lived: Lived, tmp_path: Path) -> None:
    """It is somebody's file: not a byte of it is changed."""
    store, safe = lived.noeta.home / "noeta.db", tmp_path / "safe"
    shutil.copy(store, safe)
    garbage = b"this is no store at all. " * 1000
    store.write_bytes(garbage)
    for args in (("-p", "hi", "--model", lived.noeta.script(ECHO)), ("tasks", "list")):
        assert lived.bad(1, *args) == f"{store} is not a noeta store; choose another file"
    assert store.read_bytes() == garbage
    shutil.copy(safe, store)
    lived.assert_nothing_is_lost()


def test_a_store_that_is_damaged(lived: Lived, tmp_path: Path) -> None:
    """A disk that lost some of it: it says what may help."""
    store, safe = lived.noeta.home / "noeta.db", tmp_path / "safe"
    shutil.copy(store, safe)
    data = store.read_bytes()
    store.write_bytes(data[:200] + b"\xff" * 8000 + data[8200:])
    says = lived.bad(1, "tasks", "list")
    assert says.startswith(f"{store} is damaged; restore it from a copy")
    shutil.copy(safe, store)
    lived.assert_nothing_is_lost()


def test_a_store_of_another_program(lived: Lived, tmp_path: Path) -> None:
    """A sqlite file, and not ours."""
    other = tmp_path / "other.db"
    _sql(other, "CREATE TABLE theirs (x)")
    before = other.read_bytes()
    says = lived.bad(1, "tasks", "list", environ={"NOETA_STORE": str(other)})
    assert says == f"{other} belongs to another program; choose another file"
    assert other.read_bytes() == before


def test_a_store_that_is_not_there_yet(lived: Lived, tmp_path: Path) -> None:
    """Looking makes none."""
    path = tmp_path / "none.db"
    says = lived.bad(1, "tasks", "list", environ={"NOETA_STORE": str(path)})
    assert says == f"there is no store at {path} yet; start a task first"
    assert not path.exists()
    says = lived.bad(1, "tasks", "list", environ={"NOETA_HOME": str(tmp_path / "new")})
    assert says == f"there is no store at {tmp_path / 'new' / 'noeta.db'} yet; start a task first"
    assert not (tmp_path / "new").exists()


def test_a_store_in_a_directory_that_cannot_be(lived: Lived, tmp_path: Path) -> None:
    """A directory for a file, or a file for a directory."""
    run = ("-p", "hi", "--model", lived.noeta.script(ECHO))
    says = lived.bad(1, *run, environ={"NOETA_STORE": str(tmp_path)})
    assert says == f"{tmp_path} is a directory; name a file in it"
    says = lived.bad(1, *run, environ={"NOETA_STORE": str(tmp_path / "a" / "b" / "c.db")})
    assert "could not be made" in says


def test_a_full_disk_before_a_task_is_created(lived: Lived) -> None:
    """Nothing is created; the earlier tasks can be listed."""
    ran = lived.noeta.run(
        *("-p", "hi", "--model", lived.noeta.script(ECHO)), before=files_stay_below(4000)
    )
    assert str(lived.noeta.home / "noeta.db") in sentence(ran, 1)
    lived.assert_nothing_is_lost()


def test_a_disk_that_fills_while_a_task_runs(lived: Lived, tmp_path: Path) -> None:
    """The run ends with a sentence; what was recorded is there, and the task can be resumed."""
    with small_disk(tmp_path / "disk", "600k") as disk:
        before = files_stay_below(400_000) if disk is None else None
        if disk is not None:
            shutil.copytree(lived.noeta.home, disk / "home")
            lived.noeta.home = disk / "home"
        ran = _bounded(
            lived.noeta,
            *("-p", "hi", "--model", lived.noeta.script(ENDLESS, "endless.yaml")),
            *("--permission-mode", "bypassPermissions"),
            before=before,
        )
        assert str(lived.noeta.home / "noeta.db") in sentence(ran, 1)


def test_a_task_that_a_newer_version_wrote_to(lived: Lived) -> None:
    """It is listed and shown as far as it can be read; it is not run, and its log stays."""
    before = lived.noeta.log("newer1")
    assert len(before) == 2
    says = lived.bad(1, "--resume", "newer1", "-p", "hi")
    assert "a newer noeta wrote" in says
    assert lived.noeta.log("newer1") == before
    shown = lived.noeta.run("tasks", "show", "newer1")
    assert (shown.code, shown.err) == (0, "")
    assert "a newer noeta wrote" in shown.out
    lived.assert_nothing_is_lost()


@pytest.mark.parametrize(
    "command",
    ["--help", "--version", "tasks list --all", "tasks log {id}", "doctor", "--resume {id} -p"],
)
def test_a_reader_that_has_gone(lived: Lived, command: str) -> None:
    """As `| head -1` does: neither a traceback nor a complaint."""
    read, write = os.pipe()
    os.close(read)
    args = command.format(id=lived.earlier).split()
    done = subprocess.run(
        [*COMMAND, *args],
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.PIPE,
        cwd=lived.noeta.work,
        env=lived.noeta.variables(),
        timeout=BOUND_SECONDS,
        check=False,
    )
    os.close(write)
    assert done.stderr.decode() == ""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("command", ["tasks list --all", "doctor", "--resume {id} -p", "--help"])
def test_an_output_that_cannot_be_written(lived: Lived, command: str) -> None:
    """/dev/full is a disk without room: exit code 1 and a sentence."""
    args = command.format(id=lived.earlier).split()
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *args],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=lived.noeta.work,
            env=lived.noeta.variables(),
            timeout=BOUND_SECONDS,
            check=False,
        )
    says = sentence(Ran(code=done.returncode, out="", err=done.stderr.decode()), 1)
    assert "No space left on device" in says


def _bounded(noeta: Noeta, *args: str, before: Callable[[], object] | None) -> Ran:
    """Run it with a bound that is short, as a run that hangs is what may happen."""
    process = subprocess.Popen(
        [*COMMAND, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=noeta.work,
        env=noeta.variables(),
        text=True,
        preexec_fn=before,
    )
    with process:
        try:
            out, err = process.communicate(timeout=6)
        finally:
            process.send_signal(signal.SIGKILL)
    return Ran(code=process.returncode, out=out, err=err)


def _sql(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
