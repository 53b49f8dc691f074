"""The history of a resumed task: its last turns whole, the rest as a count."""

from collections import deque

from noeta.core import events as e
from noeta.frontends.line.page import Page
from noeta.frontends.line.render import remark
from noeta.host.client import Entry

TURNS_MAX = 3
ENTRIES_MAX = 300
"""A single turn may be as long as a log."""


class History:
    """Entries as they are read, of which the last few are kept to be shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._kept: deque[Entry] = deque()
        self._turns: deque[int] = deque([0])
        """How many of the kept entries each turn has."""
        self._in_turn = False
        self._earlier_count = 0

    def add(self, entry: Entry) -> None:
        """Take the next entry in."""
        match entry.event:
            case e.MessageReceived() | e.NoticeReceived() if not self._in_turn:
                self._in_turn = True
                if any(isinstance(kept.event, e.TurnEnded) for kept in self._kept):
                    self._turns.append(0)
            case e.TurnEnded():
                self._in_turn = False
            case _:
                pass
        self._kept.append(entry)
        self._turns[-1] += 1
        if len(self._turns) > TURNS_MAX:
            self._drop(self._turns.popleft())
        if len(self._kept) > ENTRIES_MAX:
            self._drop(1)
            self._turns[0] -= 1
            if self._turns[0] == 0 and len(self._turns) > 1:
                self._turns.popleft()

    def text(self) -> str:
        """What to write for all of it."""
        earlier = self._earlier_count
        written = ""
        if earlier:
            words = "entry" if earlier == 1 else "entries"
            note = f"... {earlier:,} earlier {words} (noeta tasks log {self._page.task_id})"
            written = self._page.say(remark(note))
        return written + "".join(self._page.entry(entry) for entry in self._kept)

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self._page.conversation.follow(self._kept.popleft())
        self._earlier_count += count
