"""`noeta tasks` and `noeta doctor`: for people a table, for programs JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ECHO, Noeta


@pytest.fixture
def two_tasks(noeta: Noeta) -> Noeta:
    """Two tasks of one workspace: the first waits, the second is done."""
    noeta.environ["NOETA_MODEL"] = noeta.script(ECHO)
    assert noeta.run(stdin=b"the first\n").code == 0
    assert noeta.run("-p", "the second").code == 0
    return noeta


def _json(noeta: Noeta, *args: str) -> Any:
    """What a command prints for programs."""
    ran = noeta.run(*args, "--json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)


def _log(noeta: Noeta, *args: str) -> list[dict[str, Any]]:
    """A log for programs: an object a line."""
    ran = noeta.run("tasks", "log", "--json", *args)
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_tasks_are_listed_the_last_used_first(two_tasks: Noeta) -> None:
    """Of this directory and unfinished, or with --all every one."""
    tasks = _json(two_tasks, "tasks", "list", "--all")
    assert [(task["title"], task["status"]) for task in tasks] == [
        ("the second", "done"),
        ("the first", "waiting"),
    ]
    listed = two_tasks.run("tasks", "list", "--all")
    assert (listed.code, listed.err) == (0, "")
    head, *rows = listed.out.splitlines()
    assert head.split() == ["ID", "STATUS", "USED", "EVENTS", "TITLE"]
    assert [row.split()[:2] for row in rows] == [[t["id"], t["status"]] for t in tasks]
    assert [row.endswith(task["title"]) for row, task in zip(rows, tasks, strict=True)] == [
        True
    ] * 2
    unfinished = _json(two_tasks, "tasks", "list")
    assert [task["title"] for task in unfinished] == ["the first"]
    assert len(two_tasks.run("tasks", "list", "--all", "--limit", "1").out.splitlines()) == 2


def test_another_directory_has_its_own_tasks(two_tasks: Noeta, tmp_path: Path) -> None:
    """And says how to see them all."""
    ran = two_tasks.run("tasks", "list", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"There is no unfinished task in {tmp_path}; --all shows every task.\n"


def test_a_task_is_shown(two_tasks: Noeta) -> None:
    """Its state and its usage, by the first letters of its id."""
    task_id = two_tasks.tasks()[0].id
    facts = _json(two_tasks, "tasks", "show", task_id[:7])
    assert facts["id"] == task_id
    assert (facts["outcome"], facts["last_turn"], facts["turns"]) == ("done", "done", 1)
    assert (facts["model_calls"], facts["tool_calls"], facts["waits_for_answer"]) == (1, 0, [])
    assert facts["usage"]["output_tokens"] > 0
    shown = two_tasks.run("tasks", "show", task_id)
    assert (shown.code, shown.err) == (0, "")
    assert any(line.split() == ["id", task_id] for line in shown.out.splitlines())


def test_a_log_is_shown_entry_by_entry(two_tasks: Noeta) -> None:
    """In order, from any entry on; in JSON each line is an object with the event as stored."""
    task_id = two_tasks.tasks()[0].id
    log = _log(two_tasks, task_id)
    assert [entry["seq"] for entry in log] == list(range(1, len(log) + 1))
    assert [entry["event"]["type"] for entry in log] == [
        "TaskCreated",
        "core/plugins",
        "PromptSet",
        "MessageReceived",
        "ModelCalled",
        "ModelReplied",
        "TurnEnded",
        "TaskEnded",
    ]
    shown = two_tasks.run("tasks", "log", task_id)
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert [(line.split()[0], line.split()[3]) for line in lines] == [
        (str(entry["seq"]), entry["event"]["type"]) for entry in log
    ]
    assert _log(two_tasks, task_id, "--after", "2", "--limit", "3") == log[2:5]


def test_a_title_cannot_write_to_the_terminal(noeta: Noeta) -> None:
    """What a prompt holds is shown without its control characters."""
    noeta.run("-p", "red \x1b[31m\x07 \u202etext", "--model", noeta.script(ECHO))
    (task,) = noeta.tasks()
    for args in (("list", "--all"), ("show", task.id), ("log", task.id)):
        out = noeta.run("tasks", *args).out
        assert not set("\x1b\x07\u202e") & set(out), args


def test_what_a_terminal_cannot_show_is_escaped(noeta: Noeta) -> None:
    """A table in an old encoding is no reason to stop."""
    noeta.run("-p", "über ✓", "--model", noeta.script(ECHO))
    ran = noeta.run("tasks", "list", "--all", environ={"PYTHONIOENCODING": "ascii"})
    assert (ran.code, ran.err) == (0, "")
    assert "\\xfcber \\u2713" in ran.out


def test_the_doctor_says_what_is_there(two_tasks: Noeta) -> None:
    """The machine, the settings and where each comes from, the plugins and the store."""
    ran = two_tasks.run("doctor", "--json")
    assert (ran.code, ran.err) == (0, "")
    findings = json.loads(ran.out)
    assert {finding["level"] for finding in findings} <= {"ok", "note"}
    says = {finding["what"]: finding["says"] for finding in findings}
    assert {"noeta", "sqlite", "home", "model", "plugin", "store"} <= set(says)
    assert says["home"] == str(two_tasks.home)
    assert says["store"].endswith("noeta.db: 2 tasks, 0 running")
    settings = [finding["says"] for finding in findings if finding["what"] == "setting"]
    assert f"model = {two_tasks.environ['NOETA_MODEL']!r} (environment)" in settings
    table = two_tasks.run("doctor")
    assert (table.code, len(table.out.splitlines())) == (0, len(findings))


def test_the_doctor_makes_nothing(noeta: Noeta) -> None:
    """Looking is no use."""
    assert noeta.run("doctor").code == 0
    assert not noeta.home.exists()


def test_the_doctor_finds_what_is_wrong(noeta: Noeta) -> None:
    """Exit code 1, and one line that says what to mend."""
    noeta.home.mkdir()
    (noeta.home / "settings.toml").write_text("modle = 'm'\n")
    broken = noeta.run("doctor")
    assert (broken.code, broken.err) == (1, "")
    assert "there is no setting 'modle'" in broken.out
    (noeta.home / "settings.toml").write_text("model = 'scripted:/no/such/file'\n")
    (noeta.home / "noeta.db").write_text("this is not a store, it is a text\n" * 100)
    broken = noeta.run("doctor", "--json")
    assert (broken.code, broken.err) == (1, "")
    problems = {f["what"]: f["says"] for f in json.loads(broken.out) if f["level"] == "problem"}
    assert set(problems) == {"model", "store"}


def test_the_doctor_says_when_a_workspace_is_not_trusted(noeta: Noeta) -> None:
    """So that nobody wonders why its settings do nothing."""
    (noeta.work / ".noeta").mkdir()
    (noeta.work / ".noeta" / "settings.toml").write_text("lease_seconds = 5\n")
    out = noeta.run("doctor").out
    assert "settings.toml: not trusted; see `noeta trust`" in out
    assert "lease_seconds = 30.0 (default)" in out
