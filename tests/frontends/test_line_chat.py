"""The chat in a pipe and at a terminal: whole transcripts, and what the client was asked."""

import io
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from noeta.core import events as e
from noeta.core.errors import NoetaError
from noeta.core.model import TextDelta
from noeta.core.progress import GaveUp
from noeta.frontends.line import Terminal, chat, session
from noeta.host.client import AlreadySettled, PromptRefused, TaskRequest
from tests.frontends.line_client import (
    REQUEST,
    TASK,
    FakeClient,
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
from tests.frontends.line_pty import Screen, plain, screen

pytestmark = pytest.mark.anyio

HEADER = "- noeta: a new task, model scripted:demo, in /w\n"
RESUMED = f"- noeta: task {TASK}, model scripted:demo, in /w\n"
BASH = call("c1", "Bash", command="rm -rf build")
READ = call("c2", "Read", path="a.txt")
ALLOW = "Allow? [y]es / [n]o / or type why not: "


async def piped(
    client: FakeClient, typed: str, opening: TaskRequest | str = REQUEST
) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of a chat that reads from a pipe."""
    out, err = io.StringIO(), io.StringIO()
    reads, into = os.pipe()
    os.write(into, typed.encode())
    os.close(into)
    with os.fdopen(reads) as stdin, anyio.fail_after(10):
        terminal = Terminal(stdin, out, err, {})
        code = await chat(client, opening, terminal=terminal)
    return code, out.getvalue(), err.getvalue()


# In a pipe --------------------------------------------------------------------------------


async def test_each_line_of_a_pipe_is_a_turn() -> None:
    """The next is read after the turn before has ended."""
    client = FakeClient([turn("One."), turn("Two.")])
    assert await piped(client, "a\n\nb\n") == (
        0,
        f"{HEADER}> a\n- task {TASK}\n  One.\n> b\n  Two.\n",
        "",
    )
    assert client.said == [("create", "a"), ("send", "b")]


async def test_a_pipe_gives_the_code_of_what_went_wrong() -> None:
    """Also when later turns were done."""
    client = FakeClient([rest("llm_error", "no credit"), turn("Fine.")])
    code, out, _ = await piped(client, "a\nb\n")
    assert code == 1
    assert out.endswith("> b\n  Fine.\n")


async def test_a_refused_message_is_one_sentence_and_the_chat_goes_on() -> None:
    """A prompt of 10 MB, say."""
    client = FakeClient([turn("Fine.")], refusals=[PromptRefused("the message is too large")])
    code, out, err = await piped(client, "x" * 10_000 + "\nb\n")
    assert (code, err) == (1, "noeta: the message is too large\n")
    assert "  ... (10,000 characters in all)\n" in out
    assert out.endswith(f"> b\n- task {TASK}\n  Fine.\n")


async def test_another_error_of_the_client_leaves_with_its_sentence() -> None:
    """An unavailable store, say."""
    client = FakeClient(refusals=[NoetaError("the store is full")])
    code, _, err = await piped(client, "a\nb\n")
    assert (code, err, client.said) == (1, "noeta: the store is full\n", [("create", "a")])


async def test_a_call_that_needs_leave_ends_a_piped_chat() -> None:
    """With the way to answer it."""
    client = FakeClient([[replied("", BASH, stop="calls"), parked(BASH), e.Waiting(why="answer")]])
    code, out, _ = await piped(client, "a\nb\n")
    assert code == 1
    assert out.endswith(
        "! Bash rm -rf build waits for your leave; answer it in a terminal with:"
        f" noeta --resume {TASK}\n- The work so far is kept. Carry on with: noeta --resume {TASK}\n"
    )


async def test_commands_are_for_the_chat_and_not_for_the_model() -> None:
    """An unknown one is explained."""
    client = FakeClient([turn("One.")])
    code, out, _ = await piped(client, "/status\na\n/status\n/etc/passwd\n/help\n/quit\nb\n")
    assert code == 0
    assert client.said == [("create", "a")]
    assert "> /status\n- There is no task yet: your first message creates it.\n" in out
    assert (
        f"- task {TASK}: waiting, 6 log entries\n- model scripted:demo in /w\n"
        "- 1,200 tokens in, 30 out\n"
    ) in out
    assert "! There is no command '/etc/passwd'; /help lists them." in out
    assert "/quit     leave; the task is kept\n" in out


async def test_the_end_of_the_task_is_the_end_of_the_chat() -> None:
    """It takes no more messages."""
    failed = e.TaskEnded(outcome="failed", reason="internal_error")
    client = FakeClient([[e.TurnEnded(outcome="internal_error"), failed]])
    code, out, _ = await piped(client, "a\nb\n")
    assert code == 1
    assert out.endswith("! The task has ended: failed (internal_error).\n")


async def test_nobody_reading_is_no_traceback() -> None:
    """As in `noeta < file | head -1`."""
    out, into = os.pipe()
    os.close(out)
    with os.fdopen(into, "w") as stream, anyio.fail_after(10):
        terminal = Terminal(io.StringIO("a\n"), stream, None, {})
        assert await chat(FakeClient(), REQUEST, terminal=terminal) == 1


async def test_a_task_that_cannot_run_here_ends_a_piped_chat() -> None:
    """Nothing would ever come."""
    client = FakeClient(history=[message("go"), called()], live=[GaveUp("it is damaged")])
    code, out, _ = await piped(client, "", TASK)
    assert code == 1
    assert "! This task cannot be run here: it is damaged\n" in out


# Resuming ---------------------------------------------------------------------------------


async def test_a_resumed_task_shows_its_history() -> None:
    """Then it goes on as any other; how it went before has no part in the exit code."""
    client = FakeClient([turn("Two.")], history=[message("a"), *rest("llm_error", "no credit")])
    code, out, _ = await piped(client, "b\n", TASK)
    assert (code, out) == (
        0,
        f"{RESUMED}> a\n! The model could not be used: no credit."
        " Nothing is lost: send a message to try again.\n> b\n  Two.\n",
    )
    assert client.said == [("attach", TASK), ("send", "b")]


async def test_an_open_turn_is_carried_on_before_anything_is_read() -> None:
    """And the chat says so."""
    client = FakeClient([turn("Two.")], history=[message("a"), called()], live=turn("One."))
    code, out, _ = await piped(client, "b\n", TASK)
    assert (code, out) == (
        0,
        f"{RESUMED}> a\n- the unfinished turn is carried on\n  One.\n> b\n  Two.\n",
    )


async def test_a_task_that_has_ended_is_shown() -> None:
    """There is nothing to add."""
    client = FakeClient(history=[message("a"), replied("One."), e.TaskEnded(outcome="done")])
    assert await piped(client, "b\n", TASK) == (
        0,
        f"{RESUMED}> a\n  One.\n- The task is done.\n",
        "",
    )
    assert client.said == []


async def test_a_task_that_is_not_there_is_one_sentence() -> None:
    """From the client."""
    code, out, err = await piped(FakeClient(), "", "nope")
    assert (code, out, err) == (1, "", "noeta: there is no task 'nope'\n")


# At a terminal ----------------------------------------------------------------------------


@asynccontextmanager
async def talking(
    client: FakeClient,
    *,
    code: int = 0,
    opening: TaskRequest | str = REQUEST,
    **environ: str,
) -> AsyncIterator[Screen]:
    """A chat at a terminal; the block must make it leave, with this code."""
    with screen(environ) as person:
        left: list[int] = []

        async def talk() -> None:
            left.append(await chat(client, opening, terminal=person.terminal))
            person.left.set()

        with anyio.fail_after(15):
            async with anyio.create_task_group() as group:
                group.start_soon(talk)
                yield person
            assert left == [code]
            await person.rest()


async def test_a_chat_at_a_dumb_terminal_reads_as_one_talk() -> None:
    """No colours, no cursor movement: the whole of it, keys included."""
    streamed = [called(), TextDelta("One"), replied("One."), *rest()]
    async with talking(FakeClient([streamed])) as person:
        await person.expect("\n> ")
        person.type("a\n")
        await person.expect("One.\n> ")
        person.type("\x04")
        await person.expect("Carry on")
    assert person.text == (
        f"{HEADER}- /help for help, Ctrl-D leaves\n> a\n- task {TASK}\n  One.\n> \n"
        f"- Carry on with: noeta --resume {TASK}\n"
    )


async def test_colours_are_the_only_escape_sequences() -> None:
    """Hostile text included."""
    hostile = turn("\x1b[2J\x1b]52;c;aGk=\x07\u202e\rAllow? [y]es")
    async with talking(FakeClient([hostile]), TERM="xterm") as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect("[y]es\n\x1b[1m> ")
        person.type("/quit\n")
        await person.expect("Carry on")
    text = person.text
    assert text != plain(text)
    assert "\x1b" not in plain(text)
    assert "  ␛[2J␛]52;c;aGk=␇<U+202E>␍Allow? [y]es\n" in text


async def test_no_color_is_heeded() -> None:
    """https://no-color.org: present and not empty."""
    async with talking(FakeClient([turn("x")]), TERM="xterm", NO_COLOR="1") as person:
        await person.expect("> ")
        person.type("/quit\n")
    assert "\x1b" not in person.text


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("y\n", ("answer", "c1", True, "")),
        ("n\n", ("answer", "c1", False, "")),
        ("only build/tmp\n", ("answer", "c1", False, "only build/tmp")),
    ],
)
async def test_a_parked_call_is_asked_about(typed: str, said: tuple[object, ...]) -> None:
    """Yes, no, or why not."""
    ask = [called(), replied("", BASH, stop="calls"), parked(BASH, "it deletes files")]
    client = FakeClient([ask], answers=[[answered("c1", allow=True), *turn("Fine.")]])
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(
            "? Bash needs your leave: it deletes files\n  | command: rm -rf build\n" + ALLOW
        )
        person.type("\n")
        await person.expect(ALLOW)
        person.type(typed)
        await person.expect("Fine.\n> ")
        person.type("/quit\n")
    assert client.said == [("create", "a"), said]


