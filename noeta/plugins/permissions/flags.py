"""The few programs whose options are compared as a set, whatever their order and spelling.

`rm -rf`, `rm -fr`, `rm -r -f` and `rm --recursive --force` are one thing to a rule that denies or
asks. A rule that allows is compared as it is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.patterns import Pattern, pattern
from noeta.plugins.permissions.script import Command, Word, known, spelled

_LONG = {
    "rm": {"--recursive": "r", "--force": "f", "--dir": "d", "--interactive": "i"},
    "chmod": {"--recursive": "R", "--changes": "c", "--verbose": "v", "--silent": "f"},
    "dd": {},
    "git push": {"--force": "f", "--delete": "d", "--set-upstream": "u", "--dry-run": "n"},
    "git reset": {},
    "git clean": {"--force": "f", "--dry-run": "n", "--quiet": "q"},
}  # fmt: skip
_GIT_VALUED = names("-C -c --git-dir --work-tree --namespace --exec-path --super-prefix")


@dataclass(frozen=True, slots=True)
class Shape:
    """A command of one of these programs, its options in a set."""

    program: str
    flags: frozenset[str]
    operands: tuple[str, ...]


def flags_match(rule: Pattern, have: Shape | None) -> bool:
    """Whether a command is what the rule means, once both have their options in a set."""
    wanted = _wanted(rule.base)
    if wanted is None or have is None or wanted.program != have.program:
        return False
    if not wanted.flags <= have.flags:
        return False
    if not wanted.operands:
        return rule.open or not have.operands or bool(wanted.flags)
    spec = " ".join(wanted.operands) + (" *" if rule.open else "")
    if have.program in {"dd", "chmod"} and len(wanted.operands) == 1:
        return any(pattern(wanted.operands[0]).matches(operand) for operand in have.operands)
    return pattern(spec).matches(" ".join(have.operands))


def same_program(rule: Pattern, have: Shape | None) -> bool:
    """Whether options that are not known yet could make a command what the rule means."""
    wanted = _wanted(rule.base)
    return wanted is not None and have is not None and wanted.program == have.program


@lru_cache(maxsize=4096)
def _wanted(base: str) -> Shape | None:
    return shape_of([known(text) for text in base.split()])


def without_git_options(words: Sequence[Word]) -> Sequence[Word]:
    """`git -C there push` as `git push`."""
    if not words or words[0].text.rsplit("/", 1)[-1] != "git":
        return words
    index = 1
    while index < len(words) and words[index].text.startswith("-"):
        index += 2 if words[index].text in _GIT_VALUED else 1
    return (words[0], *words[index:])


def spellings(command: Command) -> tuple[str, ...]:
    """The texts that rules that deny or ask are compared with."""
    words = command.words
    texts = [spelled(words), " ".join(word.source for word in words)]
    texts.append(" ".join(word.text for word in words))
    if command.program:
        name = known(command.program.rsplit("/", 1)[-1])
        texts.append(spelled((name, *words[1:])))
        texts.append(spelled(without_git_options((name, *words[1:]))))
    before = " ".join(assignment.source for assignment in command.assignments)
    if before:
        texts += [f"{before} {text}" for text in texts]
    return tuple(dict.fromkeys(texts))


def shape_of(words: Sequence[Word]) -> Shape | None:
    """The shape of a command; None: its options are not compared as a set."""
    words = without_git_options(words)
    if not words:
        return None
    program = words[0].text.rsplit("/", 1)[-1]
    rest = words[1:]
    if program == "git" and rest:
        program, rest = f"git {rest[0].text}", rest[1:]
    if program not in _LONG:
        return None
    long = _LONG[program]
    flags: set[str] = set()
    operands: list[str] = []
    options = True
    for word in rest:
        text = word.text
        if not options or not text.startswith("-") or len(text) == 1:
            operands.append(text)
            if program == "git push" and text.startswith("+"):
                flags.add("f")
        elif text == "--":
            options = False
        elif text.startswith("--"):
            flag = text.partition("=")[0]
            # GNU and git take the beginning of a long option for the option.
            full = [letter for name, letter in long.items() if name.startswith(flag)]
            flags.add(full[0] if full else flag)
        else:
            flags |= set(text[1:])
    if program == "rm":
        flags = {"r" if flag == "R" else flag for flag in flags}
    return Shape(program, frozenset(flags), tuple(operands))
