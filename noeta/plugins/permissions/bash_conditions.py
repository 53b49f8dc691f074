"""`[[ ]]` and `[ ]` of a Bash tree: which of them only compare.

`-v` and the arithmetic comparisons of `[[` run a `$( )` that stands in a variable's value. In `[ ]`
an unquoted word may become several, and so another condition than it reads like.
"""

from typing import TYPE_CHECKING

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.bash_cuts import DEPTH_MAX
from noeta.plugins.permissions.bash_words import ACTIVE, WORDS, Report, Visit, WordReader
from noeta.plugins.permissions.names import names

if TYPE_CHECKING:
    from tree_sitter import Node

_TESTS = names("-b -c -d -e -f -g -h -k -n -p -r -s -t -u -w -x -z -G -L -N -O -S -nt -ot -ef")
_COMPARISONS = names("-eq -ne -lt -le -gt -ge")


def read_condition(
    node: "Node", words: WordReader, visit: Visit, unreadable: Report, unseen: Report
) -> None:
    """Read the words of a condition, and report what it may run besides comparing."""
    bracket = node.children[0].type if node.children else ""
    single = bracket == "["
    if bracket not in ("[", "[["):
        unseen(texts.ARITHMETIC)

    def read(node: "Node", depth: int) -> None:
        for child in node.children:
            text = words.text(child)
            match child.type:
                case "unary_expression" | "binary_expression" | "parenthesized_expression":
                    if depth and single and node.type != "unary_expression":
                        unseen(texts.CONDITION)
                    if depth > DEPTH_MAX:
                        unreadable(texts.TOO_DEEP)
                    else:
                        read(child, depth + 1)
                case "test_operator":
                    if text not in _TESTS and not (single and text in _COMPARISONS):
                        unseen(texts.CONDITION)
                case "regex" | "extglob_pattern" if not ACTIVE.search(text):
                    pass
                case "[" | "]" | "[[" | "]]" | "!" | "=" | "==" | "!=" | "=~":
                    pass
                case "(" | ")" | "<" | ">" | "&&" | "||" if not single:
                    pass
                case kind if kind in WORDS:
                    if words.read(child).splits and single:
                        unseen(texts.CONDITION)
                case _:
                    unreadable(texts.CONDITION)
                    visit(child)

    read(node, 0)
