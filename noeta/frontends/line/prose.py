"""The model's text while it streams: indented, and broken before the terminal would break it.

Column 0 belongs to noeta. Text of a model starts two columns in on every row, so that it can
never look like a question of ours, whatever it says.
"""

from noeta.frontends.line.sanitize import clean, columns

INDENT = "  "
TAB = "    "


class Prose:
    """Turns pieces of text into what is to be written; width None: rows are not broken."""

    def __init__(self, width: int | None = None) -> None:
        self.width = width
        self._column = 0

    def feed(self, text: str) -> str:
        """What to write for the next piece."""
        out: list[str] = []
        for index, line in enumerate(clean(text).replace("\t", TAB).split("\n")):
            if index > 0:
                out.append("\n")
                self._column = 0
            if line:
                self._line(line, out)
        return "".join(out)

    def end(self) -> str:
        """What to write before something that is not prose: the cursor goes to column 0."""
        if self._column == 0:
            return ""
        self._column = 0
        return "\n"

    def _line(self, line: str, out: list[str]) -> None:
        if self._column == 0:
            self._indent(out)
        if self.width is None or (line.isascii() and self._column + len(line) <= self.width):
            out.append(line)
            self._column += len(line)
        else:
            for char in line:
                taken = columns(char)
                if self._column + taken > self.width:
                    out.append("\n")
                    self._indent(out)
                out.append(char)
                self._column += taken

    def _indent(self, out: list[str]) -> None:
        out.append(INDENT)
        self._column = len(INDENT)
