"""`noeta dev fake-provider`: what it prints, what it serves, and how it ends."""

import argparse
import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noeta.backends.models.script import ScriptError
from noeta.cli.dev import fake_provider, parse_dialects
from noeta.host.settings import SettingsError

ROOT = Path(__file__).parents[2]
NONE = {"port": 0, "script": None, "dialects": None, "key": None, "context_tokens": None}


@contextmanager
def serving(**flags: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, its banner, and its address."""
    command = [sys.executable, "-m", "noeta", "dev", "fake-provider"]
    for name, value in flags.items():
        command += [f"--{name}", value]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        banner = ""
        for line in process.stdout:
            banner += line
            if not line.strip():
                break
        found = re.search(r"ANTHROPIC_BASE_URL=(\S+)", banner)
        assert found, banner
        yield process, banner, found[1]
    finally:
        process.kill()
        process.communicate()


def chat(url: str, text: str) -> str:
    """What a chat completion says."""
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
    headers = {"authorization": "Bearer x", "content-type": "application/json"}
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    assert isinstance(said, str)
    return said


def test_it_serves_until_ctrl_c() -> None:
    """The banner has the addresses; each request has a line; the end is no failure."""
    with serving() as (process, banner, url):
        assert f"{url}/v1/messages" in banner
        assert f"OPENAI_BASE_URL={url}/v1" in banner
        assert chat(url, "hello") == "You said: hello"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        assert process.returncode == 0
    assert re.fullmatch(r"200 chat gpt-5, \d+ tokens in \(0 from cache\), \d+ out\n", errors)


def test_it_plays_a_script_in_the_dialects_asked_for(tmp_path: Path) -> None:
    """And in no other."""
    script = tmp_path / "s.yaml"
    script.write_text("turns: [from the file]", encoding="utf-8")
    with serving(script=str(script), dialects="chat") as (_, banner, url):
        assert ("/v1/messages" in banner, "/v1/chat" in banner) == (False, True)
        assert chat(url, "hello") == "from the file"


def test_a_port_that_is_taken_is_said_so() -> None:
    """With what to do."""
    with serving() as (_, _, url):
        port = int(url.rpartition(":")[2])
        with pytest.raises(SettingsError, match=f"port {port} cannot be had"):
            fake_provider(argparse.Namespace(**{**NONE, "port": port}))


def test_a_dialect_or_a_script_that_is_none_is_said_so(tmp_path: Path) -> None:
    """Before it serves."""
    assert parse_dialects("responses, anthropic") == ("anthropic", "responses")
    with pytest.raises(SettingsError, match="'gemini' is none; there are anthropic, chat"):
        parse_dialects("gemini")
    with pytest.raises(ScriptError, match="No such file"):
        fake_provider(argparse.Namespace(**{**NONE, "script": str(tmp_path / "x")}))
