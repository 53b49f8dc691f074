"""What a provider's refusal means: from its type, status and words to a ModelError.

The type decides before the status, since an error in mid-stream has none; the words decide
only where providers use one type for several things. The provider's own text is kept, short,
without control characters and without secrets.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

import msgspec

from noeta.backends.models.endpoint import Endpoint
from noeta.core.model import ErrorKind, ModelError

TEXT_CHARS_MAX = 600

TYPES: Mapping[str, ErrorKind] = {
    # Anthropic: platform.claude.com/docs/en/api/errors. OpenAI: the SDK's error codes.
    "overloaded_error": "transient",
    "rate_limit_error": "transient",
    "api_error": "transient",
    "timeout_error": "transient",
    "rate_limit_exceeded": "transient",
    "server_error": "transient",
    "internal_server_error": "transient",
    "internal_error": "transient",
    "service_unavailable": "transient",
    "service_unavailable_error": "transient",
    "engine_overloaded": "transient",
    "engine_overloaded_error": "transient",
    "server_is_overloaded": "transient",
    "slow_down": "transient",
    "insufficient_quota": "quota",
    "billing_error": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "usage_limit_reached": "quota",
    "exceeded_current_quota_error": "quota",
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "invalid_authentication_error": "auth",
    "permission_denied": "auth",
    "account_deactivated": "auth",
    "context_length_exceeded": "overflow",
    "request_too_large": "overflow",
    "exceed_context_size_error": "overflow",
    "model_context_window_exceeded": "overflow",
    "model_not_found": "fatal",
    "not_found_error": "fatal",
}

_OVERFLOW = re.compile(
    r"prompt is too long|context[ _](?:length|window|size|limit)|maximum context"
    r"|input is too long|too many (?:input )?tokens"
    r"|exceeds? the (?:available|maximum) (?:number of )?tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"credit balance|spend(?:ing)?[ -](?:cap|limit)|usage limits?|quota|billing"
    r"|monthly (?:limit|spend)|insufficient (?:balance|funds|credit)",
    re.IGNORECASE,
)
_PLAIN_RATE_LIMITS = frozenset({"rate_limit_exceeded"})
"""Types that a provider never uses for an account without credit."""
_COMES_BACK = re.compile(r"(?:try again|retry|wait|resets?) (?:in|after|at|for)\b", re.IGNORECASE)
_URL = re.compile(r"https?://\S+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]+")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:style|script).*?</(?:style|script)>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a provider said instead of a reply."""

    status: int = 0
    """0: it came in mid-stream."""
    type: str = ""
    """The error's code or type, whichever says more."""
    message: str = ""
    retry_after: float | None = None
    should_retry: bool | None = None
    """The provider's own word on it, when it has one."""
    is_html: bool = False


def refusal_of(body: bytes, *, status: int = 0) -> Refusal:
    """What the body of an error says: the error objects of all dialects, HTML, or plain words."""
    text = body.decode("utf-8", errors="replace")
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        if "<html" in text[:2000].lower() or "<!doctype" in text[:200].lower():
            title = _TITLE.search(text)
            return Refusal(
                status=status, message=title[1] if title else _TAG.sub(" ", text), is_html=True
            )
        return Refusal(status=status, message=text)
    if isinstance(found, list) and found:
        # Some gateways wrap the object in a list.
        found = found[0]
    if not isinstance(found, dict):
        return Refusal(status=status, message=text)
    inner = found.get("error", found)
    if isinstance(inner, str):
        return Refusal(status=status, message=_words(found.get("message")) or inner)
    if not isinstance(inner, dict):
        return Refusal(status=status)
    names = [str(inner[key]) for key in ("code", "type") if inner.get(key)]
    message = _words(inner.get("message") or inner.get("detail") or inner.get("msg"))
    return Refusal(
        status=status,
        # A code says more than a type, where it is one that is known.
        type=next((name for name in names if name in TYPES), names[0] if names else ""),
        # Never the whole object: it may hold the request.
        message=message,
    )


def _words(said: object) -> str:
    """The words of a message; of a list of complaints where each is and what it says, without
    the input that some servers quote beside it."""
    if isinstance(said, list):
        each = [one for one in said if isinstance(one, dict)]
        return "; ".join(
            f"{'.'.join(map(str, one.get('loc') or ()))}: {one.get('msg', '')}" for one in each
        )
    return said if isinstance(said, str) else ""


