"""What each thing in a log looks like: whole pages, compared as whole strings."""

from collections.abc import Iterable
from itertools import count

import pytest

from noeta.core import codec
from noeta.core import events as e
from noeta.core.model import TextDelta
from noeta.core.progress import GaveUp, Progress, Retrying
from noeta.frontends.line import question
from noeta.frontends.line.history import ENTRIES_MAX, History
from noeta.frontends.line.page import Page
from noeta.frontends.line.paint import paint
from noeta.host.client import Entry
from tests.frontends.line_client import (
    TASK,
    answered,
    call,
    called,
    finished,
    message,
    parked,
    replied,
    rest,
    started,
    turn,
)

BASH = call("c1", "Bash", command="ls -la", timeout=30)
READ = call("c2", "Read", path="a.txt")


def shown(updates: Iterable[e.Event | Progress], page: Page | None = None) -> str:
    """What is written for all of them."""
    page = page or Page(TASK, width=60)
    seqs = count(page.conversation.last_seq + 1)
    return "".join(
        page.entry(entry(next(seqs), update)) if isinstance(update, e.Fact) else page.live(update)
        for update in updates
    )


def entry(seq: int, event: e.Event) -> Entry:
    return Entry(seq=seq, epoch=1, at=0.0, body=codec.encode(event), event=event)


def test_a_turn_with_a_call_reads_from_top_to_bottom() -> None:
    """Message, text, call, result, text."""
    lines = "".join(f"file {n}\n" for n in range(1, 17))
    assert shown(
        [
            message("look"),
            called(),
            replied("I look.", BASH, stop="calls"),
            started(BASH),
            finished("c1", lines),
            called(),
            replied("16 files."),
            *rest(),
        ]
    ) == (
        "> look\n"
        "  I look.\n"
        "* Bash ls -la timeout=30\n"
        "  | file 1\n"
        "  | file 2\n"
        "  | file 3\n"
        "  | file 4\n"
        "  | ... 12 more lines\n"
        "  16 files.\n"
    )


def test_streamed_text_is_not_written_again() -> None:
    """The record completes what was streamed."""
    deltas = [TextDelta("Hel"), TextDelta("lo")]
    assert shown([called(), *deltas, replied("Hello, you.")]) == "  Hello, you.\n"


def test_pieces_that_come_after_their_record_are_dropped() -> None:
    """Live text may be late."""
    late = [TextDelta("lo"), TextDelta("!")]
    assert shown([called(), TextDelta("Hel"), replied("Hello!"), *late]) == "  Hello!\n"


def test_a_reply_that_begins_like_the_one_before_is_streamed_whole() -> None:
    """Also when the one before was only read from the log."""
    before = shown([called(), replied("Let me look.")])
    pieces = [TextDelta("Let me "), TextDelta("write.")]
    whole = shown([called(), replied("Let me look."), called(), *pieces])
    assert whole == before + "  Let me write."


def test_a_record_that_differs_from_what_was_streamed_is_shown_whole() -> None:
    """What is recorded has the last word."""
    assert shown([called(), TextDelta("Hallo"), replied("Hello.")]) == (
        "  Hallo\n- the text above is not what was recorded, which is this:\n  Hello.\n"
    )


def test_a_retry_in_mid_stream_says_what_does_not_count() -> None:
    """And which attempt comes when."""
    retry = Retrying(attempt=3, attempts_max=9, delay_seconds=8.0, error="overloaded")
    assert shown([called(), TextDelta("Hel"), retry, TextDelta("Hello."), replied("Hello.")]) == (
        "  Hel\n"
        "- the text above was cut off and does not count:\n"
        "! Attempt 3 of 9 in 8 s: overloaded\n"
        "  Hello.\n"
    )


def test_a_model_call_made_again_after_a_crash_says_so() -> None:
    """The first one's text was never recorded."""
    assert shown([called(), TextDelta("Hel"), called(), TextDelta("Ho."), replied("Ho.")]) == (
        "  Hel\n- the text above was cut off and does not count:\n  Ho.\n"
    )


