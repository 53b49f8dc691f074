"""Rules: read from the settings of several scopes, once, into values that can be compared.

A rule is `Tool` or `Tool(spec)` in a list named allow, ask or deny. The lists of all scopes are
merged; no scope is stronger than another, deny is stronger than ask and ask than allow. What a
workspace's own settings allow counts only when the user trusts the workspace.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.paths import is_pattern
from noeta.plugins.permissions.patterns import pattern

Kind = Literal["allow", "ask", "deny"]
Scope = Literal["managed", "cli", "local", "project", "user", "task"]
SpecKind = Literal["any", "command", "path", "domain", "name", "field"]

_WORKSPACE: frozenset[Scope] = frozenset(["project", "local"])
EDIT_TOOLS = frozenset(["Edit", "Write", "MultiEdit", "NotebookEdit"])
READ_TOOLS = frozenset(["Read", "Glob", "Grep", "LSP"])

TOOLS: Mapping[str, frozenset[str]] = {
    "Bash": frozenset(["command", "run_in_background", "dangerouslyDisableSandbox"]),
    "Read": frozenset(["file_path", "offset", "limit", "pages"]),
    "Edit": frozenset(["file_path", "old_string", "new_string", "replace_all"]),
    "Write": frozenset(["file_path", "content"]),
    "MultiEdit": frozenset(["file_path"]),
    "NotebookEdit": frozenset(["notebook_path", "cell_id", "cell_type", "edit_mode"]),
    "Glob": frozenset(["pattern", "path"]),
    "Grep": frozenset(["pattern", "path", "glob", "type", "output_mode"]),
    "WebFetch": frozenset(["url", "prompt"]),
    "Agent": frozenset(["description", "prompt", "subagent_type", "model", "run_in_background",
                        "isolation", "name"]),
    "Skill": frozenset(["skill", "args"]),
}  # fmt: skip
"""Tools that rules may name in full, with the fields of their input that a rule may compare.
Not Bash's timeout: `Bash(timeout:*)` is about the program."""

