"""After a crash Write and Edit report what the file's hash proves, and nothing else."""

import msgspec

from noeta.core.tool import ToolOutput
from tests.plugins.files.desk import Desk


async def begun(desk: Desk, name: str, **asked: object) -> msgspec.Struct:
    """A call that started, and whose worker died before or after its effect."""
    parsed = await desk.prepare(name, **asked)
    assert not isinstance(parsed, ToolOutput), parsed.text
    return parsed


async def test_a_write_that_landed_is_proved_by_the_files_hash(desk: Desk) -> None:
    parsed = await begun(desk, "Write", file_path="new/a.py", content="x")
    desk.put("new/a.py", "x")  # The dead worker's.
    output = await desk.recover("Write", parsed)
    assert output is not None
    assert output.text == f"Created '{desk.path}/new/a.py' (1 byte)."
    # What it recorded counts as after any other write.
    assert not (await desk.call("Write", file_path="new/a.py", content="y")).is_error


async def test_an_edit_that_landed_is_proved_by_the_files_hash(desk: Desk) -> None:
    path = desk.put("a.py", "one two")
    await desk.says("Read", file_path="a.py")
    parsed = await begun(desk, "Edit", file_path="a.py", old_string="one", new_string="1")
    desk.put("a.py", "1 two")
    output = await desk.recover("Edit", parsed)
    assert output is not None
    assert output.text == f"Edited '{path}' at line 1."
    assert await desk.says("Edit", file_path="a.py", old_string="two", new_string="2") == (
        f"Edited '{path}' at line 1."
    )


async def test_a_file_as_it_was_before_proves_nothing(desk: Desk) -> None:
    """A frozen worker may still write it."""
    desk.put("a.py", "one")
    await desk.says("Read", file_path="a.py")
    parsed = await begun(desk, "Edit", file_path="a.py", old_string="one", new_string="1")
    assert await desk.recover("Edit", parsed) is None
    parsed = await begun(desk, "Write", file_path="b.py", content="x")
    assert await desk.recover("Write", parsed) is None


async def test_any_other_content_proves_nothing(desk: Desk) -> None:
    desk.put("a.py", "one")
    await desk.says("Read", file_path="a.py")
    parsed = await begun(desk, "Write", file_path="a.py", content="x")
    desk.put("a.py", "user's")
    assert await desk.recover("Write", parsed) is None
    (desk.path / "a.py").unlink()
    (desk.path / "a.py").mkdir()
    assert await desk.recover("Write", parsed) is None


async def test_a_call_without_evidence_is_not_recovered(desk: Desk) -> None:
    parsed = await begun(desk, "Write", file_path="a.py", content="x")
    desk.evidence = msgspec.Raw(b"null")
    assert await desk.recover("Write", parsed) is None
