"""Programs that run another program: what they run, when it can be told.

A wrapper is looked through: `timeout 5 git log` is `git log`. An opaque one is looked through by
rules that deny or ask only, because it changes more than it shows (another user, another host).
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.script import Assignment, Command, Word, known, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """What a wrapper runs."""

    commands: tuple[Command, ...] = ()
    scripts: tuple[str, ...] = ()
    """Text that it hands to a shell."""
    seen: bool = True
    """Whether that is all it runs. What is not seen is left to rules that name it in full."""
    opaque: bool = False
    """Whether it needs a rule of its own, besides what it runs."""
    reason: str = ""
    """Why it is not seen, or opaque."""


_RESERVED = names(
    "{ } ! ( ) [[ ]] if then elif else fi while until do done for select case esac in function"
    " coproc"
)
# Options that take a value, and those that take none, of the wrappers that are looked through.
_VALUED: dict[str, Collection[str]] = {
    "timeout": {"-k", "-s", "--kill-after", "--signal"},
    "nice": {"-n", "--adjustment"},
    "stdbuf": {"-i", "-o", "-e", "--input", "--output", "--error"},
    "sudo": {"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R"},
    "doas": {"-u", "-C", "-a"},
    "ssh": names("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w"),
    "docker": names("-e --env -u --user -w --workdir --env-file --detach-keys -n --namespace -c"
                  " --container --index"),
    "xargs": {"-n", "-P", "-L", "-s", "-d", "-a", "-E", "-I"},
    "env": {"-u", "--unset"},
}  # fmt: skip
_BARE: dict[str, Collection[str]] = {
    "timeout": {"-v", "--foreground", "--preserve-status", "--verbose"},
    "nohup": (),
    "time": {"-p"},
    "command": {"-p"},
    "builtin": (),
    "noglob": (),
    "nice": (),
    "stdbuf": (),
    "xargs": {"-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"},
    "exec": (),
    "env": {"-i", "-", "--ignore-environment"},
}
_WORDS_MAX = 20
_SHELLS = names("bash sh dash zsh ksh ash")
_ANOTHER_USER_OR_HOST = names("sudo doas ssh")
_CONTAINERS = names("docker podman nerdctl kubectl docker-compose")
_NEVER_BY_PREFIX = names(
    "watch setsid ionice flock chroot unshare nsenter strace ltrace gdb parallel script su runuser"
    " pkexec chrt taskset numactl prlimit busybox toybox systemd-run at batch entr rlwrap unbuffer"
    " expect dbus-run-session fakeroot firejail bwrap caffeinate"
)
_UNSEEN = names(
    "source . coproc let read mapfile readarray getopts complete compgen bind enable hash fc alias"
    " unalias declare typeset local export readonly unset"
)
_CODE = {
    "python": ("-c",), "pypy": ("-c",), "perl": ("-e", "-E"), "ruby": ("-e",),
    "node": ("-e", "-p", "--eval", "--print"), "nodejs": ("-e", "-p", "--eval", "--print"),
    "php": ("-r",), "lua": ("-e",), "deno": ("eval",), "bun": ("-e", "--eval"),
    "osascript": ("-e",), "Rscript": ("-e",), "pwsh": ("-c", "-Command"),
}  # fmt: skip


def inner_of(command: Command) -> Inner | None:
    """What the command runs besides itself; None when it runs nothing else that is known of."""
    words = command.words
    name = command.program
    rest = words[1:]
    if "/" in name:
        # Only rules that deny take any path for the wrapper of that name.
        bare = known(name.rsplit("/", 1)[-1])
        inner = inner_of(replace(command, words=(bare, *rest))) if bare.text else None
        reason = texts.WRAPPER_PATH.format(name=name)
        return replace(inner, seen=False, reason=reason) if inner is not None else None
    if not name:
        return Inner(seen=False, reason=texts.UNKNOWN_PROGRAM.format(word=words[0].source))
    if name in _RESERVED:
        return replace(_anywhere(rest, name), reason=texts.RESERVED.format(word=name))
    if name in {"[", "test"}:
        unsafe = name == "[" or any(word.text == "-v" or not word.known for word in rest)
        return Inner(seen=False, reason=texts.CONDITION) if unsafe else None
    if name == "printf" and (not rest or rest[0].may_be_option):
        return Inner(seen=False, reason=texts.UNSEEN.format(name=name))
    if name in _UNSEEN:
        return Inner(seen=False, reason=texts.UNSEEN.format(name=name))
    if name in _NEVER_BY_PREFIX:
        return replace(_anywhere(rest, name), reason=texts.RUNS_ANOTHER.format(name=name))
    match name:
        case "eval":
            return _shell_text(rest, name)
        case "trap":
            return _shell_text(rest[:1], name) if rest else None
        case "env":
            return _env(rest)
        case "find":
            return _find(command)
        case "xargs":
            return _xargs(rest)
        case "command" if rest and rest[0].text in {"-v", "-V"}:
            return None
        case name if name in _SHELLS:
            return _shell(rest, name)
        case name if name in _ANOTHER_USER_OR_HOST:
            return _another(rest, name)
        case name if name in _CONTAINERS:
            return _container(rest, name)
        case name if name in _BARE:
            return _plain(rest, name)
    flags = next((f for p, f in _CODE.items() if re.fullmatch(rf"{p}[\d.]*", name)), None)
    if flags is not None:
        hidden = not rest or any(_is_code(word, flags) for word in rest)
        if hidden:
            return Inner(seen=False, reason=texts.CODE.format(name=name))
    return None


def code_flag(command: Command) -> str:
    """The option after which an interpreter takes code from the command line; empty: none."""
    for program, flags in _CODE.items():
        if re.fullmatch(rf"{program}[\d.]*", command.program):
            return next((w.text for w in command.words[1:] if w.text in flags), "")
    return ""


def _is_code(word: Word, flags: Sequence[str]) -> bool:
    if word.text == "-" or (not word.known and word.may_be_option):
        return True
    short = [flag[1] for flag in flags if len(flag) == 2]
    cluster = re.fullmatch(r"-[A-Za-z].*", word.text) and not word.text.startswith("--")
    return word.text.split("=")[0] in flags or bool(cluster and set(word.text[1:]) & set(short))


def _run(words: Sequence[Word], assignments: Sequence[Assignment] = ()) -> tuple[Command, ...]:
    return (Command(tuple(words), tuple(assignments)),) if words else ()


def _plain(words: Sequence[Word], name: str) -> Inner:
    rest, understood = _options(words, name)
    if name == "timeout" and rest:
        understood = understood and bool(re.fullmatch(r"[\d.]+[smhd]?", rest[0].text))
        rest = rest[1:]
    return Inner(commands=_run(rest)) if understood else _anywhere(rest, name)


def _options(words: Sequence[Word], name: str) -> tuple[Sequence[Word], bool]:
    """The words after the wrapper's own options; whether each of these was known."""
    valued, bare = _VALUED.get(name, ()), _BARE.get(name, ())
    index = 0
    understood = True
    while index < len(words) and words[index].may_be_option:
        word = words[index]
        if not word.known:
            # It may be the program itself.
            return words[index:], understood
        index += 1
        if word.text == "--":
            break
        flag, has_value, _ = word.text.partition("=")
        if flag in valued and not has_value:
            understood &= index < len(words) and words[index].known
            index += 1
        else:
            glued = word.text[:2] in valued and word.text[1] != "-"
            number = name == "nice" and re.fullmatch(r"-\d+", word.text)
            understood &= flag in valued or word.text in bare or glued or bool(number)
    return words[index:], understood


