"""A script with everything it runs: wrappers opened, text for shells read, down to the programs."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.bash import read_script
from noeta.plugins.permissions.paths import Place, absolute
from noeta.plugins.permissions.script import Command, Doubt, Redirect, Script
from noeta.plugins.permissions.wrappers import Inner, inner_of

_DEPTH_MAX = 6
COMMANDS_MAX = 200
"""Commands of a script, those within wrappers counted too. Longer ones are asked about."""
_BASES_MAX = 16


@dataclass(frozen=True, slots=True)
class Node:
    """A command and what it runs."""

    command: Command
    inner: Inner | None
    nodes: tuple["Node", ...] = ()
    trees: tuple["Tree", ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """A script and its commands."""

    script: Script
    nodes: tuple[Node, ...]

    def all_nodes(self) -> Iterator[Node]:
        """Every command, also within wrappers and texts for shells."""
        stack = list(reversed(self.nodes))
        while stack:
            node = stack.pop()
            yield node
            inside = [*node.nodes, *(inner for tree in node.trees for inner in tree.nodes)]
            stack += reversed(inside)

    def all_scripts(self) -> Iterator[Script]:
        """The script and every text for a shell in it."""
        yield self.script
        for node in self.all_nodes():
            for tree in node.trees:
                yield tree.script

    def redirects(self) -> list[Redirect]:
        """Every redirect."""
        return [redirect for script in self.all_scripts() for redirect in script.redirects]

    def doubts(self) -> list[Doubt]:
        """Every doubt, the gravest kind first."""
        found = [doubt for script in self.all_scripts() for doubt in script.doubts]
        return sorted(found, key=lambda doubt: doubt.kind != "unreadable")

    def commands(self) -> list[Command]:
        """Every command that rules that deny or ask are compared with."""
        rough = [command for script in self.all_scripts() for command in script.rough]
        return [*(node.command for node in self.all_nodes()), *rough]


def grow(text: str) -> Tree:
    """Read a script and all that it runs. Never raises."""
    return _Grower().script(text, 0)


class _Grower:
    """Grows one tree, within bounds: a line of wrappers can be read in very many ways."""

    def __init__(self) -> None:
        self._commands_count = 0

    def script(self, text: str, depth: int) -> Tree:
        script = read_script(text)
        nodes: list[Node] = []
        for command in script.commands:
            if depth > _DEPTH_MAX or self._commands_count >= COMMANDS_MAX:
                doubt = Doubt("unreadable", texts.TOO_MANY.format(commands_max=COMMANDS_MAX))
                return Tree(replace(script, doubts=(*script.doubts, doubt)), tuple(nodes))
            nodes.append(self._node(command, depth))
        return Tree(script, tuple(nodes))

    def _node(self, command: Command, depth: int) -> Node:
        # Words count a little too: wrappers that cannot be read are read from many of them.
        self._commands_count += 1 + len(command.words) // 50
        inner = inner_of(command)
        if inner is None:
            return Node(command, None)
        nodes: list[Node] = []
        trees: list[Tree] = []
        for each in inner.commands:
            if depth > _DEPTH_MAX or self._commands_count >= COMMANDS_MAX:
                trees.append(Tree(Script(doubts=(Doubt("unreadable", texts.TOO_DEEP),)), ()))
                break
            nodes.append(self._node(each, depth + 1))
        trees += [self.script(each, depth + 1) for each in inner.scripts]
        return Node(command, inner, tuple(nodes), tuple(trees))


@dataclass(frozen=True, slots=True)
class Bases:
    """The directories that a relative path of a script may be read from."""

    paths: tuple[str, ...]
    certain: bool
    """Whether there can be no other."""


def bases_of(tree: Tree, place: Place) -> Bases:
    """Where `cd` may have led, whichever of them ran."""
    paths = {place.cwd: None}
    certain = True
    for node in tree.all_nodes():
        if node.command.program not in {"cd", "pushd", "popd"}:
            continue
        words = node.command.words[1:]
        if node.command.program != "cd" or len(words) != 1 or not words[0].known:
            certain &= node.command.program == "cd" and not words
            paths[place.home] = None
            continue
        text = words[0].text
        if text.startswith(("-", "+")) or (text.startswith("~") and text[:2] not in ("~", "~/")):
            certain = False
            continue
        for base in list(paths):
            paths[posixpath.normpath(absolute(text, base, place.home))] = None
        if len(paths) > _BASES_MAX:
            return Bases(tuple(paths)[:_BASES_MAX], False)
    return Bases(tuple(paths), certain)
