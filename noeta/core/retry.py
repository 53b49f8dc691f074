"""When a failed model request is tried again: the bounds, and nothing that waits.

The loop itself is in `runner/model_call`; providers' own retries stay off, or they multiply.
"""

DEFAULT_MAX_ATTEMPTS = 9
BACKOFF_SECONDS_FIRST = 0.5
BACKOFF_SECONDS_MAX = 30.0
RETRY_AFTER_SECONDS_MIN = 0.05
"""A provider that says "at once" nine times over gets a breath all the same."""
RETRY_AFTER_SECONDS_MAX = 300.0
"""A provider may ask for more (49 days have been seen); waiting longer than this helps nobody."""


def delay_seconds(attempt: int, *, jitter: float, retry_after: float | None = None) -> float:
    """How long to wait after the attempt-th failure (from 1).

    Doubles up to the maximum, less up to a quarter by jitter (0 to 1). A provider's own
    retry_after goes first, capped.
    """
    if retry_after is not None and retry_after >= 0:
        return min(max(retry_after, RETRY_AFTER_SECONDS_MIN), RETRY_AFTER_SECONDS_MAX)
    # The exponent is capped before the power, or attempt 2000 overflows a float.
    doubled = BACKOFF_SECONDS_FIRST * 2.0 ** min(attempt - 1, 16)
    return min(doubled, BACKOFF_SECONDS_MAX) * (1.0 - 0.25 * jitter)
