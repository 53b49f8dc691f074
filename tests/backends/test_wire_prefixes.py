"""Any prefix of any log renders a request that each provider takes, the same on every worker."""

import itertools
import json
import subprocess
import sys

import pytest

from noeta.backends.models.endpoint import model_name
from noeta.core.context import Renderer
from noeta.core.fold import fold
from noeta.core.state import TaskState
from noeta.testing.fake_provider import signing
from noeta.testing.generated_logs import Opaque, generated_log
from noeta.testing.request_rules import broken_rules
from tests.backends.wire_dialects import DIALECTS, IDS, Dialect, refused, requests_of
from tests.house.tree import ROOT

SEEDS = range(120)


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_every_prefix_of_every_log_renders_a_body_that_is_taken(dialect: Dialect) -> None:
    """Any prefix of any log renders a valid request."""
    bodies = 0
    for seed in SEEDS:
        for request in requests_of(generated_log(seed)):
            assert broken_rules(request) == []
            assert refused(dialect, dialect.render(request)) == "", f"seed {seed}"
            bodies += 1
    assert bodies > 1000


def signed(model: str, word: str) -> str:
    """Thinking as the fake would have signed it."""
    signature = signing.sign(model=model_name(model), shown=word, hidden=word)
    return json.dumps({"type": "thinking", "thinking": word, "signature": signature})


_numbers = itertools.count()


def sealed(model: str, word: str) -> str:
    """Reasoning as the fake would have sealed it."""
    item_id = f"rs_{next(_numbers)}"
    closed = signing.seal(model=model_name(model), kind="reasoning", item_id=item_id, hidden=word)
    item = {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": closed}
    return json.dumps(item)


@pytest.mark.parametrize(
    ("dialect", "opaque"), [(DIALECTS[0], signed), (DIALECTS[2], sealed)], ids=["signed", "sealed"]
)
def test_thinking_goes_back_as_it_came_from_every_prefix(dialect: Dialect, opaque: Opaque) -> None:
    """Altered, misplaced or sent to another model, it would be refused."""
    models = (f"p/{dialect.model}", "p/another")
    sent = 0
    for seed in SEEDS:
        log = generated_log(seed, models=models, opaque=opaque)
        for request in requests_of(log):
            rendered = dialect.render(request)
            assert refused(dialect, rendered) == "", f"seed {seed}"
            sent += b"signature" in rendered or b'encrypted_content":' in rendered
    assert sent > 200


_RENDER = """
import hashlib
from noeta.testing.generated_logs import generated_log
from tests.backends.wire_dialects import DIALECTS, requests_of
for dialect in DIALECTS:
    digest = hashlib.sha256()
    for seed in range(20):
        for request in requests_of(generated_log(seed)):
            digest.update(dialect.render(request))
    print(dialect.name, digest.hexdigest())
"""


def test_another_process_renders_the_same_bytes() -> None:
    """The same bytes on every worker, whatever PYTHONHASHSEED is."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", _RENDER],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("0", "1234")
    }
    assert len(printed) == 1
    assert len(printed.pop().splitlines()) == len(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=IDS)
def test_a_renderer_that_lives_with_the_log_renders_as_a_new_one_does(dialect: Dialect) -> None:
    """A worker that takes the task over sends the same bytes."""
    for seed in range(30):
        log = generated_log(seed)
        lived = [dialect.render(request) for request in requests_of(log)]
        state, fresh = TaskState(), []
        for seq, event in enumerate(log, 1):
            fold(state, seq, event)
            if state.messages:
                fresh.append(dialect.render(Renderer().render(state)))
        assert lived == fresh