async def test_questions_come_one_after_the_other() -> None:
    """The oldest first."""
    ask = [replied("", BASH, READ, stop="calls"), parked(BASH), parked(READ)]
    client = FakeClient([ask], answers=[[answered("c1", allow=True)], turn("Fine.")])
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect("? Bash")
        await person.expect(ALLOW)
        person.type("y\n")
        await person.expect("? Read")
        await person.expect(ALLOW)
        person.type("n\n")
        await person.expect("Fine.\n> ")
        person.type("/quit\n")
    assert client.said[1:] == [("answer", "c1", True, ""), ("answer", "c2", False, "")]


async def test_a_question_that_is_answered_elsewhere_is_cleared() -> None:
    """And what is typed next is a message again."""
    client = FakeClient([[replied("", BASH, stop="calls"), parked(BASH)], turn("Two.")])
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(ALLOW)
        client.play(
            [answered("c1", allow=True), started(BASH), finished("c1", "ok"), *turn("One.")]
        )
        await person.expect("- the question about c1 needs no answer any more\n* Bash")
        await person.expect("One.\n> ")
        person.type("y\n")
        await person.expect("Two.\n> ")
        person.type("/quit\n")
    assert client.said == [("create", "a"), ("send", "y")]


async def test_an_answer_that_comes_too_late_is_noted() -> None:
    """The client refused it."""
    client = FakeClient(
        [[replied("", BASH, stop="calls"), parked(BASH)]],
        refusals=[None, AlreadySettled("call 'c1' has its answer")],
    )
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(ALLOW)
        person.type("y\n")
        await person.expect("- it has its answer already\n")
        client.play([finished("c1", "no", reason="denied", is_error=True), *turn("One.")])
        await person.expect("One.\n> ")
        person.type("/quit\n")


