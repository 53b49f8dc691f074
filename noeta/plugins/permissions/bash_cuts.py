"""Where a script is cut: the grammar and Bash must agree on it, or nothing else is certain.

A tree may look whole and still be cut at another place than Bash cuts, for instance where a
here-document ends. These checks compare the tree with the bytes it was made of.
"""

import re
from typing import TYPE_CHECKING

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.names import names

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH_MAX = 60
"""Nodes within nodes. Deeper scripts count as unreadable."""

# Bash takes none of these for a blank, and a person does not see most of them.
STRANGE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\x85\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064"
    r"\u3000\ufeff\ud800-\udfff]"
)

_INLINE = names(
    "command file_redirect herestring_redirect declaration_command unset_command"
    " variable_assignments redirected_statement"
)
_LOOSE = names("string heredoc_body regex test_command")


def gaps(source: bytes, node: "Node", depth: int = 0) -> list[str]:
    """Reasons to doubt the cuts: between two tokens stand blanks and nothing else, and in a
    command no line break."""
    if depth > DEPTH_MAX:
        return [texts.TOO_DEEP]
    found: list[str] = []
    end = node.start_byte
    for child in node.children:
        gap = source[end : child.start_byte].decode()
        blanks = " \t" if node.type in _INLINE else " \t\n"
        # Bash joins `ru\` and `n` on the next line to one word; a blank must part two.
        joined = gap.replace("\\\n", "")
        if node.type not in _LOOSE and (joined.strip(blanks) or (gap and not joined)):
            found.append(texts.ODD_GAP)
        if child.type == "comment":
            found += _comment(source, child)
        found += gaps(source, child, depth + 1)
        end = child.end_byte
    return found


def _comment(source: bytes, node: "Node") -> list[str]:
    before = source[: node.start_byte].decode()
    if before and (before[-1] not in " \t\n;" or before.endswith(("\\ ", "\\\t", "\\;", "\\\n"))):
        return [texts.ODD_GAP]
    # Inside a substitution it may end at the bracket or the backtick.
    text = source[node.start_byte : node.end_byte]
    return [texts.ODD_COMMENT] if re.search(rb"[`)]", text) else []


def heredoc_is_certain(source: bytes, node: "Node") -> bool:
    """Whether Bash sees the body of a here-document end at the same line as the grammar.

    Otherwise one of them runs lines that the other takes for text.
    """
    kinds = {child.type: child for child in node.children}
    start, end, body = (kinds.get(f"heredoc_{part}") for part in ("start", "end", "body"))
    if start is None or end is None:
        return False
    name = re.fullmatch(r"(['\"]?)(\w+)\1", source[start.start_byte : start.end_byte].decode())
    tabs = "\t" if "<<-" in kinds else ""
    ending = source[end.start_byte : end.end_byte].decode()
    if name is None or (ending.lstrip(tabs) if tabs else ending) != name[2]:
        return False
    lines = source[body.start_byte : body.end_byte].decode().split("\n") if body else []
    line = source[: end.start_byte].decode().rpartition("\n")[2]
    after = source[end.end_byte : end.end_byte + 1]
    if line.strip(tabs) if tabs else line:
        return False
    if after not in (b"", b"\n") or any(line.strip("\t") == name[2] for line in lines):
        return False
    if not name[1] and body is not None and _is_active(source, body):
        return False
    # Without quotes Bash joins a line that ends in a backslash with the next.
    return bool(name[1]) or not any(line.endswith("\\") for line in lines)


def _is_active(source: bytes, body: "Node") -> bool:
    """Whether the text between what the grammar found in a body would run something as well."""
    end = body.start_byte
    for child in [*body.children, None]:
        text = source[end : child.start_byte if child else body.end_byte].decode()
        if child is not None and child.type == "heredoc_content":
            text += source[child.start_byte : child.end_byte].decode()
        if re.search(r"\$[({\[]|`", text.replace("\\$", "").replace("\\`", "")):
            return True
        end = child.end_byte if child else end
    return False
