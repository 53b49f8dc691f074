"""What Write and Edit leave before they write, and what it proves after a crash."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from noeta.core.execenv import ExecEnvError, FileChanged
from noeta.core.tool import InvalidInput, ToolContext, ToolOutput
from noeta.plugins.files import seen, texts
from noeta.plugins.files.paths import shown_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file's new bytes, decided and not yet written."""

    path: str
    """Resolved, as far as there is something to resolve."""
    before: str | None
    """The sha256 it was decided on; None: there was no file."""
    data: bytes
    whole: bool
    """Whether the model knows all of the new bytes."""
    text: str
    """The result, once it is written."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What `prepare` records of a change."""

    path: str
    before: str | None
    after: str
    whole: bool
    text: str


def evidence_of(change: Change) -> msgspec.Raw:
    """The change as it stands in ToolStarted."""
    evidence = Evidence(
        path=shown_text(change.path),
        before=change.before,
        after=hashlib.sha256(change.data).hexdigest(),
        whole=change.whole,
        text=change.text,
    )
    return msgspec.Raw(msgspec.json.encode(evidence))


async def carry_out(change: Change, name: str, ctx: ToolContext) -> ToolOutput:
    """Write the change if the file is still what it was when the call was prepared."""
    prepared = msgspec.json.decode(ctx.evidence, type=Evidence)
    if (change.path, change.before) != (prepared.path, prepared.before):
        return ToolOutput(text=texts.changed_meanwhile(name), is_error=True)
    before = change.before
    try:
        after = await ctx.env.write(
            change.path, change.data, expect=before, create_only=before is None
        )
        found = await ctx.env.stat(change.path) if before is None else None
    except FileChanged:
        return ToolOutput(text=texts.changed_meanwhile(name), is_error=True)
    except ExecEnvError as error:
        return ToolOutput(text=texts.unusable(error), is_error=True)
    path = found.path if found is not None else change.path
    records = seen.record(path=path, sha256=after, whole=change.whole)
    return ToolOutput(text=change.text, records=records)


class Writes(Protocol):
    """An input that names the file it is about."""

    @property
    def file_path(self) -> str:
        """As the model wrote it."""


Asked = TypeVar("Asked", bound=Writes)
Decide = Callable[[Asked, ToolContext], Awaitable[Change]]


def writing(
    decide: Decide[Asked],
) -> tuple[
    Callable[[Asked, ToolContext], Awaitable[msgspec.Raw]],
    Callable[[Asked, ToolContext], Awaitable[ToolOutput]],
]:
    """`prepare` and `run` of a tool whose change is decided so: once before the call is recorded
    as started, and once more, on what is there then, to carry it out."""

    async def prepare(asked: Asked, ctx: ToolContext) -> msgspec.Raw:
        try:
            return evidence_of(await decide(asked, ctx))
        except ExecEnvError as error:
            raise InvalidInput(texts.unusable(error)) from error

    async def run(asked: Asked, ctx: ToolContext) -> ToolOutput:
        try:
            return await carry_out(await decide(asked, ctx), asked.file_path, ctx)
        except InvalidInput as error:
            return ToolOutput(text=str(error), is_error=True)
        except ExecEnvError as error:
            return ToolOutput(text=texts.unusable(error), is_error=True)

    return prepare, run


async def recover(asked: msgspec.Struct, ctx: ToolContext) -> ToolOutput | None:
    """Done when the file holds the bytes that were to be written. Anything else proves nothing:
    they may have been written and changed since, or a frozen worker may still write them."""
    evidence = msgspec.json.decode(ctx.evidence, type=Evidence | None)
    if evidence is None:
        return None
    try:
        found = await ctx.env.stat(evidence.path)
        if found is None or await ctx.env.digest(found.path) != evidence.after:
            return None
    except ExecEnvError:
        return None
    records = seen.record(path=found.path, sha256=evidence.after, whole=evidence.whole)
    return ToolOutput(text=evidence.text, records=records)
