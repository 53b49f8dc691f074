"""`noeta demo`: two kills wherever they fall, and a verdict that can fail."""

import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from noeta.cli.demo import faults, verdict
from noeta.cli.demo_story import ORDERS, POINTS, Point, plan_of
from noeta.core import events as e
from noeta.core.codec import encode
from noeta.core.message import Text
from noeta.host.client import Entry
from tests.cli.command import Noeta, is_alive, wait_until

SHIPPED = [f"{order} shipped" for order in ORDERS]
LAST_LINE = re.compile(r"demo: done, (\d+) events, 2 kills, every effect exactly once")


def _seed_of(point: Point) -> int:
    return next(seed for seed in range(100) if plan_of(seed).point == point)


@pytest.mark.parametrize("point", POINTS)
def test_the_demo_survives_two_kills(noeta: Noeta, point: Point) -> None:
    """Before, in and after the effect: each order is shipped once, and the log is shown."""
    seed = _seed_of(point)
    ran = noeta.run("demo", "--seed", str(seed))
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    last = LAST_LINE.fullmatch(lines[-1])
    assert last is not None, lines[-1]
    assert ran.out.count("SIGKILL to worker") == 2
    shown = lines[lines.index("The log (entry, claim, type):") + 1 :]
    seqs = [int(line.split()[0]) for line in shown[: int(last[1])]]
    assert seqs == list(range(1, int(last[1]) + 1))
    assert f"The ledger: {', '.join(SHIPPED)}" in lines
    # It has a home of its own, and leaves the user's alone.
    assert not noeta.home.exists()


def test_the_seeds_cover_every_plan() -> None:
    """Each order, each point, each model call comes up, and a seed always gives the same."""
    plans = [plan_of(seed) for seed in range(200)]
    assert len(set(plans)) == len(ORDERS) * len(POINTS) * 2
    assert plans == [plan_of(seed) for seed in range(200)]


def test_the_demo_that_is_stopped_leaves_nothing_running(noeta: Noeta) -> None:
    """Ctrl-C: exit code 130, no worker, no scratch directory."""
    noeta.environ["TMPDIR"] = str(noeta.work)
    with noeta.started("demo", "--seed", "0") as process:
        assert process.stdout is not None
        worker = next(
            int(found[1])
            for line in process.stdout
            if (found := re.search(r"worker 1 \(process (\d+)\)", line))
        )
        assert is_alive(worker)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "")
    wait_until(lambda: not is_alive(worker), "the worker's end", 5)
    assert list(noeta.work.iterdir()) == []


def test_a_story_without_a_fault_passes() -> None:
    """The rest of this page breaks one thing of it at a time."""
    assert list(faults(_log(), SHIPPED)) == []


@pytest.mark.parametrize(
    "ledger",
    [
        [],
        SHIPPED[:2],
        [*SHIPPED, SHIPPED[0]],
        [*SHIPPED, "A-100 "],
        ["A-100 ", *SHIPPED[1:]],
        [*SHIPPED, "D-400 shipped"],
    ],
    ids=["empty", "one missing", "one twice", "half a line too", "half a line", "a stranger"],
)
def test_a_doctored_ledger_is_found_out(ledger: list[str]) -> None:
    """Every order once, and nothing else."""
    assert list(faults(_log(), ledger))


def test_a_doctored_log_is_found_out() -> None:
    """A gap, a writer too few, an older claim's late write, a lost or second unknown."""
    log = _log()
    finished = next(x for x in log if isinstance(x.event, e.ToolFinished))
    rest = [x for x in log if x is not finished]
    for broken, fault in (
        ([*log[:-1], _entry(99, 3, log[-1].event)], "the log has a gap"),
        ([_entry(x.seq, min(x.epoch, 2), x.event) for x in log], "the log was not written by 3"),
        ([*log[:-1], _entry(log[-1].seq, 1, log[-1].event)], "an older claim wrote after"),
        ([_entry(n, x.epoch, x.event) for n, x in enumerate(rest, 1)], "0 calls have an unknown"),
        ([*log, _entry(len(log) + 1, 3, finished.event)], "2 calls have an unknown outcome"),
        ([_entry(x.seq, x.epoch, _renamed(x.event, x.seq)) for x in log], "the killed model call"),
    ):
        (found,) = faults(broken, SHIPPED)
        assert found.startswith(fault)


def test_a_fault_makes_the_verdict_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 and a last line that says so; 0 only after the ledger was read."""
    (tmp_path / "ledger").write_text("".join(f"{line}\n" for line in SHIPPED))
    assert verdict(_log(), tmp_path, 2) == 0
    assert LAST_LINE.fullmatch(capsys.readouterr().out.splitlines()[-1])
    (tmp_path / "ledger").write_text("".join(f"{line}\n" for line in [*SHIPPED, SHIPPED[1]]))
    assert verdict(_log(), tmp_path, 2) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "wrong: order B-200 stands 2 times in the ledger" in lines
    assert lines[-1] == f"demo: FAILED, {len(_log())} events, 2 kills"
    (tmp_path / "ledger").unlink()
    assert verdict(_log(), tmp_path, 2) == 1


def _log() -> list[Entry]:
    """The bones of a demo's log: three claims, one unknown call, one model call twice."""
    created = e.TaskCreated(task_id="t", kind="one_shot", cwd="/", model="m")
    unknown = e.ToolFinished(call_id="c1", content=(), is_error=True, reason="unknown")
    told: Sequence[tuple[int, e.Event]] = [
        (0, created),
        (1, _called("a")),
        (1, _replied()),
        (2, unknown),
        (2, _called("b")),
        (3, _called("b")),
        (3, _replied()),
        (3, e.TaskEnded(outcome="done")),
    ]
    return [_entry(seq, epoch, event) for seq, (epoch, event) in enumerate(told, 1)]


def _entry(seq: int, epoch: int, event: e.Event | None) -> Entry:
    assert event is not None
    return Entry(seq=seq, epoch=epoch, at=0.0, body=encode(event), event=event)


def _called(digest: str) -> e.ModelCalled:
    return e.ModelCalled(model="m", request_digest=digest)


def _replied() -> e.ModelReplied:
    return e.ModelReplied(content=(Text("ok"),), stop="end")


def _renamed(event: e.Event | None, seq: int) -> e.Event | None:
    """The killed model call made again from other bytes."""
    return _called(f"d{seq}") if isinstance(event, e.ModelCalled) else event
