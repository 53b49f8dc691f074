"""Modes, protected and critical paths, and the order of the decision."""

from dataclasses import dataclass

import msgspec
import pytest

from noeta.core.plugin import Allow, Ask, Deny, GateCall
from noeta.plugins.permissions import HookResult, Mode, make_gate, rules_for_always
from tests.plugins.permissions.calls import CWD, HOME, bash, call, decision, outcome, rules

WRITE = call("Write", {"file_path": "a"})


@pytest.mark.parametrize(
    ("mode", "read", "write", "outside", "run", "touch"),
    [
        ("default", "allow", "ask", "ask", "ask", "ask"),
        ("acceptEdits", "allow", "allow", "ask", "ask", "allow"),
        ("plan", "allow", "deny", "deny", "ask", "deny"),
        ("dontAsk", "allow", "deny", "deny", "deny", "deny"),
        ("bypassPermissions", "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_a_mode_decides_what_no_rule_does(
    mode: Mode, read: str, write: str, outside: str, run: str, touch: str
) -> None:
    """docs/permissions.md, "Modes"."""
    assert outcome(call("Read", {"file_path": "/etc/hosts"}), mode=mode) == read
    assert outcome(WRITE, mode=mode) == write
    assert outcome(call("Edit", {"file_path": "/tmp/a"}), mode=mode) == outside
    assert outcome(bash("make"), mode=mode) == run
    assert outcome(bash("touch a && mkdir -p b/c"), mode=mode) == touch
    assert outcome(bash("ls -la | wc -l"), mode=mode) == "allow"


def test_the_order_is_deny_ask_hook_guard_allow_mode() -> None:
    given = rules(allow=["Bash(a)", "Edit"], ask=["Bash(b)"], deny=["Bash(c)"])
    deciders = [
        decision(bash("c; b; a"), given).by,
        decision(bash("b; a"), given).by,
        decision(bash("a", hook=HookResult("ask")), given).by,
        decision(bash("rm -rf /; a"), given).by,
        decision(bash("a", hook=HookResult("allow")), given).by,
        decision(bash("a"), given).by,
        decision(bash("ls"), given).by,
        decision(bash("d"), given).by,
    ]
    assert deciders == [
        "deny rule", "ask rule", "hook", "guard", "hook", "allow rule", "mode", "no rule"
    ]  # fmt: skip


def test_the_reason_names_the_rule_or_what_no_rule_allows() -> None:
    given = rules(allow=["Bash(git log:*)"], ask=["Bash(npm:*)"], deny=["Bash(rm:*)"])
    reasons = {
        text: decision(bash(text), given).reason
        for text in (
            "git log",
            "npm i",
            "ls; rm x",
            "git log; make x",
            "ls > out",
            "ls (",
            "A=1 ls",
        )
    }
    assert reasons == {
        "git log": "the rule Bash(git log:*) allows it",
        "npm i": "the rule Bash(npm:*) of the user settings asks about it",
        "ls; rm x": "the rule Bash(rm:*) of the user settings denies it",
        "git log; make x": "no rule allows `make x`",
        "ls > out": "it writes to out, and no rule allows that",
        "ls (": "the command cannot be read as Bash",
        "A=1 ls": "it sets A, which other programs obey",
    }


PROTECTED = [
    ".git/hooks/pre-commit", ".git", "sub/.git/config", ".config/git/config", ".vscode/x",
    ".idea/x",
    ".husky/x", ".cargo/config.toml", ".devcontainer/x", ".yarn/x", ".mvn/x",
    ".claude/settings.json",
    ".noeta/settings.toml", ".bashrc", f"{HOME}/.zshrc", ".npmrc", ".yarnrc.yml", ".pnp.cjs",
    ".bazelrc", ".pre-commit-config.yaml", "lefthook.yml",
    "gradle/wrapper/gradle-wrapper.properties",
    ".ripgreprc", "pyrightconfig.json", ".mcp.json", ".claude.json", f"{HOME}/.gitconfig",
    ".gitmodules", ".GIT/config",
]  # fmt: skip


@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_write_is_asked_about_whatever_is_allowed(path: str) -> None:
    given = rules(allow=["Edit", "Edit(//**)", "Bash"])
    write = call("Write", {"file_path": path})
    assert outcome(write, given, "acceptEdits") == "ask"
    assert outcome(write, given, "dontAsk") == "deny"
    assert outcome(write, given, "bypassPermissions") == "allow"
    for command in (f"touch {path}", f"echo x > {path}", f"cp x {path}", f"ls | tee -a {path}",
                    f"sed -i s/a/b/ {path}", f"mv x {path}"):  # fmt: skip
        assert outcome(bash(command), given, "acceptEdits") == "ask", command


def test_worktrees_and_names_that_only_look_alike_are_not_protected() -> None:
    for path in (".claude/worktrees/a/x", ".gitignore", "git/x", "bashrc", ".github/x"):
        assert outcome(call("Write", {"file_path": path}), mode="acceptEdits") == "allow", path
    inside = call("Write", {"file_path": "a"}, cwd="/w/.claude/worktrees/x")
    assert outcome(inside, mode="acceptEdits") == "allow"
    assert outcome(bash("cp -r hooks/. .git/hooks"), mode="acceptEdits") == "ask"
    assert outcome(bash("cp old/.bashrc ~"), rules(allow=["Bash(cp:*)"])) == "ask"


CRITICAL = [
    "rm -rf /", "rm -rf /usr", "rm -rf ~", "rm -rf ~/", "rm -rf .", "rm -rf ./", "rm -rf ..",
    "rm -rf ../..", f"rm -r {CWD}", "rm -rf /data", f"rm -rf {HOME}", "rm -rf *", "rm -rf ./*",
    "rm -rf .*", "rm -rf /*", "rm -rf ../*", "rm -rf ~/*", 'rm -rf "$X"/*', "rm -rf $X",
    "rm -rf $HOME",
    "rm -rf ${HOME:?}", "rmdir /", "sudo rm -rf /", "bash -c 'rm -rf /'", "cd / && rm -rf *",
    "ls | xargs rm -rf", "find / -delete", "find . -delete", "cd .. && rm -rf app", "rm -rf a /",
    "rm -rf -- /", "timeout 5 rm -rf /", "/bin/rm -rf /", "(cd /tmp; rm -rf /)",
    "rm -rf /data/lib/*",
    "rm -rf /data/lib", "find . -exec rm -rf {} +", "rm -rf ~root", "rm -rf /{usr,bin}",
    "rm -rf out/..",
    "rm -rf root",
]  # fmt: skip


@pytest.mark.parametrize("command", CRITICAL)
@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_a_critical_removal_is_asked_about_in_every_mode(command: str, mode: Mode) -> None:
    asked = bash(command, added_dirs=["/data/lib"], links={f"{CWD}/root": "/"})
    given = rules(allow=["Bash", "Bash(*)", f"Bash({command})"])
    asked_about = decision(asked, given, mode)
    assert (asked_about.outcome, asked_about.by) == ("ask", "guard")


def test_an_ordinary_removal_is_not_critical() -> None:
    for command in ("rm -rf build", "rm -f *.pyc", "rm -rf /data/app/build", "rm -rf ~/a/b",
                    "find . -name '*.pyc' -delete", "rm -rf sub/*", "rm -rf build/$X"):  # fmt: skip
        assert outcome(bash(command), mode="bypassPermissions") == "allow", command


def test_accept_edits_stays_within_the_directories_that_are_worked_in() -> None:
    links = {f"{CWD}/out": "/etc"}
    for command in ("touch a", "mkdir -p x/y", "rm a", "rm -r x", "rmdir x", "mv a b", "cp a b",
                    "cp a /data/lib/b", "sed -i s/a/b/g a", "sed -i 's|a|b|' a",
                    "cd sub && touch a",
                    "echo x > a", "ls >> /data/lib/log", "touch a; ls"):  # fmt: skip
        asked = bash(command, added_dirs=["/data/lib"], links=links)
        assert outcome(asked, mode="acceptEdits") == "allow", command
        assert outcome(asked) == "ask", command
    for command in ("touch /tmp/a", "rm /etc/x", "mv a /tmp", "cp /etc/passwd a", "touch out/a",
                    "sed -i 's/a/b/e' a", "sed -i 'w /etc/x' a", "sed -i s/a/b/w/etc/x a",
                    "touch *.py",
                    "touch $x", "cp -t /tmp a", "cp --target-directory=/tmp a",
                    "cd /tmp && touch a",
                    "cd $x && touch a", "chmod +x a", "echo x > ~/a", "echo x > *", "echo x > $x",
                    "mv a b && touch b/c", "touch -r /etc/x a; make", "mkdir a; ./a"):  # fmt: skip
        asked = bash(command, added_dirs=["/data/lib"], links=links)
        assert outcome(asked, mode="acceptEdits") == "ask", command


def test_a_redirect_is_a_write() -> None:
    given = rules(allow=["Bash(make:*)", "Edit(out/**)"], deny=["Edit(secret)"])
    for command in ("make > out/log", "make >/dev/null 2>&1", "make 2>/dev/null",
                    "make >&2"):  # fmt: skip
        assert outcome(bash(command), given) == "allow", command
    for command in ("make > log", "make &> log", "make >| log", "make >> ~/log", "make > $x",
                    "make > out/*", "make > /dev/sda", "make </dev/tcp/a/1", "> log",
                    "make 2>log"):  # fmt: skip
        assert outcome(bash(command), given) == "ask", command
    assert outcome(bash("make > secret"), given) == "deny"
    assert outcome(bash("{ make; ls; } 2> secret"), given) == "deny"


READ_ONLY = [
    "ls", "cat a", "pwd", "head -5 a", "tail -f a", "grep -rn x .", "find . -name '*.py' -type f",
    "wc -l *.py", "which ls", "diff a b", "stat a", "du -sh .", "cd sub", "cd sub && ls", "true",
    "git status", "git log -p", "git diff HEAD~1", "git show", "git branch -a", "git remote -v",
    "git --no-pager log", "sort -u a", "rg x", "echo *", "[ -f a ] && ls", "[[ $x == a* ]]",
    "for f in *; do cat \"$f\"; done", "x=1; echo $x", "set -euo pipefail; ls", "command -v ls",
    "date +%s", "cat <<'EOF'\n$(x)\nEOF", "echo $((1 + 2))", "test -f a", "echo \"a; rm -rf /\"",
]  # fmt: skip


@pytest.mark.parametrize("command", READ_ONLY)
def test_what_only_reads_runs_without_a_question(command: str) -> None:
    if command.startswith("set"):
        command = "set -eu -o pipefail; ls"
    for mode in ("default", "plan", "dontAsk"):
        assert outcome(bash(command), mode=mode) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "find . -delete", "find . -fprint x", "find . $x", "find *", "sort -o a b",
        "sort --out=a b",
        "sort *", "git log --output=a", "git log --outp=a", "git diff --ext-diff", "git grep -Ox y",
        "git branch new", "git log *", "git tag v1", "git stash", "rg --pre x y", "date -s x",
        "PATH=x; ls", "PATH=x ls", "LD_PRELOAD=x ls", "for PATH in x; do ls; done",
        "export PATH=x; ls",
        "declare -n x=PATH", "echo $((x))", "echo ${!x}", "echo ${x@P}", "echo ${a[$x]}", "((x))",
        "[[ $x -eq 1 ]]", "[[ -v $x ]]", "[ $x = a ]", "test -v x", "printf -v x y",
        "ls() { x; }; ls",
        ":(){ :|:& };:", "alias ls=rm", "hash -p x ls", "enable -f x ls", "./ls", "env", "printenv",
        "awk x", "sed -n x", "tee", "ls\rrm", "ls\u00a0x", "read x", "BASH_ENV=x ls", "IFS=/; ls",
        "unset PATH", "cat a=(1)", "exec 3<>/dev/tcp/a/1", "coproc ls", "select x in a; do x; done",
    ],
)  # fmt: skip
def test_what_could_write_or_run_something_is_asked_about(command: str) -> None:
    assert outcome(bash(command)) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat <<EOF\n$(( ls && true '`evil`' | (ls) ))\nEOF",
        "npm run\\\nevil",
        "echo \"${x:-'$(evil)'}\"",
        "cat <<EOF\n${x:-'`evil`'}\nEOF",
        "cat <<A;\nx\nA\nevil\nA;",
        "cat <<A\nx\\\nA\necho '\nA\nevil\necho '",
        "cat <<A\nA \nevil\nA",
        "((ls); ls)",
        "x=`echo \\`evil\\``",
        "x=$((ls); evil)",
        "echo \"` x=`ls '$(evil)'`; ls`\"",
        "for f in `echo \\`evil\\``; do ls; done",
        "echo x{$a,b}",
        "{PATH}>out ls",
        "ls [ ;evil ]",
    ],
)
def test_where_bash_and_the_grammar_may_cut_differently_is_asked_about(command: str) -> None:
    """Found by the oracle, or near to what it found."""
    given = rules(allow=["Bash(npm run:*)", "Bash(npm run *)", "Bash(ls:*)", "Bash(cat:*)", "Edit"])
    assert decision(bash(command), given).outcome == "ask"


