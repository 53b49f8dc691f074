"""What ripgrep found: its output as entries, and a page of them. Pure."""

from dataclasses import dataclass
from typing import Literal, Self

from noeta.core.tool import ToolOutput
from noeta.plugins.files import search_texts
from noeta.plugins.files.lines import PAGE_BYTES_MAX

Mode = Literal["files_with_matches", "content", "count"]
WHAT: dict[Mode, str] = {"files_with_matches": "files", "content": "lines", "count": "files"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Entries as the model reads them: files, lines or files with their counts."""

    entries: tuple[str, ...]
    mode: Mode
    matches: int = 0
    """In all files together, when matches were counted."""
    is_cut: bool = False
    """There was more than was looked at."""

    @classmethod
    def of(cls, output: bytes, *, mode: Mode, is_cut: bool) -> Self:
        """The entries in an output with a NUL after each path."""
        if is_cut:
            # The last entry may be half a one.
            output = output[: output.rfind(b"\0" if mode == "files_with_matches" else b"\n") + 1]
        text = output.decode("utf-8", errors="replace")
        if mode == "files_with_matches":
            entries = tuple(_path(name) for name in text.split("\0")[:-1])
            return cls(entries=entries, mode=mode, is_cut=is_cut)
        lines = text.removesuffix("\n").split("\n") if text else []
        entries = tuple(_entry(line.removesuffix("\r")) for line in lines)
        counts = [int(line.rpartition("\0")[2]) for line in lines] if mode == "count" else []
        return cls(entries=entries, mode=mode, matches=sum(counts), is_cut=is_cut)


def _entry(line: str) -> str:
    path, nul, rest = line.partition("\0")
    return f"{_path(path)}:{rest}" if nul else line


def _path(path: str) -> str:
    return path.removeprefix("./")


def page_of(found: Found, *, offset: int, limit: int) -> ToolOutput:
    """Entries from offset on, limit of them (0: all), as far as they fit into one result."""
    total = len(found.entries)
    what = WHAT[found.mode]
    if offset >= total:
        past = search_texts.offset_past_matches(offset=offset, total=total, what=what)
        return ToolOutput(text=past, is_error=True)
    lines: list[str] = []
    room = PAGE_BYTES_MAX
    for entry in found.entries[offset : offset + limit if limit else None]:
        room -= len(entry.encode()) + 1
        if room < 0:
            break
        lines.append(entry)
    last = offset + len(lines)
    if last < total or offset > 0:
        more = f"at least {total}" if found.is_cut else str(total)
        lines.append(search_texts.more_entries(first=offset + 1, last=last, total=more, what=what))
    if found.mode == "count":
        lines.append(search_texts.matches_total(found.matches, total, at_least=found.is_cut))
    if found.is_cut:
        lines.append(search_texts.OUTPUT_CUT)
    return ToolOutput(text="\n".join(lines))
