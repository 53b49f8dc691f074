"""A call about one path: read, search, write or edit."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.paths import (
    Place,
    absolute,
    is_worked_in,
    names_of,
    protected_part,
    spec_covers,
)
from noeta.plugins.permissions.rules import EDIT_TOOLS, Rule
from noeta.plugins.permissions.subject import Call, Grant, Guard, Mode, Open, field_hit


def path_of(call: Call) -> str:
    """The path that a file tool is called about, absolute, with its `..` kept."""
    place = call.place
    named = call.text("file_path") or call.text("notebook_path")
    text = named or call.text("path")
    if call.tool == "Glob":
        pattern = call.text("pattern")
        head = re.split(r"[*?\[{]", pattern, maxsplit=1)[0]
        head = head if head == pattern else head.rpartition("/")[0]
        if pattern.startswith("/"):
            text = head or "/"
        elif ".." in head.split("/"):
            text = f"{text or place.cwd}/{head}"
    return absolute(text, place.cwd, place.home) if text else place.cwd


def covers(rule: Rule, path: str, place: Place) -> bool:
    """Whether a path rule is about the path: to allow by both names of it, else by either."""
    if rule.spec_kind == "any":
        return True
    lexical, target = names_of(path, place)
    allows = rule.kind == "allow"
    if allows and target is None:
        return False

    def one(name: str) -> bool:
        return spec_covers(rule.spec, name, root=rule.root, place=place, anywhere=not allows)

    names = [one(lexical), one(target if target is not None else lexical)]
    return all(names) if allows else any(names)


def edit_guards(path: str, place: Place) -> list[Guard]:
    """Why a write to the path is asked about whatever the rules allow."""
    lexical, target = names_of(path, place)
    protected = protected_part(path, place)
    guards: list[Guard] = []
    if protected is not None:
        guards.append(Guard(texts.PROTECTED.format(path=lexical, part=protected), False))
    if target is None:
        guards.append(Guard(texts.TARGET_UNKNOWN.format(path=lexical), False))
    if path in place.hard_linked or lexical in place.hard_linked:
        guards.append(Guard(texts.HARD_LINKED.format(path=lexical), False))
    return guards


@dataclass(frozen=True, slots=True)
class PathSubject:
    """A call of a file tool."""

    call: Call
    path: str

    @property
    def edits(self) -> bool:
        """Whether it writes."""
        return self.call.tool in EDIT_TOOLS

    def hit(self, rule: Rule) -> bool:
        """See Subject."""
        if rule.spec_kind == "field":
            return field_hit(rule, self.call)
        if not rule.names(self.call.tool) or rule.spec_kind == "name":
            return False
        return covers(rule, self.path, self.call.place)

    def may_hit(self, rule: Rule) -> bool:
        """See Subject."""
        return False

    def guards(self) -> Sequence[Guard]:
        """See Subject."""
        return edit_guards(self.path, self.call.place) if self.edits else []

    def writes(self) -> str | None:
        """See Subject."""
        return names_of(self.path, self.call.place)[0] if self.edits else None

    def granted(self, allow: Sequence[Rule], mode: Mode) -> Grant | Open:
        """See Subject."""
        rule = next((rule for rule in allow if self.hit(rule)), None)
        if rule is not None:
            return Grant(texts.ALLOWED.format(rule=rule.text), rule)
        if not self.edits:
            return Grant(texts.READS)
        lexical, target = names_of(self.path, self.call.place)
        if is_worked_in(self.path, self.call.place):
            if mode == "acceptEdits":
                return Grant(texts.ACCEPTED)
            return Open(texts.WRITES.format(path=lexical))
        if target is not None and target != lexical:
            return Open(texts.WRITES_BEHIND.format(path=lexical, target=target))
        return Open(texts.WRITES_OUTSIDE.format(path=lexical))
