"""One prompt: the answer on stdout, progress on stderr, the outcome as the exit code."""

import json
from dataclasses import replace
from typing import Literal

from noeta.core.errors import NoetaError
from noeta.core.model import TextDelta, ThinkingDelta
from noeta.core.progress import GaveUp, Retrying
from noeta.frontends.line import render
from noeta.frontends.line.page import Page
from noeta.frontends.line.paint import Line
from noeta.frontends.line.sanitize import clean
from noeta.frontends.line.session import LineTyped, Lost, Pressed, Session
from noeta.frontends.line.terminal import Terminal
from noeta.host.client import CaughtUp, Client, Entry, PromptRefused, TaskRequest

GO_ON = "Go on."
"""What a carried-on task is told when its last turn failed and there is no other prompt."""

Format = Literal["text", "json"]


async def run_prompt(
    client: Client,
    opening: TaskRequest | str,
    *,
    prompt: str | None,
    terminal: Terminal,
    format: Format = "text",
    model: str = "",
) -> int:
    """Run one prompt; 0 done, 130 interrupted, 2 when the prompt is refused, else 1.

    opening is a task to create or the id of one to carry on; prompt None adds no message; of a
    task that is at rest it gives what its last turn came to, or lets a failed one go on. model
    is the route of a carried-on task from the prompt on, empty: as before. In JSON one object is
    written whatever happens, and it holds the answer as it is; in text the answer is cleaned.
    """
    session = Session(client, terminal)
    run = _Run(session, opening, prompt, model)
    code = await session.run(run.run)
    try:
        await run.report(format, code)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            await session.complain(f"the answer could not be written: {error}")
        return code or 1
    return code


