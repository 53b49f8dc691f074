"""Permissions: which calls run, which are asked about and which are refused.

`decide` is the whole of it: a pure function over a call, the rules, the mode and the trust. What
is read from a disk (settings, where a link leads) is handed in as values.
"""

from noeta.plugins.permissions.always import rules_for_always
from noeta.plugins.permissions.decide import Decision, decide, paths_of
from noeta.plugins.permissions.gate import make_gate
from noeta.plugins.permissions.paths import Place
from noeta.plugins.permissions.rules import Lists, Problem, Rule, Rules, load_rules
from noeta.plugins.permissions.subject import MODES, Call, HookResult, Mode

__all__ = [
    "MODES",
    "Call",
    "Decision",
    "HookResult",
    "Lists",
    "Mode",
    "Place",
    "Problem",
    "Rule",
    "Rules",
    "decide",
    "load_rules",
    "make_gate",
    "paths_of",
    "rules_for_always",
]
