"""What every exec env must do, as checks that any of them can be put through.

A check takes a maker and raises AssertionError when a rule is broken. `make()` gives an env whose
cwd is a fresh, empty directory, and in whose own environment, before it is scrubbed, the
variables of PLANTED_ENVIRON stand. The checks use the env alone (links and fifos are made by its
own commands), so they work where the files are on another machine. They need a POSIX shell there
with the usual small commands.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_the_contract_is_kept(check: Check) -> None:
        await check(make_my_env)
"""

from noeta.testing.execenv_check import Check
from noeta.testing.execenv_command_checks import COMMAND_CHECKS
from noeta.testing.execenv_file_checks import FILE_CHECKS

PLANTED_ENVIRON = {
    "ANTHROPIC_API_KEY": "planted-secret-1",
    "OPENAI_API_KEY": "planted-secret-2",
    "NOETA_TOKEN": "planted-secret-3",
    "DATABASE_URL": "planted-secret-4",
    "PGPASSWORD": "planted-secret-5",
    "PLANTED_ADDRESS": "postgresql://user:planted-secret-6@host/db",
    "PLANTED_PLAIN": "planted-plain",
}
"""A maker adds these to its env's environment; only the last may reach a command."""

CHECKS: tuple[Check, ...] = (*FILE_CHECKS, *COMMAND_CHECKS)
