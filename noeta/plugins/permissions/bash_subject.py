"""A call of Bash: every simple command of it decided alone, every file of it looked at."""

from collections.abc import Sequence
from dataclasses import dataclass

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.files import ACCEPTED_WITH_EDITS, files_of, is_plain_sed
from noeta.plugins.permissions.matching import (
    Part,
    allows,
    command_hit,
    command_may_hit,
    is_whole,
    part,
)
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.path_subject import covers, edit_guards
from noeta.plugins.permissions.paths import absolute, is_below, is_worked_in, names_of
from noeta.plugins.permissions.readonly import only_reads
from noeta.plugins.permissions.removal import critical_removal
from noeta.plugins.permissions.rules import Rule
from noeta.plugins.permissions.script import Command, Word, spelled
from noeta.plugins.permissions.subject import Call, Grant, Guard, Mode, Open, field_hit
from noeta.plugins.permissions.tree import Bases, Node, Tree, bases_of, grow
from noeta.plugins.permissions.variables import is_safe_before_command

_MAKERS = names("cp mv ln install")
_HARMLESS = names("/dev/null /dev/stdout /dev/stderr /dev/stdin")


@dataclass(frozen=True, slots=True)
class BashSubject:
    """A script that is to be run."""

    call: Call
    tree: Tree
    bases: Bases
    trust: bool
    parts: tuple[Part, ...]
    written: tuple[Word, ...]
    """Words that are files it writes or removes, also by redirects."""
    read: tuple[Word, ...]

    def hit(self, rule: Rule) -> bool:
        """See Subject."""
        match rule.spec_kind, rule.tool:
            case "field", _:
                return field_hit(rule, self.call)
            case "command", "Bash":
                return any(command_hit(rule, each) for each in self.parts)
            case "any", _ if rule.names("Bash"):
                return True
            case "path" | "any", "Edit":
                return any(
                    covers(rule, path, self.call.place) for path in self._named(self.written)
                )
            case "path" | "any", "Read":
                paths = self._named(self.read)
                return any(covers(rule, path, self.call.place) for path in paths)
            case _:
                return False

    def may_hit(self, rule: Rule) -> bool:
        """See Subject."""
        match rule.spec_kind, rule.tool:
            case "command", "Bash":
                return any(command_may_hit(rule, each) for each in self.parts)
            case "path", "Edit":
                return any(not self._sure(word) for word in self.written)
            case "path", "Read":
                return any(not self._sure(word) for word in self.read)
            case _:
                return False

    def guards(self) -> Sequence[Guard]:
        """See Subject."""
        unreadable = [doubt for doubt in self.tree.doubts() if doubt.kind == "unreadable"]
        guards = [Guard(doubt.reason, True) for doubt in unreadable]
        for node in self.tree.all_nodes():
            reason = critical_removal(files_of(node.command), self.call.place, self.bases)
            if reason is not None:
                guards.append(Guard(reason, True))
        for word in self.written:
            if word.text.startswith("/dev/"):
                guards += [] if word.text in _HARMLESS else [Guard(_asks(word), False)]
            elif not self._sure(word):
                guards.append(Guard(_asks(word), False))
            else:
                for path in self._absolute(word):
                    guards += edit_guards(path, self.call.place)
        guards += [Guard(texts.MADE_HERE.format(path=path), False) for path in self._made_here()]
        for redirect in self.tree.redirects():
            target = redirect.target
            if redirect.writes and target.tilde:
                guards.append(Guard(_asks(target), False))
            elif target.text.startswith(("/dev/tcp", "/dev/udp")):
                guards.append(Guard(texts.NETWORK, False))
        return guards

    def writes(self) -> str | None:
        """See Subject."""
        words = [word for word in self.written if word.text not in _HARMLESS]
        return words[0].source if words else None

    def granted(self, allow: Sequence[Rule], mode: Mode) -> Grant | Open:
        """See Subject."""
        rules = [rule for rule in allow if rule.names("Bash")]
        edits = [rule for rule in allow if rule.tool == "Edit"]
        whole = self.call.text("command").strip()
        for rule in rules:
            # A rule for everything, or for this very line, needs no further look.
            if rule.spec_kind == "any" or is_whole(rule, whole):
                return Grant(texts.ALLOWED.format(rule=rule.text), rule)
        for doubt in self.tree.doubts():
            return Open(doubt.reason)
        if self._leaves_for_git():
            return Open(texts.CD_GIT)
        for redirect in self.tree.redirects():
            if redirect.writes and not self._may_write(redirect.target, edits, mode):
                return Open(texts.REDIRECT.format(path=redirect.target.source))
        used: list[Rule] = []
        for node in self.tree.nodes:
            granted = self._node(node, rules, mode)
            if isinstance(granted, Open):
                return granted
            used += [granted.rule] if granted.rule is not None else []
        if used:
            return Grant(texts.ALLOWED.format(rule=used[0].text), used[0])
        return Grant(texts.READS if mode != "acceptEdits" else texts.ACCEPTED)

    def paths(self) -> tuple[str, ...]:
        """Every path whose target matters."""
        found = self._named([*self.written, *self.read])
        return tuple(dict.fromkeys([*self.bases.paths, *found]))

    def open_commands(self, allow: Sequence[Rule], mode: Mode) -> list[Command]:
        """The simple commands that nothing allows yet."""
        rules = [rule for rule in allow if rule.names("Bash")]
        nodes = [n for n in self.tree.nodes if isinstance(self._node(n, rules, mode), Open)]
        return [node.command for node in nodes]

    def open_writes(self, allow: Sequence[Rule], mode: Mode) -> list[Word]:
        """The files of redirects that nothing allows yet."""
        edits = [rule for rule in allow if rule.tool == "Edit"]
        targets = [redirect.target for redirect in self.tree.redirects() if redirect.writes]
        return [word for word in targets if not self._may_write(word, edits, mode)]

    def named(self, word: Word) -> list[str]:
        """The paths that a word may mean, as they read."""
        return [names_of(path, self.call.place)[0] for path in self._absolute(word)]

    def _node(self, node: Node, rules: Sequence[Rule], mode: Mode) -> Grant | Open:
        command, inner = node.command, node.inner
        rule = next((rule for rule in rules if allows(rule, node)), None)
        if rule is not None:
            return Grant(texts.ALLOWED.format(rule=rule.text), rule)
        for assignment in command.assignments:
            if not is_safe_before_command(assignment.name):
                return Open(texts.SETS_VARIABLE.format(name=assignment.name))
        if inner is None:
            if only_reads(command, self.trust):
                return Grant(texts.READS)
            if mode == "acceptEdits" and self._is_accepted_edit(command):
                return Grant(texts.ACCEPTED)
            return Open(texts.NO_RULE.format(what=f"`{spelled(command.words)}`"))
        if not inner.seen or inner.opaque:
            return Open(inner.reason)
        used = Grant(texts.READS)
        for each in (*node.nodes, *(found for tree in node.trees for found in tree.nodes)):
            granted = self._node(each, rules, mode)
            if isinstance(granted, Open):
                return granted
            used = granted if granted.rule is not None else used
        return used

    def _is_accepted_edit(self, command: Command) -> bool:
        if command.program not in ACCEPTED_WITH_EDITS:
            return False
        files = files_of(command)
        if command.program == "sed" and not files.writes:
            return False
        words = {*files.writes, *files.reads, *files.removes}
        if command.program == "sed":
            if not is_plain_sed(command):
                return False
            words = set(files.writes)
        return all(self._inside(word) for word in words)

    def _made_here(self) -> list[str]:
        """Paths below what the script itself moves, copies or links there: perhaps a link."""
        made: set[str] = set()
        written: set[str] = set()
        for each in self.parts:
            paths = set(self._named(each.files.writes))
            if each.command.program in _MAKERS:
                made |= paths
            else:
                written |= paths
        return sorted(p for p in written if any(p != top and is_below(p, top) for top in made))

    def _inside(self, word: Word) -> bool:
        place = self.call.place
        return self._sure(word) and all(is_worked_in(p, place) for p in self._absolute(word))

    def _may_write(self, word: Word, edits: Sequence[Rule], mode: Mode) -> bool:
        if word.pipe or (word.known and word.text in _HARMLESS):
            return True
        if not self._sure(word) or word.tilde:
            return False
        if mode == "acceptEdits" and self._inside(word):
            return True
        paths = self._absolute(word)
        return all(any(covers(rule, path, self.call.place) for rule in edits) for path in paths)

    def _leaves_for_git(self) -> bool:
        programs = {node.command.program.rsplit("/", 1)[-1] for node in self.tree.all_nodes()}
        moved = any(
            names_of(p, self.call.place)[0] != self.call.place.cwd for p in self.bases.paths
        )
        return "git" in programs and (moved or not self.bases.certain)

    def _named(self, words: Sequence[Word]) -> list[str]:
        return [path for word in words if self._literal(word) for path in self._absolute(word)]

    def _literal(self, word: Word) -> bool:
        return word.known and (not word.tilde or word.text == "~" or word.text.startswith("~/"))

    def _sure(self, word: Word) -> bool:
        relative = not word.text.startswith("/") and not word.tilde
        return self._literal(word) and (self.bases.certain or not relative)

    def _absolute(self, word: Word) -> list[str]:
        home = self.call.place.home
        if word.tilde:
            return [absolute(word.text, self.call.place.cwd, home)]
        text = word.text if not word.text.startswith("~") else f"./{word.text}"
        return [absolute(text, base, home) for base in self.bases.paths]


def bash_subject(call: Call, trust: bool) -> BashSubject:
    """Read the command of a call."""
    tree = grow(call.text("command"))
    parts = tuple(part(command) for command in dict.fromkeys(tree.commands()))
    redirects = tree.redirects()
    return BashSubject(
        call=call,
        tree=tree,
        bases=bases_of(tree, call.place),
        trust=trust,
        parts=parts,
        written=_files(
            [word for each in parts for word in (*each.files.writes, *each.files.removes)],
            [redirect.target for redirect in redirects if redirect.writes],
        ),
        read=_files(
            [word for each in parts for word in each.files.reads],
            [redirect.target for redirect in redirects if not redirect.writes],
        ),
    )


def _files(words: list[Word], targets: list[Word]) -> tuple[Word, ...]:
    return tuple(word for word in dict.fromkeys([*words, *targets]) if not word.pipe)


def _asks(word: Word) -> str:
    return texts.UNSURE_WRITE.format(path=word.source)
