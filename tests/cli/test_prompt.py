"""`noeta -p`, and what every command says of itself."""

import json
import signal
import tomllib

from noeta.core import events as e
from noeta.core.message import Text
from tests.cli.command import BOUND_SECONDS, ECHO, ROOT, Noeta, only, wait_until


def test_the_version_is_the_projects(noeta: Noeta) -> None:
    """On stdout, with exit code 0."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    ran = noeta.run("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"noeta {version}\n", "")


def test_help_has_examples_and_names_every_command(noeta: Noeta) -> None:
    """What a newcomer reads first."""
    ran = noeta.run("--help")
    assert (ran.code, ran.err) == (0, "")
    assert "examples:" in ran.out
    assert all(name in ran.out for name in ("tasks", "doctor", "trust", "demo", "--resume"))
    for command in ("tasks", "doctor", "trust", "demo"):
        shown = noeta.run(command, "--help")
        assert (shown.code, shown.err) == (0, "")
        assert "examples:" in shown.out, command


def test_a_prompt_prints_the_answer_alone(noeta: Noeta) -> None:
    """What a script reads is what the model said; the task's id goes to stderr."""
    ran = noeta.run("-p", "good day", "--model", noeta.script(ECHO))
    assert (ran.code, ran.out) == (0, "You said: good day\n")
    (task,) = noeta.tasks()
    assert task.id in ran.err


def test_a_prompt_in_json_is_one_object(noeta: Noeta) -> None:
    """With the task's id, so that a program can look further."""
    ran = noeta.run("-p", "hi", "--model", noeta.script(ECHO), "--output-format", "json")
    assert ran.code == 0
    facts = json.loads(ran.out)
    assert (facts["outcome"], facts["result"], facts["turns"]) == ("done", "You said: hi", 1)
    assert facts["usage"]["output_tokens"] > 0
    assert noeta.events(facts["task_id"])[-1] == e.TaskEnded(outcome="done")


def test_a_prompt_comes_from_stdin_when_none_is_given(noeta: Noeta) -> None:
    """As at the end of a pipe."""
    noeta.environ["NOETA_MODEL"] = noeta.script(ECHO)
    ran = noeta.run("-p", stdin="über\nalles\n".encode())
    assert (ran.code, ran.out) == (0, "You said: über\nalles\n")


def test_a_turn_that_fails_is_exit_code_1(noeta: Noeta) -> None:
    """With nothing on stdout, and the reason on stderr."""
    script = "steps:\n  - error: {kind: fatal, message: the provider is gone}\n"
    ran = noeta.run("-p", "hi", "--model", noeta.script(script))
    assert (ran.code, ran.out) == (1, "")
    assert "the provider is gone" in ran.err
    (task,) = noeta.tasks()
    assert (task.status, task.outcome) == ("waiting", None)


def test_ctrl_c_interrupts_the_turn_with_exit_code_130(noeta: Noeta) -> None:
    """What was streamed is kept in the log."""
    model = noeta.script("steps:\n  - text: half a word\n    pause: 60\n")
    with noeta.started("-p", "hi", "--model", model) as process:
        wait_until(lambda: bool(noeta.tasks()), "the task")
        (task,) = noeta.tasks()
        wait_until(lambda: bool(only(noeta.events(task.id), e.ModelCalled)), "the model call")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_SECONDS)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    log = noeta.events(task.id)
    assert [reply.content for reply in only(log, e.ModelReplied)] == [(Text("half a word"),)]
    assert [ended.outcome for ended in only(log, e.TurnEnded)] == ["interrupted"]


def test_a_call_that_needs_leave_is_denied_where_nobody_can_be_asked(noeta: Noeta) -> None:
    """-p is for scripts; --permission-mode says what may run."""
    model = noeta.script(
        "steps:\n"
        "  - calls: [{tool: Write, input: {file_path: a.txt, content: hi}}]\n"
        "  - text: '{result}'\n"
    )
    denied = noeta.run("-p", "write", "--model", model)
    assert denied.code == 0
    assert "nobody can be asked" in denied.out
    assert not (noeta.work / "a.txt").exists()
    allowed = noeta.run("-p", "write", "--model", model, "--permission-mode", "acceptEdits")
    assert (allowed.code, allowed.out) == (0, "Created a.txt (2 bytes).\n")
    assert (noeta.work / "a.txt").read_text() == "hi"


def test_settings_of_a_workspace_count_once_it_is_trusted(noeta: Noeta) -> None:
    """And no longer than that."""
    (noeta.work / ".noeta").mkdir()
    settings = noeta.work / ".noeta" / "settings.toml"
    settings.write_text(f"model = {json.dumps(noeta.script(ECHO))}\n")
    assert noeta.run("-p", "hi").code == 2
    trusted = noeta.run("trust")
    assert (trusted.code, trusted.err) == (0, "")
    assert str(noeta.work) in trusted.out
    assert noeta.run("-p", "hi").out == "You said: hi\n"
    removed = noeta.run("trust", "--remove", str(noeta.work))
    assert (removed.code, removed.err) == (0, "")
    assert "not trusted any more" in removed.out
    assert noeta.run("-p", "hi").code == 2
    assert "was not trusted" in noeta.run("trust", "--remove").out
