"""Images and documents: their types, their encoding and their sizes."""

import base64
import binascii

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
IMAGE_BYTES_MAX = 5 * 1024 * 1024
"""Anthropic's, of the base64 text. OpenAI's limit is on the whole request."""

_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def decoded(text: str) -> bytes | None:
    """The bytes that base64 text stands for; None when it is none, or empty."""
    try:
        return base64.b64decode(text, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def kind_of(data: bytes) -> str | None:
    """The media type its first bytes show; None when it is none of ours."""
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def parse_data_url(url: str) -> tuple[str, str] | None:
    """(media type, base64 text) of a `data:` URL; None when it is not of that form."""
    head, comma, text = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return None
    return head[len("data:") : -len(";base64")], text
