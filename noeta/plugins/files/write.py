"""Write: a new file, or an existing one replaced whole."""

import codecs
import hashlib
import os

import msgspec

from noeta.core.tool import InvalidInput, Tool, ToolContext
from noeta.plugins.files import texts
from noeta.plugins.files.encoding import LINE_END, UTF_8, Encoding, encoding_of
from noeta.plugins.files.evidence import Change, recover, writing
from noeta.plugins.files.paths import FILE_BYTES_MAX, stat_file
from noeta.plugins.files.seen import seen_of


class WriteInput(msgspec.Struct, kw_only=True):
    """Input of Write."""

    file_path: str
    content: str


async def decide(asked: WriteInput, ctx: ToolContext) -> Change:
    """What the call would write now. Raises InvalidInput, ExecEnvError."""
    found = await stat_file(asked.file_path, ctx)
    if found is None:
        data = _encoded(asked.content, UTF_8)
        path = os.path.join(ctx.env.cwd, asked.file_path)
        text = texts.wrote(path, len(data), created=True)
        return Change(path=path, before=None, data=data, whole=True, text=text)
    seen = seen_of(ctx, found.path)
    if seen is None:
        raise InvalidInput(texts.write_unread(asked.file_path))
    if not seen.whole:
        raise InvalidInput(texts.write_partly_read(asked.file_path))
    if found.size_bytes > FILE_BYTES_MAX:
        raise InvalidInput(texts.write_changed(asked.file_path))
    old = await ctx.env.read(found.path, bytes_max=FILE_BYTES_MAX)
    before = hashlib.sha256(old).hexdigest()
    if before != seen.sha256:
        raise InvalidInput(texts.write_changed(asked.file_path))
    data, kept = _in_the_form_of(old, asked.content)
    parts = [texts.wrote(found.path, len(data), created=False)]
    parts += [texts.kept_form(" and ".join(kept))] if kept else []
    parts += [texts.other_names(found.links_count - 1)] if found.links_count > 1 else []
    return Change(path=found.path, before=before, data=data, whole=True, text=" ".join(parts))


def _in_the_form_of(old: bytes, content: str) -> tuple[bytes, list[str]]:
    """The content as the old file was encoded, and what of that there is to say.

    The model does not see a byte order mark and the kind of line ends, so it cannot mean to
    change them.
    """
    encoding = encoding_of(old)
    kept: list[str] = []
    if encoding.bom:
        kept.append(f"encoding ({encoding.codec} with a byte order mark)")
        content = content.removeprefix("\ufeff")
    text = old[len(encoding.bom) :].decode(encoding.codec, errors="replace")
    lines = text.count("\n")
    if lines and text.count("\r\n") == lines and LINE_END.search(content):
        kept.append("CRLF line ends")
        content = LINE_END.sub("\r\n", content)
    return encoding.bom + _encoded(content, encoding), kept


def _encoded(content: str, encoding: Encoding) -> bytes:
    try:
        return codecs.encode(content, encoding.codec)
    except UnicodeEncodeError as error:
        raise InvalidInput(texts.NOT_TEXT.format(what="content")) from error


prepare, write = writing(decide)

WRITE = Tool(
    name="Write",
    description=texts.WRITE,
    input=WriteInput,
    prepare=prepare,
    run=write,
    recover=recover,
)
