"""What a Bash script was read to be: simple commands, redirects and doubts. Values only.

`bash.py` makes these out of text, and everything else in the package decides over them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    source: str
    """As it stands in the script, quotes and all."""
    text: str
    """With the quotes removed; a part that only the shell can know stands as in the source."""
    known: bool = True
    """Whether the program gets exactly `text`: no expansion and no pattern in it."""
    head: str = ""
    """The text up to the first part that only the shell can know."""
    splits: bool = False
    """It may become several words, or none."""
    glob: bool = False
    """It holds an unquoted `*`, `?` or `[`."""
    tilde: bool = False
    """It begins with an unquoted `~`."""
    pipe: bool = False
    """It is a `<( )` or a `>( )`: a file to the program, and none on the disk."""

    @property
    def may_be_option(self) -> bool:
        """Whether the program may read it, or a part of it, as an option."""
        if self.known:
            return self.text.startswith("-")
        return self.splits or not self.head or self.head.startswith("-")


def known(text: str) -> Word:
    """A word whose text is all there is to it."""
    return Word(source=text, text=text, head=text)


def unknown(source: str) -> Word:
    """Words that only the shell, or a program, will know."""
    return Word(source=source, text=source, known=False, splits=True)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value` before a command."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: a program and its words."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()

    @property
    def program(self) -> str:
        """The program's name; empty when only the shell knows it."""
        return self.words[0].text if self.words and self.words[0].known else ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A file that the shell itself opens."""

    target: Word
    writes: bool


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a script is not all there is to see."""

    kind: Literal["unreadable", "unseen"]
    """unreadable: the shell may run what we did not find. unseen: what runs was found, and what it
    does cannot be told from the command."""
    reason: str


@dataclass(frozen=True, slots=True)
class Script:
    """A script as far as it was read. Commands stand in the order of the text."""

    commands: tuple[Command, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    rough: tuple[Command, ...] = ()
    """Commands guessed from a text that cannot be read: rules that deny look here too."""

    @property
    def readable(self) -> bool:
        """Whether every command of it was found."""
        return not any(doubt.kind == "unreadable" for doubt in self.doubts)


def spelled(words: Sequence[Word]) -> str:
    """The words as one line, each spelled in the one way that rules are compared with."""
    return " ".join(quoted(word.text) if word.known else word.source for word in words)


def quoted(text: str) -> str:
    """The text as the shell reads it back, bare when it holds nothing but ordinary characters.

    `=` `~` `*` and their like stay bare: a rule is written as people type, and what stands here
    is compared, never run.
    """
    if text and not _NEEDS_QUOTES.search(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


_NEEDS_QUOTES = re.compile(r"[\s|&;()<>'\"\\$`]")
