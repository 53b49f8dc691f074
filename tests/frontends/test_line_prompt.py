"""`noeta -p`: the answer on stdout, and nothing else there."""

import io
import json
import os
import signal
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from noeta.core import events as e
from noeta.core.errors import NoetaError
from noeta.frontends.line import Terminal, run_prompt
from noeta.frontends.line.prompt_run import Format
from noeta.host.client import PromptRefused, TaskRequest
from tests.frontends.line_client import (
    REQUEST,
    TASK,
    FakeClient,
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

pytestmark = pytest.mark.anyio
ONE_SHOT = replace(REQUEST, kind="one_shot", on_ask="deny")
BASH = call("c1", "Bash", command="ls")


async def run(
    client: FakeClient,
    opening: TaskRequest | str = ONE_SHOT,
    prompt: str | None = "go",
    format: Format = "text",
) -> tuple[int, str, str]:
    """The exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal(io.StringIO(), out, err, {})
    with anyio.fail_after(10):
        code = await run_prompt(client, opening, prompt=prompt, terminal=terminal, format=format)
    return code, out.getvalue(), err.getvalue()


def one_shot(text: str) -> list[e.Event]:
    return [called(), replied(text), e.TurnEnded(outcome="done"), e.TaskEnded(outcome="done")]


async def test_stdout_holds_the_final_answer_only() -> None:
    """Calls and what the model says between them are progress."""
    work: list[e.Event] = [
        called(),
        replied("I look.", BASH, stop="calls"),
        started(BASH),
        finished("c1", "a"),
    ]
    client = FakeClient([[*work, *one_shot("It is done.")]])
    assert await run(client) == (0, "It is done.\n", f"- task {TASK}\n")
    assert client.said == [("create", "go")]


async def test_json_is_one_object() -> None:
    """The answer in it is exact, and escaped: safe to look at."""
    code, out, _ = await run(FakeClient([one_shot("a\x1b[2J\u202e")]), format="json")
    assert code == 0
    assert out.isascii()
    assert "\x1b" not in out
    facts = json.loads(out)
    assert [call["input_tokens"] for call in facts.pop("call_costs")] == [1200]
    assert [turn["calls"] for turn in facts.pop("turn_costs")] == [1]
    assert facts == {
        "task_id": TASK,
        "outcome": "done",
        "detail": "",
        "result": "a\x1b[2J\u202e",
        "turns": 1,
        "usage": {
            "input_tokens": 1200,
            "output_tokens": 30,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
        },
        "cost_usd": None,
    }


async def test_text_is_cleaned() -> None:
    """A file with it may be shown by a terminal later."""
    assert (await run(FakeClient([one_shot("a\x1b[2J")])))[1] == "a␛[2J\n"


async def test_a_failed_turn_is_1_and_says_why() -> None:
    """On stderr; stdout stays empty."""
    script: list[e.Event] = [
        called(),
        e.TurnEnded(outcome="llm_error", detail="no credit"),
        e.TaskEnded(outcome="failed", reason="llm_error", detail="no credit"),
    ]
    assert await run(FakeClient([script])) == (
        1,
        "",
        f"- task {TASK}\n! The model could not be used: no credit."
        " Nothing is lost: send a message to try again.\n",
    )


async def test_an_interrupted_turn_is_130() -> None:
    """Whoever interrupted it."""
    script: list[e.Event] = [called(), *rest("interrupted")]
    code, out, _ = await run(FakeClient([script]), format="json")
    assert (code, json.loads(out)["outcome"]) == (130, "interrupted")


async def test_ctrl_c_interrupts_the_turn() -> None:
    """And the run ends with it."""
    client = FakeClient([[called()]], interrupts=[rest("interrupted")])
    async with anyio.create_task_group() as group:
        group.start_soon(_press_when_created, client)
        code, out, err = await run(client)
    assert (code, out) == (130, "")
    assert "interrupting; Ctrl-C again leaves" in err
    assert client.said == [("create", "go"), ("interrupt",)]


async def test_a_second_ctrl_c_leaves_at_once() -> None:
    """The work is kept, and the way back is said."""
    client = FakeClient([[called()]])
    async with anyio.create_task_group() as group:
        group.start_soon(_press_when_created, client, 2)
        code, out, err = await run(client, format="json")
    assert (code, json.loads(out)["outcome"]) == (130, "left")
    assert err.endswith(f"The work so far is kept. Carry on with: noeta --resume {TASK}\n")


async def _press_when_created(client: FakeClient, times: int = 1) -> None:
    """Press Ctrl-C, and again when the first was heard."""
    while not client.entries:
        await anyio.lowlevel.checkpoint()
    os.kill(os.getpid(), signal.SIGINT)
    if times > 1:
        while ("interrupt",) not in client.said:
            await anyio.lowlevel.checkpoint()
        os.kill(os.getpid(), signal.SIGINT)


async def test_a_call_that_needs_leave_ends_the_run() -> None:
    """Nobody can be asked here; the message says where."""
    ask: list[e.Event] = [
        called(),
        replied("", BASH, stop="calls"),
        parked(BASH),
        e.Waiting(why="answer"),
    ]
    code, out, err = await run(FakeClient([ask]), REQUEST, format="json")
    assert (code, json.loads(out)["outcome"]) == (1, "parked")
    sentence = "Bash ls waits for your leave; answer it in a terminal with: noeta --resume"
    assert err == f"- task {TASK}\n! {sentence} {TASK}\n"


async def test_an_open_turn_is_carried_on_without_a_prompt() -> None:
    """What the log holds is not shown again; the answer is."""
    client = FakeClient(history=[message("go"), called()], live=turn("Done now."))
    assert await run(client, TASK, None) == (0, "Done now.\n", "")
    assert client.said == [("attach", TASK)]


async def test_a_task_at_rest_gives_its_last_answer() -> None:
    """Running the same command again after a crash is safe."""
    client = FakeClient(history=[message("go"), *turn("Done before.")])
    assert await run(client, TASK, None) == (0, "Done before.\n", "")


async def test_a_prompt_to_a_resumed_task_gets_its_own_answer() -> None:
    """Not the one of the turn before."""
    client = FakeClient([turn("Second.")], history=[message("go"), *turn("First.")])
    assert await run(client, TASK, "more") == (0, "Second.\n", "")


async def test_a_message_posted_as_a_turn_ended_is_still_answered() -> None:
    """The wait in the log is older than the message."""
    client = FakeClient([turn("First.")], history=[message("a"), called()])
    client.inbox_count = 1
    async with anyio.create_task_group() as group:

        async def take_later() -> None:
            while len(client.entries) < 7:
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            client.inbox_count = 0
            client.play([message("late"), *turn("Second.")])

        group.start_soon(take_later)
        assert (await run(client, TASK, "b"))[1] == "Second.\n"


@pytest.mark.parametrize(
    ("error", "expected"), [(PromptRefused("the message is empty"), 2), (NoetaError("no disk"), 1)]
)
async def test_an_error_of_the_client_is_one_sentence(error: NoetaError, expected: int) -> None:
    """On stderr, and in the JSON object."""
    code, out, err = await run(FakeClient(refusals=[error]), format="json")
    assert (code, err) == (expected, f"noeta: {error}\n")
    answer = json.loads(out)
    assert (answer["task_id"], answer["outcome"], answer["detail"]) == (None, "error", str(error))


async def test_nobody_reading_the_answer_is_no_traceback() -> None:
    """As in `noeta -p go | true`."""
    out, into = os.pipe()
    os.close(out)
    with os.fdopen(into, "w") as stream, anyio.fail_after(10):
        terminal = Terminal(None, stream, None, {})
        client = FakeClient([one_shot("x")])
        assert await run_prompt(client, ONE_SHOT, prompt="go", terminal=terminal) == 1
