"""What an edit makes of a file's bytes. Pure.

The search is among the bytes and what is not replaced is never decoded, so it stays as it is
whatever it means: a byte order mark, broken UTF-8, mixed line ends. A line end in the text that
is looked for fits both kinds; in the new text, lines that are kept keep theirs and new ones get
the kind that stands around them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noeta.plugins.files.encoding import LINE_END, Encoding, encoding_of, line_end_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """The new bytes, and the lines where something was replaced."""

    data: bytes
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NotOnce:
    """The text does not occur exactly once: the lines where it does, none or several."""

    lines: tuple[int, ...]


def replace(data: bytes, *, old: str, new: str, every: bool) -> Replaced | NotOnce:
    """Replace the one occurrence of old, or every one that does not overlap the one before.

    Old is not empty. Occurrences that overlap are several.
    """
    encoding = encoding_of(data)
    try:
        pattern = _pattern(old, encoding)
    except UnicodeEncodeError:  # Half a surrogate pair: no file holds that as text.
        return NotOnce(())
    spans = list(_spans(data, pattern, encoding, overlapping=not every))
    lines = _lines(data, spans, encoding)
    if not spans or (len(spans) > 1 and not every):
        return NotOnce(lines)
    parts: list[bytes] = []
    position = 0
    around = _line_end_around(data, new, encoding)
    for start, end in spans:
        parts.append(data[position:start])
        parts.append(_put(data[start:end].decode(encoding.codec), new, around, encoding))
        position = end
    return Replaced(data=b"".join((*parts, data[position:])), lines=lines)


def same_text(old: str, new: str) -> bool:
    """Whether they differ in nothing, or only in how their lines end."""
    return LINE_END.split(old) == LINE_END.split(new)


def _pattern(old: str, encoding: Encoding) -> re.Pattern[bytes]:
    cr, lf = (re.escape(char.encode(encoding.codec)) for char in "\r\n")
    lines = (re.escape(line.encode(encoding.codec)) for line in LINE_END.split(old))
    return re.compile((b"(?:%s)?%s" % (cr, lf)).join(lines))


def _spans(
    data: bytes, pattern: re.Pattern[bytes], encoding: Encoding, *, overlapping: bool
) -> Iterator[tuple[int, int]]:
    position = len(encoding.bom)
    while found := pattern.search(data, position):
        start, end = found.span()
        if start % encoding.unit_bytes:
            # Two halves of neighbouring characters look like one of ours.
            position = start + 1
            continue
        yield start, end
        # A fit at "\r\n" is there once more at "\n"; that is the same place.
        step = len("\r\n") if data.startswith(_crlf(encoding), start) else 1
        position = start + step * encoding.unit_bytes if overlapping else end


def _crlf(encoding: Encoding) -> bytes:
    return "\r\n".encode(encoding.codec)


def _lines(data: bytes, spans: list[tuple[int, int]], encoding: Encoding) -> tuple[int, ...]:
    lines: list[int] = []
    position, line = len(encoding.bom), 1
    for start, _ in spans:
        line += data[position:start].decode(encoding.codec, errors="replace").count("\n")
        position = start
        lines.append(line)
    return tuple(lines)


def _line_end_around(data: bytes, new: str, encoding: Encoding) -> str | None:
    if "\n" not in new:
        return None
    return line_end_of(data[len(encoding.bom) :].decode(encoding.codec, errors="replace"))


def _put(matched: str, new: str, around: str | None, encoding: Encoding) -> bytes:
    """The new text in the place of the matched one, with the line ends that belong there."""
    old_lines, new_lines = LINE_END.split(matched), LINE_END.split(new)
    ends = LINE_END.findall(matched)
    fresh = line_end_of(matched) or around
    new_ends = [fresh or end for end in LINE_END.findall(new)]
    head = min(_same_at_start(old_lines, new_lines), len(ends), len(new_ends))
    new_ends[:head] = ends[:head]
    tail = _same_at_start(old_lines[::-1], new_lines[::-1])
    tail = min(tail, len(ends) - head, len(new_ends) - head)
    if tail > 0:
        new_ends[-tail:] = ends[-tail:]
    text = "".join(line + end for line, end in zip(new_lines, [*new_ends, ""], strict=True))
    return text.encode(encoding.codec)


def _same_at_start(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
