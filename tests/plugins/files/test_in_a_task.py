"""The file tools through the runner: what was read is known from the log alone."""

from pathlib import Path

import msgspec

from noeta.backends.execenvs.local import LocalEnv
from noeta.core import events as e
from noeta.core.message import Text
from noeta.plugins.files import plugin
from noeta.plugins.files.seen import FileSeen
from noeta.testing.function_model import ask_for, in_turn, say
from tests.core.scene import Scene, scene


def results(log: list[e.Event]) -> list[str]:
    """The texts that calls came to, in order."""
    finished = [event for event in log if isinstance(event, e.ToolFinished)]
    return ["".join(b.text for b in f.content if isinstance(b, Text)) for f in finished]


def at_work(s: Scene, path: Path) -> None:
    """Give the scene's workers the file tools and a directory."""
    s.plugins = (plugin,)
    s.env = LocalEnv.here(str(path))


def edit(old: str, new: str) -> tuple[str, object]:
    """A call of Edit."""
    return "Edit", {"file_path": "a.py", "old_string": old, "new_string": new}


READ = ("Read", {"file_path": "a.py"})


async def test_another_worker_knows_from_the_log_what_was_read(tmp_path: Path) -> None:
    """Read-before-edit is folded, not remembered: the second turn runs on a fresh worker."""
    path = tmp_path / "a.py"
    path.write_text("one\n")
    replies = [ask_for(READ), say("read"), ask_for(edit("one", "1")), say("edited")]
    async with scene(in_turn(replies)) as s:
        at_work(s, tmp_path)
        await s.create("go", kind="interactive")
        await s.run()
        await s.say("edit")
        await s.run()
        log = await s.events()
    assert results(log)[1] == f"Edited '{path}' at line 1."
    assert path.read_text() == "1\n"
    seen = [
        msgspec.json.decode(event.record, type=FileSeen)
        for event in log
        if isinstance(event, e.PluginRecorded)
    ]
    assert [(record.path, record.whole) for record in seen] == [(str(path), True)] * 2
    started = [event for event in log if isinstance(event, e.ToolStarted)]
    assert seen[0].sha256.encode() in bytes(started[1].evidence)
    assert seen[1].sha256.encode() in bytes(started[1].evidence)


async def test_an_edit_without_a_read_never_starts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n")
    async with scene(in_turn([ask_for(edit("one", "1")), say("no")])) as s:
        at_work(s, tmp_path)
        await s.create("go")
        await s.run()
        log = await s.events()
    assert results(log) == ["'a.py' was not read in this task. Read it first, then edit it."]
    assert not any(isinstance(event, e.ToolStarted) for event in log)


async def test_edits_of_one_file_in_one_reply_lose_nothing(tmp_path: Path) -> None:
    """TRAPS row 25: the calls of a reply that write run in its order, each on what is there."""
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\nthree\n")
    calls = [READ, edit("one", "1"), edit("two", "2"), edit("three", "3"), edit("1\n2", "1-2")]
    async with scene(in_turn([ask_for(*calls), say("ok")])) as s:
        at_work(s, tmp_path)
        await s.create("go")
        await s.run()
        log = await s.events()
    assert path.read_text() == "1-2\n3\n"
    assert "changed" not in "".join(results(log))


async def test_two_tasks_that_edit_one_file_lose_nothing(tmp_path: Path) -> None:
    """The second meets a changed file, and edits it as it is now."""
    path = tmp_path / "a.py"
    path.write_text("one\ntwo\n")
    async with (
        scene(in_turn([ask_for(READ), ask_for(edit("one", "1")), say("ok")])) as one,
        scene(in_turn([ask_for(READ), say("read"), ask_for(edit("two", "2")), say("ok")])) as two,
    ):
        at_work(one, tmp_path)
        at_work(two, tmp_path)
        await two.create("go", kind="interactive")
        await two.run()
        await one.create("go")
        await one.run()
        await two.say("edit")
        await two.run()
        last = results(await two.events())[-1]
    assert path.read_text() == "1\n2\n"
    assert last.startswith(f"Edited '{path}' at line 2. The file has changed since it was read")


async def test_reads_run_beside_each_other(tmp_path: Path) -> None:
    """Read, Glob and Grep are parallel: their starts are written together."""
    (tmp_path / "a.py").write_text("one\n")
    calls = [READ, ("Glob", {"pattern": "*"}), ("Grep", {"pattern": "one"})]
    async with scene(in_turn([ask_for(*calls), say("ok")])) as s:
        at_work(s, tmp_path)
        await s.create("go")
        await s.run()
        kinds = await s.kinds()
        assert kinds[kinds.index("ToolStarted") :][:3] == ["ToolStarted"] * 3
        assert sorted(results(await s.events())) == ["     1\tone", "a.py", "a.py"]


def test_the_tools_cost_little_of_every_request() -> None:
    """Issue 4: all tools together stay under 20 KB; these five under 4."""
    specs = [tool.spec() for tool in plugin.tools]
    assert [spec.name for spec in specs] == ["Read", "Write", "Edit", "Glob", "Grep"]
    assert sum(len(s.description.encode()) + len(bytes(s.input_schema)) for s in specs) < 4000


def test_only_what_changes_nothing_may_run_again() -> None:
    flags = {tool.name: (tool.flags.retry_safe, tool.flags.parallel) for tool in plugin.tools}
    free, bound = (True, True), (False, False)
    assert flags == {"Read": free, "Write": bound, "Edit": bound, "Glob": free, "Grep": free}
