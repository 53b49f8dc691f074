"""The file half of the exec env contract: what reading and writing promise."""

import hashlib

import anyio

from noeta.core.execenv import ExecEnv, FileChanged, FileMissing
from noeta.testing.execenv_check import Check, Make, raises, refused, sh

READ_BYTES_MAX = 1024 * 1024


async def written_bytes_are_read_back_untouched(make: Make) -> None:
    env = make()
    for data in (b"", b"a\0b\r\nc\xff\xfe\n", "\ufeffé".encode("utf-16"), bytes(range(256)) * 999):
        digest = await env.write("file", data)
        assert await env.read("file", bytes_max=READ_BYTES_MAX) == data
        assert digest == hashlib.sha256(data).hexdigest() == await env.digest("file")


async def relative_paths_start_from_the_cwd(make: Make) -> None:
    env = make()
    await env.write("file", b"here")
    assert await env.read(f"{env.cwd}/file", bytes_max=10) == b"here"


async def parents_are_made(make: Make) -> None:
    env = make()
    await env.write("a/b/file", b"deep")
    assert await env.read("a/b/file", bytes_max=10) == b"deep"
    await refused(env.write("a/b/file/c", b"a file is no parent"))


async def what_is_not_there_is_missing(make: Make) -> None:
    env = make()
    assert await env.stat("nothing") is None
    assert await env.digest("nothing") is None
    await raises(FileMissing, env.read("nothing", bytes_max=10))
    await raises(FileMissing, env.list_dir("nothing"))


async def a_path_is_told_for_what_it_leads_to(make: Make) -> None:
    env = make()
    await env.write("dir/file", b"12345")
    await sh(env, "chmod 640 dir/file; ln dir/file dir/other; ln -s dir link; mkfifo fifo")
    file = await env.stat("link/../dir/file")
    assert file is not None
    assert (file.kind, file.size_bytes, file.mode, file.links_count) == ("file", 5, 0o640, 2)
    directory = await env.stat("link")
    assert directory is not None
    assert directory.kind == "directory"
    assert file.path == f"{directory.path}/file"
    fifo = await env.stat("fifo")
    assert fifo is not None
    assert fifo.kind == "other"


async def names_in_a_directory_are_sorted(make: Make) -> None:
    env = make()
    for name in ("b", "a", ".c"):
        await env.write(f"dir/{name}", b"")
    assert list(await env.list_dir("dir")) == [".c", "a", "b"]
    await refused(env.list_dir("dir/a"))


async def a_file_larger_than_the_cap_is_refused(make: Make) -> None:
    env = make()
    await env.write("file", b"12345")
    assert await env.read("file", bytes_max=5) == b"12345"
    await refused(env.read("file", bytes_max=4))


async def a_part_of_a_file_is_what_stands_there(make: Make) -> None:
    env = make()
    await env.write("file", bytes(range(100)))
    assert await env.read_part("file", start_bytes=0, bytes_max=3) == b"\0\1\2"
    assert await env.read_part("file", start_bytes=98, bytes_max=1000) == b"bc"
    assert await env.read_part("file", start_bytes=100, bytes_max=10) == b""
    assert await env.read_part("file", start_bytes=5000, bytes_max=10) == b""
    await raises(FileMissing, env.read_part("nothing", start_bytes=0, bytes_max=1))
    await refused(env.read_part(".", start_bytes=0, bytes_max=1))


async def files_are_found_by_path_and_the_newest_comes_first(make: Make) -> None:
    env = make()
    await sh(env, "mkdir -p a/b .git other; touch -d @1000 a/old.py; touch -d @3000 a/b/new.py")
    await sh(env, "touch -d @2000 a/mid.py a/even.py; touch a/text.txt .git/in.py other/no.py")
    found = await env.find("a", regex=r".*\.py", count_max=10)
    assert found.paths == ("b/new.py", "even.py", "mid.py", "old.py")
    few = await env.find("a", regex=r".*\.py", count_max=1)
    assert (few.paths, few.files_count) == (("b/new.py",), 4)
    top = await env.find("a", regex=r"[^/]*\.py", count_max=10)
    assert top.paths == ("even.py", "mid.py", "old.py")
    skipped = await env.find(".", regex=r".*\.py", skip_names=(".git", "a"), count_max=10)
    assert skipped.paths == ("other/no.py",)


async def links_to_files_are_found_and_links_to_directories_not_entered(make: Make) -> None:
    env = make()
    await sh(env, "mkdir d e; touch d/f; ln -s ../d/f e/file; ln -s .. e/up; mkfifo e/fifo")
    await sh(env, "ln -s nowhere e/dangling; mkdir e/closed; touch e/closed/x; chmod 0 e/closed")
    found = await env.find("e", regex=r"(?!closed/).*", count_max=10)
    assert found.paths == ("file",)
    await raises(FileMissing, env.find("nothing", regex=".*", count_max=1))
    await refused(env.find("d/f", regex=".*", count_max=1))


