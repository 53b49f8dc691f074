"""LocalClient: noeta in this process, over a store and a worker of its own.

The worker runs only the tree of the task that the front end works on, so that two terminals on
one store do not take each other's tasks. Live text goes to watchers in this process; recorded
entries are read from the store by everyone.
"""

import random
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from noeta.core import codec, ids
from noeta.core import events as e
from noeta.core import item as i
from noeta.core.fold import fold
from noeta.core.progress import Progress
from noeta.core.runner.lease import Background
from noeta.core.runner.runtime import Runtime
from noeta.core.state import TaskState
from noeta.core.store import (
    Change,
    ItemKind,
    NewItem,
    NewTask,
    NoSuchTask,
    Post,
    Store,
    StoredEvent,
)
from noeta.core.task import Status, TaskRow
from noeta.host.client import (
    AlreadySettled,
    AmbiguousId,
    CaughtUp,
    Entry,
    TaskRequest,
    Update,
    check_message,
    readable,
)
from noeta.host.watching import Given, Live, LiveStream

LIVE_BACKLOG = 1000
"""What a slow watcher may fall behind before it loses live updates; recorded ones never."""
PAGE_EVENTS = 500


class Deltas:
    """Who in this process watches which task."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[MemoryObjectSendStream[Live | None]]] = {}

    def publish_deltas(self, task_id: str, seq: int, progress: Progress) -> None:
        """Hand it to the task's watchers; one that is behind loses it."""
        self._send(task_id, Live(seq, progress))

    def nudge(self, task_id: str | None) -> None:
        """Tell watchers that something was recorded; None: perhaps of any task."""
        for watched in list(self._watchers) if task_id is None else [task_id]:
            self._send(watched, None)

    @contextmanager
    def watcher(self, task_id: str) -> Iterator[LiveStream]:
        """A stream of a task's live updates and nudges while the context is open."""
        send, receive = anyio.create_memory_object_stream[Live | None](LIVE_BACKLOG)
        self._watchers.setdefault(task_id, set()).add(send)
        try:
            with send, receive:
                yield receive
        finally:
            self._watchers[task_id].discard(send)
            if not self._watchers[task_id]:
                del self._watchers[task_id]

    def _send(self, task_id: str, what: Live | None) -> None:
        for stream in self._watchers.get(task_id, ()):
            try:
                stream.send_nowait(what)
            except anyio.WouldBlock:
                continue


