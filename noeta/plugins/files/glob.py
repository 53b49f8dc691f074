"""Glob: files by their paths, the newest first."""

from typing import Annotated

import anyio
import msgspec

from noeta.core.execenv import ExecEnvError
from noeta.core.tool import InvalidInput, Tool, ToolContext, ToolFlags, ToolOutput
from noeta.plugins.files import search_texts, texts
from noeta.plugins.files.paths import check_path, shown_text
from noeta.plugins.files.pattern import joined, regex_of, split

FILES_MAX = 100
SECONDS_MAX = 30.0


class GlobInput(msgspec.Struct, kw_only=True):
    """Input of Glob."""

    pattern: str
    path: Annotated[str, msgspec.Meta(description="Directory to search in.")] | None = None


async def glob(asked: GlobInput, ctx: ToolContext) -> ToolOutput:
    """List the files."""
    try:
        return await _glob(asked.pattern, asked.path or ".", ctx)
    except InvalidInput as error:
        return ToolOutput(text=str(error), is_error=True)
    except ExecEnvError as error:
        return ToolOutput(text=texts.unusable(error), is_error=True)


async def _glob(pattern: str, path: str, ctx: ToolContext) -> ToolOutput:
    check_path(pattern, "pattern")
    check_path(path)
    start, rest = split(pattern)
    regex = regex_of(rest)
    root = joined(path, start)
    found = await ctx.env.stat(root)
    if found is None:
        raise InvalidInput(search_texts.no_such_directory(root, ctx.env.cwd))
    if found.kind != "directory":
        raise InvalidInput(search_texts.a_file(root))
    skip = () if ".git" in joined(path, pattern).split("/") else (".git",)
    with anyio.move_on_after(SECONDS_MAX) as scope:
        files = await ctx.env.find(root, regex=regex, skip_names=skip, count_max=FILES_MAX)
    if scope.cancelled_caught:
        raise InvalidInput(search_texts.GLOB_SLOW.format(seconds=SECONDS_MAX))
    if not files.paths:
        return ToolOutput(text=search_texts.no_files(rest, root))
    lines = [shown_text(joined(root, name)) for name in files.paths]
    if files.files_count > len(lines):
        lines.append(search_texts.files_left_out(shown=len(lines), total=files.files_count))
    return ToolOutput(text="\n".join(lines))


GLOB = Tool(
    name="Glob",
    description=search_texts.GLOB,
    input=GlobInput,
    run=glob,
    flags=ToolFlags(retry_safe=True, parallel=True),
)