async def what_is_no_regular_file_is_refused_at_once(make: Make) -> None:
    env = make()
    await sh(env, "mkfifo fifo; mkdir dir")
    with anyio.fail_after(5):
        for path in ("fifo", "dir", "/dev/null", "/dev/tty"):
            await refused(env.read(path, bytes_max=10))
            await refused(env.digest(path))
        # An env that gets this wrong would replace a device of the machine: try it on ours only.
        for path in ("fifo", "dir"):
            await refused(env.write(path, b"data"))


async def a_path_that_cannot_be_is_refused(make: Make) -> None:
    env = make()
    for path in ("", "a\0b", "x" * 5000):
        await refused(env.read(path, bytes_max=10))
        await refused(env.write(path, b"data"))
    await refused(env.list_dir(""))
    await refused(env.write("new/", b"data"))


async def a_replaced_file_keeps_its_mode(make: Make) -> None:
    env = make()
    await env.write("file", b"old")
    for mode in (0o755, 0o600):
        await sh(env, f"chmod {mode:o} file")
        await env.write("file", b"new")
        file = await env.stat("file")
        assert file is not None
        assert file.mode == mode


async def a_write_through_a_link_replaces_the_target(make: Make) -> None:
    env = make()
    await env.write("dir/target", b"old")
    await sh(env, "ln -s dir/target link")
    await env.write("link", b"new")
    assert await env.read("dir/target", bytes_max=10) == b"new"
    assert (await sh(env, "readlink link")).head == b"dir/target\n"


async def a_link_that_leads_nowhere_is_refused(make: Make) -> None:
    env = make()
    await sh(env, "ln -s nowhere link; ln -s loop loop")
    for link in ("link", "loop"):
        await refused(env.write(link, b"data"))
    assert list(await env.list_dir(".")) == ["link", "loop"]


async def a_write_whose_expectation_fails_changes_nothing(make: Make) -> None:
    env = make()
    old = await env.write("file", b"old")
    new = await env.write("file", b"new", expect=old)
    await raises(FileChanged, env.write("file", b"late", expect=old))
    assert await env.digest("file") == new
    for path in ("gone", "dir/gone"):
        await raises(FileChanged, env.write(path, b"data", expect=old))
    assert list(await env.list_dir(".")) == ["file"]


async def create_only_never_replaces(make: Make) -> None:
    env = make()
    await env.write("file", b"first", create_only=True)
    await raises(FileChanged, env.write("file", b"second", create_only=True))
    assert await env.read("file", bytes_max=10) == b"first"
    assert list(await env.list_dir(".")) == ["file"]


async def of_many_creators_one_wins(make: Make) -> None:
    env = make()
    won = []

    async def create(number: int) -> None:
        try:
            await env.write("file", b"%d" % number, create_only=True)
        except FileChanged:
            return
        won.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(create, number)
    assert await env.read("file", bytes_max=10) == b"%d" % won[0]
    assert len(won) == 1


async def parallel_compare_and_swap_loses_nothing(make: Make) -> None:
    env = make()
    await env.write("count", b"0")

    async def add_five() -> None:
        for _ in range(5):
            await increment(env, "count")

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(add_five)
    assert await env.read("count", bytes_max=10) == b"30"
    assert list(await env.list_dir(".")) == ["count"]


async def a_reader_never_meets_half_a_file(make: Make) -> None:
    env = make()
    old, new = b"a" * 300_000, b"b" * 200_000
    await env.write("file", old)
    async with anyio.create_task_group() as tasks:

        async def read() -> None:
            while True:
                assert await env.read("file", bytes_max=READ_BYTES_MAX) in (old, new)

        tasks.start_soon(read)
        for data in (new, old) * 5:
            await env.write("file", data)
        tasks.cancel_scope.cancel()


FILE_CHECKS: tuple[Check, ...] = (
    written_bytes_are_read_back_untouched,
    relative_paths_start_from_the_cwd,
    parents_are_made,
    what_is_not_there_is_missing,
    a_path_is_told_for_what_it_leads_to,
    names_in_a_directory_are_sorted,
    a_file_larger_than_the_cap_is_refused,
    a_part_of_a_file_is_what_stands_there,
    files_are_found_by_path_and_the_newest_comes_first,
    links_to_files_are_found_and_links_to_directories_not_entered,
    what_is_no_regular_file_is_refused_at_once,
    a_path_that_cannot_be_is_refused,
    a_replaced_file_keeps_its_mode,
    a_write_through_a_link_replaces_the_target,
    a_link_that_leads_nowhere_is_refused,
    a_write_whose_expectation_fails_changes_nothing,
    create_only_never_replaces,
    of_many_creators_one_wins,
    parallel_compare_and_swap_loses_nothing,
    a_reader_never_meets_half_a_file,
)


async def increment(env: ExecEnv, path: str) -> None:
    """Add one to the number in a file, however many others do so at the same time."""
    while True:
        data = await env.read(path, bytes_max=100)
        try:
            await env.write(path, b"%d" % (int(data) + 1), expect=hashlib.sha256(data).hexdigest())
        except FileChanged:
            continue
        return