def _xargs(words: Sequence[Word]) -> Inner:
    rest, understood = _options(words, "xargs")
    own = words[: len(words) - len(rest)]
    sign = ""
    for index, word in enumerate(own):
        if word.text.startswith("-I"):
            sign = word.text[2:] or "".join(after.text for after in own[index + 1 : index + 2])
    if sign:
        rest = [unknown(word.source) if sign in word.text else word for word in rest]
    elif rest:
        rest = [*rest, unknown("…")]
    return Inner(commands=_run(rest)) if understood else _anywhere(rest, "xargs")


def _env(words: Sequence[Word]) -> Inner:
    rest, understood = _options(words, "env")
    assignments: list[Assignment] = []
    while rest and (match := re.match(r"(\w+)=", rest[0].head)):
        assignments.append(Assignment(match[1], rest[0].source))
        rest = rest[1:]
    if not understood or not rest or not rest[0].known:
        return _anywhere(rest, "env")
    return Inner(commands=_run(rest, assignments))


def _anywhere(words: Sequence[Word], name: str) -> Inner:
    """The wrapper could not be read: any word may be the program, or a script."""
    commands = [Command(tuple(words[i:])) for i, w in enumerate(words) if not w.may_be_option]
    scripts = [word.text for word in words if word.known and " " in word.text]
    reason = texts.OPTIONS.format(name=name)
    return Inner(
        commands=tuple(commands[:_WORDS_MAX]),
        scripts=tuple(scripts[:_WORDS_MAX]),
        seen=False,
        reason=reason,
    )


