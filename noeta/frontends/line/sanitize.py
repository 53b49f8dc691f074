"""Text from models, tools and logs as a terminal may see it. Pure.

Nothing that comes from outside may move the cursor, change a colour, reach the clipboard, reorder
a line or hide in it. Every such character is made visible, one at a time: an escape sequence that
is cut in two by streaming is as harmless as a whole one. Only newline and tab stay what they are.
"""

import re
import unicodedata

# Controls but newline and tab; soft hyphen; marks, embeddings, overrides and isolates of writing
# direction; invisible spaces and operators; line and paragraph separators; tags; lone surrogates.
# The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji are made with them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"
    "\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """The text with everything unsafe made visible; line ends become newlines."""
    return _UNSAFE.sub(_visible, text.replace("\r\n", "\n"))


def one_line(text: str, chars_max: int) -> str:
    """The text cleaned and on one line, cut to a number of characters."""
    # A cut first: the rest of a huge text is not worth looking at. Spaces collapse, so look wide.
    cut = text[: 8 * chars_max]
    line = " ".join(clean(cut).split())
    if len(line) > chars_max or len(cut) < len(text):
        return line[: max(chars_max - 3, 0)].rstrip() + "..."
    return line


def columns(char: str) -> int:
    """How many columns a cleaned character takes; at a doubt, more."""
    if char.isascii():
        return 1
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def rows(text: str, width: int) -> list[str]:
    """The cleaned text as rows of at most `width` columns, so that no terminal wraps them.

    A row that the terminal wrapped would go on in column 0, where only noeta writes.
    """
    found: list[str] = []
    for line in clean(text).expandtabs(4).split("\n"):
        if line.isascii():
            found += [line[at : at + width] for at in range(0, len(line), width)] or [""]
            continue
        start = used = 0
        for at, char in enumerate(line):
            taken = columns(char)
            if used + taken > width:
                found.append(line[start:at])
                start, used = at, 0
            used += taken
        found.append(line[start:])
    return found


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"
