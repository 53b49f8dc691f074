"""Http: one POST whose answer is a stream of events, over httpx2.

Everything that can go wrong on the way becomes a ModelError here. The errors are raised bare,
with no cause: httpx2's hold the request, and so the key. Nothing is tried again; that is the
kernel's (`noeta/core/retry.py`).
"""

import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import anyio
import httpx2

from noeta import __version__
from noeta.backends.models.endpoint import Endpoint
from noeta.backends.models.wire_errors import (
    Refusal,
    error_of,
    refusal_of,
    retry_after,
    shown_url,
    told,
)
from noeta.core.model import ModelError

REPLY_CHARS_MAX = 64 * 1024 * 1024
"""No provider's reply is a tenth of this; it bounds what a broken server can make us hold."""
TOO_LARGE = "sent a reply larger than any model's (64 MiB)"
ERROR_BYTES_MAX = 64 * 1024
ERROR_SECONDS_MAX = 10.0
CONNECTIONS_KEPT = 8
"""Idle connections; a worker runs as many tasks by default."""


class Sink(Protocol):
    """What a stream's events are given to."""

    @property
    def is_complete(self) -> bool:
        """The stream said that the reply is whole."""

    @property
    def is_understood(self) -> bool:
        """Something came that only this dialect says."""

    def feed(self, event: str, data: str) -> bool:
        """One event; whether it said something, as a ping does not. Raises ModelError."""


@dataclass(slots=True)
class _Heard:
    chars: int = 0
    """Of data, pings too."""


