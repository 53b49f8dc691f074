"""A sqlite store that cannot be used says so in one sentence, and what to do about it."""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from noeta.backends.stores.sqlite import SqliteStore
from noeta.backends.stores.sqlite_lane import InlineExecutor
from noeta.backends.stores.sqlite_open import network_type, sqlite_note
from noeta.core.store import Append, NewTask, StoreUnavailable
from noeta.testing.fake_clock import FakeClock
from noeta.testing.store_maker import bodies, dump, message, post, running

pytestmark = pytest.mark.anyio

TASK = NewTask(id="t1", kind="one_shot", queue="default")


async def opened(path: str | Path, **options: Any) -> SqliteStore:
    """A store without threads."""
    return await SqliteStore.open(path, clock=FakeClock(), executor=InlineExecutor(), **options)


async def refusal(path: str | Path, **options: Any) -> str:
    """The sentence with which it is refused: it names the file, and is no traceback."""
    with pytest.raises(StoreUnavailable) as caught:
        await opened(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert "sqlite3." not in text
    return text


async def test_the_directory_is_made_but_not_those_above(tmp_path: Path) -> None:
    """A first start makes NOETA_HOME, for its owner only; a typing error makes nothing."""
    store = await opened(tmp_path / "home" / "store.db")
    await store.close()
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "home" / "store.db").stat().st_mode) == 0o600
    text = await refusal(tmp_path / "no" / "such" / "store.db")
    assert str(tmp_path / "no" / "such") in text
    assert "make it" in text
    assert not (tmp_path / "no").exists()


async def test_a_directory_is_no_store(tmp_path: Path) -> None:
    """The message says to name a file in it."""
    assert f"{tmp_path} is a directory; name a file" in await refusal(tmp_path)


@contextmanager
def read_only(home: Path) -> Iterator[None]:
    """A home without the right to write; as another user, as root may write anywhere."""
    for path in home.iterdir():
        path.chmod(0o444)
    home.chmod(0o555)
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(uid)
        home.chmod(0o755)


async def test_a_read_only_home_is_refused() -> None:
    """An existing store in it too, as every writer needs to write beside it."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        await (await opened(home / "store.db")).close()
        with read_only(home):
            for path in (home / "store.db", home / "new.db", home / "new" / "store.db"):
                text = await refusal(path)
                assert str(path.parent) in text
                assert "Permission denied" in text
                assert "choose another place" in text


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """Untouched: the newer noeta still finds its store."""
    path = tmp_path / "store.db"
    await (await opened(path)).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = '2' WHERE name = 'schema_version'")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    assert "schema 2 and this noeta knows 1; upgrade noeta" in await refusal(path)
    assert path.read_bytes() == before


async def test_what_is_no_noeta_store_is_refused(tmp_path: Path) -> None:
    """Not a database, another program's, or without its schema's number."""
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be looked at " * 50)
    assert f"{text} is not a noeta store" in await refusal(text)
    assert text.read_text().startswith("not a database")
    assert os.listdir(tmp_path) == ["notes.txt"]
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = other.read_bytes()
    assert f"{other} belongs to another program" in await refusal(other)
    assert other.read_bytes() == before
    odd = tmp_path / "odd.db"
    await (await opened(odd)).close()
    connection = sqlite3.connect(odd)
    connection.execute("DELETE FROM meta")
    connection.commit()
    connection.close()
    assert f"{odd} does not say its schema" in await refusal(odd)


async def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """When it is opened, or at the first touch of the damage; never a driver's error."""
    path = tmp_path / "store.db"
    store = await opened(path)
    for index in range(50):
        await store.create(
            NewTask(id=f"t{index}", kind="one_shot", queue="q", events=(b"x" * 900,))
        )
    await store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + os.urandom(len(whole) - 100))
    assert f"{path} is damaged" in await refusal(path)
    path.write_bytes(whole[: 4096 * 3] + b"\xa5" * (len(whole) - 4096 * 3))
    store = await opened(path)
    with pytest.raises(StoreUnavailable, match="is damaged; restore it"):
        await dump(store)
    await store.close()


async def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The append is refused whole, reads go on, and so do writes once there is space."""
    connections: list[sqlite3.Connection] = []

    class SmallDisk(sqlite3.Connection):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            connections.append(self)

    store = await opened(tmp_path / "store.db", connection_class=SmallDisk)
    claim = await running(store)
    pages = connections[0].execute("PRAGMA page_count").fetchone()[0]
    connections[0].execute(f"PRAGMA max_page_count = {pages + 5}")
    before = await dump(store)
    big = Append(expected_seq=1, events=(b"small", b"x" * 100_000))
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="no space is left for"):
            await store.append(claim, big)
        assert await dump(store) == before
    await post(store, message())
    connections[0].execute("PRAGMA max_page_count = 100000")
    assert (await store.append(claim, big)).last_seq == 3
    assert len(await bodies(store)) == 3
    await store.close()


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /net rw,relatime shared:1 - nfs4 server:/net rw
31 30 254:1 / /net/me/local\\040disk rw - xfs /dev/vdb rw
32 22 0:41 / /disk/over rw - nfs old rw
33 22 0:42 / /disk/over rw - tmpfs tmpfs rw
34 22 0:43 / /ssh rw shared:2 master:3 - fuse.sshfs me@host: rw
"""


def test_network_file_systems_are_known_by_their_mount(tmp_path: Path) -> None:
    """The deepest mount counts, the last of several on one point, and names may hold spaces."""
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text(MOUNTS)
    found = {
        directory: network_type(Path(directory), str(mountinfo))
        for directory in (
            *("/", "/nets", "/net", "/net/me", "/net/me/local disk/noeta", "/disk/over/x"),
            "/ssh/x",
        )
    }
    assert {name: kind for name, kind in found.items() if kind} == {
        "/net": "nfs4",
        "/net/me": "nfs4",
        "/ssh/x": "fuse.sshfs",
    }
    assert network_type(Path("/"), str(tmp_path / "absent")) is None


async def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    """With advice, and before anything is made there."""
    mountinfo = tmp_path / "mountinfo"
    mountinfo.write_text("22 1 254:0 / / rw - cifs //server/share rw\n")
    path = tmp_path / "home" / "store.db"
    text = await refusal(path, mountinfo=str(mountinfo))
    assert "on a network file system (cifs)" in text
    assert "Postgres" in text
    assert not path.parent.exists()


async def test_one_file_has_one_lock_by_any_name(tmp_path: Path) -> None:
    """A link to a store must not give a second lock beside the first."""
    store = await opened(tmp_path / "store.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "store.db")
    linked = await opened(tmp_path / "link.db")
    await linked.create(TASK)
    assert await store.row("t1") is not None
    await linked.close()
    await store.close()
    assert not (tmp_path / "link.db-lock").exists()


async def test_a_failed_opening_leaves_no_descriptor(tmp_path: Path) -> None:
    """A program that asks again and again must not run out of them."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await refusal(path)
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_commits_are_on_disk_before_they_are_answered(tmp_path: Path) -> None:
    """WAL with `synchronous = FULL` (2): NORMAL loses the last commits with the power."""
    store = await opened(tmp_path / "store.db")
    connection = store._writer._connection
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    await store.close()


def test_an_old_sqlite_is_noted() -> None:
    """The doctor shows it: several processes meet a race that 3.51.3 repaired."""
    assert sqlite_note((3, 51, 3)) is None
    note = sqlite_note((3, 40, 1))
    assert note is not None
    assert "3.40.1" in note
