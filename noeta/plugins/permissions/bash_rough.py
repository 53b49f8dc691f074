"""Commands guessed from a text that is not readable Bash, so that rules that deny still fire.

Too many commands are found rather than too few; nothing is ever allowed because of them.
"""

import re

from noeta.plugins.permissions.script import Command, known

_CHARS_MAX = 200_000
_COMMANDS_MAX = 1_000
_WORDS_MAX = 100
_CUTS = re.compile(r"[;&|\n(){}`<>]+|\b(?:then|do|else|elif|if|while|until|time|coproc|!)\s")
_WORD = re.compile(r"(?:[^\s'\"\\]|\\.|'[^']*'?|\"(?:[^\"\\]|\\.)*\"?)+", re.DOTALL)


def rough_commands(text: str) -> tuple[Command, ...]:
    """Every run of words between what could separate commands."""
    found: dict[Command, None] = {}
    for fragment in _CUTS.split(text[:_CHARS_MAX].replace("\\\n", "")):
        words = [_bare(match[0]) for match in _WORD.finditer(fragment)]
        while words and re.match(r"\w+\+?=", words[0]):
            words.pop(0)
        if words:
            found[Command(tuple(known(word) for word in words[:_WORDS_MAX]))] = None
        if len(found) >= _COMMANDS_MAX:
            break
    return tuple(found)


def _bare(word: str) -> str:
    return re.sub(r"['\"]|\\(.)", lambda match: match[1] or "", word, flags=re.DOTALL)