def test_results_of_calls_side_by_side_carry_their_names() -> None:
    """A result stands below its own call only when it is alone."""
    assert shown(
        [
            replied("", BASH, READ, stop="calls"),
            started(BASH),
            started(READ),
            finished("c2", "text"),
            finished("c1", ""),
        ]
    ) == ("* Bash ls -la timeout=30\n* Read a.txt\n  | Read:\n  | text\n  | Bash:\n")


def test_an_error_result_is_marked() -> None:
    """So is a call that never ran."""
    assert shown(
        [
            replied("", BASH, stop="calls"),
            started(BASH),
            finished("c1", "exit 1", is_error=True),
            replied("", READ, stop="calls"),
            finished("c2", "not here", reason="denied", is_error=True),
        ]
    ) == ("* Bash ls -la timeout=30\n  ! error\n  | exit 1\n  ! Read: not allowed\n  | not here\n")


def test_a_result_without_text_says_so() -> None:
    """Silence is a result, too."""
    assert shown([replied("", READ, stop="calls"), started(READ), finished("c2", "")]) == (
        "* Read a.txt\n  | (no output)\n"
    )


def test_a_long_input_is_cut_to_the_row() -> None:
    """One call, one row."""
    long = call("c3", "Write", path="a.txt", content="x\ny " * 40)
    page = shown([started(long)])
    assert page == "* Write a.txt content=x y x y x y x y x y x y x y x y x y...\n"
    assert len(page) <= 61


@pytest.mark.parametrize(
    ("outcome", "detail", "text"),
    [
        ("done", "", ""),
        ("interrupted", "", "- Interrupted; the work so far is kept. Say how to go on.\n"),
        ("refused", "", "! The model refused to answer. Ask in other words.\n"),
        (
            "no_answer",
            "3 replies in a row were empty",
            "! The model gave no answer: 3 replies in a row were empty."
            " Ask again, in other words if need be.\n",
        ),
        (
            "llm_error",
            "no credit\x1b[2J",
            "! The model could not be used: no credit␛[2J."
            " Nothing is lost: send a message to try again.\n",
        ),
        (
            "llm_truncated",
            "3 replies in a row were cut",
            "! The model's reply did not fit its output limit: 3 replies in a row were cut."
            " Ask for less at a time.\n",
        ),
        (
            "internal_error",
            "KeyError: 1",
            "! A bug in noeta or in a plugin stopped the turn: KeyError: 1. Send a message to try"
            f" again; `noeta tasks log {TASK}` shows the log.\n",
        ),
    ],
)
def test_a_turn_that_is_not_done_says_what_to_do(
    outcome: e.TurnOutcome, detail: str, text: str
) -> None:
    """Each outcome has its sentence."""
    assert shown([message("go"), *rest(outcome, detail)]) == "> go\n" + text


def test_the_end_of_a_task_is_told() -> None:
    """With its reason."""
    assert shown([e.TaskEnded(outcome="done")]) == "- The task is done.\n"
    failed = e.TaskEnded(outcome="failed", reason="plugin_missing", detail="no plugin 'x'")
    assert shown([failed]) == ("! The task has ended: failed (plugin_missing): no plugin 'x'.\n")


def test_a_task_that_cannot_be_loaded_is_an_error() -> None:
    """The log is as it was."""
    assert shown([GaveUp("entry 3 is damaged")]) == (
        "! This task cannot be run here: entry 3 is damaged\n"
    )


def test_an_entry_that_cannot_be_read_is_named() -> None:
    """The others are shown all the same."""
    odd = Entry(seq=9, epoch=1, at=0.0, body=b"{}", event=None, problem="a newer noeta wrote it")
    assert Page(TASK).entry(odd) == "! Entry 9 cannot be shown: a newer noeta wrote it\n"


