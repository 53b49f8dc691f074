"""How a file's bytes stand for text: its encoding, by its byte order mark, and its line ends."""

import codecs
import re
from dataclasses import dataclass

HEAD_BYTES = 8192
"""Of a file, looked at to tell text from what is none."""
LINE_END = re.compile("\r\n|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """A codec, and the mark that the file begins with."""

    codec: str
    bom: bytes = b""
    unit_bytes: int = 1


UTF_8 = Encoding(codec="utf-8")
MARKED = (
    Encoding(codec="utf-8", bom=codecs.BOM_UTF8),
    Encoding(codec="utf-16-le", bom=codecs.BOM_UTF16_LE, unit_bytes=2),
    Encoding(codec="utf-16-be", bom=codecs.BOM_UTF16_BE, unit_bytes=2),
)


def encoding_of(head: bytes) -> Encoding:
    """What the first bytes of a file say. Without a mark it is UTF-8, whose broken bytes stay."""
    return next((marked for marked in MARKED if head.startswith(marked.bom)), UTF_8)


def is_text(head: bytes) -> bool:
    """Whether these first bytes are text: text holds no NUL."""
    encoding = encoding_of(head)
    return "\0" not in head[len(encoding.bom) :].decode(encoding.codec, errors="replace")


def line_end_of(text: str) -> str | None:
    """What most lines end with; None when there is one line only."""
    crlf = text.count("\r\n")
    lines = text.count("\n")
    if lines == 0:
        return None
    return "\r\n" if crlf * 2 > lines else "\n"
