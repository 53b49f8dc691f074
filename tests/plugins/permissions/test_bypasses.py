"""The fourteen ways around permissions that other agents had, each closed here.

The numbers are those of the design catalogue; docs/permissions.md, "Limits", says what is left.
"""

import inspect
import subprocess
import sys

import pytest

from noeta.plugins.permissions import MODES, HookResult, Mode, make_gate, rules_for_always
from noeta.plugins.permissions import decide as decide_function
from tests.plugins.permissions.calls import CWD, HOME, bash, call, decision, outcome, rules

GIT_LOG = rules(allow=["Bash(git log:*)"])


@pytest.mark.parametrize(
    "command",
    [
        "git log; rm x",
        "git log && rm x",
        "git log || rm x",
        "git log | rm x",
        "git log |& rm x",
        "git log & rm x",
        "git log\nrm x",
        "git log $(rm x)",
        "git log `rm x`",
        'git log "$(rm x)"',
        "git log <(rm x)",
        "git log >(rm x)",
        "(git log; rm x)",
        "{ git log; rm x; }",
        "if git log; then rm x; fi",
        "for f in $(rm x); do git log; done",
        "while rm x; do git log; done",
        "case $(rm x) in a) git log;; esac",
        "git log <<EOF\n$(rm x)\nEOF",
        'git log <<< "$(rm x)"',
        "git log ${x:-$(rm x)}",
        "X=$(rm x) git log",
        "git log > out",
        "f() { git log; }; f",
    ],
)
def test_01_an_allowed_prefix_allows_its_own_command_and_no_other(command: str) -> None:
    assert outcome(bash("git log --oneline"), GIT_LOG) == "allow"
    assert outcome(bash(command), GIT_LOG) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "ls && rm x",
        "ls; ls; rm x",
        "ls | rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "(ls; (rm x))",
        "for f in a; do rm x; done",
        "if ls; then ls; else rm x; fi",
        "f() { rm x; }",
        "case a in a) rm x;; esac",
        "! rm x",
        "ls && { ls || rm x; }",
        "[[ a == b ]] && rm x",
        "ls <<EOF\n`rm x`\nEOF",
        "ls & rm x",
        'echo "${x:-$(rm x)}"',
        "A=1 rm x",
        "A=$(rm x)",
        "export A=$(rm x)",
        "ls ) rm x",
        "r''m x",
        '"rm" x',
        "\\rm x",
        "/bin/rm x",
        "ls; 'rm' x ' ",
    ],
)
def test_02_a_rule_that_denies_looks_at_every_part(command: str) -> None:
    denied = decision(
        bash(command), rules(allow=["Bash"], deny=["Bash(rm:*)"]), "bypassPermissions"
    )
    assert (denied.outcome, denied.by) == ("deny", "deny rule")


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 rm x", "timeout -k 1 -s KILL 5 rm x", "time rm x", "nice -n 5 rm x",
        "nohup rm x",
        "stdbuf -oL rm x", "command rm x", "builtin rm x", "noglob rm x", "xargs rm x", "env rm x",
        "env A=1 rm x", "env -i rm x", "env --odd rm x", "sudo rm x", "sudo -u root rm x",
        "doas rm x",
        "bash -c 'rm x'", "sh -c 'ls; rm x'", "bash -lc 'rm x'", "xargs -n 1 rm",
        "xargs -I{} rm {}",
        "find . -exec rm {} \\;", "find . -execdir rm {} +", "ssh host rm x", "ssh host 'ls; rm x'",
        "docker exec -it box rm x", "kubectl exec box -- rm x", "eval 'rm x'", "eval rm x",
        "coproc rm x", "time { rm x; }", "trap 'rm x' EXIT", "exec rm x", "watch rm x",
        "setsid rm x", "ionice -c 3 rm x", "flock lock rm x", "timeout 5 nice bash -c 'nohup rm x'",
        "bash -c \"bash -c 'rm x'\"", "strace -f rm x", "busybox rm x", "time ! rm x",
        "/usr/bin/env rm x", "/bin/bash -c 'rm x'", "./sudo rm x",
    ],
)  # fmt: skip
def test_03_a_wrapper_does_not_hide_a_program(command: str) -> None:
    assert outcome(bash(command), rules(deny=["Bash(rm:*)"]), "bypassPermissions") == "deny"
    assert outcome(bash(command), rules(allow=["Bash(ls:*)"])) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "eval \"$x\"", "bash script.sh", "bash", "source x", ". x", "python -c 'x'",
        "python3.11 -c x",
        "node -e x", "perl -ne x", "$x", "$(echo rm) x", "sudo git log", "watch git log",
        "ssh h git log",
        "docker exec b git log", "bash -c \"$x\"", "xargs $x", "env $x", "find . -delete",
        "find . -execdir git log \\;", "coproc git log", "setsid git log",
        "unknown-wrapper git log",
    ],
)  # fmt: skip
def test_03_what_a_program_hides_is_asked_about(command: str) -> None:
    given = rules(
        allow=["Bash(git log:*)", "Bash(sudo -v)", "Bash(python:*)", "Bash(python3.11:*)",
               "Bash(node:*)", "Bash(watch:*)", "Bash(setsid:*)", "Bash(find:*)", "Bash(bash:*)",
               "Bash(env:*)", "Bash(xargs:*)", "Bash(perl:*)", "Bash(source:*)", "Bash(eval:*)"]
    )  # fmt: skip
    assert outcome(bash(command), given) == "ask"


