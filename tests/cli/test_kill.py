"""Tasks outlive kill -9: a second process carries on from the log, at once."""

import time
from contextlib import AbstractContextManager
from subprocess import Popen

from noeta.core import events as e
from noeta.host.client import Entry
from tests.cli.command import (
    BOUND_SECONDS,
    ECHO,
    Noeta,
    is_alive,
    kill,
    only,
    wait_until,
)

AT_ONCE_SECONDS = 10.0
"""Far below the lease of 30 s, and enough for a busy machine."""
GUARDIAN_SECONDS = 2.0

HOLDING = """\
steps:
  - calls: [{tool: Bash, input: {command: 'echo $$ >pid; echo once >>ledger; sleep 600'}}]
  - text: "the call: {result}"
"""
PAUSING = """\
steps:
  - text: thought about it
    pause: 1.5
"""
LETTING_GO = """\
steps:
  - calls: [{tool: Bash, input: {command: 'touch here; while [ ! -e go ]; do sleep 0.02; done'}}]
  - text: "done after all"
"""


def test_a_task_killed_in_a_call_is_carried_on_at_once(noeta: Noeta) -> None:
    """The call's outcome is unknown, it is not run again, and its command is gone."""
    with _started(noeta, HOLDING) as process:
        pid_file = noeta.work / "pid"
        wait_until(lambda: pid_file.exists() and pid_file.read_text() != "", "the command")
        pid = int(pid_file.read_text())
        assert is_alive(pid)
        kill(process)
        wait_until(lambda: not is_alive(pid), "the end of the command", GUARDIAN_SECONDS)
    (task,) = noeta.tasks()

    resumed_at = time.monotonic()
    ran = noeta.run("--resume", task.id[:6], "-p")

    assert time.monotonic() - resumed_at < AT_ONCE_SECONDS
    assert ran.code == 0
    assert ran.out.startswith("the call: The worker running this call stopped before")
    finished = only(noeta.events(task.id), e.ToolFinished)
    assert [event.reason for event in finished] == ["unknown"]
    assert (noeta.work / "ledger").read_text() == "once\n"
    assert _writers(noeta.log(task.id)) == [1, 2]


def test_a_task_killed_in_a_model_call_is_carried_on_at_once(noeta: Noeta) -> None:
    """The call is made again, from the same bytes; --continue finds the task by its directory."""
    with _started(noeta, PAUSING) as process:
        wait_until(lambda: bool(noeta.tasks()), "the task")
        (task,) = noeta.tasks()
        wait_until(lambda: bool(only(noeta.events(task.id), e.ModelCalled)), "the model call")
        kill(process)

    resumed_at = time.monotonic()
    ran = noeta.run("--continue", "-p")

    assert time.monotonic() - resumed_at < AT_ONCE_SECONDS
    assert (ran.code, ran.out) == (0, "thought about it\n")
    log = noeta.events(task.id)
    called = [event.request_digest for event in only(log, e.ModelCalled)]
    assert len(called) == 2
    assert len(set(called)) == 1
    assert len(only(log, e.ModelReplied)) == 1
    assert _writers(noeta.log(task.id)) == [1, 2]


def test_a_task_that_runs_in_another_process_is_left_to_it(noeta: Noeta) -> None:
    """Who resumes it watches, and is told which process runs it."""
    with _started(noeta, LETTING_GO) as runs:
        wait_until((noeta.work / "here").exists, "the command")
        (task,) = noeta.tasks()
        with noeta.started("--resume", task.id, "-p") as watches:
            assert watches.stderr is not None
            told = watches.stderr.readline()
            (noeta.work / "go").touch()
            seen, _ = watches.communicate(timeout=BOUND_SECONDS)
        out, _ = runs.communicate(timeout=BOUND_SECONDS)
    assert f"process {runs.pid} on " in told
    assert (runs.returncode, watches.returncode) == (0, 0)
    assert out == seen == "done after all\n"
    assert _writers(noeta.log(task.id)) == [1]


def test_an_ended_task_gives_its_answer_again(noeta: Noeta) -> None:
    """Whoever lost the output asks for it; nothing runs."""
    assert noeta.run("-p", "go", "--model", noeta.script(ECHO)).code == 0
    (task,) = noeta.tasks()
    before = noeta.log(task.id)
    ran = noeta.run("--resume", task.id, "-p")
    assert (ran.code, ran.out) == (0, "You said: go\n")
    assert noeta.log(task.id) == before


def _started(noeta: Noeta, script: str) -> AbstractContextManager[Popen[str]]:
    return noeta.started(
        "-p", "go", "--model", noeta.script(script), "--permission-mode", "bypassPermissions"
    )


def _writers(log: list[Entry]) -> list[int]:
    """The claims that wrote."""
    return sorted({entry.epoch for entry in log} - {0})
