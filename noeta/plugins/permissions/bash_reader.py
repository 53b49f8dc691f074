"""Walks a tree of Bash and collects its commands, redirects and doubts. It decides nothing.

A node of a type that is not named here makes the script unreadable, and is searched all the same.
"""

import re
from typing import TYPE_CHECKING

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.bash_conditions import read_condition
from noeta.plugins.permissions.bash_cuts import DEPTH_MAX, heredoc_is_certain
from noeta.plugins.permissions.bash_words import ACTIVE, WORDS, WordReader
from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.script import Assignment, Command, Doubt, Redirect, Script, Word
from noeta.plugins.permissions.variables import is_safe_in_shell

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = names(
    "program list pipeline compound_statement subshell negated_command if_statement elif_clause"
    " else_clause while_statement do_group"
    " redirected_statement for_statement case_statement case_item"
)
_TOKENS = names(
    "; ;; ;& ;;& & && | || |& ( ) { } ! $( ` <( >( if then elif else fi while until do done for"
    " select in case esac"
) | {"\n"}


class Reader:
    """Reads one tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._commands: list[Command] = []
        self._redirects: list[Redirect] = []
        self._doubts: dict[Doubt, None] = {}
        self._depth = 0
        self._words = WordReader(source, self.visit, self.unreadable, self.unseen)

    def script(self) -> Script:
        """What was found."""
        return Script(tuple(self._commands), tuple(self._redirects), tuple(self._doubts))

    def unreadable(self, reason: str) -> None:
        """The shell may run what is not found."""
        self._doubts[Doubt("unreadable", reason)] = None

    def unseen(self, reason: str) -> None:
        """What a part of it does cannot be told."""
        self._doubts[Doubt("unseen", reason)] = None

    def visit(self, node: "Node") -> None:
        """Find the commands under a node."""
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self.unreadable(texts.TOO_DEEP)
        else:
            self._visit(node)
        self._depth -= 1

    def _visit(self, node: "Node") -> None:
        match node.type:
            case "comment" | "heredoc_content":
                pass
            case "command":
                self._command(node)
            case "redirected_statement":
                self._redirected(node)
            case "compound_statement" if self._words.text(node).startswith("(("):
                self.unseen(texts.ARITHMETIC)
                self._children(node)
            case "for_statement":
                self._variable(node.child_by_field_name("variable"))
                self._children(node, skip="variable")
            case kind if kind in _BLOCKS:
                if kind == "subshell" and self._words.text(node).startswith("(("):
                    self.unreadable(texts.UNKNOWN_NODE.format(kind="(("))
                self._children(node)
            case kind if kind in WORDS:
                self._words.read(node)
            case "extglob_pattern" | "regex" if not ACTIVE.search(self._words.text(node)):
                self._children(node)
            case "variable_assignment":
                self._assignment(node)
            case "variable_assignments" | "declaration_command" | "unset_command":
                self._declaration(node)
            case "test_command":
                read_condition(node, self._words, self.visit, self.unreadable, self.unseen)
            case "function_definition":
                self.unseen(texts.FUNCTION)
                self._children(node, skip="name")
            case "file_redirect" | "heredoc_redirect" | "herestring_redirect":
                if self._redirect(node):
                    self.unreadable(texts.ODD_REDIRECT)
            case "c_style_for_statement":
                self.unseen(texts.ARITHMETIC)
                self._children(node)
            case kind if not node.is_named and kind in _TOKENS:
                pass
            case kind:
                if node.is_named or kind not in {"((", "))", "function", "=", "+", "-", "<", ">"}:
                    self.unreadable(texts.UNKNOWN_NODE.format(kind=kind))
                self._children(node)

    def _children(self, node: "Node", skip: str = "") -> None:
        for index, child in enumerate(node.children):
            if not skip or node.field_name_for_child(index) != skip:
                self.visit(child)

    def _command(self, node: "Node", more: tuple[Word, ...] = ()) -> None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        previous: Node | None = None
        for child in node.children:
            touches = previous is not None and previous.end_byte == child.start_byte
            match child.type:
                case "variable_assignment":
                    assignments.append(self._before_command(child))
                case "file_redirect" | "herestring_redirect":
                    first = child.children[0] if child.children else child
                    if touches and words and first.type == "file_descriptor":
                        self.unreadable(texts.ODD_REDIRECT)
                    if self._redirect(child):
                        self.unreadable(texts.ODD_REDIRECT)
                case "command_name" if len(child.children) == 1 and not touches:
                    words.append(self._word(child.children[0]))
                case kind if kind in WORDS and not touches:
                    words.append(self._words.read(child))
                case _:
                    self.unreadable(texts.UNKNOWN_NODE.format(kind=child.type))
                    self._children(child)
            previous = child
        if not words:
            self.unreadable(texts.NOT_BASH)
            return
        self._commands.append(Command((*words, *more), tuple(assignments)))

    def _word(self, node: "Node") -> Word:
        if node.type not in WORDS:
            self.unreadable(texts.UNKNOWN_NODE.format(kind=node.type))
            return Word(source=self._words.text(node), text="", known=False, splits=True)
        return self._words.read(node)

    def _redirected(self, node: "Node") -> None:
        # The grammar hangs words that follow a redirect on the redirect: `rm >log -rf x`. They
        # belong to the simple command before it, the last one of a list or a pipeline.
        more: list[Word] = []
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        for child in redirects:
            if body is not None and child.start_byte == body.end_byte and child.children:
                last = self._words.text(body)[-1:]
                if child.children[0].type == "file_descriptor" or last == "}":
                    self.unreadable(texts.ODD_REDIRECT)
            if child.type in {"file_redirect", "heredoc_redirect", "herestring_redirect"}:
                more += self._redirect(child)
            else:
                self.unreadable(texts.UNKNOWN_NODE.format(kind=child.type))
        if body is None:
            if more:
                self.unreadable(texts.ODD_REDIRECT)
            return
        if body.type == "command":
            self._command(body, tuple(more))
            return
        self.visit(body)
        if more:
            last_node = body
            while last_node.type in {"list", "pipeline", "negated_command"}:
                last_node = last_node.children[-1]
            if last_node.type != "command":
                self.unreadable(texts.ODD_REDIRECT)
            elif self._commands:
                command = self._commands.pop()
                self._commands.append(Command((*command.words, *more), command.assignments))

    def _redirect(self, node: "Node") -> list[Word]:
        """Note what the redirect opens; the words that only seemed to be a part of it."""
        match node.type:
            case "herestring_redirect":
                self._children_of_herestring(node)
                return []
            case "heredoc_redirect":
                return self._heredoc(node)
        operator = next((c.type for c in node.children if not c.is_named), "")
        targets = [
            self._word(child)
            for index, child in enumerate(node.children)
            if node.field_name_for_child(index) == "destination"
        ]
        if not targets:
            if operator not in {">&-", "<&-"}:
                self.unreadable(texts.ODD_REDIRECT)
            return []
        target, *rest = targets
        if operator in {">&", "<&"} and target.known and re.fullmatch(r"\d+-?|-", target.text):
            return rest
        if operator not in {">", ">>", ">|", "&>", "&>>", ">&", "<"}:
            self.unreadable(texts.ODD_REDIRECT)
        self._redirects.append(Redirect(target, writes=operator != "<"))
        return rest

    def _children_of_herestring(self, node: "Node") -> None:
        for child in node.children:
            if child.type == "file_descriptor" or not child.is_named:
                continue
            self._word(child)

    def _heredoc(self, node: "Node") -> list[Word]:
        more: list[Word] = []
        raw = False
        if not heredoc_is_certain(self._source, node):
            self.unreadable(texts.HEREDOC)
        for index, child in enumerate(node.children):
            match child.type:
                case "<<" | "<<-" | "heredoc_end" | "file_descriptor" | "&&" | "||":
                    pass
                case "heredoc_start":
                    raw = self._words.text(child)[:1] in "'\""
                case "heredoc_body":
                    if not raw:
                        self._children(child)
                case "file_redirect" | "herestring_redirect":
                    more += self._redirect(child)
                case kind if kind in WORDS and node.field_name_for_child(index) == "argument":
                    more.append(self._words.read(child))
                case _:
                    self.visit(child)
        return more

    def _variable(self, node: "Node | None") -> None:
        name = self._words.text(node) if node is not None else ""
        if node is None or node.type != "variable_name" or not name.isidentifier():
            self.unreadable(texts.ODD_VARIABLE)
        elif not is_safe_in_shell(name):
            self.unseen(texts.SETS_VARIABLE.format(name=name))

    def _before_command(self, node: "Node") -> Assignment:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is None or name.type != "variable_name" or (value and value.type not in WORDS):
            self.unreadable(texts.ODD_VARIABLE)
        if value is not None:
            self.visit(value)
        return Assignment(self._words.text(name) if name else "", self._words.text(node))

    def _assignment(self, node: "Node") -> None:
        self._variable(node.child_by_field_name("name"))
        value = node.child_by_field_name("value")
        if value is None:
            return
        if value.type != "array":
            self.visit(value)
            return
        for child in value.children[1:-1]:
            if child.type not in WORDS or self._words.text(child).startswith("["):
                self.unreadable(texts.ODD_VARIABLE)
            self.visit(child)

    def _declaration(self, node: "Node") -> None:
        for child in node.children:
            match child.type:
                case "declare" | "typeset" | "export" | "readonly" | "local" | "unset":
                    pass
                case "variable_assignment":
                    self._assignment(child)
                case "variable_name":
                    self._variable(child)
                case _:
                    self.unseen(texts.DECLARATION)
                    self.visit(child)
