"""The decision: may this call run, must a person say so, or must it not.

One function over values, and the order in it is the whole of the policy: what denies comes first,
then what asks, then what no rule can allow, and only then what allows. How precise a rule is never
matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.bash_subject import BashSubject, bash_subject
from noeta.plugins.permissions.path_subject import PathSubject, path_of
from noeta.plugins.permissions.rules import EDIT_TOOLS, READ_TOOLS, Rule, Rules
from noeta.plugins.permissions.subject import Call, Grant, Mode, Subject, plain_subject

Outcome = Literal["allow", "ask", "deny"]
By = Literal["deny rule", "ask rule", "allow rule", "hook", "guard", "mode", "no rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided and why."""

    outcome: Outcome
    reason: str
    """For the person who is asked, or for the model that is refused."""
    by: By
    rule: Rule | None = None


def decide(call: Call, rules: Rules, mode: Mode, trust: bool) -> Decision:
    """Decide about a call. Pure, and never raises.

    trust: whether the user trusts the workspace; without it what its settings allow is not heard.
    """
    decision = _decide(subject_of(call, trust), call, rules, mode, trust)
    if decision.outcome == "ask" and mode == "dontAsk":
        reason = texts.DONT_ASK.format(reason=decision.reason)
        return replace(decision, outcome="deny", reason=reason)
    return decision


def _decide(subject: Subject, call: Call, rules: Rules, mode: Mode, trust: bool) -> Decision:
    denying, asking = rules.of("deny", trust), rules.of("ask", trust)
    hook = call.hook
    rule = _first(subject, denying)
    if rule is not None:
        reason = texts.DENIED.format(rule=rule.text, scope=rule.scope)
        return Decision(outcome="deny", reason=reason, by="deny rule", rule=rule)
    if hook is not None and hook.decision == "deny":
        return Decision(outcome="deny", reason=hook.reason or texts.HOOK_DENIED, by="hook")
    rule = _first(subject, asking)
    if rule is not None:
        reason = texts.ASKED.format(rule=rule.text, scope=rule.scope)
        return Decision(outcome="ask", reason=reason, by="ask rule", rule=rule)
    if hook is not None and hook.decision in ("defer", "ask"):
        return Decision(outcome="ask", reason=hook.reason or texts.HOOK_ASKED, by="hook")
    rule = next((rule for rule in (*denying, *asking) if subject.may_hit(rule)), None)
    if rule is not None:
        reason = texts.MAY_MATCH.format(rule=rule.text, kind=rule.kind)
        return Decision(outcome="ask", reason=reason, by="guard", rule=rule)
    for guard in subject.guards():
        if guard.always or mode != "bypassPermissions":
            return Decision(outcome="ask", reason=guard.reason, by="guard")
    written = subject.writes()
    if mode == "plan" and written is not None:
        return Decision(outcome="deny", reason=texts.PLAN.format(what=written), by="mode")
    if hook is not None and hook.decision == "allow":
        return Decision(outcome="allow", reason=hook.reason or texts.HOOK_ALLOWED, by="hook")
    if mode == "bypassPermissions":
        return Decision(outcome="allow", reason=texts.BYPASS, by="mode")
    granted = subject.granted(rules.of("allow", trust), mode)
    if isinstance(granted, Grant):
        by: By = "mode" if granted.rule is None else "allow rule"
        return Decision(outcome="allow", reason=granted.reason, by=by, rule=granted.rule)
    return Decision(outcome="ask", reason=granted.reason, by="no rule")


def subject_of(call: Call, trust: bool) -> Subject:
    """The call, ready to be compared."""
    if call.tool == "Bash":
        return bash_subject(call, trust)
    if call.tool in EDIT_TOOLS or call.tool in READ_TOOLS:
        return PathSubject(call, path_of(call))
    return plain_subject(call)


def paths_of(call: Call) -> tuple[str, ...]:
    """The paths whose targets `decide` wants to find in `call.place.targets`.

    The host resolves each in the exec env: the real path of what exists of it, the rest appended.
    """
    place = call.place
    subject = subject_of(call, True)
    named: Sequence[str] = ()
    if isinstance(subject, PathSubject):
        named = (subject.path,)
    elif isinstance(subject, BashSubject):
        named = subject.paths()
    return tuple(dict.fromkeys((place.cwd, *place.added_dirs, *named)))


def _first(subject: Subject, rules: Sequence[Rule]) -> Rule | None:
    return next((rule for rule in rules if subject.hit(rule)), None)
