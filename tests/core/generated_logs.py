"""Hypothesis strategies over `noeta.testing.generated_logs`."""

from hypothesis import strategies as st

from noeta.core import events as e
from noeta.testing.generated_logs import generated_log


def logs(events_max: int = 40) -> st.SearchStrategy[list[e.Event]]:
    """Logs in which each event may follow the one before."""
    return st.integers(0, 2**32).map(lambda seed: generated_log(seed, events_max=events_max))


def any_event() -> st.SearchStrategy[e.Event]:
    """One event out of such a log."""
    return logs(60).flatmap(st.sampled_from)
