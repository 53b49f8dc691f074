"""The draft: events that are decided and folded, and not yet written.

Folding comes first, so that a request can be rendered from what the append will hold and an
append is one write however many events it has. It is safe since nobody else sees the state: when
the append is refused the state is thrown away with the claim. The one refusal that is survived,
a wait or an end with something in the inbox, is why the last event of a hand-back is folded only
after it landed.
"""

from collections.abc import Mapping

from noeta.core import codec
from noeta.core.events import Event
from noeta.core.fold import PluginFold, fold
from noeta.core.state import TaskState
from noeta.core.store import Append, Appended, Claim, Go, Move, Store


class Draft:
    """Collects what one append will write to one task."""

    def __init__(
        self,
        store: Store,
        claim: Claim,
        state: TaskState,
        folders: Mapping[str, PluginFold] | None = None,
    ) -> None:
        self.state = state
        self._store = store
        self._claim = claim
        self._folders = folders
        self._bodies: list[bytes] = []
        self._takes: list[int] = []
        self._written_seq = state.last_seq

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be written."""
        return not self._bodies and not self._takes

    @property
    def taken(self) -> frozenset[int]:
        """Inbox items that the next append takes."""
        return frozenset(self._takes)

    def add(self, event: Event, *, takes: int | None = None) -> None:
        """Fold the event and queue it, with the inbox item it stands for."""
        fold(self.state, self.state.last_seq + 1, event, self._folders)
        self._bodies.append(codec.encode(event))
        if takes is not None:
            self._takes.append(takes)

    async def commit(self, move: Move | None = None, last: Event | None = None) -> Appended:
        """Write all of it in one append, and `last` with it.

        Raises what Store.append raises. After InboxNotEmpty the draft is as it was and can be
        added to; after any other error neither the draft nor its state is of use.
        """
        tail = (codec.encode(last),) if last is not None else ()
        appended = await self._store.append(
            self._claim,
            Append(
                expected_seq=self._written_seq,
                events=(*self._bodies, *tail),
                takes=tuple(self._takes),
                move=move if move is not None else Go(),
            ),
        )
        if last is not None:
            fold(self.state, self.state.last_seq + 1, last, self._folders)
        self._bodies.clear()
        self._takes.clear()
        self._written_seq = appended.last_seq
        return appended
