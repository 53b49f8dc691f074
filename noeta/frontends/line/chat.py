"""The chat: a prompt, a message, a turn, and again.

Lines are read only while somebody is asked for one: at the prompt, and at the question of a
parked call. What is typed in between waits in the terminal, and becomes messages, never answers.
"""

from dataclasses import replace

import anyio

from noeta.core.events import AnswerReceived
from noeta.core.model import TextDelta, ThinkingDelta
from noeta.core.progress import GaveUp, Progress, Retrying
from noeta.frontends.line import command, question, render
from noeta.frontends.line.approvals import Approvals
from noeta.frontends.line.history import History
from noeta.frontends.line.page import Page
from noeta.frontends.line.paint import Line, paint_one
from noeta.frontends.line.session import Happening, LineTyped, Lost, Pressed, Reading, Session
from noeta.frontends.line.terminal import Terminal
from noeta.host.client import CaughtUp, Client, Entry, PromptRefused, TaskRequest

PROMPT = Line("> ", "strong")
GOODBYE_SECONDS = 1.0
"""A terminal that is stopped does not keep us."""


async def chat(
    client: Client,
    opening: TaskRequest | str,
    *,
    terminal: Terminal,
    first_prompt: str | None = None,
    model: str = "",
) -> int:
    """Talk until the person leaves or the input ends; gives the exit code.

    opening is a task to create with the first message, or the id of one to carry on; model is
    the route for such a task from the first message sent here on, empty: as before. At a
    terminal leaving is 0. A pipe or file gives 0 when every turn was done, 130 when one was
    interrupted, else 1; so does the end of the task.
    """
    session = Session(client, terminal)
    talk = _Chat(session, opening, model)
    code = await session.run(lambda: talk.run(first_prompt))
    await talk.goodbye()
    return code


