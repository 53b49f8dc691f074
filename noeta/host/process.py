"""Who a worker is: a name that is unique per process start and can be proved dead.

`host:boot:pid:start:nonce`. On the same host and boot, a pid that is gone, or that another
process has now (its start time differs), is a proof; anything else is not, and a lease decides.
The boot is followed by the pid namespace: a container may carry this host's name, and its pids
mean nothing here.
"""

import os
import re
import secrets
import socket
from collections.abc import Collection


def host_name() -> str:
    """This host, in characters that fit a queue's name."""
    name = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname()).strip(".-")
    return name[:60] or "localhost"


def local_queue() -> str:
    """The queue for tasks that live on this host's files."""
    return f"local:{host_name()}"


def worker_name() -> str:
    """A name for a worker that starts now in this process."""
    pid = os.getpid()
    boot = f"{_boot_id()}.{_pid_namespace()}"
    return f"{host_name()}:{boot}:{pid}:{_start_time(pid) or 'x'}:{secrets.token_hex(3)}"


def dead_owners(owners: Collection[str]) -> frozenset[str]:
    """Of these workers, those that are provably dead."""
    return frozenset(owner for owner in owners if is_dead(owner))


def is_dead(worker: str) -> bool:
    """Whether this host can prove that the worker's process is gone."""
    parts = worker.split(":")
    if len(parts) != 5 or parts[0] != host_name():
        return False
    _, where, pid_text, start, _ = parts
    if not pid_text.isdecimal() or not pid_text.isascii():
        return False
    boot, _, namespace = where.partition(".")
    if boot != _boot_id():
        # Without a boot id nothing is proved; with one, its processes ended with the boot.
        return boot != "x" and _boot_id() != "x"
    if namespace != _pid_namespace():
        return False
    now = _start_time(int(pid_text))
    if now is None:
        return not _exists(int(pid_text))
    return start != "x" and now != start


def describe(worker: str) -> str:
    """The worker for a person: its process and host."""
    parts = worker.split(":")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 5 else worker


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip().replace("-", "")[:12]
    except OSError:
        return "x"


def _pid_namespace() -> str:
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "x"


def _start_time(pid: int) -> str | None:
    """The process's start in clock ticks since boot; None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name in parentheses may hold anything, so count from its end.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    # A zombie writes no more: dead, though its parent has not noticed.
    return None if fields[0] in "ZX" else fields[19]


def _exists(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        pass
    if os.path.isdir("/proc/self"):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
