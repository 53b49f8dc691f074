"""Taking from the inbox: which items may be taken now, and the events they become. Pure.

Interrupts, cancels and answers are taken in mid-step too. What the model reads is left alone
while a model call is open (a call cut short is made again from the same bytes) and while calls
run here (it goes with their results).
"""

from noeta.core import events as e
from noeta.core import item as i
from noeta.core.message import Text
from noeta.core.state import TaskState
from noeta.core.store import InboxItem

UNREADABLE = "[A posted item could not be read and was dropped.]"


def takeable(item: InboxItem, state: TaskState, *, busy: bool) -> bool:
    """Whether the item may be taken now."""
    if item.kind in ("interrupt", "cancel", "answer"):
        return True
    # After an interrupt a message belongs to the next turn, or nobody would answer it.
    stopping = state.interrupt_requested or state.cancel_requested
    return not busy and not stopping and not state.model_call_open


def route_of(item: InboxItem) -> str:
    """The route that a message asks for; empty when it asks for none."""
    if item.kind != "message":
        return ""
    try:
        body = i.decode_body(item.kind, item.body)
    except i.UnreadableItem:
        return ""
    return body.model if isinstance(body, i.MessageBody) else ""


def event_of(item: InboxItem, state: TaskState) -> e.Event:
    """The event that taking the item is."""
    try:
        body = i.decode_body(item.kind, item.body)
    except i.UnreadableItem:
        return e.NoticeReceived(item=item.id, text=UNREADABLE, sender=item.sender)
    match body:
        case i.MessageBody(text=text, media=media):
            content = (*media, *((Text(text),) if text else ()))
            return e.MessageReceived(item=item.id, content=content, sender=item.sender)
        case i.NoticeBody(text=text):
            return e.NoticeReceived(item=item.id, text=text, sender=item.sender)
        case i.InterruptBody():
            return e.InterruptReceived(item=item.id)
        case i.CancelBody(reason=reason):
            return e.CancelReceived(item=item.id, reason=reason)
        case i.AnswerBody():
            return e.AnswerReceived(
                item=item.id,
                call_id=body.call_id,
                input_digest=body.input_digest,
                allow=body.allow,
                reason=body.reason,
                applied=answers(body, state),
            )


def answers(body: i.AnswerBody, state: TaskState) -> bool:
    """Whether the answer fits a call that waits for one: the call id and the input's digest."""
    call = state.calls.get(body.call_id)
    return (
        call is not None
        and call.awaits_answer
        and call.parked is not None
        and call.parked.input_digest == body.input_digest
    )
