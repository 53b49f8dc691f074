"""Grep: file contents, searched by ripgrep.

ripgrep writes a NUL after each path, which no path and no message of its own has. So entries are
told from its complaints, and a path from the line after it, whatever they hold.
"""

import os
import sys
from typing import Annotated, Literal

import msgspec

from noeta.core.execenv import Command, ExecEnvError, Finished
from noeta.core.tool import InvalidInput, Tool, ToolContext, ToolFlags, ToolOutput
from noeta.plugins.files import search_texts, texts
from noeta.plugins.files.found import Found, page_of
from noeta.plugins.files.paths import check_path
from noeta.plugins.files.pattern import joined

OUTPUT_BYTES_MAX = 8 * 1024 * 1024
"""Of ripgrep's output, which is held in memory."""
SECONDS_MAX = 60.0
LINE_COLUMNS_MAX = 500
SOME_UNREAD = 2
NO_SUCH_COMMAND = 127
CANNOT_EXECUTE = 126

Count = Annotated[int, msgspec.Meta(ge=0)]


class GrepInput(msgspec.Struct, kw_only=True):
    """Input of Grep."""

    pattern: str
    path: Annotated[str, msgspec.Meta(description="File or directory to search.")] | None = None
    glob: Annotated[str, msgspec.Meta(description="Such as *.py or !test_*.")] | None = None
    type: Annotated[str, msgspec.Meta(description="File type, such as py.")] | None = None
    output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches"
    after: Annotated[Count, msgspec.Meta(description="Lines after.")] = msgspec.field(
        name="-A", default=0
    )
    before: Annotated[Count, msgspec.Meta(description="Lines before.")] = msgspec.field(
        name="-B", default=0
    )
    around: Annotated[Count, msgspec.Meta(description="Lines around.")] = msgspec.field(
        name="-C", default=0
    )
    context: Annotated[Count, msgspec.Meta(description="As -C.")] = 0
    numbers: Annotated[bool, msgspec.Meta(description="Line numbers.")] = msgspec.field(
        name="-n", default=True
    )
    ignore_case: bool = msgspec.field(name="-i", default=False)
    only_matching: Annotated[bool, msgspec.Meta(description="Matches, not lines.")] = msgspec.field(
        name="-o", default=False
    )
    multiline: Annotated[bool, msgspec.Meta(description=". fits line ends too.")] = False
    head_limit: Annotated[Count, msgspec.Meta(description="Entries; 0: no limit.")] = 250
    offset: Annotated[Count, msgspec.Meta(description="Entries to skip.")] = 0


async def grep(asked: GrepInput, ctx: ToolContext) -> ToolOutput:
    """Search."""
    try:
        return await _grep(asked, ctx)
    except InvalidInput as error:
        return ToolOutput(text=str(error), is_error=True)
    except ExecEnvError as error:
        return ToolOutput(text=texts.unusable(error), is_error=True)


async def _grep(asked: GrepInput, ctx: ToolContext) -> ToolOutput:
    path = joined(asked.path or ".")
    check_path(asked.path or ".")
    for what in ("pattern", "glob", "type"):
        value = getattr(asked, what)
        if value is not None and "\0" in value:
            raise InvalidInput(texts.nul_in(what))
    if not asked.pattern:
        raise InvalidInput(texts.empty("pattern"))
    if await ctx.env.stat(path) is None:
        raise InvalidInput(search_texts.no_such_path(path, ctx.env.cwd))
    finished = await _run(arguments(asked, path), ctx)
    if finished.reason == "timeout":
        raise InvalidInput(search_texts.GREP_SLOW.format(seconds=SECONDS_MAX))
    output = finished.head + finished.tail
    if finished.reason == "exited" and finished.exit_code != 0 and b"\0" not in output:
        _raise_complaint(finished, output)
    found = Found.of(output, mode=asked.output_mode, is_cut=finished.reason == "output_limit")
    if not found.entries:
        nothing = search_texts.no_match(asked.pattern, path)
        unread = finished.exit_code == SOME_UNREAD
        return ToolOutput(text=f"{nothing} {search_texts.SOME_UNREAD}" if unread else nothing)
    return page_of(found, offset=asked.offset, limit=asked.head_limit)


def arguments(asked: GrepInput, path: str) -> tuple[str, ...]:
    """What ripgrep is told."""
    # Sorted, or what offset skips would be other entries each time.
    args = ["--no-config", "--no-messages", "--color=never", "--hidden", "--glob=!.git"]
    args += ["--sort=path", "--null", "--with-filename", "--no-heading"]
    match asked.output_mode:
        case "files_with_matches":
            args.append("--files-with-matches")
        case "count":
            args.append("--count-matches")
        case "content":
            args += ["--max-columns-preview", f"--max-columns={LINE_COLUMNS_MAX}"]
            args.append("--line-number" if asked.numbers else "--no-line-number")
            around = asked.around or asked.context
            args += [f"--before-context={asked.before or around}"]
            args += [f"--after-context={asked.after or around}"]
            args += ["--only-matching"] if asked.only_matching else []
    args += ["--ignore-case"] if asked.ignore_case else []
    args += ["--multiline", "--multiline-dotall"] if asked.multiline else []
    args += [f"--glob={asked.glob}"] if asked.glob else []
    args += [f"--type={asked.type}"] if asked.type else []
    return (*args, f"--regexp={asked.pattern}", "--", path)


async def _run(args: tuple[str, ...], ctx: ToolContext) -> Finished:
    # The wheel puts rg beside our Python, which need not be on the PATH.
    beside = os.path.join(sys.prefix, "bin", "rg")
    program = "rg" if await ctx.env.stat(beside) is None else beside
    command = Command(
        argv=(program, *args),
        timeout_seconds=SECONDS_MAX,
        output_bytes_max=OUTPUT_BYTES_MAX,
    )
    finished = await ctx.env.run(command, preview_bytes=OUTPUT_BYTES_MAX)
    if finished.exit_code in (NO_SUCH_COMMAND, CANNOT_EXECUTE):
        raise InvalidInput(search_texts.NO_RIPGREP)
    return finished


def _raise_complaint(finished: Finished, output: bytes) -> None:
    """Raise InvalidInput unless it ended with 1: that only means no match."""
    words = output.decode("utf-8", errors="replace").strip()
    if words:
        raise InvalidInput(search_texts.grep_refused(words))
    if finished.signal is not None:
        raise InvalidInput(search_texts.grep_failed(f"signal {finished.signal}"))


GREP = Tool(
    name="Grep",
    description=search_texts.GREP,
    input=GrepInput,
    run=grep,
    flags=ToolFlags(retry_safe=True, parallel=True),
)