def test_an_assignment_before_a_command_is_harmless_or_asked_about() -> None:
    given = rules(allow=["Bash(make:*)", "Bash(A=1 npm:*)"], deny=["Bash(rm:*)"])
    assert outcome(bash("LANG=C NO_COLOR=1 make"), given) == "allow"
    assert outcome(bash("CC=evil make"), given) == "ask"
    assert outcome(bash("A=1 npm test"), given) == "allow"
    assert outcome(bash("B=1 npm test"), given) == "ask"
    assert outcome(bash("LD_PRELOAD=x rm a"), given) == "deny"


def test_a_glob_for_a_program_that_writes_files_is_asked_about() -> None:
    given = rules(allow=["Bash(rm:*)", "Bash(pytest:*)", "Bash(cp:*)"])
    assert outcome(bash("rm *.pyc"), given) == "ask"
    assert outcome(bash("cp a {b,c}"), given) == "ask"
    assert outcome(bash("pytest tests/*.py"), given) == "allow"


def test_a_rule_for_everything_leaves_only_what_is_always_asked() -> None:
    for rule in ("Bash", "Bash(*)"):
        given = rules(allow=[rule])
        for command in ("make", "python -c x", "A=1 x", "$x", "cd a; git x"):
            assert outcome(bash(command), given) == "allow", (rule, command)
        for command in ("x (", "rm -rf /", "touch .git/x", "x" * 10_001):
            assert outcome(bash(command), given) == "ask", (rule, command)


