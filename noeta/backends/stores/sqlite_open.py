"""Opening a sqlite store: the file, the pragmas, the schema, and every way it can be refused.

Whatever is wrong with the place is said here once, as a StoreUnavailable that names the file
and what to do. Opening holds the writers' lock: creating the file, the switch to WAL and a
migration must not meet another first starter.
"""

import os
import secrets
import sqlite3
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from sqlite3 import Connection

from noeta.backends.stores.sqlite_lock import LOCK_SECONDS, FairLock
from noeta.core.store import StoreUnavailable

MEMORY = ":memory:"
SCHEMA_VERSION = 1

_BUSY_SECONDS = 5.0
"""For programs that do not know our lock (a sqlite shell); our own writers never need it."""

_HEADER = b"SQLite format 3\0"
_WAL_BYTES_MAX = 64 * 1024 * 1024
_NETWORK_TYPES = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "afs", "ceph", "9p", "ncpfs", "lustre"),
        *("gpfs", "beegfs", "orangefs", "glusterfs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph"),
        *("fuse.s3fs", "fuse.rclone"),
    }
)
_WAL_RESET_FIXED = (3, 51, 3)


class NoLock:
    """The lock of a store that no other process can see."""

    def held(self) -> AbstractContextManager[None]:
        """Nothing to wait for."""
        return nullcontext()

    def try_hold(self) -> bool:
        """Always had."""
        return True

    def let_go(self) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing to close."""


class Source:
    """Where connections to one store come from."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        connection_class: type[Connection] = Connection,
        mountinfo: str = "/proc/self/mountinfo",
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:
        name = os.fspath(path)
        self.is_memory = name == MEMORY
        # One lock for one file, by whatever name it was reached.
        self.path = name if self.is_memory else os.path.realpath(os.path.expanduser(name))
        self.lock: FairLock | NoLock = NoLock()
        self._connection_class = connection_class
        self._mountinfo = mountinfo
        self._lock_seconds = lock_seconds

    def open(self) -> Connection:
        """Create or check the store, and return a first connection to it."""
        if self.is_memory:
            connection = self.connect()
            _prepare(connection, self.path)
            return connection
        self._check_place()
        try:
            return self._open_file()
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path} cannot be written ({error.strerror}); make it and its directory"
                " writable, or choose another place"
            ) from error
        except sqlite3.Error as error:
            raise unavailable(self.path, error) from error

    def connect(self) -> Connection:
        """A connection with the pragmas set; sqlite's own transactions are off."""
        connection = sqlite3.connect(
            self.path,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
            factory=self._connection_class,
        )
        try:
            # FULL: in WAL mode NORMAL loses acknowledged commits when the power fails.
            connection.execute("PRAGMA synchronous = FULL")
            # An UPDATE with RETURNING would make a temporary file: 20 us of an append's 40.
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES_MAX}")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self, connection: Connection) -> None:
        """Close the last connection and the lock.

        Under the lock, as closing may fold the WAL into the file; without it when it cannot be
        had, for then sqlite's own locks still keep the file whole.
        """
        try:
            with self.lock.held():
                connection.close()
        except StoreUnavailable:
            connection.close()
        finally:
            self.lock.close()
            self.lock = NoLock()

    def _open_file(self) -> Connection:
        lock = FairLock(self.path, seconds=self._lock_seconds)
        try:
            with lock.held():
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                connection = self.connect()
                try:
                    _prepare(connection, self.path)
                except BaseException:
                    connection.close()
                    raise
        except BaseException:
            lock.close()
            raise
        self.lock = lock
        return connection

    def _check_place(self) -> None:
        """Refuse what can be seen to be wrong before anything is made there."""
        place = Path(self.path)
        if place.is_dir():
            raise StoreUnavailable(f"{self.path} is a directory; name a file in it")
        parent = place.parent
        if (kind := network_type(parent, self._mountinfo)) is not None:
            raise StoreUnavailable(
                f"{self.path} is on a network file system ({kind}), where sqlite loses data;"
                " use a local disk, or a Postgres store for several machines"
            )
        if parent.exists():
            _check_header(place)
            return
        try:
            parent.mkdir(mode=0o700)
        except FileExistsError:
            return  # Another first start was quicker.
        except OSError as error:
            raise StoreUnavailable(
                f"the directory {parent} is not there and could not be made"
                f" ({error.strerror}); make it, or choose another place"
            ) from error


