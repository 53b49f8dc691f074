"""The engine as a gate of a plugin: from a call and a view to a verdict."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from noeta.core.plugin import Allow, Ask, Deny, Gate, GateCall, Verdict
from noeta.core.view import TaskView
from noeta.plugins.permissions import texts
from noeta.plugins.permissions.decide import Decision, decide, paths_of
from noeta.plugins.permissions.paths import Place
from noeta.plugins.permissions.rules import Rules
from noeta.plugins.permissions.subject import MODES, Call, Mode

Look = Callable[[Sequence[str]], tuple[dict[str, str], frozenset[str]]]
"""Where each path really leads, and which of them are files with a second name. The one thing here
that looks at a disk: the host hands it in. Without it no path is known, and writes are asked."""


def make_gate(
    rules: Callable[[TaskView], Rules],
    *,
    trust: Callable[[TaskView], bool],
    home: str,
    added_dirs: Callable[[TaskView], Sequence[str]] = lambda _: (),
    look: Look | None = None,
) -> Gate:
    """A gate that decides by these rules. Each is asked for at every call: settings change."""

    def gate(call: GateCall, view: TaskView) -> Verdict:
        asked = call_of(call, view, home=home, added_dirs=added_dirs(view), look=look)
        mode = mode_of(view)
        if mode is None:
            return Ask(texts.MODE.format(mode=view.permission_mode))
        return verdict(decide(asked, rules(view), mode, trust(view)))

    return gate


def call_of(
    call: GateCall,
    view: TaskView,
    *,
    home: str,
    added_dirs: Sequence[str] = (),
    look: Look | None = None,
) -> Call:
    """The call as `decide` takes it, with the facts about its paths."""
    fields = msgspec.to_builtins(call.input)
    place = Place(cwd=view.cwd, home=home, added_dirs=tuple(added_dirs))
    asked = Call(tool=call.name, input=fields if isinstance(fields, dict) else {}, place=place)
    if look is None:
        return asked
    targets, hard_linked = look(paths_of(asked))
    return replace(asked, place=replace(place, targets=targets, hard_linked=hard_linked))


def mode_of(view: TaskView) -> Mode | None:
    """The task's mode; None: one that this version does not know."""
    return next((mode for mode in MODES if mode == view.permission_mode), None)


def verdict(decision: Decision) -> Verdict:
    """The decision as the kernel takes it."""
    match decision.outcome:
        case "allow":
            return Allow()
        case "ask":
            return Ask(decision.reason)
        case "deny":
            return Deny(decision.reason)