class _Run:
    """One run; what the task says of itself is in the page's conversation."""

    def __init__(
        self, session: Session, opening: TaskRequest | str, prompt: str | None, model: str
    ) -> None:
        self._session = session
        self._client = session.client
        self._err = session.terminal.err
        self._opening = opening
        self._prompt = prompt
        self._model = model
        self._page = Page(width=self._err.width, colour=self._err.colour, replies=False)
        self._talk = self._page.conversation
        self._problem: tuple[str, str] | None = None
        """An outcome and its detail that are not in the log."""

    async def run(self) -> int:
        """The exit code. Raises NoetaError."""
        try:
            code = await self._open()
            while code is None:
                code = await self._step()
            return code
        except NoetaError as error:
            self._problem = ("error", str(error))
            raise

    async def report(self, format: Format, code: int) -> None:
        """Write the answer to stdout, or say on stderr why there is none."""
        talk, session = self._talk, self._session
        if format == "json":
            await session.terminal.out.write(self._json() + "\n")
        elif code == 0 and talk.answer:
            await session.terminal.out.write(clean(talk.answer).rstrip("\n") + "\n")
        if session.was_left and session.task_id is not None:
            await self._say(
                render.remark(
                    f"The work so far is kept. Carry on with: noeta --resume {session.task_id}"
                )
            )
        elif code != 0 and self._problem is None and not self._err.is_tty:
            # A terminal was told as it happened.
            turn = render.turn_ended(talk.turn, self._page.task_id) if talk.turn else []
            await self._say(*(turn or (render.task_ended(talk.ended) if talk.ended else [])))
        if code != 0 and self._problem is None and not session.was_left and self._can_go_on():
            again = f"the task is kept; go on with: noeta --resume {session.task_id} -p"
            await self._say(render.remark(again))

    # The task ----------------------------------------------------------------------------

    async def _open(self) -> int | None:
        """Create or take up the task; an exit code when there is nothing to run."""
        if isinstance(self._opening, str):
            await self._carry_on(self._opening)
            prompt = self._prompt
            if prompt is None:
                code = await self._rest(self._talk.last_seq)
                if not code or not self._can_go_on():
                    return code
                # Its last turn failed, and whatever failed it may be mended by now.
                prompt = GO_ON
            await self._client.send(self._opening, prompt, model=self._model)
            return None
        prompt = self._prompt if self._prompt is not None else self._opening.prompt
        if prompt is None:
            raise PromptRefused("there is no prompt to run")
        self._session.busy = True
        task_id = await self._client.create(replace(self._opening, prompt=prompt))
        self._page.task_id = task_id
        self._session.watch(task_id)
        await self._say(render.remark(f"task {task_id}"))
        return None

    async def _carry_on(self, task_id: str) -> None:
        """Read the log without showing it, then take part."""
        self._page.task_id = task_id
        await self._session.catch_up(task_id, self._talk.follow)
        if self._talk.ended is None:
            await self._client.attach(task_id)
            self._session.busy = True

    async def _step(self) -> int | None:
        match await self._session.next():
            case Entry() as entry:
                await self._progress(self._page.entry(entry))
                return await self._rest(entry.seq)
            case GaveUp(error=error):
                raise NoetaError(f"this task cannot be run here: {error}")
            case Retrying() as progress:
                # Into a pipe too: a run that waits for minutes must not look dead.
                await self._to_stderr(self._page.live(progress))
            case TextDelta() | ThinkingDelta() as progress:
                await self._progress(self._page.live(progress))
            case Pressed():
                await self._say(render.remark("interrupting; Ctrl-C again leaves"))
            case Lost() as lost:
                raise self._session.why(lost)
            case CaughtUp() | LineTyped():
                pass
        return None

    def _can_go_on(self) -> bool:
        """Whether a message would open another turn."""
        talk = self._talk
        return talk.ended is None and not talk.needs_answer and talk.turn is not None

    async def _rest(self, seq: int) -> int | None:
        """The exit code once nothing goes on any more."""
        talk = self._talk
        if talk.ended is None:
            if not (talk.is_settled or talk.needs_answer):
                return None
            if not await self._session.is_at_rest(seq):
                return None
            if talk.needs_answer:
                line = render.cannot_ask(self._page.task_id, talk)
                self._problem = ("parked", line.text.removeprefix("! "))
                await self._say(line)
                return 1
            if talk.turn is None:
                raise NoetaError(
                    f"task {self._page.task_id} has no turn to carry on; give a prompt"
                )
        return render.exit_code(self._outcome()[0])

    # What is written ---------------------------------------------------------------------

    def _outcome(self) -> tuple[str, str]:
        talk = self._talk
        if self._problem is not None:
            return self._problem
        if self._session.was_left:
            return "left", ""
        if talk.ended is not None and (talk.ended.outcome == "cancelled" or talk.turn is None):
            return talk.ended.reason or talk.ended.outcome, talk.ended.detail
        return (talk.turn.outcome, talk.turn.detail) if talk.turn is not None else ("error", "")

    def _json(self) -> str:
        """One object on one line; everything but ASCII is escaped, so it is safe to look at."""
        outcome, detail = self._outcome()
        usage = self._talk.usage
        return json.dumps(
            {
                "task_id": self._session.task_id,
                "outcome": outcome,
                "detail": detail,
                "result": self._talk.answer or None,
                "turns": self._talk.turns_count,
                "usage": {
                    "input_tokens": usage.input_tokens,
                    "output_tokens": usage.output_tokens,
                    "cache_read_tokens": usage.cache_read_tokens,
                    "cache_write_tokens": usage.cache_write_tokens,
                },
                "turn_costs": self._talk.spending.turns(),
                "call_costs": self._talk.spending.calls,
                "cost_usd": None if self._talk.unpriced_replies else self._talk.cost_usd,
            }
        )

    async def _progress(self, text: str) -> None:
        """For a person who watches; a file gets what matters only."""
        if self._err.is_tty:
            await self._to_stderr(text)

    async def _say(self, *lines: Line) -> None:
        await self._to_stderr(self._page.say(*lines))

    async def _to_stderr(self, text: str) -> None:
        try:
            await self._err.write(text)
        except OSError:
            return