class Http:
    """The connection to one provider; made at the first call, for one event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close what is open; a later call opens it again."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def post(
        self, path: str, *, headers: Mapping[str, str], body: bytes, sink: Sink, route: str
    ) -> None:
        """Feed the sink until it is complete. Raises ModelError; a cancel drops the connection."""
        patience = self.endpoint.patience
        # In this order: no setting replaces what we say of the body or the key.
        sent = {**self.endpoint.headers, **headers, **_BODY_HEADERS}
        if not all(value.isascii() and value.isprintable() for value in sent.values()):
            # httpx2 would say so too, and quote the header.
            raise self._fatal("cannot be asked: the key or a header holds a character HTTP forbids")
        scope = anyio.CancelScope(deadline=anyio.current_time() + patience.quiet_seconds)
        heard = _Heard()
        problem: ModelError | None = None
        try:
            with scope:
                async with self._connected().sse(
                    f"{self.endpoint.base_url}{path}",
                    method="POST",
                    content=body,
                    headers=sent,
                    max_event_size=REPLY_CHARS_MAX,
                ) as source:
                    await self._check(source.response, route)
                    await self._listen(source, sink, scope, heard)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ssl.SSLError) as error:
            # Nothing after the end of a reply can spoil it.
            problem = None if sink.is_complete else self._trouble(error)
        if problem is not None:
            raise problem
        if sink.is_complete:
            return
        if scope.cancelled_caught:
            raise self._transient("took too long to finish its reply")
        if heard.chars and not sink.is_understood:
            raise self._fatal(
                "answered with a stream that its dialect does not have; check base_url"
                f" ({shown_url(self.endpoint.base_url)}) and dialect in the settings"
            )
        raise self._transient("broke its reply off before the end")

    async def _listen(
        self, source: httpx2.EventSource, sink: Sink, scope: anyio.CancelScope, heard: "_Heard"
    ) -> None:
        """Feed the sink, and move the deadline with what is said."""
        patience = self.endpoint.patience
        ends_at = anyio.current_time() + patience.total_seconds
        events = source.__aiter__()
        assert isinstance(events, AsyncGenerator)
        async with aclosing(events):
            async for event in events:
                heard.chars += len(event.data)
                if heard.chars > REPLY_CHARS_MAX:
                    raise self._fatal(TOO_LARGE)
                spoke = sink.feed(event.event, event.data)
                now = anyio.current_time()
                if sink.is_complete:
                    scope.deadline = min(scope.deadline, now + patience.grace_seconds)
                elif spoke:
                    scope.deadline = min(ends_at, now + patience.quiet_seconds)

    def _connected(self) -> httpx2.AsyncClient:
        if self._client is not None:
            return self._client
        patience = self.endpoint.patience
        problem: ModelError
        try:
            self._client = httpx2.AsyncClient(
                # Proxies and certificates from the environment. No redirects: the key would follow.
                trust_env=True,
                follow_redirects=False,
                timeout=httpx2.Timeout(
                    connect=patience.connect_seconds,
                    read=patience.idle_seconds,
                    write=patience.idle_seconds,
                    pool=None,
                ),
                limits=httpx2.Limits(
                    max_connections=None,
                    max_keepalive_connections=CONNECTIONS_KEPT,
                    keepalive_expiry=60.0,
                ),
                headers={"user-agent": f"noeta/{__version__}"},
            )
            return self._client
        except (OSError, ValueError, ImportError) as error:
            # A proxy setting that is no URL or needs a package, a certificate file that is none.
            problem = self._fatal(
                f"cannot be reached with this environment ({told(str(error), self.endpoint)});"
                " check HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
            )
        raise problem

    async def _check(self, response: httpx2.Response, route: str) -> None:
        """Raise unless the response is a stream of events."""
        status, headers = response.status_code, response.headers
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if status == 200 and content_type not in _NO_STREAM:
            # Some servers call their streams text/plain or octets, or say nothing; events are
            # always UTF-8, perhaps behind a byte order mark (html.spec.whatwg.org, 9.2.6).
            headers["content-type"] = "text/event-stream"
            response.encoding = "utf-8-sig"
            return
        if 300 <= status < 400:
            where = told(shown_url(headers.get("location", "")), self.endpoint)
            raise self._fatal(
                f"redirects to {where or 'another place'} ({status}); put that address in base_url"
            )
        found = refusal_of(await _start_of(response), status=status)
        if status < 400 and found.is_html:
            raise self._fatal(
                f"answered with a web page ({told(found.message, self.endpoint)}); check base_url,"
                " and the proxy settings (HTTPS_PROXY, NO_PROXY)"
            )
        if status < 400 and not found.type:
            raise self._fatal(
                f"answered {status} with no stream of events; check that"
                f" {shown_url(self.endpoint.base_url)} is the base URL of a model server and that"
                " its dialect is right"
            )
        word = headers.get("x-should-retry", "")
        refusal = Refusal(
            status=status,
            type=found.type,
            message=found.message,
            is_html=found.is_html,
            retry_after=retry_after(headers, now=time.time()),
            should_retry={"true": True, "false": False}.get(word),
        )
        raise error_of(refusal, self.endpoint, route=route)

    # Errors ------------------------------------------------------------------------------

    def _trouble(self, error: Exception) -> ModelError:
        """What a failure of the connection means. Must not keep the error: see the top."""
        provider, url = self.endpoint.provider, shown_url(self.endpoint.base_url)
        words = told(str(error), self.endpoint) or type(error).__name__
        tls = _tls_cause(error)
        if tls is not None:
            return self._fatal(
                f"cannot be trusted over TLS at {url} ({told(tls, self.endpoint)}); set"
                " SSL_CERT_FILE to the certificates of your network, or correct base_url"
            )
        match error:
            case httpx2.ReadTimeout():
                return self._transient(
                    f"sent nothing for {self.endpoint.patience.idle_seconds:g} seconds"
                )
            case httpx2.ConnectError() | httpx2.ConnectTimeout():
                return self._transient(f"cannot be reached at {url} ({words})")
            case httpx2.ProxyError() if words.startswith("5"):
                # A proxy that has trouble of its own, such as "502 Bad Gateway".
                return self._transient(f"cannot be reached through the proxy ({words})")
            case httpx2.ProxyError():
                return self._fatal(
                    f"cannot be reached through the proxy ({words}); check HTTPS_PROXY and NO_PROXY"
                )
            case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
                return self._fatal(f"has a base_url that is no http address: {url}")
            case httpx2.LocalProtocolError():
                # Its words quote the header, perhaps the key.
                return self._fatal("cannot be asked: a header holds characters HTTP does not allow")
            case httpx2.SSEError() if "limit" in words:
                return self._fatal(TOO_LARGE)
            case _:
                return ModelError(f"{provider} broke the connection ({words})", kind="transient")

    def _transient(self, what: str) -> ModelError:
        return ModelError(f"{self.endpoint.provider} {what}", kind="transient")

    def _fatal(self, what: str) -> ModelError:
        return ModelError(f"{self.endpoint.provider} {what}", kind="fatal")


_NO_STREAM = frozenset(("text/html", "application/json", "application/problem+json"))
_BODY_HEADERS = {
    "content-type": "application/json",
    "accept": "text/event-stream",
    # Compressed streams come late, and may unpack to anything.
    "accept-encoding": "identity",
}


async def _start_of(response: httpx2.Response) -> bytes:
    """The body of an error, as far as anyone would read it."""
    data = bytearray()
    with anyio.move_on_after(ERROR_SECONDS_MAX):
        try:
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > ERROR_BYTES_MAX:
                    break
        except httpx2.HTTPError:
            pass
    return bytes(data[:ERROR_BYTES_MAX])


def _tls_cause(error: BaseException) -> str | None:
    """What TLS has against the other side; None when the error is of another kind."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            # A connection that ends without TLS's own goodbye was merely cut.
            if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
                return None
            return cause.strerror or str(cause)
        cause = cause.__cause__ or cause.__context__
    return None