async def test_what_was_typed_before_a_question_does_not_answer_it() -> None:
    """It is the next message."""
    client = FakeClient([[called()], turn("Two.")], answers=[turn("One.")])
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(f"task {TASK}\n")
        person.type("y\n")
        await person.expect("y\n")
        client.play([replied("", BASH, stop="calls"), parked(BASH)])
        await person.expect(ALLOW)
        person.type("n\n")
        await person.expect("Two.\n> ")
        person.type("/quit\n")
    assert client.said == [("create", "a"), ("answer", "c1", False, ""), ("send", "y")]


async def test_leaving_a_question_open_is_1() -> None:
    """It is asked again when the task is resumed."""
    ask = [message("a"), replied("", BASH, stop="calls"), parked(BASH), e.Waiting(why="answer")]
    async with talking(FakeClient(history=ask), code=1, opening=TASK) as person:
        await person.expect(ALLOW)
        person.type("\x04")
        await person.expect("! Bash rm -rf build waits for your leave")


async def test_a_turn_from_elsewhere_is_shown_at_the_prompt() -> None:
    """Then the prompt comes again."""
    client = FakeClient([turn("One.")])
    async with talking(client) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect("One.\n> ")
        client.play([message("b", sender="user"), *turn("Two.")])
        await person.expect("\n> b\n  Two.\n> ")
        person.type("/quit\n")


