"""After a bug: the turn fails, and twice in a row the task ends.

The state in memory is not trusted any more, so the log is folded anew and the shortest way to an
end of the turn is written.
"""

from noeta.core import events as e
from noeta.core.action import EndTask, HandBack, next_action
from noeta.core.runner.calls import close_call, recover_calls
from noeta.core.runner.draft import Draft
from noeta.core.runner.engine import Engine
from noeta.core.runner.inbox import event_of, takeable
from noeta.core.runner.load import load
from noeta.core.runner.waiting import hand_back
from noeta.core.store import Claim

DETAIL_CHARS_MAX = 500


async def fail_turn(engine: Engine, claim: Claim, error: Exception) -> None:
    """Fail the open turn with `internal_error` and hand the task back or end it.

    Raises what Store.append raises. Does nothing, and lets the lease run out, when there is
    neither a turn to fail nor anything in the inbox to open one.
    """
    state = await load(engine.store, claim.task_id, engine.registry)
    draft = Draft(engine.store, claim, state, engine.registry.folders)
    if not state.turn_open:
        # The bug came before the message was taken; untaken it would come again for ever.
        for item in await engine.store.inbox(claim.task_id):
            if takeable(item, state, busy=False):
                draft.add(event_of(item, state), takes=item.id)
    if not state.turn_open and draft.is_empty:
        return
    if state.turn_open:
        _end_turn(draft, error)
    action = next_action(state)
    assert isinstance(action, HandBack | EndTask)
    await hand_back(draft, action, stopping=True)


def _end_turn(draft: Draft, error: Exception) -> None:
    state = draft.state
    for call in state.open_calls:
        if call.started is not None:
            draft.add(recover_calls((call,))[0])
        else:
            draft.add(close_call(call))
    detail = f"{type(error).__name__}: {error}"[:DETAIL_CHARS_MAX]
    draft.add(e.TurnEnded(outcome="internal_error", detail=detail))
