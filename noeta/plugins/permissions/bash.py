"""Reads a Bash script into simple commands, with tree-sitter.

Every command of the text is found: in lists and pipelines, `$( )`, backticks, `<( )`, subshells,
loops, functions, conditions and here-documents. What is not positively known to the reader, or
may be cut otherwise by Bash than by the grammar, makes the script unreadable: it is asked about.
"""

from functools import cache
from typing import TYPE_CHECKING

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.bash_cuts import STRANGE, gaps
from noeta.plugins.permissions.bash_reader import Reader
from noeta.plugins.permissions.bash_rough import rough_commands
from noeta.plugins.permissions.script import Doubt, Script

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

SCRIPT_CHARS_MAX = 10_000


def read_script(text: str) -> Script:
    """The commands of a script, and every reason to think that they are not all of it."""
    if len(text) > SCRIPT_CHARS_MAX:
        return _unreadable(text, texts.TOO_LONG.format(chars_max=SCRIPT_CHARS_MAX))
    if STRANGE.search(text):
        return _unreadable(text, texts.STRANGE)
    source = text.encode()
    root = _parse(source).root_node
    reader = Reader(source)
    for reason in gaps(source, root):
        reader.unreadable(reason)
    if root.has_error:
        reader.unreadable(texts.NOT_BASH)
    reader.visit(root)
    script = reader.script()
    if script.readable:
        return script
    return Script(script.commands, script.redirects, script.doubts, rough_commands(text))


def _unreadable(text: str, reason: str) -> Script:
    return Script(doubts=(Doubt("unreadable", reason),), rough=rough_commands(text))


@cache
def _language() -> "Language":
    # Loaded with the first script: a task that runs no command never needs it.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _parse(source: bytes) -> "Tree":
    from tree_sitter import Parser

    # A parser of its own for each script: one may not be shared between threads.
    return Parser(_language()).parse(source)