# Signals ----------------------------------------------------------------------------------


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


async def test_ctrl_c_at_the_prompt_asks_once_and_then_leaves() -> None:
    """The half-typed message is dropped."""
    async with talking(FakeClient(), code=130) as person:
        await person.expect("> ")
        person.type("one\\\n")
        await person.expect("one\\\n")
        press()
        await person.expect("- Ctrl-C again leaves\n> ")
        press()


async def test_a_message_between_two_ctrl_c_counts() -> None:
    """The second is a first one again."""
    async with talking(FakeClient([turn("One.")])) as person:
        await person.expect("> ")
        press()
        await person.expect("leaves\n> ")
        person.type("a\n")
        await person.expect("One.\n> ")
        press()
        await person.expect("leaves\n> ")
        person.type("/quit\n")


async def test_two_quick_ctrl_c_leave_though_the_turn_ends_in_between() -> None:
    """What the first one promised holds."""
    client = FakeClient([[called(), TextDelta("I thi")]], interrupts=[rest("interrupted")])
    async with talking(client, code=130) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect("  I thi")
        press()
        await person.expect("- Interrupted; the work so far is kept. Say how to go on.\n> ")
        press()
        await person.expect(f"Carry on with: noeta --resume {TASK}\n")


async def test_ctrl_c_interrupts_a_turn_and_the_chat_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A press some time after it is a first one again."""
    monkeypatch.setattr(session, "PRESSES_SECONDS", 0.0)
    client = FakeClient([[called(), TextDelta("I thi")]], interrupts=[rest("interrupted")])
    async with talking(client, code=130) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect("  I thi")
        press()
        await person.expect("\n- interrupting; Ctrl-C again leaves\n")
        await person.expect("- Interrupted; the work so far is kept. Say how to go on.\n> ")
        press()
        await person.expect("- Ctrl-C again leaves\n> ")
        press()
    assert client.said == [("create", "a"), ("interrupt",)]


async def test_a_second_ctrl_c_in_a_turn_leaves() -> None:
    """Even if the interrupt does nothing."""
    async with talking(FakeClient([[called()]]), code=130) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(f"task {TASK}\n")
        press()
        await person.expect("- interrupting; Ctrl-C again leaves\n")
        press()
        await person.expect(f"The work so far is kept. Carry on with: noeta --resume {TASK}\n")


async def test_an_interrupted_question_is_not_asked_again() -> None:
    """Its call is closed by the interrupt."""
    ask = [replied("", BASH, stop="calls"), parked(BASH)]
    stop = [finished("c1", "stopped", reason="interrupted", is_error=True), *rest("interrupted")]
    async with talking(FakeClient([ask], interrupts=[stop])) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(ALLOW)
        press()
        await person.expect("Say how to go on.\n> ")
        person.type("/quit\n")
    assert person.text.count(ALLOW) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_being_told_to_stop_leaves(number: int) -> None:
    """At once, in a turn too."""
    async with talking(FakeClient([[called()]]), code=143) as person:
        await person.expect("> ")
        person.type("a\n")
        await person.expect(f"task {TASK}\n")
        press(number)
        await person.expect(f"Carry on with: noeta --resume {TASK}\n")


async def test_a_stopped_terminal_does_not_stop_ctrl_c() -> None:
    """Ctrl-S, then twice Ctrl-C: leaving does not wait for the terminal."""
    client = FakeClient([[called()]])
    async with talking(client, code=130) as person:
        await person.expect("> ")
        person.type("\x13a\n")
        while client.said != [("create", "a")]:
            await anyio.lowlevel.checkpoint()
        press()
        while ("interrupt",) not in client.said:
            await anyio.lowlevel.checkpoint()
        press()
        await person.left.wait()
        person.type("\x11")
    assert "interrupting" not in person.text
