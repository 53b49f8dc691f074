"""Glob patterns: the directory where they begin, and a regex for what is below it. Pure.

`*` and `?` stay within a name, `**` as a whole name stands for any number of directories, `[...]`
and `{a,b}` are as in a shell, a backslash takes the next character as it is. Names that begin
with a dot are names like others.
"""

import os
import re

from noeta.core.tool import InvalidInput
from noeta.plugins.files import search_texts as texts

STARS_MAX = 10
"""More of them make a regex that may try for ever."""
_MAGIC = re.compile(r"[*?\[{\\]")
_TOKEN = re.compile(
    r"(?<![^/])\*\*/|(?<![^/])\*\*$|\*|\[(?P<set>[!^]?\]?[^\]]*)\]|\\(?P<char>.)|.", re.DOTALL
)


def split(pattern: str) -> tuple[str, str]:
    """The directories a pattern begins with, literally, and the rest of it, never empty."""
    names = pattern.split("/")
    literal = 0
    while literal < len(names) - 1 and not _MAGIC.search(names[literal]):
        literal += 1
    start = "/".join(names[:literal])
    return start or ("/" if literal else ""), "/".join(names[literal:])


def regex_of(asked: str) -> str:
    """The regex that matches a relative path whole when the pattern fits. Raises InvalidInput."""
    pattern = re.sub(r"(?:\*\*/)+", "**/", asked)
    if pattern.count("*") > STARS_MAX:
        raise InvalidInput(texts.bad_pattern(asked, f"it has more than {STARS_MAX} stars"))
    parts: list[str] = []
    depth = position = 0
    while position < len(pattern):
        fits = _TOKEN.match(pattern, position)
        assert fits is not None
        token, position = fits[0], fits.end()
        match token:
            case "**/":
                parts.append("(?:[^/]+/)*")
            case "**":
                parts.append(".*")
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append("[^/]")
            case "{":
                depth += 1
                parts.append("(?:")
            case "}" if depth:
                depth -= 1
                parts.append(")")
            case "," if depth:
                parts.append("|")
            case "[":
                raise InvalidInput(texts.bad_pattern(asked, "a [ is not closed"))
            case _ if fits["set"]:
                parts.append(_set(fits["set"]))
            case _:
                parts.append(re.escape(fits["char"] or token))
    if depth:
        raise InvalidInput(texts.bad_pattern(asked, "a { is not closed"))
    regex = "".join(parts)
    try:
        re.compile(regex)
    except re.error as error:
        raise InvalidInput(texts.bad_pattern(asked, str(error))) from error
    return regex


def _set(inside: str) -> str:
    negated = inside[0] in "!^"
    names = re.sub(r"([\\\[\]&~|^])", r"\\\1", inside[1:] if negated else inside)
    return f"(?!/)[{'^' if negated else ''}{names}]"


def joined(*parts: str) -> str:
    """A path of these, without the `./` that they may begin with."""
    return os.path.normpath(os.path.join(*parts))
