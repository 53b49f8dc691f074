"""Tools: what a model can call, and what recovery may do with a call that was cut short.

A tool is a value: a name, a description, a struct for its input and a few functions. `run` has
the effect. `prepare` looks, before `ToolStarted` is written, and leaves evidence; `recover`
is for a look-up after a crash, which the runner does not make yet, and may report only what it can
prove happened. A side effect is at most once unless the
tool says that running it again changes nothing (`retry_safe`).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from noeta.core import ids
from noeta.core.errors import NoetaError
from noeta.core.events import NO_EVIDENCE
from noeta.core.execenv import ExecEnv
from noeta.core.message import Media, ToolSpec

MAX_ATTEMPTS = 3
"""Starts of a `retry_safe` call whose worker dies, in all."""

Input = TypeVar("Input", bound=msgspec.Struct)


class InvalidInput(NoetaError):
    """The call's input does not fit; the message tells the model what to change.

    `prepare` raises it for a call that must not start.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFlags:
    """What a tool promises about its calls."""

    retry_safe: bool = False
    """Running it again changes nothing outside the call."""
    parallel: bool = False
    """Its calls may run beside each other; other calls wait for everything before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """What a call came to, as the model reads it."""

    text: str
    media: tuple[Media, ...] = ()
    """Images or documents beside the text."""
    is_error: bool = False
    records: tuple[msgspec.Raw, ...] = ()
    """JSON for the fold of the tool's plugin. They land in one append with the result, right
    after it, so that what a plugin remembers of a call is never more than what the model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a running call may use."""

    task_id: str
    call_id: str
    epoch: int
    """Of the claim it runs under; an outside system can fence by it."""
    env: ExecEnv
    evidence: msgspec.Raw = field(default_factory=lambda: NO_EVIDENCE)
    """What `prepare` left; set while the call runs and while it is recovered."""
    state: object = None
    """What the tool's plugin folded from its records before this call began; None before the
    first. It is frozen: records change it, nothing else."""

    @property
    def idempotency_key(self) -> str:
        """`<task id>:<call id>`, the same on every worker and every attempt."""
        return ids.idempotency_key(self.task_id, self.call_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[Input]):
    """One tool. Inputs are parsed once, before anything else sees them."""

    name: str
    description: str
    input: type[Input]
    run: Callable[[Input, ToolContext], Awaitable[ToolOutput]]
    """Has the effect. An exception becomes an error result."""
    prepare: Callable[[Input, ToolContext], Awaitable[msgspec.Raw]] | None = None
    """Looks before the call is recorded as started; must change nothing. InvalidInput from it
    refuses the call: its message is the result, and the call never starts."""
    recover: Callable[[Input, ToolContext], Awaitable[ToolOutput | None]] | None = None
    """What a cut-short call came to when that can be proved, else None. "It is not there" is no
    proof: a frozen worker may still do it."""
    flags: ToolFlags = field(default_factory=ToolFlags)
    version: str = "1"

    def spec(self) -> ToolSpec:
        """The tool as the model is told of it; the same bytes every time."""
        (schema,), components = msgspec.json.schema_components([self.input])
        body: dict[str, Any] = components.get(self.input.__name__, schema)
        shown = {k: v for k, v in body.items() if k != "title"}
        if len(components) > 1:
            shown["$defs"] = {k: v for k, v in components.items() if k != self.input.__name__}
        raw = msgspec.json.encode(shown, order="deterministic")
        return ToolSpec(name=self.name, description=self.description, input_schema=msgspec.Raw(raw))

    def parse(self, raw: msgspec.Raw) -> Input:
        """The call's input as a struct. Raises InvalidInput."""
        try:
            return msgspec.json.decode(raw, type=self.input)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The input of {self.name} does not fit: {error}.") from error


AnyTool = Tool[Any]
