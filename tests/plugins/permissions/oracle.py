"""The executed-argv oracle: real Bash, where every program only writes down its words.

Commands are drawn from a grammar and then damaged at random, so that the reader of Bash and Bash
itself get every chance to disagree about where a command ends.
"""

import contextlib
import json
import os
import random
import re
import resource
import signal
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

ALLOWED = ["Bash(git log:*)", "Bash(npm run *)", "Bash(foo)", "Bash(make test*)"]
RECORDERS = [
    "git",
    "npm",
    "foo",
    "make",
    "rm",
    "evil",
    "curl",
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "wc",
    "sort",
    "cut",
    "tr",
    "basename",
    "python3",
    "sudo",
    "touch",
    "seq",
    "date",
    "rg",
    "diff",
    "stat",
    "which",
    "deploy",
    "sed",
    "awk",
    "tee",
    "cp",
    "mv",
    "git-evil",
    "test.sh",
    "uname",
]
REAL = ("xargs", "env", "find", "timeout", "nice", "nohup", "bash", "sh", "stdbuf")
READERS = frozenset(
    [
        "ls",
        "cat",
        "head",
        "tail",
        "grep",
        "wc",
        "cut",
        "tr",
        "basename",
        "seq",
        "diff",
        "stat",
        "which",
        "uname",
        "rg",
        "date",
        "sort",
    ]
)
SECONDS_MAX = 3.0

_RECORDER = r"""#!/bin/bash -p
log='@LOG@'
out='['
for word in "$PATH" "${GIT_PAGER-}${IFS_EVIL-}" "${0##*/}" "$@"; do
  word=${word//\\/\\\\}; word=${word//\"/\\\"}; word=${word//$'\n'/\\n}; word=${word//$'\t'/\\t}
  out+="\"$word\", "
done
printf '%s]\n' "${out%, }" >>"$log"
"""


@dataclass(frozen=True)
class Ran:
    """What a script ran, and the files that it left."""

    argvs: list[list[str]]
    made: set[str]
    odd_environment: bool


