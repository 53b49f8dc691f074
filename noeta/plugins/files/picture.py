"""Images, known by their first bytes and shown as they are."""

import base64

from noeta.core.execenv import FileStat
from noeta.core.message import Media
from noeta.core.tool import InvalidInput, ToolContext, ToolOutput
from noeta.plugins.files import texts

IMAGE_BYTES_MAX = 3_750_000
"""Providers take 5 MB of base64, which is 4 characters for 3 bytes."""

MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def type_of(head: bytes) -> str | None:
    """The media type of an image that begins so; None when it is none that models take."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in MAGIC if head.startswith(magic)), None)


async def show(path: str, found: FileStat, media_type: str, ctx: ToolContext) -> ToolOutput:
    """The image itself. Raises InvalidInput when it is too large."""
    size_bytes = found.size_bytes
    if size_bytes > IMAGE_BYTES_MAX:
        text = texts.image_too_large(path, size_bytes=size_bytes, bytes_max=IMAGE_BYTES_MAX)
        raise InvalidInput(text)
    data = await ctx.env.read(found.path, bytes_max=IMAGE_BYTES_MAX)
    media = Media(media_type=media_type, data=base64.b64encode(data).decode("ascii"))
    return ToolOutput(text=texts.image(path, media_type, len(data)), media=(media,))
