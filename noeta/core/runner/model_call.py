"""One model call: the retry loop around the port, and what is kept of a call that is stopped.

Providers' own retries stay off. Only `transient` errors are tried again, up to
`retry.DEFAULT_MAX_ATTEMPTS`; a reply is checked before anyone else sees it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from noeta.core import retry
from noeta.core.context import Request
from noeta.core.model import Delta, Model, ModelError, Reply, TextDelta, checked
from noeta.core.progress import Progress, Retrying


@dataclass(slots=True)
class Partial:
    """The text streamed so far in the present attempt; it survives a cancelled call."""

    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self.parts)


async def call_model(
    model: Model,
    request: Request,
    *,
    publish: Callable[[Progress], None],
    jitter: Callable[[], float],
    partial: Partial,
) -> Reply:
    """The checked reply. Raises the last ModelError when it is not worth another attempt.

    jitter gives numbers from 0 to 1.
    """

    def heard(delta: Delta) -> None:
        if isinstance(delta, TextDelta):
            partial.parts.append(delta.text)
        publish(delta)

    attempt = 1
    while True:
        partial.parts.clear()
        try:
            return checked(await model.call(request, heard))
        except ModelError as error:
            if error.kind != "transient":
                raise
            if attempt >= retry.DEFAULT_MAX_ATTEMPTS:
                raise ModelError(
                    f"gave up after {attempt} attempts: {error}", kind="transient"
                ) from error
            delay = retry.delay_seconds(attempt, jitter=jitter(), retry_after=error.retry_after)
            attempt += 1
            publish(
                Retrying(
                    attempt=attempt,
                    attempts_max=retry.DEFAULT_MAX_ATTEMPTS,
                    delay_seconds=delay,
                    error=str(error),
                )
            )
        await anyio.sleep(delay)
