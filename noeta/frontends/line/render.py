"""What each thing in a log looks like: functions from values to lines. Pure.

Column 0 holds our own marks: `>` a message, `*` a call, `!` trouble, `-` a remark, `?` a question.
Everything else, and all that a model or a tool wrote, stands further in.
"""

import json
from typing import assert_never

import msgspec

from noeta.core import events as e
from noeta.core.message import Usage, text_of
from noeta.core.progress import GaveUp, Retrying
from noeta.frontends.line.conversation import Conversation
from noeta.frontends.line.paint import Line, Tone
from noeta.frontends.line.sanitize import one_line, rows

WIDTH_DEFAULT = 100
"""Where the width is not known: a pipe or a file."""
RESULT_LINES_MAX = 4
MESSAGE_ROWS_MAX = 40
SENTENCE_CHARS_MAX = 600
"""Of a provider's error or a reason: more is in the log."""


def message(text: str, width: int, sender: str = "") -> list[Line]:
    """What a person, or something in their place, told the model."""
    inner = max(width - 2, 10)
    first, *rest = rows(text[: MESSAGE_ROWS_MAX * inner], inner)[:MESSAGE_ROWS_MAX]
    lines = [Line(f"> {first}".rstrip()), *(Line(f"  {row}".rstrip()) for row in rest)]
    if len(text) > MESSAGE_ROWS_MAX * inner or text.count("\n") >= MESSAGE_ROWS_MAX:
        lines.append(Line(f"  ... ({len(text):,} characters in all)", "faint"))
    return [remark(f"from {sender}:", width), *lines] if sender else lines


def tool_started(name: str, raw: bytes, width: int) -> Line:
    """A call that runs: its tool and the gist of its input."""
    return Line(one_line(f"* {name} {summary(raw)}", width), "strong")


def summary(raw: bytes) -> str:
    """An input's first value bare and the others named, not yet cleaned or cut."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw[:1000].decode("utf-8", errors="replace")
    if not isinstance(value, dict):
        return _bare(value)
    words = [
        _bare(part) if index == 0 else f"{key}={_bare(part)}"
        for index, (key, part) in enumerate(value.items())
    ]
    return " ".join(words)


def tool_finished(event: e.ToolFinished, name: str, width: int) -> list[Line]:
    """A call's result: its first lines, or what became of it. name: "" where it is plain."""
    text = text_of(event.content).strip("\n")
    head = _FINISHED[event.reason] or ("error" if event.is_error else "")
    lines: list[Line] = []
    if head or name:
        label = ": ".join(part for part in (name, head) if part)
        gist = one_line(f"! {label}" if head else f"| {label}:", width - 2)
        lines.append(Line("  " + gist, _tone(event)))
    elif not text:
        lines.append(Line("  | (no output)", "faint"))
    shown = text.split("\n", RESULT_LINES_MAX)[:RESULT_LINES_MAX] if text else []
    lines += [Line(f"  | {one_row(line, width - 4)}".rstrip(), _tone(event)) for line in shown]
    hidden = text.count("\n") + 1 - len(shown) if text else 0
    if hidden > 0:
        lines.append(Line(f"  | ... {hidden:,} more line{'s' * (hidden > 1)}", "faint"))
    return lines


def one_row(text: str, width: int) -> str:
    """A line with its inner spaces kept, cut to the width."""
    found = rows(text[: 4 * width], width)
    first = found[0] if found else ""
    if len(found) > 1 or len(text) > 4 * width:
        return first[: max(width - 3, 0)] + "..."
    return first


def turn_ended(event: e.TurnEnded, task_id: str) -> list[Line]:
    """How a turn ended when it is not simply done, and what to do about it."""
    match event.outcome:
        case "done":
            return []
        case "interrupted":
            return [Line("- Interrupted; the work so far is kept. Say how to go on.", "faint")]
        case "refused":
            text, advice = "The model refused to answer", "Ask in other words."
        case "no_answer":
            text, advice = "The model gave no answer", "Ask again, in other words if need be."
        case "llm_error":
            text = "The model could not be used"
            advice = "Nothing is lost: send a message to try again."
        case "llm_truncated":
            text = "The model's reply did not fit its output limit"
            advice = "Ask for less at a time."
        case "cost_limit":
            text = "The task has reached its cost cap"
            advice = "Start a new task, with a higher cap or none."
        case "internal_error":
            text = "A bug in noeta or in a plugin stopped the turn"
            advice = f"Send a message to try again; `noeta tasks log {task_id}` shows the log."
        case _:
            assert_never(event.outcome)
    return [trouble(f"{text}{_detail(event.detail)} {advice}")]


def task_ended(event: e.TaskEnded) -> list[Line]:
    """That the task takes no more messages."""
    if event.outcome == "done":
        return [Line("- The task is done.", "faint")]
    reason = event.reason if event.reason != event.outcome else ""
    why = f" ({one_line(reason, 80)})" if reason else ""
    return [trouble(f"The task has ended: {event.outcome}{why}{_detail(event.detail)}")]


def exit_code(outcome: str) -> int:
    """What a turn's outcome is to a shell."""
    return {"done": 0, "interrupted": 130}.get(outcome, 1)


def cannot_ask(task_id: str, talk: Conversation) -> Line:
    """That a call waits for a person, and where to find it."""
    call_id = next(iter(talk.parked), None)
    what = "A call waits for your leave"
    if call_id is not None:
        gist = one_line(summary(bytes(talk.parked[call_id].input)), 80)
        what = f"{talk.name_of(call_id)} {gist} waits for your leave"
    return trouble(f"{what}; answer it in a terminal with: noeta --resume {task_id}")


def retrying(progress: Retrying) -> Line:
    """That a request failed and is sent again."""
    return trouble(
        f"Attempt {progress.attempt} of {progress.attempts_max} in"
        f" {progress.delay_seconds:.0f} s: {progress.error}"
    )


def gave_up(progress: GaveUp) -> Line:
    """That the task cannot run here."""
    return trouble(f"This task cannot be run here: {progress.error}")


def trouble(text: str) -> Line:
    """A sentence about something that went wrong."""
    return Line("! " + one_line(text, SENTENCE_CHARS_MAX), "error")


def remark(text: str, width: int = SENTENCE_CHARS_MAX) -> Line:
    """A sentence about how things stand."""
    return Line("- " + one_line(text, width), "faint")


def usage(total: Usage) -> str:
    """Tokens so far, in words."""
    cached = total.cache_read_tokens + total.cache_write_tokens
    extra = f" and {cached:,} cached" if cached else ""
    return f"{total.input_tokens:,}{extra} tokens in, {total.output_tokens:,} out"


def cost(total_usd: float, unpriced: int) -> str:
    """Dollars so far, in words."""
    if unpriced:
        return f"${total_usd:.4f} and {unpriced:,} replies of unknown price"
    return f"${total_usd:.4f}"


_FINISHED: dict[e.FinishReason, str] = {
    "done": "",
    "failed": "failed",
    "invalid": "its input does not fit",
    "denied": "not allowed",
    "interrupted": "interrupted",
    "unknown": "its outcome is unknown",
}


def _tone(event: e.ToolFinished) -> Tone:
    return "error" if event.is_error else "faint"


def _detail(detail: str) -> str:
    text = one_line(detail, SENTENCE_CHARS_MAX // 2)
    if not text:
        return "."
    return f": {text}" if text.endswith((".", "!", "?", "...")) else f": {text}."


def _bare(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
