"""Read: a page of a text, an image, a notebook or a PDF.

Text streams: a read keeps the lines it shows and the file's hash, whatever the file's size.
"""

import codecs
import hashlib
from typing import Annotated

import msgspec

from noeta.core.execenv import ExecEnvError, FileStat
from noeta.core.message import Media
from noeta.core.tool import InvalidInput, Tool, ToolContext, ToolFlags, ToolOutput
from noeta.plugins.files import notebook, pdf, picture, seen, texts
from noeta.plugins.files.encoding import HEAD_BYTES, encoding_of, is_text
from noeta.plugins.files.lines import LINE_CHARS_MAX, LINES_MAX, PAGE_BYTES_MAX, Page
from noeta.plugins.files.paths import FILE_BYTES_MAX, stat_file

CHUNK_BYTES = 256 * 1024


class ReadInput(msgspec.Struct, kw_only=True):
    """Input of Read."""

    file_path: str
    offset: Annotated[int, msgspec.Meta(ge=1, description="First line, from 1.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, description="Number of lines.")] | None = None
    pages: Annotated[str, msgspec.Meta(description="Of a PDF: '3' or '1-5'.")] | None = None


async def read(asked: ReadInput, ctx: ToolContext) -> ToolOutput:
    """Show the file, or the asked part of it."""
    try:
        found = await stat_file(asked.file_path, ctx)
        if found is None:
            raise InvalidInput(texts.missing(asked.file_path, ctx.env.cwd))
        return await _read(asked, found, ctx)
    except InvalidInput as error:
        return ToolOutput(text=str(error), is_error=True)
    except ExecEnvError as error:
        return ToolOutput(text=texts.unusable(error), is_error=True)


async def _read(asked: ReadInput, found: FileStat, ctx: ToolContext) -> ToolOutput:
    head = await ctx.env.read_part(found.path, start_bytes=0, bytes_max=HEAD_BYTES)
    if media_type := picture.type_of(head):
        return await picture.show(asked.file_path, found, media_type, ctx)
    if head.startswith(pdf.MAGIC):
        text = await pdf.text_of(asked.file_path, found, asked.pages, ctx)
        return _page_of(text, asked, records=())
    if asked.pages is not None:
        raise InvalidInput(texts.pages_only_for_pdf(asked.file_path))
    if not is_text(head):
        raise InvalidInput(texts.binary(asked.file_path, found.size_bytes))
    if found.path.endswith(".ipynb"):
        return await _notebook(asked, found, ctx)
    return await _text(asked, found, ctx)


async def _text(asked: ReadInput, found: FileStat, ctx: ToolContext) -> ToolOutput:
    page = _new_page(asked)
    digest = hashlib.sha256()
    decoder: codecs.IncrementalDecoder | None = None
    position = 0
    # Past the lines that are shown it goes on for the hash and the count, but not for ever.
    end = FILE_BYTES_MAX
    while position < end:
        part = await ctx.env.read_part(found.path, start_bytes=position, bytes_max=CHUNK_BYTES)
        digest.update(part)
        text = part
        if decoder is None:
            encoding = encoding_of(part)
            text = part[len(encoding.bom) :]
            decoder = codecs.getincrementaldecoder(encoding.codec)(errors="replace")
        page.feed(decoder.decode(text, final=not part))
        if not part:
            page.finish()
            whole = _is_whole(page)
            records = seen.record(path=found.path, sha256=digest.hexdigest(), whole=whole)
            return _shown(page, asked, total=page.lines_count, records=records)
        position += len(part)
        if page.lines_count < page.first and position < found.size_bytes:
            end = position + FILE_BYTES_MAX
    page.finish()
    return _shown(page, asked, total=None, records=())


async def _notebook(asked: ReadInput, found: FileStat, ctx: ToolContext) -> ToolOutput:
    if found.size_bytes > FILE_BYTES_MAX:
        sizes = {"size_bytes": found.size_bytes, "bytes_max": FILE_BYTES_MAX}
        raise InvalidInput(texts.file_too_large(asked.file_path, **sizes))
    data = await ctx.env.read(found.path, bytes_max=FILE_BYTES_MAX)
    text, media = notebook.render(data, asked.file_path)
    page = _new_page(asked)
    page.feed(text)
    page.finish()
    digest = hashlib.sha256(data).hexdigest()
    records = seen.record(path=found.path, sha256=digest, whole=_is_whole(page))
    return _shown(page, asked, total=page.lines_count, records=records, media=media)


def _page_of(text: str, asked: ReadInput, *, records: tuple[msgspec.Raw, ...]) -> ToolOutput:
    page = _new_page(asked)
    page.feed(text)
    page.finish()
    return _shown(page, asked, total=page.lines_count, records=records)


def _new_page(asked: ReadInput) -> Page:
    return Page(first=asked.offset or 1, lines_max=asked.limit or LINES_MAX)


def _is_whole(page: Page) -> bool:
    return page.first == 1 and page.last == page.lines_count and not page.is_cut


def _shown(
    page: Page,
    asked: ReadInput,
    *,
    total: int | None,
    records: tuple[msgspec.Raw, ...],
    media: tuple[Media, ...] = (),
) -> ToolOutput:
    path = asked.file_path
    if total == 0:
        return ToolOutput(text=texts.empty_file(path), records=records)
    if not page.lines:
        past = texts.past_end(path, offset=page.first, lines_count=page.lines_count)
        return ToolOutput(text=past, is_error=True)
    if asked.limit is not None and page.is_full:
        last = page.first + asked.limit - 1
        raise InvalidInput(
            texts.range_too_large(
                path, first=page.first, last=last, fits=page.last, bytes_max=PAGE_BYTES_MAX
            )
        )
    parts = list(page.lines)
    if page.is_cut:
        parts.append(texts.lines_cut(LINE_CHARS_MAX))
    if total is None or page.last < total:
        parts.append(texts.partial(first=page.first, last=page.last, total=total))
    return ToolOutput(text="\n".join(parts), media=media, records=records)


READ = Tool(
    name="Read",
    description=texts.READ,
    input=ReadInput,
    run=read,
    flags=ToolFlags(retry_safe=True, parallel=True),
)