PRIMARY = {
    "Bash": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path",
    "MultiEdit": "file_path", "NotebookEdit": "notebook_path", "Glob": "pattern",
    "Grep": "pattern", "WebFetch": "url", "Agent": "subagent_type", "Skill": "skill",
}  # fmt: skip
"""The field that a tool's own spec is about; no `field:value` rule may name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule as it is compared."""

    kind: Kind
    text: str
    """As it was written."""
    scope: Scope
    tool: str
    """A tool's name, or a pattern of names."""
    spec_kind: SpecKind = "any"
    spec: str = ""
    field: str = ""
    root: str = "/"
    """What `/path` is below."""

    def names(self, tool: str) -> bool:
        """Whether the rule is about this tool."""
        if self.tool == "Edit" and self.spec_kind in ("any", "path"):
            return tool in EDIT_TOOLS
        if self.tool == "Read" and self.spec_kind in ("any", "path"):
            return tool in READ_TOOLS
        if "*" in self.tool:
            return fnmatchcase(tool, self.tool)
        server = self.tool.startswith("mcp__") and self.tool.count("__") == 1
        return tool == self.tool or (server and tool.startswith(self.tool + "__"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """The three lists as one place of settings holds them."""

    scope: Scope
    where: str
    """What to call the place: a file, or an option."""
    root: str
    """The directory that its `/path` patterns are below."""
    allow: Sequence[str] = ()
    ask: Sequence[str] = ()
    deny: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a rule. An error: the rule is not in force. A warning: it is, for what
    it is worth."""

    level: Literal["error", "warning"]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules in force."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()

    def of(self, kind: Kind, trust: bool) -> tuple[Rule, ...]:
        """The rules of one list."""
        return tuple(
            rule
            for rule in self.rules
            if rule.kind == kind and (kind != "allow" or trust or rule.scope not in _WORKSPACE)
        )

    def plus(self, more: Iterable[Rule]) -> "Rules":
        """These rules and some more."""
        return Rules(rules=(*self.rules, *more), problems=self.problems)


def load_rules(lists: Iterable[Lists], tools: Mapping[str, Collection[str]] | None = None) -> Rules:
    """Read the lists of all scopes.

    tools: what the task can call beyond noeta's own, each with the fields of its input.
    """
    known: dict[str, Collection[str]] = {**TOOLS, **(tools or {})}
    rules: list[Rule] = []
    problems: list[Problem] = []
    for source in lists:
        kinds: tuple[tuple[Kind, Sequence[str]], ...] = (
            ("allow", source.allow), ("ask", source.ask), ("deny", source.deny)
        )  # fmt: skip
        for kind, entries in kinds:
            for text in entries:
                rule, found = parse_rule(text, kind, source, known)
                problems += found
                if rule is not None and rule not in rules:
                    rules.append(rule)
    return Rules(rules=tuple(rules), problems=tuple(problems))


def parse_rule(
    text: str, kind: Kind, source: Lists, tools: Mapping[str, Collection[str]] = TOOLS
) -> tuple[Rule | None, list[Problem]]:
    """One rule, or None when it cannot be in force, and what is wrong with it."""
    at = f"{source.where}: {kind} rule {text!r}"

    def error(sentence: str) -> tuple[None, list[Problem]]:
        return None, [Problem("error", f"{at} {sentence}")]

    match = re.fullmatch(r"([A-Za-z_*][\w*.-]*)(?:\((.*)\))?", text.strip(), re.DOTALL)
    if match is None:
        return error(texts.RULE_SHAPE)
    tool, spec = match[1], match[2]
    warnings: list[Problem] = []
    if "*" in tool:
        if kind == "allow" and not re.match(r"mcp__[^*_]+(?:_[^*_]+)*__", tool):
            return error(texts.RULE_GLOB)
        if spec is not None:
            return error(texts.RULE_GLOB_SPEC)
    elif tool not in tools and not tool.startswith("mcp__"):
        warnings.append(Problem("warning", f"{at} {texts.RULE_TOOL.format(tool=tool)}"))
    if spec is None:
        rule = Rule(kind=kind, text=text, scope=source.scope, tool=tool, root=source.root)
        return rule, warnings
    if not spec.strip():
        return error(texts.RULE_EMPTY.format(tool=tool))
    read = _spec(tool, spec, kind, tools)
    if isinstance(read, str):
        return error(read)
    spec_kind, field, value, warning = read
    if warning:
        warnings.append(Problem("warning", f"{at} {warning}"))
    rule = Rule(
        kind=kind,
        text=text,
        scope=source.scope,
        tool=tool,
        spec_kind=spec_kind,
        spec=value,
        field=field,
        root=source.root,
    )
    return rule, warnings


def _spec(
    tool: str, spec: str, kind: Kind, tools: Mapping[str, Collection[str]]
) -> tuple[SpecKind, str, str, str] | str:
    """What the spec means: its kind, field, value and a warning; or what is wrong with it."""
    name, colon, value = spec.partition(":")
    if tool == "WebFetch" and colon and name == "domain":
        return ("domain", "", value, "") if value.strip(".") else texts.RULE_DOMAIN
    if colon and name in tools.get(tool, ()):
        if kind == "allow":
            return texts.RULE_FIELD_ALLOW
        if name == PRIMARY.get(tool):
            return texts.RULE_FIELD_PRIMARY.format(field=name, tool=tool)
        return "field", name, value, ""
    match tool:
        case "Bash":
            return "command", "", spec, _command_warning(spec, kind)
        case "Edit" | "Read":
            return ("path", "", spec, "") if is_pattern(spec) else texts.RULE_PATH
        case "WebFetch":
            return texts.RULE_DOMAIN
        case "Agent" | "Skill":
            return "name", "", spec, ""
    if tool not in tools and not tool.startswith("mcp__"):
        return "name", "", spec, ""
    if tool in EDIT_TOOLS or tool in READ_TOOLS:
        instead = "Edit" if tool in EDIT_TOOLS else "Read"
        warning = texts.RULE_NEVER.format(tool=tool, instead=f"{instead}({spec})")
        return "name", "", spec, warning
    return texts.RULE_NO_SPEC.format(tool=tool)


_LOOKED_THROUGH = names(
    "timeout time nice nohup stdbuf command builtin noglob xargs env eval exec watch setsid ionice"
    " flock"
)


def _command_warning(spec: str, kind: Kind) -> str:
    if kind != "allow":
        return ""
    read = pattern(spec)
    first = read.prefix.split(" ")[0]
    if not read.total and not first:
        return texts.RULE_ANY_PROGRAM
    if not read.exact and read.prefix.strip() in _LOOKED_THROUGH:
        return texts.RULE_WRAPPER.format(name=first)
    if any(sign in spec for sign in ("&&", "||", ";", "|")) and not read.exact:
        return texts.RULE_COMPOUND
    return ""
