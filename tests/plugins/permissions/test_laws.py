"""Laws of the decision, over commands and texts at random."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noeta.plugins.permissions import MODES, Mode, rules_for_always
from noeta.plugins.permissions.paths import Place, escaped_path, spec_covers
from noeta.plugins.permissions.patterns import escaped, pattern
from tests.plugins.permissions.calls import HOME, bash, call, decision, outcome, rules
from tests.plugins.permissions.oracle import Grammar

RULES = rules(
    allow=["Bash(git log:*)", "Bash(npm run *)", "Bash(foo)", "Edit(out)"],
    ask=["Bash(npm run deploy:*)"],
    deny=["Bash(rm:*)", "Bash(git push --force:*)", "Read(.env)"],
)

SIMPLE = st.sampled_from(
    ["git log", "git log -1 a", "npm run x", "npm run deploy", "foo", "foo x", "ls -la", "evil",
     "rm x", "git push -f", "cat .env", "cat a | wc -l", "echo 'a; b'", "echo \"$x\"", "sort *",
     "git log > out", "git log > other", "LANG=C foo", "PATH=x foo", "timeout 3 git log",
     "xargs foo", "bash -c 'git log; foo'", "bash -c 'git log; evil'", "true", "[ -f a ]",
     "find . -name x", "find . -exec git log {} \\;", "python -c x", "$x", "echo $(git log)",
     "echo $(evil)", "cat <(foo)", "! foo", "x=1"]
)  # fmt: skip
JOINTS = st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & ", " |& "])
NESTS = st.sampled_from(
    ["( {} )", "{{ {}\n}}", "if {}\nthen true; fi", "if true; then {}\nfi",
    "while {}\ndo true; done",
     "for f in a b; do {}\ndone", "case a in a) {}\n;; esac", "echo $({}\n)", 'echo "$({}\n)"',
     "cat <({}\n)", "x=$({}\n)", "echo ${{y:-$({}\n)}}", "cat <<EOF\n$({}\n)\nEOF",
     "( {{ {}\n}} )"]
)  # fmt: skip
TEXT = st.text(alphabet=st.sampled_from(list("ab $`'\"\\|&;<>(){}[]#\n\t*?~=-!xé\r\0\ud800")))


@given(SIMPLE, JOINTS, SIMPLE)
def test_a_line_is_allowed_exactly_when_each_part_is(first: str, joint: str, second: str) -> None:
    """docs/permissions.md, "Commands"."""
    parts = {outcome(bash(part), RULES) for part in (first, second)}
    assert outcome(bash(first + joint + second), RULES) == _gravest(parts)


@given(NESTS, SIMPLE)
def test_nesting_changes_nothing(nest: str, inner: str) -> None:
    assert outcome(bash(nest.format(inner)), RULES) == outcome(bash(inner), RULES)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["rm x", "cat .env", "git push --force"]), JOINTS)
def test_a_denial_of_any_part_denies_the_whole(seed: int, denied: str, joint: str) -> None:
    """However broken what stands around it: an unreadable line is searched for it too."""
    around = Grammar(seed).script()
    line = f"{denied}{joint}{around}"
    assert outcome(bash(line), RULES, "bypassPermissions") == "deny"


@settings(deadline=None, max_examples=300)
@given(TEXT, st.sampled_from(MODES), st.booleans())
@example("xargs -I", "default", True)
@example("(" * 5000, "default", True)
@example("$(" * 5000, "default", True)
@example("`" * 9000, "default", True)
@example("a=" * 5000, "default", True)
@example("bash -c " * 1000, "default", True)
@example("watch a " * 1200, "default", True)
@example("xargs " * 1600, "default", True)
@example("ls;" * 3300, "default", True)
@example("cp a b;" * 1400, "default", True)
@example("x" * 10_001, "bypassPermissions", True)
def test_any_text_gets_a_decision(text: str, mode: Mode, trust: bool) -> None:
    begun = time.monotonic()
    decided = decision(bash(text), RULES, mode, trust)
    # Seconds where it takes milliseconds: a bound on the work, and not a measure of the machine.
    assert time.monotonic() - begun < 10
    assert decided.reason
    rules_for_always(bash(text), RULES, mode, trust)


@settings(deadline=None)
@given(
    st.sampled_from(
        ["Bash", "Read", "Edit", "Glob", "WebFetch", "Skill", "Agent", "mcp__a__b", ""]
    ),
    st.dictionaries(
        st.sampled_from(["command", "file_path", "path", "pattern", "url", "skill", "limit"]),
        st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())),
    ),
    st.sampled_from(MODES),
)
def test_any_input_gets_a_decision(tool: str, fields: dict[str, object], mode: Mode) -> None:
    given_rules = rules(
        allow=["WebFetch(domain:*.org)", "Skill(a *)"],
        ask=["Read(limit:*)", "mcp__*"],
        deny=["Edit(/x/**)", "Agent(b*)", "Read([)"],
    )
    assert decision(call(tool, fields), given_rules, mode).reason


@settings(deadline=None)
@given(TEXT)
def test_a_text_that_is_too_long_or_unreadable_is_never_allowed(text: str) -> None:
    for broken in (text + "x" * 10_001, text + "\x00", "(" + "ls "):
        assert outcome(bash(broken), rules(allow=["Bash"]), "bypassPermissions") == "ask"


@given(st.text())
def test_an_escaped_text_is_a_pattern_of_itself_alone(text: str) -> None:
    read = pattern(escaped(text))
    assert read.exact
    assert read.matches(text)
    assert not read.matches(text + "x")


@given(st.text(alphabet=st.sampled_from(list("ab*?[]!#\\ .é")), min_size=1), st.booleans())
def test_an_escaped_path_is_a_pattern_of_itself_alone(name: str, anywhere: bool) -> None:
    place = Place(cwd="/w", home=HOME)
    if name.strip(".") == "":
        return
    spec = escaped_path(f"/w/{name}")
    assert spec_covers(spec, f"/w/{name}", root="/", place=place, anywhere=anywhere)
    assert not spec_covers(spec, f"/w/{name}x", root="/", place=place, anywhere=anywhere)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_asked_by_a_rule_is_asked_in_every_mode(mode: Mode) -> None:
    given_rules = rules(allow=["Bash"], ask=["Bash(npm publish:*)"])
    wanted = "deny" if mode == "dontAsk" else "ask"
    assert outcome(bash("npm publish"), given_rules, mode) == wanted
    assert outcome(bash("rm -rf ~"), given_rules, mode) == wanted


def _gravest(outcomes: set[str]) -> str:
    return next(each for each in ("deny", "ask", "allow") if each in outcomes)