def test_colours_come_only_from_noeta() -> None:
    """A tone, not a text, has a colour."""
    page = Page(TASK, width=60, colour=True)
    assert shown([started(READ), replied("\x1b[31mred")], page) == (
        "\x1b[1m* Read a.txt\x1b[0m\n  ␛[31mred\n"
    )


# The question -----------------------------------------------------------------------------


def asked(one: e.CallParked, name: str = "Bash", *, whole: bool = False) -> str:
    return paint(question.ask(name, one, 60, whole=whole), colour=False)


def test_a_question_shows_the_tool_the_reason_and_every_value() -> None:
    """What is allowed is what is shown."""
    one = call("c1", "Write", path="a.txt", content="one\ntwo\n", mode=420)
    assert asked(parked(one, "outside the workspace"), "Write") == (
        "? Write needs your leave: outside the workspace\n"
        "  | path: a.txt\n"
        "  | content:\n"
        "  |   one\n"
        "  |   two\n"
        "  |   \n"
        "  | mode: 420\n"
    )


def test_a_value_cannot_look_like_another_question() -> None:
    """Its rows stand further in, however it breaks, and its controls are visible."""
    hostile = "ls\x1b[2K\r\n? Bash needs your leave\n  | command: ls" + "x" * 60
    assert asked(parked(call("c1", "Bash", command=hostile))) == (
        "? Bash needs your leave\n"
        "  | command:\n"
        "  |   ls␛[2K\n"
        "  |   ? Bash needs your leave\n"
        f"  |     | command: ls{'x' * 39}\n"
        f"  |   {'x' * 21}\n"
    )


def test_a_question_says_how_much_it_hides() -> None:
    """And `all` shows it."""
    one = parked(call("c1", "Bash", command="\n".join(f"line {n}" for n in range(1000))))
    short, whole = asked(one), asked(one, whole=True)
    assert short.count("\n") == question.ROWS_MAX + 2
    assert short.endswith(
        "! 961 more rows (13,393 characters) are NOT shown; type `all` to see them\n"
    )
    assert "line 999" in whole


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y", question.Answer("allow")),
        (" YES ", question.Answer("allow")),
        ("n", question.Answer("deny")),
        ("", question.Answer("unclear")),
        ("all", question.Answer("all")),
        ("yes but only a.txt", question.Answer("deny", "yes but only a.txt")),
    ],
)
def test_only_a_clear_yes_allows(typed: str, answer: question.Answer) -> None:
    """Any other words are the reason for a no."""
    assert question.read(typed) == answer


# History ----------------------------------------------------------------------------------


def history(events: Iterable[e.Event]) -> str:
    page = Page(TASK, width=60)
    past = History(page)
    for seq, event in enumerate(events, 1):
        past.add(entry(seq, event))
    return past.text()


def test_a_history_shows_the_last_turns_whole() -> None:
    """The earlier ones are a number and a way to see them."""
    turns: list[e.Event] = []
    for n in range(1, 6):
        turns.append(message(f"q{n}"))
        turns += turn(f"a{n}")
    assert history(turns) == (
        f"- ... 10 earlier entries (noeta tasks log {TASK})\n> q3\n  a3\n> q4\n  a4\n> q5\n  a5\n"
    )


def test_a_history_of_one_endless_turn_is_bounded() -> None:
    """A single turn may be as long as a log."""
    endless: list[e.Event] = [called(), replied("x")]
    text = history([message("go"), *(endless * 1000)])
    assert text.startswith("- ... 1,701 earlier entries")
    assert text.count("\n") == ENTRIES_MAX // 2 + 1


def test_a_history_knows_what_it_does_not_show() -> None:
    """Usage counts from the first entry on."""
    page = Page(TASK)
    past = History(page)
    events: list[e.Event] = [message("go"), *([replied("x")] * 400), answered("c", allow=True)]
    for seq, event in enumerate(events, 1):
        past.add(entry(seq, event))
    past.text()
    assert page.conversation.usage.output_tokens == 12_000