def _check_header(place: Path) -> None:
    """Refuse a file that is no database before lock files are put beside it."""
    try:
        with place.open("rb") as file:
            header = file.read(len(_HEADER))
    except OSError:
        return  # Not there yet, or not ours to read: opening it says what is wrong.
    if header not in (b"", _HEADER):
        raise StoreUnavailable(f"{place} is not a noeta store; choose another file")


def network_type(directory: Path, mountinfo: str = "/proc/self/mountinfo") -> str | None:
    """The type of the network file system a directory is on; None when it is local.

    proc(5): the mount point is the fifth field, the type is the first after the lone dash.
    """
    try:
        lines = Path(mountinfo).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None  # Not Linux, or no /proc: nothing is known.
    found = _deepest_mount(str(directory), (line.split() for line in lines))
    return found if found in _NETWORK_TYPES else None


def _deepest_mount(directory: str, mounts: Iterable[list[str]]) -> str | None:
    deepest, kind = "", None
    for fields in mounts:
        if "-" not in fields[6:]:
            continue
        point = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = directory == point or directory.startswith(point.rstrip("/") + "/")
        # A later mount on the same point hides the earlier one.
        if inside and len(point) >= len(deepest):
            deepest, kind = point, fields[fields.index("-", 6) + 1]
    return kind


def _prepare(connection: Connection, path: str) -> None:
    """Bring the file to WAL and to our schema; one that is not ours is left as it is."""
    version = _schema_version(connection, path)
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"{path} has schema {version} and this noeta knows {SCHEMA_VERSION}; upgrade noeta"
        )
    if path != MEMORY:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreUnavailable(f"{path} cannot use a write-ahead log; choose a local disk")
    if version == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements():
            connection.execute(statement)
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('schema_version', ?), ('store_id', ?)",
            (str(SCHEMA_VERSION), secrets.token_hex(8)),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _schema_version(connection: Connection, path: str) -> int:
    """The schema in the file; 0 when it is empty."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return 0
    if not {"meta", "tasks", "events"} <= tables:
        raise StoreUnavailable(f"{path} belongs to another program; choose another file")
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    if found is None or not found[0].isdecimal():
        raise StoreUnavailable(f"{path} does not say its schema; restore it from a copy")
    return int(found[0])


def _statements() -> list[str]:
    script = Path(__file__).with_name("sqlite_schema.sql").read_text(encoding="utf-8")
    return [statement for statement in script.split(";\n") if statement.strip()]


def unavailable(path: str, error: sqlite3.Error) -> StoreUnavailable:
    """What a driver's error means, in a sentence."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    match code:
        case sqlite3.SQLITE_FULL:
            text = f"no space is left for {path}; free some and try again"
        case sqlite3.SQLITE_NOTADB:
            text = f"{path} is not a noeta store; choose another file"
        case sqlite3.SQLITE_CORRUPT:
            text = f"{path} is damaged; restore it from a copy, or try sqlite3's .recover"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            text = f"{path} is locked by another program; close it and try again"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            text = f"{path} cannot be written; make it and its directory writable"
        case sqlite3.SQLITE_IOERR:
            text = f"the disk under {path} failed ({error}); check it and try again"
        case _:
            text = f"{path} could not be used ({error})"
    unavailable = StoreUnavailable(text)
    unavailable.__cause__ = error
    return unavailable


def sqlite_note(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> str | None:
    """What to know about the linked sqlite; None when there is nothing."""
    if version >= _WAL_RESET_FIXED:
        return None
    return (
        f"sqlite {'.'.join(map(str, version))} is linked; before 3.51.3 a race at the reset of"
        " the write-ahead log can lose data when several processes write: let one process"
        " at a time use a store, or upgrade"
    )
