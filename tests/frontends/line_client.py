"""A client whose task answers from a script, and the events scripts are made of."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from math import inf
from typing import cast

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectSendStream

from noeta.core import codec
from noeta.core import events as e
from noeta.core.errors import NoetaError
from noeta.core.message import StopReason, Text, ToolCall, Usage
from noeta.core.progress import Progress
from noeta.core.task import Status, TaskRow
from noeta.host.client import CaughtUp, Entry, TaskRequest, Update

TASK = "t2345bcdfg"
REQUEST = TaskRequest(prompt=None, cwd="/w", model="scripted:demo")

Script = Sequence[e.Fact | Progress]


class FakeClient:
    """`noeta.host.client.Client`: every message, answer and interrupt plays the next script."""

    def __init__(
        self,
        turns: Sequence[Script] = (),
        *,
        answers: Sequence[Script] = (),
        interrupts: Sequence[Script] = (),
        history: Script = (),
        live: Script = (),
        refusals: Sequence[NoetaError | None] = (),
    ) -> None:
        self.turns, self.answers = list(turns), list(answers)
        self.interrupts, self.live = list(interrupts), live
        self.refusals = list(refusals)
        """What messages, the first one first, are refused with; None: taken."""
        self.said: list[tuple[object, ...]] = []
        """What was asked of this client."""
        self.inbox_count = 0
        self.entries: list[Entry] = []
        self._watchers: list[MemoryObjectSendStream[Update]] = []
        self._unseen: list[Update] = []
        if history:
            self.play([created(), *history])

    def play(self, script: Script) -> None:
        """Record events and show what is live."""
        for item in script:
            update = self._recorded(cast(e.Event, item)) if isinstance(item, e.Fact) else item
            if not self._watchers:
                self._unseen.append(update)
            for watcher in self._watchers:
                watcher.send_nowait(update)

    def _recorded(self, event: e.Event) -> Entry:
        entry = Entry(
            seq=len(self.entries) + 1, epoch=1, at=0.0, body=codec.encode(event), event=event
        )
        self.entries.append(entry)
        return entry

    async def create(self, request: TaskRequest) -> str:
        self.said.append(("create", request.prompt))
        self._refuse()
        self.play([created()])
        self._turn(request.prompt or "")
        return TASK

    async def attach(self, task_id: str) -> TaskRow:
        self.said.append(("attach", task_id))
        self.play(self.live)
        return await self.task(task_id)

    async def send(
        self, task_id: str, text: str, *, model: str = "", key: str | None = None
    ) -> None:
        self.said.append(("send", text))
        self._refuse()
        self._turn(text)

    async def answer(self, task_id: str, call_id: str, *, allow: bool, reason: str = "") -> None:
        self.said.append(("answer", call_id, allow, reason))
        self._refuse()
        self.play(self.answers.pop(0) if self.answers else [])

    async def interrupt(self, task_id: str) -> None:
        self.said.append(("interrupt",))
        self.play(self.interrupts.pop(0) if self.interrupts else [])

    async def cancel(self, task_id: str, reason: str = "") -> None:
        self.said.append(("cancel", reason))

    async def find(self, prefix: str) -> str:
        return TASK

    async def task(self, task_id: str) -> TaskRow:
        if not self.entries:
            raise NoetaError(f"there is no task {task_id!r}")
        return TaskRow(
            id=TASK,
            root=TASK,
            queue="default",
            kind="interactive",
            status="waiting",
            owner=None,
            owner_epoch=1,
            lease_until=None,
            ready_at=None,
            last_seq=len(self.entries),
            posted_count=self.inbox_count,
            taken_count=0,
            created_at=0.0,
            updated_at=0.0,
        )

    async def tasks(
        self,
        *,
        statuses: Collection[Status] | None = None,
        cwd: str | None = None,
        limit: int = 100,
    ) -> Sequence[TaskRow]:
        return [await self.task(TASK)]

    async def log(self, task_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[Entry]:
        return self.entries[after : after + limit]

    @asynccontextmanager
    async def watch(self, task_id: str, *, after: int = 0) -> AsyncIterator[AsyncIterator[Update]]:
        send, receive = anyio.create_memory_object_stream[Update](inf)
        assert after == 0
        # Kinder than a real one: what was live before the first watch is not lost.
        for update in self._unseen:
            send.send_nowait(update)
        send.send_nowait(CaughtUp())
        self._watchers.append(send)
        with send, receive:
            try:
                yield receive
            finally:
                self._watchers.remove(send)

    def _turn(self, text: str) -> None:
        self.play([message(text), *(self.turns.pop(0) if self.turns else [])])

    def _refuse(self) -> None:
        if self.refusals and (error := self.refusals.pop(0)) is not None:
            raise error


def created() -> e.TaskCreated:
    return e.TaskCreated(task_id=TASK, kind="interactive", cwd="/w", model="scripted:demo")


def message(text: str, sender: str = "user") -> e.MessageReceived:
    return e.MessageReceived(item=1, content=(Text(text),), sender=sender)


def called() -> e.ModelCalled:
    return e.ModelCalled(model="scripted:demo", request_digest="d")


def replied(text: str = "", *calls: ToolCall, stop: StopReason = "end") -> e.ModelReplied:
    texts = (Text(text),) if text else ()
    usage = Usage(input_tokens=1200, output_tokens=30)
    return e.ModelReplied(content=(*texts, *calls), stop=stop, usage=usage)


def call(call_id: str, name: str, **fields: object) -> ToolCall:
    return ToolCall(call_id=call_id, name=name, input=raw(fields))


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def started(one: ToolCall) -> e.ToolStarted:
    return e.ToolStarted(call_id=one.call_id, name=one.name, input=one.input, version="1")


def finished(
    call_id: str, text: str, *, reason: e.FinishReason = "done", is_error: bool = False
) -> e.ToolFinished:
    return e.ToolFinished(
        call_id=call_id, content=(Text(text),) if text else (), is_error=is_error, reason=reason
    )


def parked(one: ToolCall, reason: str = "") -> e.CallParked:
    return e.CallParked(call_id=one.call_id, input=one.input, input_digest="d", reason=reason)


def answered(call_id: str, *, allow: bool, applied: bool = True) -> e.AnswerReceived:
    return e.AnswerReceived(item=1, call_id=call_id, input_digest="d", allow=allow, applied=applied)


def rest(outcome: e.TurnOutcome = "done", detail: str = "") -> list[e.Event]:
    """The end of a turn."""
    return [e.TurnEnded(outcome=outcome, detail=detail), e.Waiting(why="message")]


def turn(text: str) -> list[e.Event]:
    """A turn that only answers."""
    return [called(), replied(text), *rest()]
