"""Parked calls and their answers: whose turn it is, the question, and what a line does to it."""

from noeta.frontends.line.page import Page
from noeta.frontends.line.paint import paint_one
from noeta.frontends.line.question import PROMPT, Answer, ask
from noeta.frontends.line.render import remark
from noeta.frontends.line.session import Session
from noeta.host.client import AlreadySettled


class Approvals:
    """The calls of one task that wait for leave, the oldest first."""

    def __init__(self, session: Session, page: Page) -> None:
        self._session = session
        self._page = page
        self._answered: set[str] = set()
        """Answered from here, and the answer is not yet recorded."""

    @property
    def next(self) -> str | None:
        """The call to ask about; None when there is none."""
        parked = self._page.conversation.parked
        self._answered &= parked.keys()
        return next((call_id for call_id in parked if call_id not in self._answered), None)

    def is_open(self, call_id: str) -> bool:
        """Whether the call still needs an answer."""
        return call_id in self._page.conversation.parked and call_id not in self._answered

    def question(self, call_id: str, *, whole: bool = False) -> str:
        """What to write to ask; the cursor stays behind it."""
        talk = self._page.conversation
        name, call = talk.name_of(call_id), talk.parked[call_id]
        lines = ask(name, call, self._page.width, whole=whole)
        colour = self._session.terminal.out.colour
        return self._page.say(*lines) + paint_one(PROMPT, colour=colour)

    def reopen(self, call_id: str) -> None:
        """The answer from here did not count: the call may be asked about again."""
        self._answered.discard(call_id)

    async def answer(self, call_id: str, answer: Answer) -> str:
        """Send a yes or no; what to write about it."""
        if not self.is_open(call_id):
            return self._page.say(remark("that answer came too late"))
        self._answered.add(call_id)
        try:
            await self._session.client.answer(
                self._page.task_id, call_id, allow=answer.does == "allow", reason=answer.reason
            )
        except AlreadySettled:
            return self._page.say(remark("it has its answer already"))
        return ""
