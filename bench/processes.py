"""Eight processes appending to one sqlite file: who gets how much, and how long each waits."""

import json
import statistics
import subprocess
import sys
from pathlib import Path

PROCESSES = 8
SECONDS = 5.0


def run(directory: Path) -> list[str]:
    """The lines of the table."""
    path = directory / "shared.db"
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.appender", str(path), f"p{index}", str(SECONDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in range(PROCESSES)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    waits = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    counts = [len(one) for one in waits]
    every = sorted(wait for one in waits for wait in one)
    mean = sum(counts) / len(counts)
    return [
        f"{PROCESSES} processes, {SECONDS:.0f} s             {sum(counts):,} appends,"
        f" {sum(counts) / SECONDS:,.0f} a second",
        f"least share / mean share            {min(counts) / mean:.2f} (at least 0.25)",
        f"wait for an append                  median {statistics.median(every):.1f} ms,"
        f" p99 {every[int(len(every) * 0.99)]:.1f} ms, longest {every[-1]:.1f} ms",
    ]