class LocalClient:
    """`noeta.host.client.Client` over a store, with a runtime or, to look only, without."""

    def __init__(
        self,
        store: Store,
        *,
        deltas: Deltas,
        background: Background,
        runtime: Runtime | None = None,
        queue: str = "default",
        random_source: ids.RandomSource | None = None,
    ) -> None:
        self._store = store
        self._deltas = deltas
        self._background = background
        self._runtime = runtime
        self._queue = queue
        self._random = random_source or random.SystemRandom()
        self._attached = anyio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LocalClient"]:
        """This client with its worker at work; every task is handed back at the end."""
        error: Exception | None = None
        with self._store.on_change(self._changed):
            async with anyio.create_task_group() as group:
                group.start_soon(self._work)
                try:
                    yield self
                except Exception as caught:
                    # Re-raised below: inside, the group would cancel the worker instead of
                    # letting it hand back, and wrap the error so that nobody knows it.
                    error = caught
                finally:
                    self._stop()
        if error is not None:
            raise error

    async def _work(self) -> None:
        """Run the worker once there is a tree to run."""
        await self._attached.wait()
        if self._runtime is not None and self._runtime.root is not None:
            await self._runtime.run()

    def _stop(self) -> None:
        if self._runtime is not None:
            self._runtime.stop()
        self._attached.set()

    def _changed(self, change: Change) -> None:
        self._background.call_on_loop(partial(self._deltas.nudge, change.task_id))

    # Tasks -------------------------------------------------------------------------------

    async def create(self, request: TaskRequest) -> str:
        """`Client.create`."""
        task_id = ids.new_task_id(self._random)
        first = e.TaskCreated(
            task_id=task_id,
            kind=request.kind,
            cwd=request.cwd,
            model=request.model,
            on_ask=request.on_ask,
            on_failure=request.on_failure,
            permission_mode=request.permission_mode,
            max_cost_usd=request.max_cost_usd,
        )
        items: tuple[NewItem, ...] = ()
        if request.prompt is not None:
            items = (NewItem(kind="message", body=_message(request.prompt), sender="user"),)
        task = NewTask(
            id=task_id,
            kind=request.kind,
            queue=self._queue,
            cwd=request.cwd,
            title=_title(request.prompt or ""),
            events=(codec.encode(first),),
            items=items,
        )
        if self._runtime is None:
            await self._store.create(task)
        else:
            self._runtime.root = task_id
            await self._runtime.create(task)
            self._attached.set()
        return task_id

    async def attach(self, task_id: str) -> TaskRow:
        """`Client.attach`."""
        row = await self.task(task_id)
        if self._runtime is not None and row.queue == self._queue:
            self._runtime.attach(row.root)
            self._attached.set()
        return row

    async def find(self, prefix: str) -> str:
        """`Client.find`."""
        if await self._row(prefix) is not None:
            return prefix
        rows = await self._store.rows(limit=10_000) if prefix else ()
        found = sorted(row.id for row in rows if row.id.startswith(prefix))
        if not found:
            raise NoSuchTask(f"there is no task {prefix[:80]!r}; `noeta tasks list` shows them")
        # A child's id begins with its parent's, and who types a parent's means the parent.
        if any(not each.startswith(f"{found[0]}.") for each in found[1:]):
            some = ", ".join(found[:5])
            raise AmbiguousId(f"{prefix!r} could be any of {some}; give more characters")
        return found[0]

    async def task(self, task_id: str) -> TaskRow:
        """`Client.task`."""
        row = await self._row(task_id)
        if row is None:
            raise NoSuchTask(f"there is no task {task_id[:80]!r}; `noeta tasks list` shows them")
        return row

    async def tasks(
        self,
        *,
        statuses: Collection[Status] | None = None,
        cwd: str | None = None,
        limit: int = 100,
    ) -> Sequence[TaskRow]:
        """`Client.tasks`."""
        return await self._store.rows(statuses=statuses, cwd=cwd, roots_only=True, limit=limit)

    async def _row(self, task_id: str) -> TaskRow | None:
        try:
            ids.check_task_id(task_id)
        except ids.BadId:
            return None
        return await self._store.row(task_id)

    # What people send --------------------------------------------------------------------

    async def send(
        self, task_id: str, text: str, *, model: str = "", key: str | None = None
    ) -> None:
        """`Client.send`."""
        await self.task(task_id)
        await self._post(task_id, "message", _message(text, model), key)

    async def answer(self, task_id: str, call_id: str, *, allow: bool, reason: str = "") -> None:
        """`Client.answer`."""
        call = (await self._state(task_id)).calls.get(call_id)
        if call is None or call.parked is None or not call.awaits_answer:
            raise AlreadySettled(f"call {call_id!r} of task {task_id} waits for no answer")
        digest = call.parked.input_digest
        body = i.AnswerBody(
            call_id=call_id, input_digest=digest, allow=allow, reason=readable(reason)
        )
        # The key makes the first of two answers the one that counts, whoever sent it.
        key = f"answer:{call_id}:{digest}"
        if not await self._post(task_id, "answer", i.encode_body(body), key):
            raise AlreadySettled(f"call {call_id!r} of task {task_id} was answered before")

    async def interrupt(self, task_id: str) -> None:
        """`Client.interrupt`."""
        await self.task(task_id)
        await self._post(task_id, "interrupt", i.encode_body(i.InterruptBody()), None)

    async def cancel(self, task_id: str, reason: str = "") -> None:
        """`Client.cancel`."""
        await self.task(task_id)
        await self._post(task_id, "cancel", i.encode_body(i.CancelBody(readable(reason))), "cancel")

    async def _post(self, task_id: str, kind: ItemKind, body: bytes, key: str | None) -> bool:
        item = NewItem(kind=kind, body=body, key=key, sender="user")
        return await self._store.post(Post(task_id=task_id, item=item))

    async def _state(self, task_id: str) -> TaskState:
        state = TaskState()
        await self.task(task_id)
        while page := await self._store.read(task_id, after=state.last_seq):
            for entry in page:
                fold(state, entry.seq, codec.decode(entry.body))
        return state

    # What people see ---------------------------------------------------------------------

    async def log(self, task_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Entry]:
        """`Client.log`."""
        await self.task(task_id)
        return [_entry(s) for s in await self._store.read(task_id, after=after, limit=limit)]

    @asynccontextmanager
    async def watch(self, task_id: str, *, after: int = 0) -> AsyncIterator[AsyncIterator[Update]]:
        """`Client.watch`."""
        await self.task(task_id)
        with self._deltas.watcher(task_id) as live:
            yield self._updates(task_id, after, live)

    async def _updates(self, task_id: str, seq: int, live: LiveStream) -> AsyncIterator[Update]:
        given = Given(seq)
        caught_up = False
        while True:
            # Listening came first, so what is recorded after this read nudges us. What a call
            # streamed was queued before its reply was written: it is drained before the page
            # that has the reply is given.
            page = await self._store.read(task_id, after=given.seq, limit=PAGE_EVENTS)
            given.drain(live)
            for stored in page:
                entry = _entry(stored)
                yield entry
                for progress in given.after(entry):
                    yield progress
                if isinstance(entry.event, e.TaskEnded):
                    if not caught_up:
                        yield CaughtUp()
                    return
            if page:
                continue
            if not caught_up:
                caught_up = True
                yield CaughtUp()
            for progress in given.now():
                yield progress
            await given.wait(live)


def _entry(stored: StoredEvent) -> Entry:
    event: e.Event | None = None
    problem = ""
    try:
        event = codec.decode(stored.body)
    except (codec.NewerEntry, codec.UnreadableEntry) as error:
        problem = str(error)
    return Entry(
        seq=stored.seq,
        epoch=stored.epoch,
        at=stored.at,
        body=stored.body,
        event=event,
        problem=problem,
    )


def _message(text: str, model: str = "") -> bytes:
    check_message(text)
    return i.encode_body(i.MessageBody(readable(text), model=model))


def _title(prompt: str) -> str:
    return readable(prompt).strip().split("\n", 1)[0][:80]
