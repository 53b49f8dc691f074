"""Connections that fail, wait or tell when told to: the faults of a disk, made to order."""

import sqlite3
import threading
from typing import Any

ERRORS = {
    "full": (sqlite3.SQLITE_FULL, "database or disk is full"),
    "locked": (sqlite3.SQLITE_BUSY, "database is locked"),
    "io": (sqlite3.SQLITE_IOERR, "disk I/O error"),
}


class Faults:
    """Which statement fails, counted from when the faults were armed; 0 is none."""

    def __init__(self) -> None:
        self.count = 0
        self.at = 0
        self.times = 1
        self.kind = "full"
        self.is_late = False
        """Whether the statement is carried out before it fails (an answer that was lost)."""
        self.failed: list[str] = []

    def arm(self, at: int, kind: str, *, times: int = 1, is_late: bool = False) -> None:
        """Fail from the at-th statement on, so many times."""
        self.count, self.at, self.kind, self.times = 0, at, kind, times
        self.is_late, self.failed = is_late, []

    def is_due(self) -> bool:
        """Whether the statement that comes now fails."""
        self.count += 1
        return self.at > 0 and self.at <= self.count < self.at + self.times

    def error(self, sql: str) -> sqlite3.OperationalError:
        """The error as sqlite3 raises it, with its code."""
        self.failed.append(sql)
        code, text = ERRORS[self.kind]
        error = sqlite3.OperationalError(text)
        error.sqlite_errorcode = code
        return error


def faulty_connections(faults: Faults) -> type[sqlite3.Connection]:
    """Connections that ask these faults before each statement."""

    class FaultyConnection(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if faults.is_due():
                if faults.is_late and sql == "COMMIT":
                    super().execute(sql, parameters)
                raise faults.error(sql)
            return super().execute(sql, parameters)

    return FaultyConnection


class Gate:
    """Holds a writer in its COMMIT, and remembers its statements."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.reached = threading.Event()
        self.statements: list[str] = []

    def shut(self) -> None:
        """Let the next COMMIT wait."""
        self.statements.clear()
        self.reached.clear()
        self._open.clear()

    def open(self) -> None:
        """Let it go on."""
        self._open.set()

    def connections(self) -> type[sqlite3.Connection]:
        """Connections that pass this gate."""
        gate = self

        class GatedConnection(sqlite3.Connection):
            def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
                gate.statements.append(sql)
                if sql == "COMMIT":
                    gate.reached.set()
                    assert gate._open.wait(30), "nobody opened the gate"
                return super().execute(sql, parameters)

        return GatedConnection