@pytest.mark.parametrize(
    ("rule", "commands"),
    [
        ("rm -rf:*", ["rm -fr x", "rm -r -f x", "rm x -rf", "rm --recursive --force x", "rm -Rf x",
                      "rm --rec --fo x", "rm -vrf x", "rm -r x -f", "rm >log -rf x"]),
        ("git push --force:*", ["git push -f", "git push origin main --force",
                                "git push origin +main",
                                "git -C there push -f", "git push -uf origin x"]),
        ("git reset --hard:*", ["git reset HEAD~1 --hard", "git -c a=b reset --hard"]),
        ("git clean -fd:*", ["git clean -df", "git clean -d --force", "git clean -xdf"]),
        ("chmod -R 777:*", ["chmod 777 -R x", "chmod --recursive 777 x"]),
        ("dd of=/dev/sda:*", ["dd if=x of=/dev/sda", "dd bs=1 of=/dev/sda if=x"]),
    ],
)  # fmt: skip
def test_04_the_order_and_spelling_of_options_do_not_matter_to_a_denial(
    rule: str, commands: list[str]
) -> None:
    for command in commands:
        assert outcome(bash(command), rules(deny=[f"Bash({rule})"])) == "deny", command


def test_05_a_hook_that_allows_skips_the_ordinary_question_and_nothing_else() -> None:
    hook = HookResult("allow")
    assert outcome(bash("make x", hook=hook)) == "allow"
    assert outcome(bash("make x", hook=hook), rules(deny=["Bash(make:*)"])) == "deny"
    assert outcome(bash("make x", hook=hook), rules(ask=["Bash(make:*)"])) == "ask"
    assert outcome(bash("rm -rf /", hook=hook)) == "ask"
    assert outcome(bash("touch .git/config", hook=hook)) == "ask"
    assert outcome(bash("touch x", hook=hook), mode="plan") == "deny"


@pytest.mark.parametrize("mode", MODES)
def test_06_a_hook_that_denies_is_obeyed_for_every_tool_in_every_mode(mode: Mode) -> None:
    hook = HookResult("deny", "not on a Friday")
    for asked in (
        bash("ls", hook=hook),
        call("Edit", {"file_path": "a"}, hook=hook),
        call("mcp__x__y", {}, hook=hook),
    ):
        denied = decision(asked, rules(allow=["Bash", "Edit"]), mode)
        assert (denied.outcome, denied.reason, denied.by) == ("deny", "not on a Friday", "hook")


def test_07_a_hook_without_an_answer_is_an_input_that_the_caller_must_give() -> None:
    """A hook that died is the caller's to report; here its `ask` and `defer` reach a person, and
    in a mode that asks nobody they are a denial, never a yes."""
    for way in ("ask", "defer"):
        hook = HookResult(way, "the policy hook did not start")
        given = rules(allow=["Bash"])
        assert outcome(bash("ls", hook=hook), given, "bypassPermissions") == "ask"
        assert outcome(bash("ls", hook=hook), given, "dontAsk") == "deny"


