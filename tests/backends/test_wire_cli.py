"""The command against a real wire: a conversation, a kill in mid-stream, and what is mended."""

import signal
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from noeta.core import events as e
from noeta.testing.fake_provider import Call, FakeProvider, Misbehaviour, fake_provider, say
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect
from tests.cli.command import COMMAND, Noeta, Ran, only

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
ROUTES = {
    "anthropic": "anthropic/claude-opus-5-5",
    "openai-chat": "local/gpt-4.1",
    "openai-responses": "openai/gpt-5",
}
STORY = "It is done, and this is the long story of how it came to be so."
SLOW = Misbehaviour(chunk_bytes=20, delay_seconds=0.1)
TURNS = [
    say("I run.", Call("Bash", {"command": "echo once >>ledger"})),
    # Slow for whoever asks first.
    say(STORY, misbehave=(SLOW,)),
]


@pytest.fixture
def noeta(tmp_path: Path) -> Noeta:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    return Noeta(home=home, work=work)


def point(noeta: Noeta, fake: FakeProvider, key: str = "sk-good-key") -> None:
    """Make the fake every provider there is."""
    noeta.environ = {
        "ANTHROPIC_BASE_URL": fake.url,
        "OPENAI_BASE_URL": fake.openai_url,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_API_KEY": key,
        "LOCAL_API_KEY": key,
        "NO_PROXY": "127.0.0.1",
    }
    (noeta.home / "settings.toml").write_text(
        '[providers.local]\ndialect = "openai-chat"\n'
        f'base_url = "{fake.openai_url}"\nkey_env = "LOCAL_API_KEY"\n'
    )


async def run(noeta: Noeta, *args: str) -> Ran:
    return await to_thread.run_sync(partial(noeta.run, *args))


@EACH
async def test_a_task_that_is_killed_in_mid_stream_goes_on(dialect: Dialect, noeta: Noeta) -> None:
    """With the same bytes, and the tool's work is not done again."""
    async with fake_provider(TURNS) as fake:
        point(noeta, fake)
        args = ("-p", "go", "--model", ROUTES[dialect.name])
        async with await anyio.open_process(
            [*COMMAND, *args, "--permission-mode", "bypassPermissions"],
            cwd=noeta.work,
            env=noeta.variables(),
        ) as process:
            with anyio.fail_after(20):
                while len(fake.requests) < 2:
                    await anyio.sleep(0.01)
            await anyio.sleep(0.2)
            process.send_signal(signal.SIGKILL)
        assert fake.requests[-1].outcome != "sent"
        ran = await run(noeta, "--continue", "-p")
        assert (ran.code, ran.out) == (0, f"{STORY}\n")
        assert fake.refusals == []
        assert fake.requests[1].raw == fake.requests[2].raw
        assert len(fake.requests) == 3
        (task,) = await to_thread.run_sync(noeta.tasks)
        log = await to_thread.run_sync(noeta.events, task.id)
        assert len(only(log, e.ToolStarted)) == 1
        assert (noeta.work / "ledger").read_text() == "once\n"
        replies = only(log, e.ModelReplied)
        assert all(reply.usage.output_tokens for reply in replies)
        assert [reply.cost_usd is None for reply in replies] == [dialect.name == "openai-chat"] * 2


@EACH
async def test_a_wrong_key_is_one_sentence_without_the_key(dialect: Dialect, noeta: Noeta) -> None:
    """It names the provider and the variable, and nothing that was sent is in the log."""
    async with fake_provider(TURNS, key="sk-good-key") as fake:
        point(noeta, fake, key="sk-canary-bad-key")
        ran = await run(noeta, "-p", "go", "--model", ROUTES[dialect.name])
        assert ran.code != 0
        assert "_API_KEY to a valid key" in ran.err
        assert "canary" not in ran.out + ran.err
        found = b"".join(p.read_bytes() for p in noeta.home.rglob("*") if p.is_file())
        assert b"canary" not in found


@EACH
async def test_without_a_key_there_is_no_task(dialect: Dialect, noeta: Noeta) -> None:
    """What is missing is told before anything is made."""
    async with fake_provider(TURNS) as fake:
        point(noeta, fake, key="")
        ran = await run(noeta, "-p", "go", "--model", ROUTES[dialect.name])
        assert ran.code == 2
        assert "there is no key for" in ran.err
        assert fake.requests == []
        assert await to_thread.run_sync(noeta.tasks) == []
