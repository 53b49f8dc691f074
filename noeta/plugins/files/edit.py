"""Edit: one piece of a file's text replaced, every other byte left as it is."""

import hashlib

import msgspec

from noeta.core.tool import InvalidInput, Tool, ToolContext
from noeta.plugins.files import texts
from noeta.plugins.files.evidence import Change, recover, writing
from noeta.plugins.files.paths import FILE_BYTES_MAX, stat_file
from noeta.plugins.files.replace import NotOnce, replace, same_text
from noeta.plugins.files.seen import seen_of


class EditInput(msgspec.Struct, kw_only=True):
    """Input of Edit."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


async def decide(asked: EditInput, ctx: ToolContext) -> Change:
    """What the call would write now. Raises InvalidInput, ExecEnvError."""
    name = asked.file_path
    _check_strings(asked)
    found = await stat_file(name, ctx)
    if found is None:
        raise InvalidInput(texts.nothing_to_edit(name, ctx.env.cwd))
    seen = seen_of(ctx, found.path)
    if seen is None:
        raise InvalidInput(texts.edit_unread(name))
    if found.size_bytes > FILE_BYTES_MAX:
        sizes = {"size_bytes": found.size_bytes, "bytes_max": FILE_BYTES_MAX}
        raise InvalidInput(texts.file_too_large(name, **sizes))
    data = await ctx.env.read(found.path, bytes_max=FILE_BYTES_MAX)
    before = hashlib.sha256(data).hexdigest()
    changed = before != seen.sha256
    # Of a file with changes nobody has shown the model, only what it surely means is replaced.
    every = asked.replace_all and not changed
    made = replace(data, old=asked.old_string, new=asked.new_string, every=every)
    if isinstance(made, NotOnce):
        if changed:
            raise InvalidInput(texts.edit_changed(name))
        if made.lines:
            raise InvalidInput(texts.not_once(name, made.lines))
        raise InvalidInput(texts.not_found(name))
    parts = [texts.edited(found.path, made.lines)]
    parts += [texts.OTHER_CHANGES] if changed else []
    parts += [texts.other_names(found.links_count - 1)] if found.links_count > 1 else []
    return Change(
        path=found.path,
        before=before,
        data=made.data,
        whole=seen.whole and not changed,
        text=" ".join(parts),
    )


def _check_strings(asked: EditInput) -> None:
    if not asked.old_string:
        raise InvalidInput(texts.OLD_STRING_EMPTY)
    if same_text(asked.old_string, asked.new_string):
        raise InvalidInput(texts.SAME_STRINGS)
    try:
        asked.new_string.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(texts.NOT_TEXT.format(what="new_string")) from error


prepare, edit = writing(decide)

EDIT = Tool(
    name="Edit",
    description=texts.EDIT,
    input=EditInput,
    prepare=prepare,
    run=edit,
    recover=recover,
)
