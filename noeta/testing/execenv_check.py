"""What a check of the exec env contract is, and the words that checks are written in."""

from collections.abc import Awaitable, Callable

from noeta.core.execenv import Command, ExecEnv, ExecEnvError, FileRefused, Finished

Make = Callable[[], ExecEnv]
"""Gives an env as `execenv_contract.py` wants it."""

Check = Callable[[Make], Awaitable[None]]
"""Raises AssertionError when its rule is broken."""


async def sh(env: ExecEnv, script: str) -> Finished:
    """Run a script, which is given 10 s."""
    return await env.run(Command(shell=script, timeout_seconds=10))


async def raises(kind: type[ExecEnvError], call: Awaitable[object]) -> None:
    """The call must raise an error of this kind, with words."""
    try:
        await call
    except kind as error:
        assert str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")


async def refused(call: Awaitable[object]) -> None:
    """The call must raise FileRefused."""
    await raises(FileRefused, call)