class _Chat:
    """One chat; `session` tells what happens, `page` how it looks."""

    def __init__(self, session: Session, opening: TaskRequest | str, model: str) -> None:
        self._session = session
        self._client = session.client
        self._terminal = session.terminal
        self._opening = opening
        self._model = model
        self._page = Page(width=self._terminal.out.width, colour=self._terminal.out.colour)
        self._talk = self._page.conversation
        self._approvals = Approvals(self._session, self._page)
        self._reading: Reading | None = None
        self._stopping = False
        """The turn was asked to stop: its questions are asked no more."""
        self._code = 0
        """Of the first thing that went wrong."""

    async def run(self, first_prompt: str | None) -> int:
        """The exit code. Raises NoetaError and BrokenPipeError."""
        if isinstance(self._opening, str):
            await self._resume(self._opening)
        else:
            await self._header("a new task", self._opening.model, self._opening.cwd)
        code = await self._after_entry(self._talk.last_seq)
        # How turns ended before counts for nothing now.
        self._code = 0
        if first_prompt is not None:
            await self._write(self._page.say(*render.message(first_prompt, self._page.width)))
            await self._send(first_prompt)
        while code is None:
            await self._invite()
            code = await self._take(await self._session.next())
        return code

    async def goodbye(self) -> None:
        """Say how the task is carried on, when there is something to carry on."""
        task_id = self._session.task_id
        if task_id is None or self._talk.ended is not None:
            return
        if not (self._session.busy or self._terminal.typed.is_tty):
            return
        kept = "The work so far is kept. " if self._session.busy else ""
        note = render.remark(f"{kept}Carry on with: noeta --resume {task_id}")
        with anyio.move_on_after(GOODBYE_SECONDS):
            try:
                await self._terminal.out.write(self._break() + self._page.say(note))
            except OSError:
                return

    # Openings ----------------------------------------------------------------------------

    async def _header(self, name: str, model: str, cwd: str) -> None:
        lines = command.header_lines(name, model, cwd, leaves=self._terminal.typed.is_tty)
        await self._write(self._page.say(*lines))

    async def _resume(self, task_id: str) -> None:
        """Show what happened so far, then take part."""
        self._page.task_id = task_id
        history = History(self._page)
        await self._session.catch_up(task_id, history.add)
        written = history.text()
        await self._header(f"task {task_id}", self._talk.model, self._talk.cwd)
        await self._write(written)
        if self._talk.ended is None:
            await self._client.attach(task_id)
            self._session.busy = True
        if self._talk.turn_open and not self._talk.parked:
            await self._write(self._page.say(render.remark("the unfinished turn is carried on")))

    # Asking ------------------------------------------------------------------------------

    async def _invite(self) -> None:
        """Ask for the line that is needed now, if one is and none is asked for."""
        if self._reading is not None or self._stopping:
            return
        call_id, typed = self._approvals.next, self._terminal.typed
        if call_id is not None and self._terminal.can_ask:
            typed.set_aside()
            typed.drop_unfinished()
            await self._ask(call_id)
        elif not self._session.busy:
            if self._terminal.can_ask:
                typed.set_aside()
                await self._write(paint_one(PROMPT, colour=self._terminal.out.colour))
            self._reading = self._session.read(None)

    async def _ask(self, call_id: str, *, whole: bool = False) -> None:
        await self._write(self._approvals.question(call_id, whole=whole))
        self._reading = self._session.read(call_id)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.scope.cancel()
            self._reading = None

    # What happens ------------------------------------------------------------------------

    async def _take(self, happening: Happening) -> int | None:
        """Deal with one happening; an exit code leaves."""
        match happening:
            case Entry():
                await self._entry(happening)
                return await self._after_entry(happening.seq)
            case TextDelta() | ThinkingDelta() | Retrying() | GaveUp():
                return await self._live(happening)
            case LineTyped(text=text, reading=reading):
                return await self._typed(text, reading)
            case Pressed(interrupts=interrupts):
                await self._pressed(interrupts)
            case Lost() as lost:
                raise self._session.why(lost)
            case CaughtUp():
                pass
        return None

    async def _entry(self, entry: Entry) -> None:
        self._page.resize(self._terminal.out.width)
        written = self._page.entry(entry)
        if self._talk.turn_open:
            self._session.busy = True
        if isinstance(entry.event, AnswerReceived) and not entry.event.applied:
            self._approvals.reopen(entry.event.call_id)
        before, reading = "", self._reading
        if reading is not None:
            call_id = reading.call_id
            gone = call_id is not None and call_id not in self._talk.parked
            if written or gone or (call_id is None and self._session.busy):
                before = self._break()
                self._stop_reading()
            if gone:
                note = render.remark(f"the question about {call_id} needs no answer any more")
                before += self._page.say(note)
        await self._write(before + written)

    async def _after_entry(self, seq: int) -> int | None:
        """What follows from where the task stands now."""
        talk = self._talk
        if talk.ended is not None:
            return self._code or (0 if talk.ended.outcome == "done" else 1)
        if talk.is_settled and self._session.busy and await self._session.is_at_rest(seq):
            self._session.busy = self._stopping = False
            self._session.turn_settled()
            if talk.turn is not None and not self._code:
                self._code = render.exit_code(talk.turn.outcome)
        if talk.needs_answer and not self._terminal.can_ask and await self._session.is_at_rest(seq):
            await self._write(self._page.say(render.cannot_ask(self._page.task_id, talk)))
            return 1
        return None

    async def _live(self, progress: Progress) -> int | None:
        self._page.resize(self._terminal.out.width)
        written = self._page.live(progress)
        if written and self._reading is not None:
            written = self._break() + written
            self._stop_reading()
        await self._write(written)
        stuck = isinstance(progress, GaveUp) and not self._terminal.can_ask
        return 1 if stuck else None

    async def _pressed(self, interrupts: bool) -> None:
        # The turn may have ended while the press was on its way here.
        self._stopping = interrupts and self._session.busy
        text = "interrupting; Ctrl-C again leaves" if self._stopping else "Ctrl-C again leaves"
        self._terminal.typed.forget_draft()
        # The terminal has echoed ^C where the cursor stood.
        self._stop_reading()
        note = self._page.say(render.remark(text))
        mark = "\n" if self._terminal.can_ask and not note.startswith("\n") else ""
        await self._write(mark + note)

    # What is typed -----------------------------------------------------------------------

    async def _typed(self, text: str | None, reading: Reading) -> int | None:
        current = self._reading is reading
        if current:
            self._reading = None
        elif text is None:
            # The end is read again by the next who reads.
            return None
        self._session.forget_press()
        if reading.call_id is not None:
            return await self._answer(reading.call_id, text)
        if text is None:
            if self._terminal.can_ask:
                await self._write("\n")
            return self._leaving_code()
        if not text.strip():
            return None
        if not self._terminal.can_ask:
            await self._write(self._page.say(*render.message(text, self._page.width)))
        if text.startswith("/"):
            return await self._command(text)
        await self._send(text)
        return None

    async def _send(self, text: str) -> None:
        session, self._session.busy = self._session, True
        self._page.sent.append(text)
        try:
            if session.task_id is not None:
                await self._client.send(session.task_id, text, model=self._model)
                self._model = ""
            else:
                assert isinstance(self._opening, TaskRequest)
                task_id = await self._client.create(replace(self._opening, prompt=text))
                self._page.task_id = task_id
                session.watch(task_id)
                await self._write(self._page.say(render.remark(f"task {task_id}")))
        except PromptRefused as error:
            self._page.sent.remove(text)
            session.busy = self._talk.turn_open
            self._code = self._code or 1
            await session.complain(error)

    async def _command(self, text: str) -> int | None:
        match text.split():
            case ["/quit"]:
                return self._leaving_code()
            case ["/help"]:
                lines = command.help_lines()
            case ["/status"]:
                task_id = self._session.task_id
                row = await self._client.task(task_id) if task_id is not None else None
                lines = command.status_lines(row, self._talk)
            case _:
                lines = command.unknown_lines(text)
        await self._write(self._page.say(*lines))
        return None

    async def _answer(self, call_id: str, text: str | None) -> int | None:
        """Answer the call as the line says."""
        if text is None:
            note = render.cannot_ask(self._page.task_id, self._talk)
            await self._write("\n" + self._page.say(note))
            return 1
        if self._reading is not None and self._reading.call_id == call_id:
            # It was asked again while this line was on its way.
            self._stop_reading()
        answer = question.read(text)
        if answer.does in ("all", "unclear") and self._approvals.is_open(call_id):
            await self._ask(call_id, whole=answer.does == "all")
        else:
            await self._write(await self._approvals.answer(call_id, answer))
        return None

    def _leaving_code(self) -> int:
        """At a terminal the person saw what went wrong; a pipe has only the code."""
        return 0 if self._terminal.can_ask else self._code

    def _break(self) -> str:
        """What ends the row of a prompt that nobody answered."""
        return "\n" if self._reading is not None and self._terminal.can_ask else ""

    async def _write(self, text: str) -> None:
        await self._terminal.out.write(text)
