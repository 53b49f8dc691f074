"""The command half of the exec env contract: how commands run, and that they end."""

import anyio

from noeta.core.execenv import Command, ExecEnv, ExecEnvError, FileMissing
from noeta.testing.execenv_check import Check, Make, raises, refused, sh

KILLED_SECONDS = 2.0
"""Within this, nothing of a killed command is left."""


async def a_command_gives_its_exit_code(make: Make) -> None:
    env = make()
    for argv, code in ((("true",), 0), (("false",), 1), (("sh", "-c", "exit 42"), 42)):
        finished = await env.run(Command(argv=argv))
        assert (finished.exit_code, finished.signal, finished.reason) == (code, None, "exited")
        assert (finished.output_bytes, finished.head, finished.tail) == (0, b"", b"")


async def a_command_killed_by_a_signal_says_which(make: Make) -> None:
    finished = await make().run(Command(shell="kill -9 $$"))
    assert (finished.exit_code, finished.signal, finished.reason) == (None, 9, "exited")


async def a_command_that_does_not_exist_ends_with_127(make: Make) -> None:
    env = make()
    await sh(env, "echo text >file; chmod 644 file")
    for argv, code in ((("no-such-command",), 127), (("./no/such",), 127), (("./file",), 126)):
        finished = await env.run(Command(argv=argv))
        assert finished.exit_code == code
        assert argv[0].encode() in finished.head


async def arguments_arrive_as_they_are(make: Make) -> None:
    arguments = ("a b", "", "'\"$HOME`\\", "-n", "é\n", "*")
    finished = await make().run(Command(argv=("printf", "%s|", *arguments)))
    assert finished.head.decode() == "".join(f"{argument}|" for argument in arguments)


async def a_script_may_begin_with_a_dash(make: Make) -> None:
    finished = await make().run(Command(shell="-x 2>/dev/null; echo ran"))
    assert finished.head == b"ran\n"


async def a_command_with_a_nul_is_refused(make: Make) -> None:
    env = make()
    await raises(ExecEnvError, env.run(Command(argv=("echo", "a\0b"))))
    await raises(ExecEnvError, env.run(Command(argv=("true",), env={"A=B": "c"})))


async def stdin_is_empty(make: Make) -> None:
    finished = await make().run(Command(shell="cat; read line || echo end", timeout_seconds=5))
    assert finished.head == b"end\n"


async def there_is_no_terminal(make: Make) -> None:
    finished = await make().run(
        Command(shell="test -t 0 || test -t 1 || (: </dev/tty) 2>/dev/null || echo none")
    )
    assert finished.head == b"none\n"


async def a_command_runs_in_its_cwd(make: Make) -> None:
    env = make()
    await env.write("dir/file", b"")
    assert (await env.run(Command(argv=("ls",), cwd="dir"))).head == b"file\n"
    assert (await env.run(Command(argv=("ls",)))).head == b"dir\n"


async def a_cwd_that_is_gone_is_missing(make: Make) -> None:
    env = make()
    await env.write("file", b"")
    await raises(FileMissing, env.run(Command(argv=("true",), cwd="gone")))
    await refused(env.run(Command(argv=("true",), cwd="file")))
    await sh(env, 'rm -r "$PWD"')
    await raises(FileMissing, env.run(Command(argv=("true",))))


async def secrets_are_not_in_the_environment(make: Make) -> None:
    # The guardian's or shell's copy counts too: what a parent has, its child can look at.
    finished = await make().run(
        Command(shell="env; tr '\\0' '\\n' </proc/$PPID/environ 2>/dev/null; true")
    )
    assert b"PLANTED_PLAIN=planted-plain" in finished.head
    assert b"planted-secret" not in finished.head + finished.tail


async def the_environment_is_for_unattended_use(make: Make) -> None:
    finished = await make().run(
        Command(shell="echo $PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $DEBIAN_FRONTEND $TERM")
    )
    assert finished.head == b"cat cat 0 noninteractive dumb\n"


async def a_commands_own_variables_are_added(make: Make) -> None:
    finished = await make().run(
        Command(shell='echo "$EXTRA,$PAGER"', env={"EXTRA": "a\nb", "PAGER": "less"})
    )
    assert finished.head == b"a\nb,less\n"


async def output_is_in_a_file_in_the_order_it_came(make: Make) -> None:
    env = make()
    # Opening /dev/stderr anew must not truncate what was written before.
    script = "echo a; echo b >&2; echo c >/dev/stderr; echo d"
    finished = await env.run(Command(shell=script, output_path="out/file"))
    assert finished.output_path == f"{env.cwd}/out/file"
    assert await env.read("out/file", bytes_max=100) == b"a\nb\nc\nd\n" == finished.head
    again = await env.run(Command(shell="echo new", output_path="out/file"))
    assert await env.read("out/file", bytes_max=100) == b"new\n"
    assert again.output_bytes == 4
    unnamed = await env.run(Command(shell="echo unnamed"))
    assert (unnamed.output_path, unnamed.head) == (None, b"unnamed\n")


