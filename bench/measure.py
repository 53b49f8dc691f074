"""Medians, ratios and the machine's own figures."""

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def milliseconds(seconds: Sequence[float]) -> str:
    """The median, for a table."""
    return f"{statistics.median(seconds) * 1000:.2f} ms"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of times that were measured next to each other."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def fsync_seconds(directory: Path, count: int = 50) -> float:
    """The median time of a 4 KB write with fsync."""
    times: list[float] = []
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        for _ in range(count):
            started = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times)


def verdict(value: float, limit: float) -> str:
    """The value beside its target."""
    return f"{value:.2f} (at most {limit}) {'ok' if value <= limit else 'MISSED'}"
