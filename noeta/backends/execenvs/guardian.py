"""The guardian: a small process that stands between a worker and one command.

It has an isolated interpreter of its own, where it is the only module of ours, and uses nothing
but the standard library's core, so that it starts in a few milliseconds and holds none of the
worker's memory or secrets. It keeps one promise: when it is over, the command and all that came
from it are over too. It ends the tree

- when the command itself has ended and left others behind, after LINGER_SECONDS,
- when the command passes its time or its output limit,
- when its worker hangs up (it died, or it cancelled: the pipe says the same either way),
- when its worker has sent no sign of life for the silence limit (it is frozen).

Ending is SIGTERM to every process group of the tree, and SIGKILL from GRACE_SECONDS on. On Linux
the guardian is a subreaper: a daemon that forked twice and left the group becomes its child, so
"no children" means "nothing is left", and /proc says whom to signal. Elsewhere the tree is the
command's process group.

The wires: fd 0 brings the order and then signs of life, fd 1 takes what there is to report, fd 2
is the output file. The command writes to a pipe and the guardian copies: the output limit is then
exact however fast the writer is, and a script's `> /dev/stderr` cannot truncate what came before.

Order: `<length>\\n`, then NUL-separated fields: cwd, time limit in seconds, output limit in bytes,
silence limit in seconds, worker's pid, number of arguments, the arguments, and `NAME=value`s.
Report: `started <pid>`, then one of `exit <code> <reason>`, `signal <number> <reason>`, and
`failed <what> <errno>`. A reason is `exited`, `timeout`, `output_limit`, `hangup` or `silence`.
"""

import errno
import os
import select
import signal
import sys
import time
from contextlib import suppress

LINGER_SECONDS = 0.1
"""How long others of the tree may outlive the command: time for `> >(tee log)` to finish."""

GRACE_SECONDS = 0.5
"""From SIGTERM to SIGKILL: git takes its lock files away, and we stay well under 2 s."""

GIVE_UP_SECONDS = 5.0
"""From the first SIGKILL on; a process stuck in the kernel cannot be waited for longer."""

CHECK_SECONDS = 0.5
"""How often we look whether the worker is still our parent, and count its silence."""

CHUNK_BYTES = 65536
DRAIN_BYTES_MAX = 1024 * 1024
"""More than a pipe holds: whoever writes on after the tree is over is not part of it."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


class Order:
    """What the worker asked for."""

    def __init__(self, fields: list[bytes]) -> None:
        self.cwd = fields[0]
        self.timeout_seconds = float(fields[1])
        self.output_bytes_max = int(fields[2])
        self.silence_seconds = float(fields[3])
        self.worker_pid = int(fields[4])
        arguments_end = 6 + int(fields[5])
        self.argv = fields[6:arguments_end]
        self.environ: dict[bytes, bytes] = {}
        for pair in fields[arguments_end:]:
            name, _, value = pair.partition(b"=")
            self.environ[name] = value


class Watch:
    """One command, from its start to the end of its tree."""

    def __init__(self, order: Order, wakeup: int, adopts: bool) -> None:
        self.order = order
        self.wakeup = wakeup
        self.adopts = adopts
        self.hears_worker = True
        self.silent_seconds = 0.0
        self.written_bytes = 0
        self.wait_status: int | None = None
        self.reason = "exited"
        self.failure = 0
        self.end_at = float("inf")
        self.termed: set[int] = set()
        self.output, writer = os.pipe()
        self.leader = start(order, writer)
        os.close(writer)
        os.set_blocking(self.output, False)
        self.turned_at = time.monotonic()
        self.timeout_at = self.turned_at + order.timeout_seconds

    def run(self) -> None:
        """Turn until nobody is left, or until waiting longer makes no sense."""
        while self.someone_is_left():
            now = time.monotonic()
            if now >= self.end_at + GRACE_SECONDS + GIVE_UP_SECONDS:
                break
            self.look_at_limits(now)
            if now >= self.end_at:
                self.signal_tree(kill=now >= self.end_at + GRACE_SECONDS)
            self.wait_for_news(now)
        self.drain()

    def someone_is_left(self) -> bool:
        """Collect the dead; False when the whole tree is over."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self.adopts and group_exists(self.leader)
            if pid == 0:
                return True
            if pid == self.leader:
                self.wait_status = status
                self.end_at = min(self.end_at, time.monotonic() + LINGER_SECONDS)

    def look_at_limits(self, now: float) -> None:
        # Silence is counted in turns of at most a second each: after the whole machine slept we
        # must not blame the worker for hours in which we did not run either.
        self.silent_seconds += min(now - self.turned_at, 1.0)
        self.turned_at = now
        if now >= self.timeout_at:
            self.end("timeout")
        elif self.silent_seconds > self.order.silence_seconds:
            self.end("silence")
        elif os.getppid() != self.order.worker_pid:
            # A fork of the worker may hold our pipe open; our parent's pid tells as well.
            self.end("hangup")

    def end(self, reason: str) -> None:
        """Begin to end the tree, for this reason unless the command ended before."""
        if self.wait_status is None and self.reason == "exited":
            self.reason = reason
        self.end_at = min(self.end_at, time.monotonic())

    def signal_tree(self, *, kill: bool) -> None:
        """SIGTERM each group once, or SIGKILL all. Groups at once: a fork bomb outruns pids."""
        for target in targets() if self.adopts else {-self.leader}:
            if kill:
                send(target, signal.SIGKILL)
            elif target not in self.termed:
                self.termed.add(target)
                send(target, signal.SIGTERM)
                send(target, signal.SIGCONT)

    def wait_for_news(self, now: float) -> None:
        wait_seconds = min(CHECK_SECONDS, max(0.0, self.timeout_at - now))
        if self.end_at < float("inf"):
            wait_seconds = 0.02
        sources = [self.wakeup]
        if self.hears_worker:
            sources.append(0)
        if self.output >= 0:
            sources.append(self.output)
        ready, _, _ = select.select(sources, [], [], wait_seconds)
        if self.wakeup in ready:
            signals = os.read(self.wakeup, 512)
            if any(number != signal.SIGCHLD for number in signals):
                self.end("hangup")
        if self.hears_worker and 0 in ready:
            self.listen()
        if self.output in ready:
            self.copy()

    def listen(self) -> None:
        try:
            heard = os.read(0, 4096)
        except OSError:
            heard = b""
        self.silent_seconds = 0.0
        if not heard:
            self.hears_worker = False
            self.end("hangup")

    def copy(self) -> int:
        """Move a chunk to the output file; its size, 0 when there is none now."""
        try:
            chunk = os.read(self.output, CHUNK_BYTES)
        except BlockingIOError:
            return 0
        if not chunk:
            os.close(self.output)
            self.output = -1
            return 0
        room_bytes = self.order.output_bytes_max - self.written_bytes
        if len(chunk) > room_bytes:
            self.end("output_limit")
            if self.reason == "exited":
                self.reason = "output_limit"  # It had ended, and yet its output is not whole.
        rest = memoryview(chunk)[:room_bytes]
        while rest and not self.failure:
            try:
                written = os.write(2, rest)
            except OSError as error:
                self.failure = error.errno or errno.EIO
                self.end("failed")
                break
            self.written_bytes += written
            rest = rest[written:]
        return len(chunk)

    def drain(self) -> None:
        drained_bytes = 0
        while self.output >= 0 and drained_bytes < DRAIN_BYTES_MAX:
            copied = self.copy()
            if copied == 0:
                break
            drained_bytes += copied

    def report(self) -> str:
        if self.failure:
            return f"failed output {self.failure}"
        if self.wait_status is None:
            return f"failed kill {errno.ETIMEDOUT}"
        code = os.waitstatus_to_exitcode(self.wait_status)
        return f"signal {-code} {self.reason}" if code < 0 else f"exit {code} {self.reason}"


