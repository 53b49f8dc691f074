"""The page: turns what a watch gives into what is written, in order. Pure but for its memory.

Text is written as it streams and only completed when its reply is recorded, so nothing appears
twice. What is live may be lost or late; what is recorded has the last word.
"""

from noeta.core import events as e
from noeta.core.message import Text, text_of
from noeta.core.model import TextDelta, ThinkingDelta
from noeta.core.progress import GaveUp, Progress, Retrying
from noeta.frontends.line import render
from noeta.frontends.line.conversation import Conversation
from noeta.frontends.line.paint import Line, paint
from noeta.frontends.line.prose import Prose
from noeta.host.client import Entry


class Page:
    """One task on one terminal."""

    def __init__(
        self,
        task_id: str = "",
        *,
        width: int | None = None,
        colour: bool = False,
        replies: bool = True,
    ) -> None:
        self.task_id = task_id
        self.conversation = Conversation()
        self.sent: list[str] = []
        """Messages sent from here; their entries are not shown again."""
        self._replies = replies
        """Whether the model's text is shown at all."""
        self._prose = Prose(width)
        self._colour = colour
        self._streamed: list[str] = []
        self._call_open = False
        """Live text outside of a call came after its record."""
        """Text of the present attempt, as written."""

    def resize(self, width: int | None) -> None:
        """The terminal has this width from now on."""
        self._prose.width = width

    @property
    def width(self) -> int:
        """The columns a line of ours may take."""
        return self._prose.width or render.WIDTH_DEFAULT

    def say(self, *lines: Line) -> str:
        """Lines of our own, below whatever was written."""
        return self._prose.end() + paint(lines, colour=self._colour)

    def live(self, progress: Progress) -> str:
        """What to write for something live."""
        match progress:
            case TextDelta(text=text) if self._replies and self._call_open:
                return self._stream(text)
            case TextDelta() | ThinkingDelta():
                return ""
            case Retrying():
                return self._drop_attempt() + self.say(render.retrying(progress))
            case GaveUp():
                return self.say(render.gave_up(progress))

    def entry(self, entry: Entry) -> str:
        """What to write for a recorded entry; the conversation follows it."""
        written = ""
        if entry.event is None:
            lines = [render.trouble(f"Entry {entry.seq} cannot be shown: {entry.problem}")]
        else:
            written, lines = self._entry(entry.event)
        self.conversation.follow(entry)
        return written + (self.say(*lines) if lines else "")

    def _entry(self, event: e.Event) -> tuple[str, list[Line]]:
        """Text that is written as it is, and lines below it."""
        talk, width = self.conversation, self.width
        match event:
            case e.MessageReceived(content=content, sender=sender):
                text = text_of(content)
                if text in self.sent:
                    self.sent.remove(text)
                    return "", []
                return "", render.message(text, width, "" if sender == "user" else sender)
            case e.NoticeReceived(text=text, sender=sender):
                return "", render.message(text, width, sender or "noeta")
            case e.ModelCalled():
                self._call_open = True
                return self._drop_attempt(), []
            case e.ModelReplied() if self._replies:
                self._call_open = False
                return self._complete(event), []
            case e.ToolStarted(name=name):
                return "", [render.tool_started(name, bytes(event.input), width)]
            case e.ToolFinished(call_id=call_id):
                # Below its own line a result needs no name; beside others, or refused, it does.
                alone = talk.reply_calls == 1 and call_id in talk.started
                name = "" if alone else talk.name_of(call_id)
                return "", render.tool_finished(event, name, width)
            case e.AnswerReceived(call_id=call_id, applied=False):
                return "", [
                    render.remark(f"An answer for {call_id} came too late and did nothing.")
                ]
            case e.TurnEnded():
                return "", render.turn_ended(event, self.task_id)
            case e.TaskEnded():
                return "", render.task_ended(event)
            case _:
                return "", []

    # The streamed reply ------------------------------------------------------------------

    def _stream(self, text: str) -> str:
        self._streamed.append(text)
        return self._prose.feed(text)

    def _drop_attempt(self) -> str:
        """The attempt broke off; what it wrote is no part of the reply."""
        if not self._streamed:
            return ""
        self._streamed.clear()
        return self.say(render.remark("the text above was cut off and does not count:"))

    def _complete(self, event: e.ModelReplied) -> str:
        """The part of a recorded reply that was not streamed."""
        text = "".join(block.text for block in event.content if isinstance(block, Text))
        streamed = "".join(self._streamed)
        self._streamed.clear()
        if text.startswith(streamed):
            rest = text.removeprefix(streamed) if streamed else text_of(event.content)
            return self._prose.feed(rest) + self._prose.end()
        note = render.remark("the text above is not what was recorded, which is this:")
        return self.say(note) + self._prose.feed(text_of(event.content)) + self._prose.end()
