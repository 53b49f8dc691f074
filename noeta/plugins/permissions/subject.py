"""What `decide` asks about a call, and the calls that are told apart by name, host or field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import urlsplit

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.paths import Place
from noeta.plugins.permissions.patterns import host_matches, pattern
from noeta.plugins.permissions.rules import Rule

Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")


@dataclass(frozen=True, slots=True)
class HookResult:
    """What the hooks before a call came to."""

    decision: Literal["deny", "defer", "ask", "allow"]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call as it is decided on: values, and nothing to be looked up."""

    tool: str
    input: Mapping[str, object]
    """As the model wrote it."""
    place: Place
    hook: HookResult | None = None

    def text(self, name: str) -> str:
        """A field of the input; empty when it is missing or no text."""
        value = self.input.get(name)
        return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Guard:
    """A reason to ask that no rule that allows can answer."""

    reason: str
    always: bool
    """In bypassPermissions too."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The call may run."""

    reason: str
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """Nothing says that the call may run."""

    reason: str


class Subject(Protocol):
    """One call, ready to be compared with rules."""

    def hit(self, rule: Rule) -> bool:
        """Whether a rule that denies or asks is about the call."""

    def may_hit(self, rule: Rule) -> bool:
        """Whether it may be, by what only the run will show."""

    def guards(self) -> Sequence[Guard]:
        """Why it is asked about before any rule can allow it."""

    def writes(self) -> str | None:
        """What it changes, in words; None: nothing that is known of."""

    def granted(self, allow: Sequence[Rule], mode: Mode) -> Grant | Open:
        """Whether the rules that allow, or the mode, are enough for it."""


READS = names(
    "Read Glob Grep LSP BashOutput TaskOutput KillShell TaskStop TodoWrite TaskGet TaskList"
    " TaskCreate TaskUpdate ToolSearch WaitForMcpServers ListMcpResources ListAgents CronList"
    " AskUserQuestion EnterPlanMode SubagentHandback Agent"
)
"""Tools that change nothing outside the task, or whose own calls are each decided on."""

NEEDS_A_PERSON = frozenset(["ExitPlanMode"])


@dataclass(frozen=True, slots=True)
class PlainSubject:
    """A call that is told apart by its tool's name, its host, its name or a field."""

    call: Call
    host: str | None = field(default=None)

    def hit(self, rule: Rule) -> bool:
        """See Subject."""
        if not rule.names(self.call.tool):
            return False
        match rule.spec_kind:
            case "any":
                return True
            case "field":
                return field_hit(rule, self.call)
            case "domain":
                return self.host is not None and host_matches(rule.spec, self.host)
            case "name":
                return pattern(rule.spec).matches(self._name())
            case _:
                return False

    def may_hit(self, rule: Rule) -> bool:
        """See Subject."""
        return rule.spec_kind == "domain" and self.call.tool == "WebFetch" and self.host is None

    def guards(self) -> Sequence[Guard]:
        """See Subject."""
        return [Guard(texts.NEEDS_A_PERSON, True)] if self.call.tool in NEEDS_A_PERSON else []

    def writes(self) -> str | None:
        """See Subject."""
        return None

    def granted(self, allow: Sequence[Rule], mode: Mode) -> Grant | Open:
        """See Subject."""
        rule = next((rule for rule in allow if self.hit(rule)), None)
        if rule is not None:
            return Grant(texts.ALLOWED.format(rule=rule.text), rule)
        if self.call.tool in READS:
            return Grant(texts.READS)
        if self.call.tool == "WebFetch":
            return Open(texts.HOST.format(host=self.host or "?"))
        return Open(texts.NO_RULE.format(what=self.call.tool))

    def _name(self) -> str:
        if self.call.tool == "Skill":
            return f"{self.call.text('skill')} {self.call.text('args')}".strip()
        return self.call.text("subagent_type")


def plain_subject(call: Call) -> PlainSubject:
    """The subject of a call of any tool that is neither a command nor about a path."""
    return PlainSubject(call, _host(call.text("url")) if call.tool == "WebFetch" else None)


def field_hit(rule: Rule, call: Call) -> bool:
    """Whether a `field:value` rule is about the call: the value as written, or `*` for any."""
    if rule.field not in call.input or not rule.names(call.tool):
        return False
    value = call.input[rule.field]
    match value:
        case bool():
            text = "true" if value else "false"
        case str() | int() | float():
            text = str(value)
        case _:
            return False
    return rule.spec in ("*", text)


def _host(url: str) -> str | None:
    # Programs differ about what a backslash or a blank in a URL means, so no host is sure then.
    if any(char in url for char in "\\ \t\r\n") or not url.isprintable():
        return None
    try:
        return urlsplit(url if "://" in url else f"https://{url}").hostname
    except ValueError:
        return None
