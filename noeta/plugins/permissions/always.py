"""The answer "always": which rules it would save, or none when it cannot be offered.

The rules that a prompt shows are the rules that are saved, and they are only offered when they
would in fact allow the call: they are tried on it first. Each means one text and nothing else.
"""

from dataclasses import replace

from noeta.plugins.permissions.bash_subject import bash_subject
from noeta.plugins.permissions.decide import decide
from noeta.plugins.permissions.path_subject import path_of
from noeta.plugins.permissions.paths import escaped_path, names_of
from noeta.plugins.permissions.patterns import escaped
from noeta.plugins.permissions.rules import EDIT_TOOLS, Lists, Rules, load_rules
from noeta.plugins.permissions.script import spelled
from noeta.plugins.permissions.subject import Call, Mode, plain_subject

RULES_MAX = 5
LABEL_CHARS_MAX = 100
"""A rule that a prompt cannot show on a line is not offered."""


def rules_for_always(call: Call, rules: Rules, mode: Mode, trust: bool) -> tuple[str, ...]:
    """The allow rules to save for "always"; empty: do not offer it."""
    wanted = tuple(dict.fromkeys(_wanted(call, rules, mode, trust)))
    if not 0 < len(wanted) <= RULES_MAX:
        return ()
    if any(len(text) > LABEL_CHARS_MAX or not text.isprintable() for text in wanted):
        return ()
    lists = Lists(scope="user", where="", root="/", allow=wanted)
    tools = {call.tool: tuple(call.input)}
    more = load_rules([lists], tools)
    # Without the hook: it decided about this call alone.
    decision = decide(replace(call, hook=None), rules.plus(more.rules), mode, trust)
    return wanted if decision.outcome == "allow" else ()


def _wanted(call: Call, rules: Rules, mode: Mode, trust: bool) -> list[str]:
    match call.tool:
        case "Bash":
            return _bash(call, rules, mode, trust)
        case "WebFetch":
            host = plain_subject(call).host
            return [f"WebFetch(domain:{host})"] if host else []
        case "Skill":
            name = call.text("skill")
            return [f"Skill({escaped(name)})", f"Skill({escaped(name)} *)"] if name else []
        case tool if tool in EDIT_TOOLS:
            lexical, target = names_of(path_of(call), call.place)
            names = dict.fromkeys([lexical, target or lexical])
            return [f"Edit({escaped_path(name)})" for name in names] if len(names) == 1 else []
        case tool:
            return [tool]


def _bash(call: Call, rules: Rules, mode: Mode, trust: bool) -> list[str]:
    subject = bash_subject(call, trust)
    found: list[str] = []
    for command in subject.open_commands(rules.of("allow", trust), mode):
        before = "".join(f"{assignment.source} " for assignment in command.assignments)
        found.append(f"Bash({escaped(before + spelled(command.words))})")
    for word in subject.open_writes(rules.of("allow", trust), mode):
        found += [f"Edit({escaped_path(path)})" for path in subject.named(word)]
    return found