def error_of(refusal: Refusal, endpoint: Endpoint, *, route: str = "") -> ModelError:
    """The refusal as the error of a call: one sentence that ends in what to do."""
    kind = kind_of(refusal)
    # Some gateways give the status again as the code.
    named = "" if refusal.type.isdigit() else refusal.type
    what = " ".join(filter(None, (str(refusal.status or ""), named)))
    said = told(refusal.message, endpoint)
    head = f"{endpoint.provider} {_VERBS[kind]}" + (f" ({what})" if what else "")
    advice = _advice(refusal, kind, endpoint, route)
    return ModelError(
        f"{head}: {said or 'it gave no reason'}" + (f"; {advice}" if advice else ""),
        kind=kind,
        retry_after=refusal.retry_after,
    )


def kind_of(refusal: Refusal) -> ErrorKind:
    """The class of a refusal."""
    kind = TYPES.get(refusal.type)
    if kind is None or (kind == "fatal" and refusal.status == 429):
        kind = _by_status(refusal.status) if refusal.status else _in_stream(refusal.type)
    if kind == "auth" and refusal.is_html:
        # A proxy's page, or a firewall's: the key was not looked at.
        return "fatal"
    if kind == "fatal" and not refusal.is_html and _OVERFLOW.search(refusal.message):
        return "overflow"
    # A spend cap is a 429 like any other but for its words, and says no time to come back.
    ambiguous = refusal.type not in _PLAIN_RATE_LIMITS and (
        kind == "fatal" or refusal.status == 429 or refusal.type.startswith("rate_limit")
    )
    if ambiguous and not refusal.is_html and _is_spent(refusal):
        return "quota"
    if refusal.should_retry is True and kind == "fatal":
        return "transient"
    if refusal.should_retry is False and kind == "transient":
        return "quota" if refusal.status == 429 else "fatal"
    return kind


def _is_spent(refusal: Refusal) -> bool:
    """Whether the words are those of an account without credit, not of a limit that passes."""
    # An ordinary rate limit points to the billing page, and says when to come back.
    words = _URL.sub("", refusal.message)
    comes_back = refusal.retry_after is not None or _COMES_BACK.search(words)
    return not comes_back and _QUOTA.search(words) is not None


def _by_status(status: int) -> ErrorKind:
    if status in (401, 403):
        return "auth"
    if status == 402:
        return "quota"
    if status == 413:
        return "overflow"
    if status in (501, 505):
        # No model server says that it cannot POST: something else answers there.
        return "fatal"
    if status in (408, 409, 425, 429) or status >= 500:
        return "transient"
    return "fatal"


def _in_stream(type: str) -> ErrorKind:
    """A failure of no known type after the request was taken: of the provider's, unless it says
    that the request was at fault."""
    return "fatal" if _OURS.search(type) else "transient"


_OURS = re.compile(r"invalid|policy|image|unsupported|failed_to_download|bad_request")
_VERBS: Mapping[ErrorKind, str] = {
    "transient": "could not answer now",
    "overflow": "cannot take a conversation this large",
    "auth": "refused the key",
    "quota": "says that the account's limit is reached",
    "fatal": "refused the request",
}


def _advice(refusal: Refusal, kind: ErrorKind, endpoint: Endpoint, route: str) -> str:
    if refusal.is_html:
        return (
            f"a web page answered at {shown_url(endpoint.base_url)}: check base_url, and the proxy"
            " settings (HTTPS_PROXY, NO_PROXY)"
        )
    match kind:
        case "auth":
            return endpoint.set_key
        case "quota":
            return "raise the limit or add credit there, then go on with --resume"
        case "overflow":
            return "choose a model with a larger context, or start a new task"
        case "fatal" if refusal.status in (404, 405, 501, 505) or refusal.type == "model_not_found":
            model = f" {route!r}" if route else ""
            return f"check the model{model} and the base_url {shown_url(endpoint.base_url)}"
        case _:
            return ""


def told(text: str, endpoint: Endpoint) -> str:
    """Words from outside as an error may hold them: one line, short, with no secret in it."""
    # Scrubbed before it is cut, so that no half of a secret is left at the end.
    text = " ".join(_CONTROL.sub(" ", endpoint.scrubbed(text)).split()).rstrip(".; ")
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 3] + "..."


def shown_url(url: str) -> str:
    """A URL without its query, where keys may hide."""
    return url.partition("?")[0]


def retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """The seconds a response's headers ask to wait; None when they say nothing sensible.

    `retry-after-ms`, else `retry-after` as seconds or as a date; now is in seconds since 1970.
    """
    milliseconds = _seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    try:
        at = parsedate_to_datetime(text)
        # A date without a zone is GMT (RFC 9110, 5.6.7).
        at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return max(0.0, at.timestamp() - now)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
