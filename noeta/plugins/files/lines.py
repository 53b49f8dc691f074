"""Which lines of a text are shown: numbered, cut, and no more than fit.

The text comes in pieces of any size and is not kept: only the lines that are shown are, so a
line without an end costs no memory.
"""

from dataclasses import dataclass, field

LINES_MAX = 2_000
"""Lines that a read without a limit shows."""
LINE_CHARS_MAX = 2_000
"""Of one line."""
PAGE_BYTES_MAX = 100_000
"""Of all that is shown: about 25,000 tokens, which is what one result may cost."""


@dataclass(slots=True)
class Page:
    """Collects lines `first` to `first + lines_max - 1` of a text, while they fit."""

    first: int = 1
    lines_max: int = LINES_MAX
    lines: list[str] = field(default_factory=list)
    """Numbered."""
    lines_count: int = 0
    """Of the text so far; an unfinished last line counts."""
    is_cut: bool = False
    """A shown line was longer than a line may be."""
    is_full: bool = False
    """A wanted line did not fit."""
    _bytes: int = 0
    _open: str = ""
    """The start of the line that is still coming, one character more than is shown of it."""
    _open_chars: int = 0

    @property
    def last(self) -> int:
        """The number of the last line shown; `first - 1` when there is none."""
        return self.first + len(self.lines) - 1

    @property
    def is_done(self) -> bool:
        """No line that comes now is shown."""
        return self.is_full or len(self.lines) >= self.lines_max

    def feed(self, text: str) -> None:
        """Take the next piece of the text."""
        number = self.lines_count + (0 if self._open_chars else 1)
        ends_count = text.count("\n")
        if self.is_done or number + ends_count < self.first:
            # Nothing of this is shown, so it is only counted.
            rest = len(text) - text.rfind("\n") - 1
            self._open_chars = rest if ends_count else self._open_chars + rest
            self._open = ""
            self.lines_count = number - 1 + ends_count + (self._open_chars > 0)
            return
        *ended, rest_text = text.split("\n")
        for piece in ended:
            self._extend(piece)
            if not self._open_chars:
                self.lines_count += 1
            self._end_line()
        self._extend(rest_text)

    def finish(self) -> None:
        """The text is at its end."""
        if self._open_chars:
            self._end_line()

    def _extend(self, piece: str) -> None:
        if piece and not self._open_chars:
            self.lines_count += 1
        self._open_chars += len(piece)
        if (room := LINE_CHARS_MAX + 1 - len(self._open)) > 0:
            self._open += piece[:room]

    def _end_line(self) -> None:
        line, chars = self._open, self._open_chars
        self._open, self._open_chars = "", 0
        if self.lines_count < self.first or self.is_done:
            return
        if chars <= LINE_CHARS_MAX + 1 and line.endswith("\r"):
            line, chars = line[:-1], chars - 1
        cut = chars > LINE_CHARS_MAX
        if cut:
            line = f"{line[:LINE_CHARS_MAX]} [cut: {chars - LINE_CHARS_MAX} more characters]"
        line = f"{self.lines_count:6}\t{line}"
        size_bytes = len(line.encode("utf-8", errors="surrogatepass")) + 1
        if self._bytes + size_bytes > PAGE_BYTES_MAX:
            self.is_full = True
            return
        self._bytes += size_bytes
        self.is_cut = self.is_cut or cut
        self.lines.append(line)