def test_08_a_link_out_of_the_workspace_is_followed() -> None:
    links = {f"{CWD}/out": "/etc"}
    write = call("Write", {"file_path": f"{CWD}/out/passwd"}, links=links)
    assert outcome(write, mode="acceptEdits") == "ask"
    assert outcome(write, rules(allow=["Edit(out/**)"])) == "ask"
    assert outcome(write, rules(allow=["Edit(out/**)", "Edit(//etc/**)"])) == "ask"
    assert outcome(write, rules(allow=["Edit(//**)"])) == "allow"
    assert outcome(write, rules(deny=["Edit(//etc/**)"])) == "deny"
    assert outcome(write, rules(deny=["Edit(out/**)"])) == "deny"
    read = call("Read", {"file_path": "out/shadow"}, links=links)
    assert outcome(read, rules(deny=["Read(//etc/shadow)"])) == "deny"
    assert (
        outcome(bash("cat out/shadow", links=links), rules(deny=["Read(//etc/shadow)"])) == "deny"
    )
    assert outcome(bash("touch out/x", links=links), mode="acceptEdits") == "ask"
    up = call("Write", {"file_path": "out/../x"}, links={f"{CWD}/out/..": "/", **links})
    assert outcome(up, mode="acceptEdits") == "ask"


def test_09_a_leaf_that_is_a_link_is_judged_by_where_it_leads() -> None:
    links = {f"{CWD}/notes": "/admin/.ssh/authorized_keys"}
    write = call("Write", {"file_path": "notes"}, links=links)
    assert outcome(write, mode="acceptEdits") == "ask"
    assert outcome(write, rules(deny=["Edit(~/**)", "Edit(//admin/**)"])) == "deny"
    unknown = call("Write", {"file_path": "x"})
    unknown.place.targets.clear()  # type: ignore[attr-defined]
    assert outcome(unknown, rules(allow=["Edit"]), "acceptEdits") == "ask"


def test_10_a_file_with_a_second_name_is_asked_about() -> None:
    linked = [f"{CWD}/a"]
    assert (
        outcome(call("Edit", {"file_path": "a"}, hard_linked=linked), mode="acceptEdits") == "ask"
    )
    assert (
        outcome(call("Edit", {"file_path": "b"}, hard_linked=linked), mode="acceptEdits") == "allow"
    )


def test_11_git_runs_unasked_only_where_the_workspace_is_trusted() -> None:
    assert outcome(bash("git status"), trust=True) == "allow"
    assert outcome(bash("git status"), trust=False) == "ask"
    for command in ("cd other && git status", "git -C other status", "git -c a.b=c status",
                    "pushd x; git log", "GIT_DIR=x git status",
                    "git --git-dir=x status"):  # fmt: skip
        assert outcome(bash(command)) == "ask", command


def test_12_a_yes_holds_for_the_call_it_was_given_to() -> None:
    """The kernel binds an answer to (task, call, input digest); a saved rule binds to the text."""
    saved = rules_for_always(bash("make a*b"), rules(), "default", True)
    assert saved == (r"Bash(make a\*b)",)
    for other in ("make aXb", "make 'a*b' c", "make a*b; rm x", "make"):
        assert outcome(bash(other), rules(allow=saved)) == "ask", other
    assert outcome(bash("make a*b"), rules(allow=saved)) == "allow"


def test_13_a_rule_that_denies_reading_covers_the_readers_and_says_no_more_than_that() -> None:
    given = rules(deny=["Read(.env)"])
    for command in ("cat .env", "head -1 ./.env", "grep x .env", "cat < .env", "cd sub && cat .env",
                    "diff a .env", "cp .env x", f"cat {CWD}/.env"):  # fmt: skip
        assert outcome(bash(command), given) == "deny", command
    assert outcome(call("Grep", {"pattern": "x", "path": ".env"}), given) == "deny"
    assert outcome(bash("cat $f"), given) == "ask"
    # Stated, not hidden: code is not read. It is asked about unless a rule lets the interpreter.
    assert outcome(bash("python -c 'open(\".env\")'"), given) == "ask"


def test_14_what_always_offers_is_what_is_saved_and_what_works() -> None:
    for command in ("make a && make b", "make x | tee out", "npm test", "A=1 make", "git push -f"):
        asked = bash(command)
        saved = rules_for_always(asked, rules(), "default", True)
        assert saved, command
        assert outcome(asked, rules(allow=saved)) == "allow", command
    for hopeless in ("rm -rf /", "touch .git/x", "make (", "cd x && git log",
                     "a; b; c; d; e; f", "make 'a\nb'", "rm *", "make " + "x" * 200):  # fmt: skip
        assert rules_for_always(bash(hopeless), rules(), "default", True) == (), hopeless
    asked = bash("make x")
    assert rules_for_always(asked, rules(ask=["Bash(make:*)"]), "default", True) == ()


def test_the_engine_is_one_pure_function() -> None:
    """decide is not async, and importing the plugin loads no parser and opens no file."""
    assert not inspect.iscoroutinefunction(decide_function)
    assert callable(make_gate)
    code = "import noeta.plugins.permissions, sys; sys.exit('tree_sitter' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert HOME
