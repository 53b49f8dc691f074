"""What LocalEnv hands to commands of the worker's environment."""

import pytest

from noeta.backends.execenvs.local import LocalEnv
from noeta.backends.execenvs.local_environ import UNATTENDED, scrub
from noeta.core.execenv import Command


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", "x"),
        ("ANTHROPIC_AUTH_TOKEN", "x"),
        ("Gemini_Api_Key", "x"),
        ("HF_TOKEN", "x"),
        ("NOETA_TOKEN", "x"),
        ("NOETA_STORE", "x"),
        ("SENTRY_DSN", "x"),
        ("TEST_DATABASE_URL", "x"),
        ("PGPASSWORD", "x"),
        ("ANY", "postgres://user:pass@host/db"),
        ("ANY", "PostgreSQL+psycopg://user@host/db"),
        ("ANY", "mongodb+srv://user:pass@host/db"),
    ],
)
def test_a_secret_is_dropped(name: str, value: str) -> None:
    """Provider keys, DSN and token are in no tool's environment."""
    assert scrub({name: value}) == UNATTENDED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/bin"),
        ("NOETA_HOME", "/home"),
        ("GITHUB_TOKEN", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("HTTPS_PROXY", "http://user:pass@proxy:3128"),
        ("REDIS_HINT", "redis://localhost"),
    ],
)
def test_what_a_persons_commands_need_is_kept(name: str, value: str) -> None:
    """`gh`, `aws` and a proxy go on working."""
    assert scrub({name: value}) == {name: value, **UNATTENDED}


def test_other_patterns_may_be_given() -> None:
    """What is a secret is the host's to say."""
    environ = {"MY_PIN": "1", "NOETA_HOME": "2", "OPENAI_API_KEY": "3"}
    kept = scrub(environ, secret_patterns=("MY_*", "NOETA_*"), kept_names=())
    assert kept == {"OPENAI_API_KEY": "3", **UNATTENDED}


@pytest.mark.anyio
async def test_an_env_made_here_scrubs_ours(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way of making one is the safe one."""
    monkeypatch.setenv("OPENAI_API_KEY", "planted-secret")
    monkeypatch.setenv("PLAIN", "planted-plain")
    env = LocalEnv.here(str(tmp_path_factory.mktemp("cwd")))
    output_path = f"{env.cwd}/output"
    finished = await env.run(Command(argv=("env",), output_path=output_path))
    assert b"planted-plain" in finished.head
    assert b"planted-secret" not in finished.head