class Recorder:
    """A scratch directory whose PATH holds recorders and the real wrappers, and nothing else."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.bin = top / "bin"
        self.cwd = top / "work"
        self.log = top / "log"
        self.bin.mkdir(parents=True)
        self.cwd.mkdir()
        for name in RECORDERS:
            path = self.bin / name
            path.write_text(_RECORDER.replace("@LOG@", str(self.log)))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        for name in REAL:
            found = next((p for p in ("/usr/bin", "/bin") if (Path(p) / name).exists()), None)
            if found:
                (self.bin / name).symlink_to(Path(found) / name)
        self._files = {"a.py": "x\n", "b c": "y\n", "-delete": "", "sub/d.py": ""}
        for name, text in self._files.items():
            path = self.cwd / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        self._kept = self._listing()

    def run(self, script: str) -> Ran:
        """Run it under a time limit and read what was recorded."""
        self.log.write_text("")
        environment = {"PATH": str(self.bin), "HOME": str(self.cwd), "LC_ALL": "C.UTF-8"}
        process = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile", "-c", script],
            cwd=self.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_limit,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_MAX)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return self._read()

    def _read(self) -> Ran:
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line]
        records = [json.loads(line, strict=False) for line in lines if line.endswith("]")]
        odd = any(record[0] != str(self.bin) or record[1] for record in records)
        made = self._listing() ^ self._kept
        for name in made:
            path = self.cwd / name
            if path.is_file() and name not in self._files:
                path.unlink()
        for name, text in self._files.items():
            if not (self.cwd / name).exists():
                (self.cwd / name).write_text(text)
        return Ran([record[2:] for record in records], made, odd)

    def _listing(self) -> set[str]:
        return {str(path.relative_to(self.cwd)) for path in self.cwd.rglob("*")}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def is_covered(argv: list[str]) -> bool:
    """Whether a rule of ALLOWED, or the read-only set, means these words. Written a second time on
    purpose: it shares nothing with the engine."""
    line = " ".join(argv)
    if argv[:2] == ["git", "log"] or argv == ["foo"] or line.startswith("make test"):
        return True
    if argv[:2] == ["npm", "run"] and len(argv) >= 2:
        return True
    if argv[0] == "sort":
        return not any(re.match(r"-[^-]*o|--o(u(t(p(u(t(=.*)?)?)?)?)?)?$", word) for word in argv)
    if argv[0] == "git":
        return argv[1:2] == ["status"]
    return argv[0] in READERS


class Grammar:
    """Scripts at random: mostly what the rules allow, with something else here and there."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def script(self) -> str:
        """The next script."""
        text = self._list(3)
        if self._random.random() < 0.5:
            text = self._damage(text)
        return text

    def _one(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _list(self, depth: int) -> str:
        parts = [self._item(depth) for _ in range(self._random.choice((1, 1, 2, 2, 3)))]
        text = parts[0]
        for part in parts[1:]:
            text += self._one(" && ", "; ", " | ", " || ", "\n", " & ", " |& ", ";", "&&", "|")
            text += part
        return text

    def _item(self, depth: int) -> str:
        if depth <= 0 or self._random.random() < 0.55:
            return self._simple(depth)
        inner = self._list(depth - 1)
        quoted = "'" + inner.replace("'", "'\\''") + "'"
        return self._one(
            f"( {inner} )",
            f"{{ {inner}; }}",
            f"for f in a {self._word(depth)}; do {inner}; done",
            f"if {inner}; then {self._simple(depth)}; else {inner}; fi",
            f"while false; do {inner}; done",
            f"until true; do {inner}; done",
            f"case {self._word(depth)} in a*) {inner};; *) {self._simple(depth)};; esac",
            f"[[ {self._word(depth)} == a* ]] && {inner}",
            f"[ {self._word(depth)} = a ] || {inner}",
            f"! {self._simple(depth)}",
            f"fn() {{ {inner}; }}; fn",
            f"echo $({inner})",
            f'echo "`{inner}`"',
            f"cat <({inner})",
            f"bash -c {quoted}",
            f"eval {quoted}",
            f"trap {quoted} EXIT",
            f"time {inner}",
            f"coproc {{ {inner}; }}",
            f"cat <<EOF\n$({inner})\nEOF",
            f"cat <<'EOF'\n{inner}\nEOF",
            f"cat <<-EOF | {self._simple(depth)}\n\ta `{self._simple(0)}`\n\tEOF",
            f"cat <<< {self._word(depth)}",
            f"cat <<EOF\n$(( {inner} '`evil`' ))\nEOF",
            f"cat <<EOF\n{self._word(depth)} {self._word(depth)}\nEOF",
            f'echo "{self._word(depth).strip(chr(34))}"',
            f"(( {inner} ))",
            f"(({inner}); {self._simple(0)})",
            f"x={self._word(depth)}; {inner}",
            f"echo ${{x:-$({inner})}}",
            f"echo $(( $({inner}) + 1 ))",
        )

    def _simple(self, depth: int) -> str:
        words = self._one(
            "git log", "git log -1", "git status", "npm run build", "foo", "make test",
            "make tests",
            "ls", "cat a.py", "echo hi", "grep -r x .", "head -1 a.py", "wc -l", "find .", "seq 3",
            "git log", "foo", "ls -la", "true", "echo a b", "sort a.py", "git log --oneline",
            *(["evil", "rm x", "git push", "npm install", "foo x", "make", "lsof"]
              if self._random.random() < 0.25 else ["ls"]),
        )  # fmt: skip
        if self._random.random() < 0.3:
            words = self._one(
                "", "timeout 1 ", "nice ", "nohup ", "command ", "env ", "env A=1 ", "LANG=C ",
                "X=1 ",
                "builtin ", "xargs ", "echo a | xargs ", "xargs -n1 ", "stdbuf -oL ", "time ",
                "exec ",
                "echo evil | xargs -I{} ", "find . -exec ", "! ", "env -i ", "nice -n 5 ",
                "PATH=. ",
                "GIT_PAGER=evil ", "sudo ", "eval ", "timeout -k 1 1 ", "echo a | ",
            ) + words  # fmt: skip
            if "find . -exec " in words:
                words += self._one(" \\;", " {} \\;", " {} +", " ';'", " {} ';' -exec evil \\;")
        for _ in range(self._random.choice((0, 0, 0, 1, 1, 2))):
            words += " " + self._word(depth)
        if self._random.random() < 0.2:
            words += self._one(
                " >/dev/null", " 2>&1", " > out", " >/dev/null x", " 2>/dev/null", " &>/dev/null",
                " < a.py", " >>out", " >| out", " >&2", " 2>&1 -x", " >/dev/null; evil", " 1<>f",
            )  # fmt: skip
        return words

    def _word(self, depth: int) -> str:
        if depth > 0 and self._random.random() < 0.15:
            inner = self._simple(depth - 1)
            return self._one(f"$({inner})", f'"$({inner})"', f"`{inner}`", f"a$({inner})b")
        return self._one(
            "a", "'a b'", '"a b"', "$x", '"$x"', "a\\ b", "*.py", "-delete", "x#y", "{a,b}", "~",
            "$'a\\tb'", "'$(evil)'", "\\$\\(evil\\)", '"a\'b"', "''", '""', "a=b", "-n", "--", "#c",
            "${x}", "${x#a}", "$((1+1))", "'a\nb'", '"a\\"b"', "a\\\nb", "\\;", "'`evil`'", "[ab]",
            "$HOME", "é", "${x:-y}", "a'b'c", "--output=x", "${x:-'$(evil)'}",
            "\"${x:-'`evil`'}\"", "${x#'`evil`'}", "${x:-\\`evil\\`}", "-o", "!", "{}", "$1", "$@",
        )  # fmt: skip

    def _damage(self, text: str) -> str:
        for _ in range(self._random.choice((1, 1, 1, 2, 3))):
            at = self._random.randrange(len(text) + 1)
            piece = self._one(
                "'", '"', "\\", "\n", "#", " #", "`", "$(", ")", "(", ";", "&", "|", "{", "}", "$",
                " ",
                "<<EOF\n", "\nEOF\n", ";evil;", "\nevil\n", "`evil`", "$(evil)", "<(evil)", "$'",
                '$"',
                "<<A\nx\nA\nevil\n", "\\\n", "evil ", " evil", "<<-'E'\n", "\nE\n", "#'\nevil\n#'",
                "\t", "=", "[", "]", "!", "~", "${", "((", "))", "[[", "]]", "esac", "\ndone\n",
                "then ", "coproc ", "\r", "\x0b", "\xa0", "<", ">", "&&", "\\'", "<<'A'\n", "\nA\n",
                "case x in x) ", ";; esac", "$((", "<<<", "=(", "+=", "\nEOF", "EOF", "<<E\\OF\n",
            )  # fmt: skip
            if self._random.random() < 0.3:
                end = min(len(text), at + self._random.randrange(1, 6))
                text = text[:at] + (piece if self._random.random() < 0.5 else "") + text[end:]
            else:
                text = text[:at] + piece + text[at:]
        return text
