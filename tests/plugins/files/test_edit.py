"""What Edit demands, does and says."""

import hashlib
import os

from noeta.core.tool import ToolOutput
from noeta.plugins.files import seen
from tests.plugins.files.desk import Desk

CODE = "one\ntwo\ntwo\nthree\n"


async def edit(desk: Desk, old: str, new: str, *, path: str = "a.py", every: bool = False) -> str:
    """What an Edit says, well or ill."""
    asked = {"file_path": path, "old_string": old, "new_string": new, "replace_all": every}
    return (await desk.call("Edit", **asked)).text


async def test_a_file_that_was_read_is_edited(desk: Desk) -> None:
    path = desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    assert await edit(desk, "three", "3") == f"Edited '{path}' at line 4."
    assert await edit(desk, "two", "2", every=True) == (
        f"Edited '{path}' in 2 places, the first at line 2."
    )
    assert desk.bytes_of("a.py") == b"one\n2\n2\n3\n"


async def test_a_part_that_was_read_is_enough_for_an_edit(desk: Desk) -> None:
    path = desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py", limit=1)
    assert await edit(desk, "three", "3") == f"Edited '{path}' at line 4."


async def test_one_file_is_one_file_under_all_its_names(desk: Desk) -> None:
    path = desk.put("dir/a.py", CODE)
    (desk.path / "link").symlink_to(path)
    await desk.says("Read", file_path="link")
    assert await edit(desk, "one", "1", path="dir/../dir/a.py") == f"Edited '{path}' at line 1."
    assert await edit(desk, "three", "3", path="link") == f"Edited '{path}' at line 4."
    assert (desk.path / "link").is_symlink()


async def test_a_file_that_was_not_read_is_not_edited(desk: Desk) -> None:
    desk.put("a.py", CODE)
    assert await edit(desk, "one", "1") == (
        "'a.py' was not read in this task. Read it first, then edit it."
    )
    assert await edit(desk, "one", "1", path="b.py") == (
        f"There is no file 'b.py' to edit (the working directory is '{desk.path}'). Create it with"
        " Write, or find the right one with Glob."
    )
    assert desk.bytes_of("a.py") == CODE.encode()


async def test_a_text_that_is_not_there_exactly_once_is_refused(desk: Desk) -> None:
    desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    assert await edit(desk, "four", "4") == (
        "old_string does not occur in 'a.py'. It must match exactly: every space, tab and line,"
        " without the line numbers of Read. Read that part again and copy it."
    )
    assert await edit(desk, "two", "2") == (
        "old_string occurs 2 times in 'a.py', at lines 2, 3. Add lines around it until it occurs"
        " once, or set replace_all."
    )
    assert desk.bytes_of("a.py") == CODE.encode()


async def test_strings_that_change_nothing_are_refused(desk: Desk) -> None:
    same = (
        "old_string and new_string are the same, but for line ends at most, which Edit keeps as the"
        " file has them. Give a new_string that differs."
    )
    assert await edit(desk, "a", "a") == same
    assert await edit(desk, "a\n", "a\r\n") == same
    assert await edit(desk, "", "a") == (
        "old_string is empty. Give the text to replace; to create or fill a file use Write."
    )


async def test_a_changed_file_is_edited_when_the_text_is_there_once_and_told_of(desk: Desk) -> None:
    path = desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    desk.put("a.py", f"{CODE}user's\n")
    assert await edit(desk, "three", "3") == (
        f"Edited '{path}' at line 4. The file has changed since it was read: it holds other"
        " changes, which were kept. Read it again before you rely on the rest of it."
    )
    assert desk.bytes_of("a.py") == b"one\ntwo\ntwo\n3\nuser's\n"
    # What it holds now was not shown whole, so it cannot be written over.
    assert (await desk.call("Write", file_path="a.py", content="")).is_error


async def test_a_changed_file_must_be_read_again_when_the_text_is_not_there_once(
    desk: Desk,
) -> None:
    desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    desk.put("a.py", f"{CODE}three\n")
    again = (
        "'a.py' changed since it was read, and old_string does not occur exactly once in it now."
        " Read it again, then edit it."
    )
    assert await edit(desk, "three", "3") == again
    assert await edit(desk, "three", "3", every=True) == again
    assert await edit(desk, "four", "4") == again


async def test_a_change_between_the_look_and_the_write_is_not_overwritten(desk: Desk) -> None:
    """The user edits while the call begins: compare-and-swap on the file's hash."""
    desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    parsed = await desk.prepare("Edit", file_path="a.py", old_string="three", new_string="3")
    assert not isinstance(parsed, ToolOutput)
    desk.put("a.py", f"{CODE}user's\n")
    assert await desk.run("Edit", parsed) == ToolOutput(
        text="'a.py' was changed by somebody else during this call, and nothing was written. Read"
        " it again, then repeat the call if it is still right.",
        is_error=True,
    )
    assert desk.bytes_of("a.py") == f"{CODE}user's\n".encode()


async def test_evidence_is_the_hash_before_and_after(desk: Desk) -> None:
    """`ToolStarted` carries the sha256 before and after."""
    desk.put("a.py", CODE)
    await desk.says("Read", file_path="a.py")
    await desk.prepare("Edit", file_path="a.py", old_string="three", new_string="3")
    evidence = bytes(desk.evidence).decode()
    for data in (CODE.encode(), CODE.replace("three", "3").encode()):
        assert hashlib.sha256(data).hexdigest() in evidence


async def test_other_hard_links_are_told_of(desk: Desk) -> None:
    path = desk.put("a.py", CODE)
    os.link(path, desk.path / "b.py")
    await desk.says("Read", file_path="a.py")
    assert await edit(desk, "three", "3") == (
        f"Edited '{path}' at line 4. Its other hard links (1) still lead to the old content."
    )


async def test_a_file_too_large_to_hold_is_not_edited(desk: Desk) -> None:
    path = desk.put("a.py", CODE)
    records = seen.record(path=str(path), sha256="", whole=False)
    desk.fold(ToolOutput(text="", records=records))
    os.truncate(path, 40_000_000)
    assert await edit(desk, "three", "3") == (
        "'a.py' has 40000000 bytes, and this works up to 33554432. Use a command."
    )
