"""PDF as text, page by page. The reader is pypdf, which the extra `web-tools` brings."""

import io
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

import anyio.to_thread

from noeta.core.execenv import FileStat
from noeta.core.tool import InvalidInput, ToolContext
from noeta.plugins.files import texts
from noeta.plugins.files.paths import FILE_BYTES_MAX

MAGIC = b"%PDF-"
PAGES_UNASKED_MAX = 10
"""A PDF with no more pages is read whole."""
PAGES_MAX = 20
"""Of one call."""

_RANGE = re.compile(r"\s*([1-9]\d{0,8})(?:\s*-\s*([1-9]\d{0,8}))?\s*")


class Page(Protocol):
    """As much of pypdf's page as we use."""

    def extract_text(self) -> str:
        """The text on it."""


class Reader(Protocol):
    """As much of pypdf's reader as we use."""

    @property
    def pages(self) -> Sequence[Page]:
        """All of them."""


class Pypdf(Protocol):
    """As much of pypdf as we use."""

    def PdfReader(self, stream: io.BytesIO) -> Reader:
        """Open a document."""


async def text_of(path: str, found: FileStat, pages: str | None, ctx: ToolContext) -> str:
    """The text of the asked pages, each below its number. Raises InvalidInput."""
    wanted = None if pages is None else _range_of(pages)
    if found.size_bytes > FILE_BYTES_MAX:
        sizes = {"size_bytes": found.size_bytes, "bytes_max": FILE_BYTES_MAX}
        raise InvalidInput(texts.file_too_large(path, **sizes))
    try:
        pypdf = cast(Pypdf, import_module("pypdf"))
    except ModuleNotFoundError as error:
        raise InvalidInput(texts.no_pypdf(path)) from error
    data = await ctx.env.read(found.path, bytes_max=FILE_BYTES_MAX)
    try:
        return await anyio.to_thread.run_sync(_extract, pypdf, path, data, pages, wanted)
    except InvalidInput:
        raise
    except Exception as error:  # A parser of strangers' files: it raises what it likes.
        why = f"{type(error).__name__}: {error}"
        raise InvalidInput(texts.broken_pdf(path, why)) from error


def _range_of(pages: str) -> range:
    fits = _RANGE.fullmatch(pages)
    first = int(fits[1]) if fits else 0
    last = int(fits[2] or fits[1]) if fits else 0
    if fits is None or last < first:
        raise InvalidInput(texts.bad_pages(pages))
    if last - first + 1 > PAGES_MAX:
        raise InvalidInput(texts.too_many_pages(asked=last - first + 1, pages_max=PAGES_MAX))
    return range(first, last + 1)


def _extract(pypdf: Pypdf, path: str, data: bytes, pages: str | None, wanted: range | None) -> str:
    all_pages = pypdf.PdfReader(io.BytesIO(data)).pages
    count = len(all_pages)
    if wanted is None:
        if count > PAGES_UNASKED_MAX:
            text = texts.pages_needed(path, pages_count=count, pages_max=PAGES_UNASKED_MAX)
            raise InvalidInput(text)
        wanted = range(1, count + 1)
    if wanted and wanted[-1] > count:
        raise InvalidInput(texts.pages_past_end(path, pages=str(pages), pages_count=count))
    return "\n".join(
        f"[page {number} of {count}]\n{all_pages[number - 1].extract_text()}" for number in wanted
    )