def run_as_script() -> None:
    """Do it all, and end the process."""
    guard()
    os._exit(0)  # Nothing is buffered, and the interpreter's own farewell takes milliseconds.


def guard() -> None:
    order = read_order()
    if order is None:
        return
    wakeup = catch_signals()
    adopts = become_subreaper()
    try:
        os.chdir(order.cwd)
    except OSError as error:
        tell(f"failed cwd {error.errno}")
        return
    try:
        watch = Watch(order, wakeup, adopts)
    except OSError as error:
        tell(f"failed start {error.errno}")
        return
    watch.run()
    tell(watch.report())


def read_order() -> Order | None:
    """The order, or None when the worker hung up before it was complete."""
    heard = b""
    while b"\n" not in heard:
        more = os.read(0, 32)
        if not more:
            return None
        heard += more
    header, _, body = heard.partition(b"\n")
    parts = [body]
    missing_bytes = int(header) - len(body)
    while missing_bytes > 0:
        more = os.read(0, min(missing_bytes, CHUNK_BYTES))
        if not more:
            return None
        parts.append(more)
        missing_bytes -= len(more)
    return Order(b"".join(parts).split(b"\0"))


def catch_signals() -> int:
    """A descriptor that becomes readable when a child changes or somebody wants us to stop."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, frame: None)
    return reader


def become_subreaper() -> bool:
    """Ask the kernel to hand us the tree's orphans; False where it cannot."""
    return sys.platform == "linux" and prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option: int, value: int) -> bool:
    try:
        import ctypes  # Here: an interpreter built without it must still guard the group.
    except ImportError:
        return False
    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def start(order: Order, writer: int) -> int:
    """Fork the command into a session of its own; its pid, which is its group's id too."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        # By the command itself before it is one: it may be quick to kill us, and the worker must
        # know by then which group to end.
        tell(f"started {os.getpid()}")
        if sys.platform == "linux":
            # When somebody kills us as well as the worker, at least the command itself follows.
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        # Python ignores these, and what is ignored stays so through exec: `yes | head` would
        # end with an error message.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        environ = {os.fsdecode(name): os.fsdecode(value) for name, value in order.environ.items()}
        os.execvpe(os.fsdecode(order.argv[0]), [os.fsdecode(a) for a in order.argv], environ)
    except OSError as error:
        # As shells say it: 127 for no such command, 126 for one that cannot be run.
        os.write(2, order.argv[0] + b": " + os.strerror(error.errno or 0).encode() + b"\n")
        os._exit(127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126)
    finally:
        os._exit(126)


def targets() -> set[int]:
    """Whom to signal to reach all our descendants: groups as negative numbers, else pids.

    A descendant's group holds only descendants, as the command began with a session of its own.
    """
    children: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue  # It ended while we looked.
        # The name in parentheses may hold spaces and parentheses; what follows does not.
        _, parent, group = stat.rpartition(b")")[2].split()[:3]
        children.setdefault(int(parent), []).append((int(name), int(group)))
    found: set[int] = set()
    our_group = os.getpgrp()
    parents = [os.getpid()]
    while parents:
        for pid, group_id in children.get(parents.pop(), ()):
            parents.append(pid)
            found.add(pid if group_id in (0, our_group) else -group_id)
    return found


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


def send(target: int, number: int) -> None:
    # It may be gone, or have become somebody else's (setuid), and then only time can end it.
    with suppress(OSError):
        os.kill(target, number)


def tell(line: str) -> None:
    # Without a worker there is nobody to tell, and we are here for the tree.
    with suppress(OSError):
        os.write(1, line.encode() + b"\n")
