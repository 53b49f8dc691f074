"""Rules: what can be written, what it means, and what noeta says about a mistake."""

import pytest

from noeta.plugins.permissions import Lists, load_rules
from noeta.plugins.permissions.patterns import host_matches, pattern
from noeta.plugins.permissions.rules import Scope
from tests.plugins.permissions.calls import CWD, HOME, bash, call, outcome, rules


@pytest.mark.parametrize(
    ("spec", "yes", "no"),
    [
        ("ls *", ["ls", "ls -l", "ls a b"], ["lsof", "ls-x", " ls"]),
        ("ls:*", ["ls", "ls -l"], ["lsof", "ls:x"]),
        ("ls*", ["ls", "lsof", "ls -l"], ["l"]),
        ("git log", ["git log"], ["git log -1", "git logs"]),
        ("git * main", ["git push main", "git push origin main"], ["git push mainx", "git main"]),
        ("npm run build:*", ["npm run build", "npm run build x"], ["npm run build:x"]),
        ("* --version", ["x --version", "rm a --version"], ["x --versions"]),
        (r"echo \*", ["echo *"], ["echo a", r"echo \a"]),
        (r"a\\*", ["a\\", "a\\b"], ["a", "ab"]),
        ("*", ["", "x y"], []),
        (":*", ["x y"], []),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_a_command_pattern_means_these_lines(spec: str, yes: list[str], no: list[str]) -> None:
    """docs/permissions.md, "Rules"."""
    read = pattern(spec)
    assert [text for text in yes if not read.matches(text)] == []
    assert [text for text in no if read.matches(text)] == []


def test_a_domain_is_compared_by_labels() -> None:
    assert host_matches("docs.example.org", "DOCS.Example.org.")
    assert host_matches("*.example.org", "a.b.example.org")
    assert not host_matches("*.example.org", "example.org")
    assert not host_matches("*.example.org", "evilexample.org")
    assert host_matches("api-*.example.org", "api-1.example.org")
    assert not host_matches("api-*.example.org", "api-1.evil.example.org")
    given = rules(allow=["WebFetch(domain:*.example.org)"], deny=["WebFetch(domain:x.example.org)"])
    assert outcome(call("WebFetch", {"url": "https://a.example.org/x"}), given) == "allow"
    assert outcome(call("WebFetch", {"url": "https://X.example.org./"}), given) == "deny"
    assert outcome(call("WebFetch", {"url": "https://example.org"}), given) == "ask"
    assert outcome(call("WebFetch", {"url": "https://evil.org\\@a.example.org"}), given) == "ask"
    assert outcome(call("WebFetch", {"url": "https://a.example.org@evil.org"}), given) == "ask"


@pytest.mark.parametrize(
    ("rule", "tool", "fields", "hit"),
    [
        ("mcp__srv", "mcp__srv__a", {}, True),
        ("mcp__srv", "mcp__srvx__a", {}, False),
        ("mcp__srv__a", "mcp__srv__a", {}, True),
        ("mcp__srv__a", "mcp__srv__ab", {}, False),
        ("mcp__srv__get_*", "mcp__srv__get_x", {}, True),
        ("Agent(explore)", "Agent", {"subagent_type": "explore"}, True),
        ("Agent(explore)", "Agent", {"subagent_type": "build"}, False),
        ("Skill(deploy *)", "Skill", {"skill": "deploy", "args": "x"}, True),
        ("Skill(deploy *)", "Skill", {"skill": "deployer"}, False),
        ("Write", "Write", {"file_path": "a"}, True),
        ("Edit", "Write", {"file_path": "a"}, True),
        ("Edit", "NotebookEdit", {"notebook_path": "a"}, True),
        ("Edit", "Read", {"file_path": "a"}, False),
        ("Read", "Grep", {"pattern": "x"}, True),
        ("Bash(dangerouslyDisableSandbox:true)", "Bash",
         {"command": "ls", "dangerouslyDisableSandbox": True}, True),
        ("Bash(dangerouslyDisableSandbox:true)", "Bash",
         {"command": "ls", "dangerouslyDisableSandbox": False}, False),
        ("Bash(timeout:*)", "Bash", {"command": "timeout 5 ls"}, True),
        ("Bash(timeout:*)", "Bash", {"command": "ls", "timeout": 5}, False),
        ("Read(limit:*)", "Read", {"file_path": "a", "limit": 5}, True),
        ("Read(limit:*)", "Read", {"file_path": "a"}, False),
    ],
)  # fmt: skip
def test_a_rule_is_about_these_calls(
    rule: str, tool: str, fields: dict[str, object], hit: bool
) -> None:
    assert (outcome(call(tool, fields), rules(deny=[rule])) == "deny") == hit


def test_tool_names_may_be_patterns_in_rules_that_ask_or_deny() -> None:
    assert outcome(call("mcp__a__b", {}), rules(deny=["mcp__*"])) == "deny"
    assert outcome(bash("ls"), rules(ask=["*"])) == "ask"
    for broken in ("mcp__*", "*", "mcp__*__x", "B*"):
        assert load_rules([_lists(allow=[broken])]).rules == (), broken


@pytest.mark.parametrize(
    ("kind", "rule", "level", "sentence"),
    [
        ("allow", "Bash(ls", "error",
         "is not a rule; write Tool or Tool(what), as in Bash(git log:*) or Edit(/src/**)"),
        ("allow", "Bash()", "error",
         "has nothing in its brackets; write Bash alone to mean every call"),
        ("allow", "B*", "error",
         "has a * in the tool's name; a rule that allows may have one only after mcp__server__"),
        ("deny", "B*(x)", "error",
         "has both a * in the tool's name and something in brackets; only one can be"),
        ("allow", "Bash(run_in_background:true)", "error",
         "compares a field of the input, and only rules that ask or deny may do that"),
        ("deny", "Bash(command:rm)", "error",
         "compares command letter by letter; write it as Bash(pattern) instead"),
        ("allow", "Edit(!x)", "error",
         "holds no path pattern that can be compared; ! has no meaning in a rule"),
        ("deny", "WebFetch(example.org)", "error",
         "needs a host, as in WebFetch(domain:docs.example.org)"),
        ("deny", "mcp__a__b(x)", "error",
         "has something in brackets, and calls of mcp__a__b cannot be told apart; write mcp__a__b"),
        ("allow", "Bsh(ls)", "warning", "names Bsh, and there is no tool of that name"),
        ("allow", "Write(/src/**)", "warning",
         "never matches: no call is compared with Write(...); write Edit(/src/**)"),
        ("deny", "Grep(x)", "warning",
         "never matches: no call is compared with Grep(...); write Read(x)"),
        ("allow", "Bash(* --help)", "warning",
         "begins with a *, so it allows every program that can be given the rest"),
        ("allow", "Bash(timeout:*)", "warning",
         "never matches: noeta looks at what timeout runs; write a rule for that"),
        ("allow", "Bash(nohup:*)", "warning",
         "never matches: noeta looks at what nohup runs; write a rule for that"),
        ("allow", "Bash(a && b *)", "warning",
         "holds a separator; the commands of a line are compared one by one"),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence(kind: str, rule: str, level: str, sentence: str) -> None:
    loaded = load_rules([_lists(**{kind: [rule]})])
    found = [(problem.level, problem.sentence) for problem in loaded.problems]
    assert (level, f"settings.toml: {kind} rule {rule!r} {sentence}") in found
    if level == "error":
        assert loaded.rules == ()


def test_a_good_rule_is_no_problem() -> None:
    good = ["Bash(git log:*)", "Bash(npm run *)", "Edit(/src/**)", "Read(~/.ssh/**)", "mcp__a__*",
            "WebFetch(domain:*.org)", "Agent(explore)", "Skill(a *)", "Bash", "Write"]  # fmt: skip
    assert load_rules([_lists(allow=good)]).problems == ()


@pytest.mark.parametrize("scope", ["managed", "cli", "local", "project", "user"])
def test_a_denial_of_any_scope_wins(scope: Scope) -> None:
    loaded = load_rules(
        [
            Lists(scope=scope, where="a", root="/", deny=["Bash(make:*)"]),
            Lists(scope="managed", where="b", root="/", allow=["Bash(make install)"]),
            Lists(scope="cli", where="c", root="/", allow=["Bash"], ask=["Bash(make:*)"]),
        ]
    )
    assert outcome(bash("make install"), loaded, trust=False) == "deny"


def test_a_workspace_allows_only_when_it_is_trusted() -> None:
    for scope in ("project", "local"):
        loaded = rules(allow=["Bash(make:*)"], ask=["Bash(a)"], deny=["Bash(b)"], scope=scope)
        assert outcome(bash("make"), loaded, trust=True) == "allow"
        assert outcome(bash("make"), loaded, trust=False) == "ask"
        assert outcome(bash("b"), loaded, "bypassPermissions", trust=False) == "deny"
        assert outcome(bash("a"), loaded, "bypassPermissions", trust=False) == "ask"


@pytest.mark.parametrize(
    ("spec", "yes", "no"),
    [
        ("//etc/**", ["/etc/a", "/etc/a/b"], ["/data/app/etc/a"]),
        ("~/.ssh/**", [f"{HOME}/.ssh/id"], ["/admin/.ssh/id", f"{CWD}/.ssh/id"]),
        ("/src/**", ["/settings/src/a"], [f"{CWD}/src/a", "/src/a"]),
        ("src/**", [f"{CWD}/src/a", f"{CWD}/src/a/b"], [f"{CWD}/x/src/a", "/src/a"]),
        ("./src/*.py", [f"{CWD}/src/a.py"], [f"{CWD}/src/a/b.py"]),
        ("*.py", [f"{CWD}/a.py", f"{CWD}/x/b.py"], ["/a.py"]),
        ("notes", [f"{CWD}/notes", f"{CWD}/notes/a"], [f"{CWD}/notesx"]),
        ("../other/**", ["/data/other/a"], ["/data/app/other/a"]),
        (".", [f"{CWD}/a"], ["/data/x"]),
    ],
)
def test_a_path_pattern_that_allows_means_these_files(
    spec: str, yes: list[str], no: list[str]
) -> None:
    given = rules(allow=[f"Edit({spec})"], root="/settings")
    for path in yes:
        assert outcome(call("Write", {"file_path": path}), given) == "allow", path
    for path in no:
        assert outcome(call("Write", {"file_path": path}), given) == "ask", path


def test_a_path_pattern_that_denies_means_any_depth() -> None:
    given = rules(deny=["Edit(secrets/**)", "Read(.env)", "Read(/kept/**)"], root="/settings")
    for path in (f"{CWD}/secrets/a", f"{CWD}/x/secrets/a", "/elsewhere/secrets/b/c"):
        assert outcome(call("Edit", {"file_path": path}), given) == "deny", path
    assert outcome(call("Read", {"file_path": "/a/b/.env"}), given) == "deny"
    assert outcome(call("Read", {"file_path": "/settings/kept/x"}), given) == "deny"
    assert outcome(call("Read", {"file_path": f"{CWD}/kept/x"}), given) == "allow"
    assert outcome(bash("echo x > sub/secrets/a"), given) == "deny"
    assert outcome(bash("cp a secrets/a"), given) == "deny"
    grep = call("Grep", {"pattern": "x", "path": "secrets"})
    assert outcome(grep, rules(deny=["Read(secrets/**)"])) == "deny"


def _lists(**kinds: list[str]) -> Lists:
    return Lists(scope="user", where="settings.toml", root="/", **kinds)
