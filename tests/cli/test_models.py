"""The command against a model provider over real sockets: three dialects, kills, and mistakes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import anyio
import anyio.to_thread
import pytest

from noeta.core import events as e
from noeta.testing.fake_provider import (
    Call,
    FakeProvider,
    Misbehaviour,
    Turn,
    fake_provider,
    say,
)
from tests.cli.command import BOUND_SECONDS, Noeta, Ran, kill, only

KEY = "sk-canary-4711-abcdef"
ROUTES = {
    "anthropic": "anthropic/claude-opus-5-5",
    "responses": "openai/gpt-5.5",
    "chat": "own/gpt-5.5",
}
DIALECTS = tuple(ROUTES)
WORK = [
    say("I look first.", Call("Bash", {"command": "echo seen > seen; cat seen"})),
    say("It says: seen."),
]


@contextmanager
def pointed_at(noeta: Noeta, fake: FakeProvider, key: str = KEY) -> Iterator[Noeta]:
    """The command's environment and settings, so that each dialect's route leads to the fake."""
    noeta.environ |= {
        "ANTHROPIC_BASE_URL": fake.url,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_BASE_URL": fake.openai_url,
        "OPENAI_API_KEY": key,
        "OWN_API_KEY": key,
        "NOETA_PERMISSION_MODE": "bypassPermissions",
    }
    noeta.home.mkdir(mode=0o700, exist_ok=True)
    (noeta.home / "settings.toml").write_text(
        f'[providers.own]\ndialect = "openai-chat"\nbase_url = "{fake.openai_url}"\n'
        'key_env = "OWN_API_KEY"\n'
    )
    yield noeta


async def run(noeta: Noeta, *args: str, stdin: bytes = b"") -> Ran:
    """Run the command beside the fake, which lives on this loop."""
    with anyio.fail_after(BOUND_SECONDS):
        return await anyio.to_thread.run_sync(partial(noeta.run, *args, stdin=stdin))


def canary_hits(noeta: Noeta, *texts: str) -> list[str]:
    """Where the key can be read: files of the home and the workspace, and these texts."""
    files = [p for top in (noeta.home, noeta.work) for p in top.rglob("*") if p.is_file()]
    hits = [str(path) for path in files if KEY.encode() in path.read_bytes()]
    return hits + [text for text in texts if KEY in text]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_prompt_is_worked_on_with_tools(noeta: Noeta, dialect: str) -> None:
    async with fake_provider(WORK, key=KEY, compatible=True) as fake:
        with pointed_at(noeta, fake):
            ran = await run(noeta, "-p", "look", "--model", ROUTES[dialect])
    assert (ran.code, ran.out) == (0, "It says: seen.\n"), ran.err
    assert (noeta.work / "seen").read_text() == "seen\n"
    assert fake.refusals == []
    assert canary_hits(noeta, ran.out, ran.err) == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_chat_goes_on_over_turns(noeta: Noeta, dialect: str) -> None:
    turns = [say("First."), *WORK, say("Bye.")]
    async with fake_provider(turns, key=KEY, compatible=True) as fake:
        with pointed_at(noeta, fake):
            ran = await run(noeta, "--model", ROUTES[dialect], stdin=b"one\ntwo\nthree\n")
    assert ran.code == 0, ran.err
    assert [ran.out.count(text) for text in ("First.", "It says: seen.", "Bye.")] == [1, 1, 1]
    assert fake.refusals == []


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_run_killed_in_mid_stream_goes_on_from_the_same_bytes(
    noeta: Noeta, dialect: str
) -> None:
    stalls = Misbehaviour(then="stall", in_event=4)
    turns = [WORK[0], Turn(blocks=WORK[1].blocks, misbehave=(stalls,), piece_chars=4)]
    async with fake_provider(turns, key=KEY, compatible=True) as fake:
        with pointed_at(noeta, fake):
            with noeta.started("-p", "look", "--model", ROUTES[dialect]) as process:
                with anyio.fail_after(BOUND_SECONDS):
                    while len(fake.requests) < 2 or fake.requests[1].status is None:
                        await anyio.sleep(0.01)
                await anyio.to_thread.run_sync(kill, process)
            (task,) = await anyio.to_thread.run_sync(noeta.tasks)
            ran = await run(noeta, "--resume", task.id, "-p")
    assert (ran.code, ran.out) == (0, "It says: seen.\n"), ran.err
    assert fake.requests[1].raw == fake.requests[2].raw
    log = await anyio.to_thread.run_sync(noeta.events, task.id)
    assert len(only(log, e.ToolStarted)) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_long_task_is_read_from_the_providers_cache(noeta: Noeta, dialect: str) -> None:
    """Over 95 % of the input tokens of 30 steps."""
    steps = [say(f"Step {n}.", Call("Bash", {"command": f"echo {n}"})) for n in range(30)]
    async with fake_provider([*steps, say("Done.")], key=KEY, compatible=True) as fake:
        with pointed_at(noeta, fake):
            prompt = b"Read this. " + b"All work and no play. " * 2000
            ran = await run(noeta, "-p", "--model", ROUTES[dialect], stdin=prompt)
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    (totals,) = fake.cache.values()
    assert totals.requests_count == 31
    assert totals.hit_ratio > 0.95


async def test_costs_are_told_per_call_turn_and_task(noeta: Noeta) -> None:
    async with fake_provider(WORK, key=KEY) as fake:
        with pointed_at(noeta, fake):
            ran = await run(
                noeta, "-p", "look", "--model", ROUTES["anthropic"], "--output-format", "json"
            )
            facts = json.loads(ran.out)
            shown = await run(noeta, "tasks", "show", facts["task_id"], "--json")
            table = await run(noeta, "tasks", "show", facts["task_id"])
    whole = json.loads(shown.out)
    assert facts["cost_usd"] > 0
    assert whole["cost_usd"] == facts["cost_usd"]
    assert [call["turn"] for call in whole["call_costs"]] == [1, 1]
    assert sum(call["cost_usd"] for call in whole["call_costs"]) == pytest.approx(facts["cost_usd"])
    assert whole["turn_costs"][0]["calls"] == 2
    assert "from cache" in table.out


async def test_a_cost_cap_stops_a_task_and_an_unpriced_model_refuses_one(noeta: Noeta) -> None:
    async with fake_provider(WORK, key=KEY, compatible=True) as fake:
        with pointed_at(noeta, fake):
            cap = ("--max-cost", "0.000001")
            capped = await run(noeta, "-p", "look", "--model", ROUTES["anthropic"], *cap)
            unpriced = await run(noeta, "-p", "look", "--model", ROUTES["chat"], *cap)
    assert capped.code == 1
    assert "cost cap" in capped.err
    assert len(fake.requests) == 1
    assert unpriced.code == 2
    assert "price" in unpriced.err
    assert "Traceback" not in capped.err + unpriced.err


# Mistakes ------------------------------------------------------------------------------------


async def test_a_task_goes_on_after_the_key_was_mended(noeta: Noeta) -> None:
    """The task is kept; the same command with the right key finishes it."""
    async with fake_provider([say("Hello.")], key=KEY) as fake:
        with pointed_at(noeta, fake, key="sk-wrong"):
            ran = await run(noeta, "--model", ROUTES["anthropic"], stdin=b"hi\n")
        assert ran.code == 1
        assert "ANTHROPIC_API_KEY" in ran.out + ran.err
        assert "sk-wrong" not in ran.out + ran.err
        (task,) = await anyio.to_thread.run_sync(noeta.tasks)
        with pointed_at(noeta, fake):
            again = await run(noeta, "--resume", task.id, stdin=b"again\n")
    assert again.code == 0, again.err
    assert "Hello." in again.out


async def test_a_prompt_goes_on_after_the_key_was_mended(noeta: Noeta) -> None:
    """`--resume ID -p` is all it takes; the task ends once it is done."""
    async with fake_provider([say("Hello.")], key=KEY) as fake:
        with pointed_at(noeta, fake, key="sk-wrong"):
            ran = await run(noeta, "-p", "hi", "--model", ROUTES["anthropic"])
        (task,) = await anyio.to_thread.run_sync(noeta.tasks)
        assert ran.code == 1
        assert f"go on with: noeta --resume {task.id} -p" in ran.err
        with pointed_at(noeta, fake):
            again = await run(noeta, "--resume", task.id, "-p")
        (task,) = await anyio.to_thread.run_sync(noeta.tasks)
    assert (again.code, again.out) == (0, "Hello.\n"), again.err
    assert (task.status, task.outcome) == ("ended", "done")


async def test_without_a_key_nothing_is_created(noeta: Noeta) -> None:
    async with fake_provider([say("Hello.")], key=KEY) as fake:
        with pointed_at(noeta, fake):
            del noeta.environ["ANTHROPIC_API_KEY"]
            noeta.environ["ANTHROPIC_API_KEY"] = ""
            ran = await run(noeta, "-p", "hi", "--model", ROUTES["anthropic"])
    assert ran.code == 2
    assert ran.err == (
        "noeta: there is no key for anthropic; set ANTHROPIC_API_KEY in the environment\n"
    )
    assert await anyio.to_thread.run_sync(noeta.tasks) == []


@pytest.mark.parametrize(
    ("bad_day", "says"),
    [
        (Misbehaviour(html=True), "a web page"),
        (Misbehaviour(spend_cap=True), "spend"),
        (Misbehaviour(status=400, message="prompt is too long"), "too long"),
    ],
    ids=["html", "spend cap", "overflow"],
)
async def test_what_no_waiting_mends_is_told_in_a_sentence(
    noeta: Noeta, bad_day: Misbehaviour, says: str
) -> None:
    async with fake_provider([say("Hello.")], key=KEY) as fake:
        fake.misbehave(bad_day)
        with pointed_at(noeta, fake):
            ran = await run(noeta, "-p", "hi", "--model", ROUTES["anthropic"])
            (task,) = await anyio.to_thread.run_sync(noeta.tasks)
            log = await anyio.to_thread.run_sync(noeta.events, task.id)
    assert ran.code == 1
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert only(log, e.TurnEnded)[0].outcome == "llm_error"
    assert len(fake.requests) == 1


async def test_a_passing_error_is_waited_for(noeta: Noeta) -> None:
    async with fake_provider([say("Hello.")], key=KEY) as fake:
        fake.misbehave(Misbehaviour(status=529, retry_after="0"), times=2)
        with pointed_at(noeta, fake):
            ran = await run(noeta, "-p", "hi", "--model", ROUTES["anthropic"])
    assert (ran.code, ran.out) == (0, "Hello.\n")
    assert len(fake.requests) == 3


async def test_an_unknown_model_names_those_near_it(noeta: Noeta) -> None:
    ran = await run(noeta, "-p", "hi", "--model", "anthropc/claude-opus-5-5")
    assert ran.code == 2
    assert "anthropic" in ran.err
    assert ran.err.count("\n") == 1
