"""Benches: times as interleaved ratios of one process, beside what the machine can do at all."""
