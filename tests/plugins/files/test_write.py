"""What Write demands, does and says."""

import os

import pytest

from noeta.core.tool import ToolOutput
from tests.plugins.files.desk import Desk


async def write(desk: Desk, content: str, path: str = "a.py") -> str:
    """What a Write says, well or ill."""
    return (await desk.call("Write", file_path=path, content=content)).text


async def test_a_new_file_is_created_with_its_parents(desk: Desk) -> None:
    assert (
        await write(desk, "é\n", "new/dir/a.py") == f"Created '{desk.path}/new/dir/a.py' (3 bytes)."
    )
    assert desk.bytes_of("new/dir/a.py") == "é\n".encode()


async def test_a_file_is_replaced_only_when_all_of_it_was_read(desk: Desk) -> None:
    path = desk.put("a.py", "one\ntwo\n")
    assert await write(desk, "x") == (
        "'a.py' exists and was not read in this task. Read the whole file first, then write it or,"
        " better, edit it."
    )
    await desk.says("Read", file_path="a.py", limit=1)
    await desk.says("Read", file_path="a.py", offset=2)
    assert await write(desk, "x") == (
        "Only part of 'a.py' was read, and Write would replace all of it. Use Edit, or read the"
        " whole file first."
    )
    await desk.says("Read", file_path="a.py")
    await desk.says("Read", file_path="a.py", offset=2)
    assert await write(desk, "x") == f"Replaced '{path}' (1 byte)."


async def test_a_line_that_was_cut_is_a_part_that_was_not_read(desk: Desk) -> None:
    desk.put("a.py", "x" * 3000)
    await desk.says("Read", file_path="a.py")
    assert (await write(desk, "x")).startswith("Only part of 'a.py' was read")


async def test_what_a_task_wrote_it_may_write_again(desk: Desk) -> None:
    await write(desk, "one")
    assert await write(desk, "two") == f"Replaced '{desk.path}/a.py' (3 bytes)."
    await desk.says("Edit", file_path="a.py", old_string="two", new_string="three")
    assert await write(desk, "four") == f"Replaced '{desk.path}/a.py' (4 bytes)."


async def test_a_file_that_changed_since_is_not_replaced(desk: Desk) -> None:
    desk.put("a.py", "one")
    await desk.says("Read", file_path="a.py")
    desk.put("a.py", "user's")
    changed = "'a.py' changed since it was read. Read it again, then write it."
    assert await write(desk, "x") == changed
    os.truncate(desk.path / "a.py", 40_000_000)
    assert await write(desk, "x") == changed


async def test_a_file_that_appears_during_the_call_is_not_replaced(desk: Desk) -> None:
    parsed = await desk.prepare("Write", file_path="a.py", content="x")
    assert not isinstance(parsed, ToolOutput)
    desk.put("a.py", "user's")
    output = await desk.run("Write", parsed)
    assert output.is_error
    assert desk.bytes_of("a.py") == b"user's"


@pytest.mark.parametrize(
    ("old", "content", "new", "kept"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n", " Its CRLF line ends were kept."),
        (b"a\r\nb\n", "c\nd\n", b"c\nd\n", ""),
        (
            b"\xff\xfea\0",
            "é",
            b"\xff\xfe\xe9\0",
            " Its encoding (utf-16-le with a byte order mark) were kept.",
        ),
        (
            b"\xef\xbb\xbfa\r\n",
            "\ufeffb\n",
            b"\xef\xbb\xbfb\r\n",
            " Its encoding (utf-8 with a byte order mark) and CRLF line ends were kept.",
        ),
    ],
)
async def test_the_form_that_a_read_does_not_show_is_kept(
    desk: Desk, old: bytes, content: str, new: bytes, kept: str
) -> None:
    """Byte order mark and line ends: TRAPS row 27."""
    path = desk.put("a.py", old)
    await desk.says("Read", file_path="a.py")
    assert await write(desk, content) == f"Replaced '{path}' ({len(new)} bytes).{kept}"
    assert desk.bytes_of("a.py") == new


async def test_a_link_is_written_through_and_one_that_leads_nowhere_is_refused(desk: Desk) -> None:
    """TOOLS 2.5 rows 8 and 9: the leaf is resolved, a dangling link makes nothing."""
    target = desk.put("dir/a.py", "one")
    (desk.path / "link").symlink_to("dir/a.py")
    (desk.path / "dangling").symlink_to("../outside")
    await desk.says("Read", file_path="link")
    assert await write(desk, "two", "link") == f"Replaced '{target}' (3 bytes)."
    assert await write(desk, "two", "dangling") == (
        f"This did not work: '{desk.path}/dangling' is a link that leads nowhere. Try another"
        " path, or tell the user."
    )
    assert not (desk.path.parent / "outside").exists()
    assert (desk.path / "link").is_symlink()


async def test_dots_are_resolved_as_the_system_does(desk: Desk) -> None:
    """Through a link, `..` is the target's parent and not the link's."""
    desk.put("far/deep/x", "")
    (desk.path / "link").symlink_to("far/deep")
    await write(desk, "x", "link/../b.py")
    assert desk.bytes_of("far/b.py") == b"x"
    assert not (desk.path / "b.py").exists()
    assert await write(desk, "y", "far/b.py") == f"Replaced '{desk.path}/far/b.py' (1 byte)."


async def test_a_directory_and_a_device_are_not_written(desk: Desk) -> None:
    assert await write(desk, "x", ".") == (
        "'.' is a directory, not a file. List what is in it with Glob."
    )
    assert await write(desk, "x", "/dev/null") == (
        "'/dev/null' is a device, a pipe or a socket, not a file. Give the path of a file."
    )


@pytest.mark.parametrize("old", [None, "one"])
async def test_a_change_at_the_last_moment_is_not_overwritten(desk: Desk, old: str | None) -> None:
    """Between the look and the rename: `expect` and `create_only` of the exec env."""

    class Env(type(desk.env)):  # type: ignore[misc]  # the env's class, known at run time only
        async def write(self, path: str, data: bytes, **how: object) -> str:
            desk.put("a.py", "user's")
            wrote: str = await super().write(path, data, **how)
            return wrote

    if old is not None:
        desk.put("a.py", old)
        await desk.says("Read", file_path="a.py")
    desk.env.__class__ = Env
    assert await desk.fails("Write", file_path="a.py", content="x") == (
        "'a.py' was changed by somebody else during this call, and nothing was written. Read it"
        " again, then repeat the call if it is still right."
    )
    assert desk.bytes_of("a.py") == b"user's"
