"""The two tools. They reach the world through the exec env alone."""

import hashlib
from typing import Annotated

import msgspec

from noeta.core.events import NO_EVIDENCE
from noeta.core.execenv import Command, ExecEnvError, Finished
from noeta.core.tool import Tool, ToolContext, ToolOutput
from noeta.plugins.workbench import texts

PREVIEW_BYTES = 15_000
"""Of a command's output, this much of its start and this much of its end reach the model."""


class WriteInput(msgspec.Struct, kw_only=True):
    """Input of Write."""

    file_path: Annotated[str, msgspec.Meta(min_length=1, description="Where to write.")]
    content: Annotated[str, msgspec.Meta(description="The whole new content.")]


class BashInput(msgspec.Struct, kw_only=True):
    """Input of Bash."""

    command: Annotated[str, msgspec.Meta(min_length=1, description="The script to run.")]
    timeout: Annotated[
        int, msgspec.Meta(ge=1, le=600_000, description="Time limit in milliseconds.")
    ] = 120_000
    description: Annotated[str, msgspec.Meta(description="What it does, in a few words.")] = ""


class WriteEvidence(msgspec.Struct, kw_only=True):
    """What recovery can compare a file with: its sha256 before and after; None: no file."""

    before: str | None
    after: str


async def prepare_write(asked: WriteInput, ctx: ToolContext) -> msgspec.Raw:
    """The file's hash before the write and as it will be."""
    try:
        before = await ctx.env.digest(asked.file_path)
    except ExecEnvError:
        # The write itself will say what is wrong with the path.
        return NO_EVIDENCE
    evidence = WriteEvidence(before=before, after=_sha256(asked.content))
    return msgspec.Raw(msgspec.json.encode(evidence))


async def write(asked: WriteInput, ctx: ToolContext) -> ToolOutput:
    """Write the file, unless it changed since the call was prepared."""
    data = asked.content.encode("utf-8", errors="surrogatepass")
    evidence = msgspec.json.decode(ctx.evidence, type=WriteEvidence | None)
    before = evidence.before if evidence is not None else None
    try:
        await ctx.env.write(asked.file_path, data, expect=before, create_only=before is None)
    except ExecEnvError as error:
        return ToolOutput(text=str(error), is_error=True)
    verb = "Created" if before is None else "Replaced"
    return ToolOutput(text=f"{verb} {asked.file_path} ({len(data)} bytes).")


async def bash(asked: BashInput, ctx: ToolContext) -> ToolOutput:
    """Run the command to its end."""
    command = Command(
        shell=asked.command,
        timeout_seconds=asked.timeout / 1000,
        env={"NOETA_IDEMPOTENCY_KEY": ctx.idempotency_key},
    )
    try:
        finished = await ctx.env.run(command, preview_bytes=PREVIEW_BYTES)
    except ExecEnvError as error:
        return ToolOutput(text=str(error), is_error=True)
    failed = finished.exit_code != 0
    parts = [_output(finished), _ending(finished, asked.timeout) if failed else ""]
    return ToolOutput(text="\n".join(part for part in parts if part), is_error=failed)


def _output(finished: Finished) -> str:
    head = finished.head.decode("utf-8", errors="replace")
    tail = finished.tail.decode("utf-8", errors="replace")
    hidden = finished.output_bytes - len(finished.head) - len(finished.tail)
    if hidden > 0:
        head = f"{head}\n[{hidden} bytes are left out here]\n"
    return (head + tail).rstrip("\n")


def _ending(finished: Finished, timeout_ms: int) -> str:
    match finished.reason:
        case "timeout":
            return f"The command was stopped at its time limit of {timeout_ms} ms."
        case "output_limit":
            return f"The command was stopped: it wrote more than {finished.output_bytes} bytes."
        case "exited" if finished.signal is not None:
            return f"The command was ended by signal {finished.signal}."
        case "exited":
            return f"Exit code {finished.exit_code}."


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


WRITE = Tool(
    name="Write",
    description=texts.WRITE,
    input=WriteInput,
    prepare=prepare_write,
    run=write,
)
BASH = Tool(name="Bash", description=texts.BASH, input=BashInput, run=bash)