async def previews_are_the_two_ends_of_the_output(make: Make) -> None:
    env = make()
    for length, head, tail in (
        (4, b"0123", b""),
        (5, b"0123", b"4"),
        (8, b"0123", b"4567"),
        (10, b"0123", b"6789"),
    ):
        command = Command(argv=("printf", "0123456789"[:length]))
        finished = await env.run(command, preview_bytes=4)
        assert (finished.output_bytes, finished.head, finished.tail) == (length, head, tail)


async def output_past_its_limit_ends_the_command(make: Make) -> None:
    with anyio.fail_after(10):
        finished = await make().run(
            Command(shell="yes", output_bytes_max=1_000_000), preview_bytes=10
        )
    assert finished.reason == "output_limit"
    assert finished.output_bytes == 1_000_000
    assert finished.exit_code is None


async def output_cut_short_is_always_said(make: Make) -> None:
    finished = await make().run(Command(shell="echo 12345", output_bytes_max=4))
    assert (finished.reason, finished.head) == ("output_limit", b"1234")
    exact = await make().run(Command(shell="echo 12345", output_bytes_max=6))
    assert (exact.reason, exact.head) == ("exited", b"12345\n")


async def a_child_left_behind_neither_delays_nor_survives(make: Make) -> None:
    env = make()
    with anyio.fail_after(5):
        finished = await sh(env, "sleep 1000 & echo $! >pids; echo done")
    assert (finished.exit_code, finished.head) == (0, b"done\n")
    await _all_gone(env, "pids")


async def a_filter_that_is_about_to_end_may_finish(make: Make) -> None:
    finished = await make().run(Command(shell="(sleep 0.02; echo late) & echo early"))
    assert finished.head == b"early\nlate\n"


async def a_timeout_ends_the_whole_tree(make: Make) -> None:
    env = make()
    with anyio.fail_after(10):
        finished = await env.run(
            Command(shell=f"trap '' TERM; {_TREE}; echo shown; wait", timeout_seconds=0.5)
        )
    assert (finished.exit_code, finished.signal, finished.reason) == (None, 9, "timeout")
    assert finished.head == b"shown\n"
    await _all_gone(env, "pids")


async def a_cancel_ends_the_whole_tree(make: Make) -> None:
    env = make()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(env.run, Command(shell=f"trap '' TERM; {_TREE}; wait"))
            while len((await sh(env, "cat pids 2>/dev/null; true")).head.split()) < 3:
                await anyio.sleep(0.01)
            cancelled_at = anyio.current_time()
            tasks.cancel_scope.cancel()
    assert anyio.current_time() - cancelled_at < KILLED_SECONDS
    await _all_gone(env, "pids")


async def commands_run_side_by_side(make: Make) -> None:
    env = make()
    done = []

    async def run(number: int) -> None:
        # Each waits for all the others to be there: one after the other would never end.
        script = f": >here{number}; while [ $(ls here* | wc -l) -lt 4 ]; do sleep 0.01; done"
        finished = await env.run(Command(shell=script, timeout_seconds=10))
        done.append(finished.reason)

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(run, number)
    assert done == ["exited"] * 4


COMMAND_CHECKS: tuple[Check, ...] = (
    a_command_gives_its_exit_code,
    a_command_killed_by_a_signal_says_which,
    a_command_that_does_not_exist_ends_with_127,
    arguments_arrive_as_they_are,
    a_script_may_begin_with_a_dash,
    a_command_with_a_nul_is_refused,
    stdin_is_empty,
    there_is_no_terminal,
    a_command_runs_in_its_cwd,
    a_cwd_that_is_gone_is_missing,
    secrets_are_not_in_the_environment,
    the_environment_is_for_unattended_use,
    a_commands_own_variables_are_added,
    output_is_in_a_file_in_the_order_it_came,
    previews_are_the_two_ends_of_the_output,
    output_past_its_limit_ends_the_command,
    output_cut_short_is_always_said,
    a_child_left_behind_neither_delays_nor_survives,
    a_filter_that_is_about_to_end_may_finish,
    a_timeout_ends_the_whole_tree,
    a_cancel_ends_the_whole_tree,
    commands_run_side_by_side,
)


_TREE = (
    "echo $$ >>pids; sleep 1000 & echo $! >>pids; (sh -c 'echo $$ >>pids; sleep 1000; true') & true"
)
"""A shell with a child and a grandchild, all of whose pids are in the file `pids`."""


async def _all_gone(env: ExecEnv, pids: str) -> None:
    script = f"for pid in $(cat {pids}); do kill -0 $pid 2>/dev/null && echo $pid; done; true"
    with anyio.move_on_after(KILLED_SECONDS):
        while (await sh(env, script)).head:
            await anyio.sleep(0.05)
        return
    raise AssertionError(f"still there: {(await sh(env, script)).head!r}")
