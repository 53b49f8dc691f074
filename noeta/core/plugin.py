"""Plugins: everything that is not the kernel, on one surface.

A plugin is a value too: tools, gates before a call, parts of the system prompt and a fold of its
own records. It holds neither the store nor the runner nor another plugin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from noeta.core.errors import NoetaError
from noeta.core.fold import PluginFold
from noeta.core.tool import AnyTool
from noeta.core.view import TaskView


class PluginError(NoetaError):
    """A plugin is broken, missing or collides with another; the message names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCall:
    """A call at a gate."""

    call_id: str
    name: str
    input: msgspec.Struct
    """Parsed."""


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run; with another input when one is given."""

    input: msgspec.Raw | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must say yes first."""

    reason: str


@dataclass(frozen=True, slots=True)
class Deny:
    """The call must not run; the model reads the reason."""

    reason: str


Verdict = Allow | Ask | Deny
Gate = Callable[[GateCall, TaskView], Verdict]
"""Pure. An exception in it is a Deny."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What one plugin brings."""

    name: str
    version: str
    tools: Sequence[AnyTool] = ()
    gates: Sequence[Gate] = ()
    system: Callable[[TaskView], str] | None = None
    """Its part of the system prompt. Logged when it changes, between turns."""
    fold: PluginFold | None = None
    args_hash: str = ""
    source: str = field(default="")
    """Where it came from, for the pin: a distribution or a file."""
