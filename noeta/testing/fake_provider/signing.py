"""Signatures of thinking and sealed reasoning, which the fake gives out and knows again.

A signature holds for one text and one model: thinking that was altered, or that another model
wrote, is refused. The key is fixed, so that a log outlives the fake that it was made with.
"""

import base64
import binascii
import hashlib
import hmac
import json

_KEY = b"noeta's fake provider"
_MARK_BYTES = 12


def sign(*, model: str, shown: str, hidden: str) -> str:
    """A signature of what was thought (`hidden`) and of what is shown of it, perhaps nothing."""
    mark = hashlib.sha256(hidden.encode()).digest()[:_MARK_BYTES]
    return _text(mark + _mac("thinking", model, shown, mark))


def signature_holds(signature: str, *, model: str, shown: str) -> bool:
    """Whether `sign` gave it for this model and text."""
    raw = _bytes(signature)
    mark, mac = raw[:_MARK_BYTES], raw[_MARK_BYTES:]
    return hmac.compare_digest(mac, _mac("thinking", model, shown, mark))


def seal(*, model: str, kind: str, item_id: str, hidden: str) -> str:
    """Text that only the fake reads (base64 of it, and its HMAC)."""
    inside = json.dumps([item_id, hidden]).encode()
    return _text(_mac(kind, model, "", inside) + inside)


def opened(sealed: str, *, model: str, kind: str) -> tuple[str, str] | None:
    """(item id, text) that `seal` was given; None when it was altered or is another model's."""
    raw = _bytes(sealed)
    mac, inside = raw[:32], raw[32:]
    if not hmac.compare_digest(mac, _mac(kind, model, "", inside)):
        return None
    item_id, hidden = json.loads(inside)
    return str(item_id), str(hidden)


def _mac(kind: str, model: str, shown: str, mark: bytes) -> bytes:
    told = json.dumps([kind, model, shown]).encode() + b"\0" + mark
    return hmac.new(_KEY, told, hashlib.sha256).digest()


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
