"""Handing a task back: the wait, and the end.

Both look into the inbox in the same append (the store does), so that a post is never lost
between the last look and the hand-back.
"""

from noeta.core.action import EndTask, HandBack
from noeta.core.events import TaskEnded, Waiting
from noeta.core.runner.draft import Draft
from noeta.core.store import End, InboxNotEmpty, Wait


async def hand_back(draft: Draft, action: HandBack | EndTask, stopping: bool) -> bool:
    """Write the draft and hand the task back; False when something lies in the inbox.

    A wait that the log shows already is not written twice.
    """
    try:
        match action:
            case HandBack(why=why):
                known = draft.state.waiting and draft.is_empty
                await draft.commit(Wait(or_ready=stopping), None if known else Waiting(why=why))
            case EndTask(outcome=outcome, reason=reason, detail=detail):
                await draft.commit(
                    End(outcome=outcome, despite_inbox=outcome != "done"),
                    TaskEnded(outcome=outcome, reason=reason, detail=detail),
                )
    except InboxNotEmpty:
        return False
    return True
