"""docs/fake-provider.md can be followed word for word."""

import re
import subprocess
import sys
from dataclasses import fields
from inspect import signature
from pathlib import Path

import pytest

from noeta.testing.fake_provider import FakeProvider, Misbehaviour
from noeta.testing.fake_provider.script import parse_script

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/fake-provider.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def test_every_example_says_what_comes_of_it() -> None:
    """None stands without its output."""
    assert len(EXAMPLES) == PAGE.count("```python") > 0


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(code: str, printed: str, tmp_path: Path) -> None:
    """Run as a program of its own."""
    file = tmp_path / "example.py"
    file.write_text(code, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, file], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ran.stdout, ran.stderr) == (printed, "")


def test_the_script_of_the_page_is_one() -> None:
    """As it stands."""
    [script] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(parse_script(script)) == 3


def test_the_page_names_every_misbehaviour_and_every_option() -> None:
    """And so does no other page."""
    options = [name for name in signature(FakeProvider).parameters if name not in ("host", "port")]
    wanted = [field.name for field in fields(Misbehaviour)] + options
    assert [name for name in wanted if f"`{name}`" not in PAGE] == []
