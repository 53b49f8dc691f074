"""Removals that nobody wants by accident: the system, the home, the directory of the work."""

import posixpath
import re

from noeta.plugins.permissions import texts
from noeta.plugins.permissions.files import Files
from noeta.plugins.permissions.paths import Place, absolute, is_below, is_critical, names_of
from noeta.plugins.permissions.script import Word
from noeta.plugins.permissions.tree import Bases

_ONLY_WILDCARDS = re.compile(r"[*?.\[\]!^{},]+")


def critical_removal(files: Files, place: Place, bases: Bases) -> str | None:
    """Why a removal is asked about in every mode; None when it is an ordinary one."""
    for word in files.removes:
        if not word.known and (not word.head or word.tilde) and not _is_pattern(word):
            return texts.REMOVES_UNKNOWN.format(path=word.source)
        if word.tilde and not (word.text == "~" or word.text.startswith("~/")):
            return texts.REMOVES_UNKNOWN.format(path=word.source)
        for base in bases.paths:
            text = word.text if word.tilde or not word.text.startswith("~") else f"./{word.text}"
            path = absolute(text, base, place.home)
            if word.known:
                critical = is_critical(path, place)
                if files.narrowed and names_of(path, place)[0] in place.roots:
                    critical = False
            else:
                critical = _pattern_is_critical(word, base, place)
            if critical:
                return texts.CRITICAL.format(path=word.source)
    return None


def _is_pattern(word: Word) -> bool:
    return word.glob and "$" not in word.text and "`" not in word.text


def _pattern_is_critical(word: Word, base: str, place: Place) -> bool:
    """`*` in a directory that is worked in, or any pattern above one or at the root."""
    head, _, begun = word.head.rpartition("/")
    if word.head.startswith("/") and not head:
        head = "/"
    directory = posixpath.normpath(absolute(head or ".", base, place.home))
    pattern = (begun + word.text[len(word.head) :]).rstrip("/")
    if directory == "/":
        return True
    kept = (*place.roots, posixpath.normpath(place.home))
    if any(is_below(root, directory) and root != directory for root in kept):
        return True
    return directory in kept and bool(_ONLY_WILDCARDS.fullmatch(pattern))