def _shell_text(words: Sequence[Word], name: str) -> Inner:
    if all(word.known for word in words):
        return Inner(scripts=(" ".join(word.text for word in words),))
    return Inner(seen=False, reason=texts.UNSEEN.format(name=name))


def _shell(words: Sequence[Word], name: str) -> Inner:
    for index, word in enumerate(words):
        if word.known and re.fullmatch(r"-[ceux]*c[ceux]*", word.text):
            script = words[index + 1 : index + 2]
            if script and script[0].known:
                return Inner(scripts=(script[0].text,))
        elif word.known and re.fullmatch(r"-[eux]+", word.text):
            continue
        break
    # Its options are not ours to read, but a script behind a -c is looked at by rules that deny.
    after = [b.text for a, b in pairwise(words) if "c" in a.text and b.known]
    return Inner(scripts=tuple(after[:1]), seen=False, reason=texts.CODE.format(name=name))


def _another(words: Sequence[Word], name: str) -> Inner:
    rest, _ = _options(words, name)
    reason = texts.ELSEWHERE.format(name=name)
    if name == "ssh":
        text = " ".join(word.text for word in rest[1:])
        visible = all(word.known for word in rest)
        return Inner(scripts=(text,) if text else (), seen=visible, opaque=True, reason=reason)
    if rest and not rest[0].known:
        return replace(_anywhere(rest, name), reason=reason)
    inner = _env(rest) if rest and "=" in rest[0].head else Inner(commands=_run(rest))
    return replace(inner, opaque=True, reason=reason)


def _container(words: Sequence[Word], name: str) -> Inner | None:
    at = next((i for i, word in enumerate(words) if word.text == "exec"), None)
    if at is None:
        return None
    rest, _ = _options(words[at + 1 :], "docker")
    inner = [word for word in rest[1:] if word.text != "--"]
    reason = texts.ELSEWHERE.format(name=f"{name} exec")
    return Inner(commands=_run(inner), opaque=True, reason=reason)


def _find(command: Command) -> Inner | None:
    words = command.words
    inner: list[Command] = []
    kept: list[Word] = []
    elsewhere = False
    index = 0
    while index < len(words):
        if words[index].text not in {"-exec", "-ok", "-execdir", "-okdir"}:
            kept.append(words[index])
            index += 1
            continue
        elsewhere |= words[index].text.endswith("dir")
        end = index + 1
        while end < len(words) and words[end].text not in {";", "+"}:
            end += 1
        run = [unknown(w.source) if "{}" in w.text else w for w in words[index + 1 : end]]
        inner += _run(run)
        index = end + 1
    if not inner:
        return None
    seen = not elsewhere and len(kept) < len(words)
    reason = texts.ELSEWHERE.format(name="find -execdir")
    own = Command(tuple(kept), command.assignments)
    return Inner(commands=(own, *inner), seen=seen, reason="" if seen else reason)
