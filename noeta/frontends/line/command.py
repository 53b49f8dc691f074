"""What the chat says about itself: its header, and the answers to lines with a slash. Pure."""

from noeta.core.task import TaskRow
from noeta.frontends.line import render
from noeta.frontends.line.conversation import Conversation
from noeta.frontends.line.paint import Line

_HELP = """\
Type a message and press Enter. A line that ends in \\ goes on in the next one.
Ctrl-C stops the turn and keeps its work; twice leaves. Ctrl-D leaves.
/status   the task, where it stands, and its tokens
/help     this text
/quit     leave; the task is kept
A message that starts with a slash is sent with a space before it."""


def header_lines(name: str, model: str, cwd: str, *, leaves: bool) -> list[Line]:
    """What is talked to. leaves: a person types, who may want to know how to leave."""
    lines = [render.remark(f"noeta: {name}, model {model}, in {cwd}")]
    return [*lines, render.remark("/help for help, Ctrl-D leaves")] if leaves else lines


def help_lines() -> list[Line]:
    """How the chat is used."""
    return [Line(f"  {line}", "faint") for line in _HELP.split("\n")]


def status_lines(row: TaskRow | None, talk: Conversation) -> list[Line]:
    """Where the task stands. row: None before there is a task."""
    if row is None:
        return [render.remark("There is no task yet: your first message creates it.")]
    status = "waiting" if row.status == "kept" else row.status
    state = f"{status}, {row.outcome}" if row.outcome else status
    return [
        render.remark(f"task {row.id}: {state}, {row.last_seq:,} log entries"),
        render.remark(f"model {talk.model} in {talk.cwd}"),
        render.remark(render.usage(talk.usage)),
        render.remark(render.cost(talk.cost_usd, talk.unpriced_replies)),
    ]


def unknown_lines(text: str) -> list[Line]:
    """What to do about a command that there is not."""
    word = text.split()[0]
    return [
        render.trouble(
            f"There is no command {word[:40]!r}; /help lists them. To send it as a message, put a"
            " space before it."
        )
    ]