def test_a_command_that_may_be_the_denied_one_is_asked_about() -> None:
    given = rules(allow=["Bash"], deny=["Bash(git push --force:*)", "Bash(curl evil:*)"])
    for command in ("git push $x", "git $x", "$x", "curl $x", "xargs curl", "git pus[h] -f"):
        assert outcome(bash(command), given, "bypassPermissions") == "ask", command
    for command in ("git log $x", "curl good $x", "ls $x"):
        assert outcome(bash(command), given) == "allow", command


def test_a_tool_that_needs_a_person_waits_for_one() -> None:
    assert (
        outcome(call("ExitPlanMode", {}), rules(allow=["ExitPlanMode"]), "bypassPermissions")
        == "ask"
    )
    assert outcome(call("mcp__a__b", {})) == "ask"
    assert outcome(call("mcp__a__b", {}), rules(allow=["mcp__a"])) == "allow"


def test_always_saves_a_rule_for_each_part_that_needs_one() -> None:
    given = rules(allow=["Bash(git log:*)"])
    asked = bash("git log && make 'a b' | npm run x > out; ls")
    assert rules_for_always(asked, given, "default", True) == (
        "Bash(make 'a b')", "Bash(npm run x)", f"Edit(/{CWD}/out)",
    )  # fmt: skip
    edit = call("Edit", {"file_path": "a[1]*.py"})
    assert rules_for_always(edit, given, "default", True) == (rf"Edit(/{CWD}/a\[1\]\*.py)",)
    fetch = call("WebFetch", {"url": "https://Docs.example.org/x"})
    assert rules_for_always(fetch, given, "default", True) == ("WebFetch(domain:docs.example.org)",)
    assert rules_for_always(call("mcp__a__b", {}), given, "default", True) == ("mcp__a__b",)


@dataclass
class _View:
    cwd: str = CWD
    permission_mode: str = "default"


class _Input(msgspec.Struct):
    command: str


def test_the_gate_turns_a_call_and_a_view_into_a_verdict() -> None:
    given = rules(allow=["Bash(make:*)"], deny=["Bash(rm:*)"])
    gate = make_gate(
        lambda _: given,
        trust=lambda _: True,
        home=HOME,
        look=lambda paths: ({path: path for path in paths}, frozenset()),
    )

    def verdict(command: str, mode: str = "default") -> object:
        asked = GateCall(call_id="c1", name="Bash", input=_Input(command))
        return gate(asked, _View(permission_mode=mode))  # type: ignore[arg-type]

    assert verdict("make") == Allow()
    assert verdict("npm i") == Ask("no rule allows `npm i`")
    assert verdict("rm x") == Deny("the rule Bash(rm:*) of the user settings denies it")
    assert verdict("touch a", "acceptEdits") == Allow()
    assert verdict("make", "of tomorrow") == Ask(
        "the task's permission mode of tomorrow is not one that this version knows"
    )
