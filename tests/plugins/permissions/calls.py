"""Calls and rules for the tests."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

from noeta.plugins.permissions import (
    Call,
    Decision,
    HookResult,
    Lists,
    Mode,
    Place,
    Rules,
    decide,
    load_rules,
    paths_of,
)
from noeta.plugins.permissions.rules import Scope

CWD = "/data/app"
HOME = "/people/ada"


def call(
    tool: str,
    fields: Mapping[str, object],
    *,
    cwd: str = CWD,
    added_dirs: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    hard_linked: Sequence[str] = (),
    hook: HookResult | None = None,
) -> Call:
    """A call whose paths lead where they say, except for links: from a directory to another."""
    place = Place(cwd=cwd, home=HOME, added_dirs=tuple(added_dirs))
    asked = Call(tool=tool, input=fields, place=place, hook=hook)
    targets = {path: _target(path, links or {}) for path in paths_of(asked)}
    there = replace(place, targets=targets, hard_linked=frozenset(hard_linked))
    return replace(asked, place=there)


def _target(path: str, links: Mapping[str, str]) -> str:
    for link, target in links.items():
        if path == link or path.startswith(link + "/"):
            return posixpath.normpath(target + path[len(link) :])
    return posixpath.normpath(path)


def bash(command: str, **place: object) -> Call:
    """A call of Bash."""
    return call("Bash", {"command": command}, **place)  # type: ignore[arg-type]


def rules(
    *,
    allow: Sequence[str] = (),
    ask: Sequence[str] = (),
    deny: Sequence[str] = (),
    scope: Scope = "user",
    root: str = HOME,
) -> Rules:
    """Rules of one scope."""
    return load_rules(
        [Lists(scope=scope, where="settings.toml", root=root, allow=allow, ask=ask, deny=deny)]
    )


def outcome(
    asked: Call, given: Rules | None = None, mode: Mode = "default", trust: bool = True
) -> str:
    """Only what was decided."""
    return decision(asked, given, mode, trust).outcome


def decision(
    asked: Call, given: Rules | None = None, mode: Mode = "default", trust: bool = True
) -> Decision:
    """The decision."""
    return decide(asked, given or Rules(), mode, trust)
