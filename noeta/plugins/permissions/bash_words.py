"""Words of a Bash tree: quotes removed, and what only the shell can know marked as unknown.

Nothing here trusts the grammar alone: a leaf that still holds an active `$(`, a backtick or a
separator was cut at another place than Bash would cut it, and the script counts as unreadable.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.script import Word

if TYPE_CHECKING:
    from tree_sitter import Node

WORDS = names(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion"
    " command_substitution process_substitution arithmetic_expansion brace_expression"
)
"""Node types that are a word."""

ACTIVE = re.compile(r"\$[({\[]|`|[<>]\(")
"""What makes the shell run or look up something inside text that the grammar left alone."""

_SEPARATORS = frozenset(" \t\n;&|()<>")
# Of ${...} only the forms that neither assign, nor look up another name, nor do arithmetic:
# arithmetic runs a $( ) that stands in a variable's value.
_EXPANSION_OPERATORS = frozenset(["#", "##", "%", "%%", ":-", "-", ":+", "+", "/", "//", "^", "^^"])
_EXPANSION_OPERATORS |= frozenset([",", ",,", ":?", "?"])

Report = Callable[[str], None]
Visit = Callable[["Node"], None]


class WordReader:
    """Reads word nodes; hands the code inside them to `on_code` and its doubts to `unreadable`."""

    def __init__(
        self,
        source: bytes,
        on_code: Visit,
        unreadable: Report,
        unseen: Report,
    ) -> None:
        self._source = source
        self._on_code = on_code
        self._unreadable = unreadable
        self._unseen = unseen

    def read(self, node: "Node") -> Word:
        """The word that a node of one of the WORDS types is."""
        source = self.text(node)
        parts: list[tuple[str, bool]] = []
        bare: list[str] = []
        splits = self._parts(node, parts, bare)
        unquoted = "".join(bare)
        glob = any(char in unquoted for char in "*?[")
        braces = "{" in unquoted and ("," in unquoted or ".." in unquoted)
        text = "".join(part for part, _ in parts)
        is_known = all(part_known for _, part_known in parts) and not glob and not braces
        head = ""
        for part, part_known in parts:
            if not part_known:
                break
            head += part
        if glob or braces:
            head = re.split(r"[*?\[{]", head, maxsplit=1)[0]
        return Word(
            source=source,
            text=text,
            known=is_known,
            head=head,
            splits=splits or glob or braces,
            glob=glob or braces,
            tilde=source.startswith("~"),
            pipe=node.type == "process_substitution",
        )

    def text(self, node: "Node") -> str:
        """The source of a node."""
        return self._source[node.start_byte : node.end_byte].decode()

    def _parts(self, node: "Node", parts: list[tuple[str, bool]], bare: list[str]) -> bool:
        source = self.text(node)
        match node.type:
            case "word" | "number" if not node.children:
                parts.append((self._unquote(source, bare), True))
            case "raw_string":
                parts.append((source[1:-1], True))
            case "ansi_c_string":
                parts.append((source[2:-1], "\\" not in source))
            case "string":
                self._string(node, parts)
            case "concatenation":
                end = node.start_byte
                splits = False
                for child in node.children:
                    if child.start_byte != end or child.type not in WORDS:
                        self._unreadable(texts.ODD_WORD.format(source=_short(source)))
                        return True
                    splits |= self._parts(child, parts, bare)
                    end = child.end_byte
                return splits
            case "brace_expression":
                bare.append(source)
                parts.append((source, False))
            case _:
                self._expand(node, source)
                parts.append((source, False))
                return True
        return False

    def _string(self, node: "Node", parts: list[tuple[str, bool]]) -> None:
        end = node.start_byte + 1
        for child in node.children[1:]:
            # The grammar leaves some blanks of a string out of its nodes; they are text too.
            self._literal(self._source[end : child.start_byte].decode(), parts)
            end = child.end_byte
            if child.type == "string_content":
                self._literal(self.text(child), parts)
            elif child.is_named:
                self._expand(child, self.text(child))
                parts.append((self.text(child), False))
            elif self.text(child) != '"':
                self._literal(self.text(child), parts)

    def _literal(self, text: str, parts: list[tuple[str, bool]]) -> None:
        plain = re.sub(r"\\[\\$`\"]", "", text)
        if ACTIVE.search(plain.replace("<(", "").replace(">(", "")):
            self._unreadable(texts.ODD_WORD.format(source=_short(text)))
        parts.append((re.sub(r"\\([\\$`\"]|\n)", _kept, text), True))

    def _expand(self, node: "Node", source: str) -> None:
        match node.type:
            case "simple_expansion":
                return
            case "command_substitution" | "process_substitution":
                # Bash ends it at the next backtick, whatever stands between.
                if source.startswith("`") and any(sign in source[1:-1] for sign in "\\#`"):
                    self._unreadable(texts.BACKTICKS)
                if source.startswith("$(("):
                    # Bash takes it for arithmetic first, and quotes mean nothing to that.
                    self._unreadable(texts.ODD_WORD.format(source=_short(source)))
                for child in node.children:
                    self._on_code(child)
            case "expansion":
                self._braces(node, source)
            case "arithmetic_expansion":
                self._arithmetic(node, source)
            case _:
                self._unreadable(texts.UNKNOWN_NODE.format(kind=node.type))
                self._on_code(node)

    def _braces(self, node: "Node", source: str) -> None:
        bare = self._without_code(node)
        if "'" in bare and ACTIVE.search(bare[2:]):
            # Within double quotes, or a here-document, a single quote in ${ } quotes nothing.
            self._unreadable(texts.ODD_WORD.format(source=_short(source)))
        for child in node.children[1:-1]:
            text = self.text(child)
            if child.type in {"variable_name", "special_variable_name"}:
                continue
            if child.type in WORDS:
                self.read(child)
            elif child.type == "regex":
                if ACTIVE.search(text):
                    self._unreadable(texts.ODD_WORD.format(source=_short(source)))
            elif child.is_named or text not in _EXPANSION_OPERATORS:
                self._unseen(texts.EXPANSION.format(source=_short(source)))
                self._on_code(child)

    def _without_code(self, node: "Node") -> str:
        if node.type in {"command_substitution", "process_substitution"}:
            return ""
        end = node.start_byte
        text = ""
        for child in node.children:
            text += self._source[end : child.start_byte].decode() + self._without_code(child)
            end = child.end_byte
        return text + self._source[end : node.end_byte].decode()

    def _arithmetic(self, node: "Node", source: str) -> None:
        # Numbers alone are harmless. A name is not: Bash runs a $( ) found in its value.
        if re.search(r"[A-Za-z_$`\[]", source[2:]):
            self._unseen(texts.ARITHMETIC)
        inner = list(node.children)
        while inner:
            child = inner.pop(0)
            if child.type in {"command_substitution", "process_substitution"}:
                self._expand(child, self.text(child))
            else:
                inner[:0] = child.children

    def _unquote(self, source: str, bare: list[str]) -> str:
        """The word without its backslashes; what is active in it must not be there."""
        out: list[str] = []
        index = 0
        while index < len(source):
            char = source[index]
            if char == "\\":
                if index + 1 == len(source):
                    self._unreadable(texts.ODD_WORD.format(source=_short(source)))
                elif source[index + 1] != "\n":
                    out.append(source[index + 1])
                index += 2
                continue
            if char in _SEPARATORS or char in "'\"`" or (char == "$" and index + 1 < len(source)):
                self._unreadable(texts.ODD_WORD.format(source=_short(source)))
            out.append(char)
            bare.append(char)
            index += 1
        return "".join(out)


def _kept(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _short(source: str) -> str:
    return repr(source if len(source) <= 40 else source[:39] + "…")
