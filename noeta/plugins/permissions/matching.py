"""Command rules compared with commands: to deny or ask by any spelling, to allow by one."""

from dataclasses import dataclass

from noeta.plugins.permissions.files import Files, files_of
from noeta.plugins.permissions.flags import Shape, flags_match, same_program, shape_of, spellings
from noeta.plugins.permissions.patterns import pattern
from noeta.plugins.permissions.rules import Rule
from noeta.plugins.permissions.script import Command, spelled
from noeta.plugins.permissions.tree import Node
from noeta.plugins.permissions.variables import is_safe_before_command
from noeta.plugins.permissions.wrappers import code_flag


@dataclass(frozen=True, slots=True)
class Part:
    """A command with what is compared about it, worked out once."""

    command: Command
    spellings: tuple[str, ...]
    shape: Shape | None
    files: Files


def part(command: Command) -> Part:
    """The command, ready to be compared."""
    return Part(command, spellings(command), shape_of(command.words), files_of(command))


def is_whole(rule: Rule, command: str) -> bool:
    """Whether the rule allows every command, or this whole line as it stands."""
    read = pattern(rule.spec)
    return rule.spec_kind == "command" and (read.total or (read.exact and read.matches(command)))


def command_hit(rule: Rule, part: Part) -> bool:
    """Whether a rule that denies or asks is about the command."""
    read = pattern(rule.spec)
    return any(read.matches(text) for text in part.spellings) or flags_match(read, part.shape)


def command_may_hit(rule: Rule, part: Part) -> bool:
    """Whether it may be, by words that only the shell will know."""
    read = pattern(rule.spec)
    words = part.command.words
    at = next((index for index, word in enumerate(words) if not word.known), None)
    if at is None:
        return False
    unsure = any(not word.known and word.may_be_option for word in words)
    if unsure and same_program(read, part.shape):
        return True
    sure = " ".join([*(word.text for word in words[:at]), words[at].head])
    return sure.startswith(read.prefix) or read.prefix.startswith(sure)


def allows(rule: Rule, node: Node) -> bool:
    """Whether a rule that allows is enough for the command and for what it runs."""
    if rule.spec_kind == "any":
        return True
    if rule.spec_kind != "command":
        return False
    read = pattern(rule.spec)
    command, inner = node.command, node.inner
    words = (spelled(command.words), " ".join(word.source for word in command.words))
    before = " ".join(assignment.source for assignment in command.assignments)
    safe = all(is_safe_before_command(each.name) for each in command.assignments)
    candidates = [f"{before} {text}" for text in words] if before else []
    candidates += words if safe else ()
    if not any(read.matches(text) for text in candidates):
        return False
    if inner is None or read.exact or read.total:
        return True
    if inner.opaque:
        return inner.seen
    flag = code_flag(command)
    return bool(flag) and flag in read.prefix.split()
