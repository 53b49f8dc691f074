"""Paths as the model gives them: refused when they can name nothing, else what is there."""

from noeta.core.execenv import ExecEnvError, FileStat
from noeta.core.tool import InvalidInput, ToolContext
from noeta.plugins.files import texts

FILE_BYTES_MAX = 32 * 1024 * 1024
"""Of a file that is held in memory whole, as an edit does."""


def check_path(path: str, what: str = "path") -> None:
    """Raises InvalidInput for a path that cannot be meant."""
    if not path:
        raise InvalidInput(texts.empty(what))
    if "\0" in path:
        raise InvalidInput(texts.nul_in(what))
    if path == "~" or path.startswith("~/"):
        raise InvalidInput(texts.home_path(path))


async def stat_file(path: str, ctx: ToolContext) -> FileStat | None:
    """The file at a path, links followed; None: nothing is there. Raises InvalidInput."""
    check_path(path)
    try:
        found = await ctx.env.stat(path)
    except ExecEnvError as error:
        raise InvalidInput(texts.unusable(error)) from error
    if found is None or found.kind == "file":
        return found
    if found.kind == "directory":
        raise InvalidInput(texts.a_directory(path))
    raise InvalidInput(texts.no_regular_file(path))


def shown_text(text: str) -> str:
    """The text as it can be written down: a file name may hold what is no character."""
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")
