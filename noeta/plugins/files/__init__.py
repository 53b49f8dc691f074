"""The file tools: Read, Write, Edit, Glob and Grep.

What the model has read of which file is folded from the log (`seen.py`), so that any worker knows
it. The decisions are pure and apart from the tools: which lines are shown (`lines.py`), what an
edit makes of a file's bytes (`replace.py`), which paths a pattern fits (`pattern.py`).
"""

from noeta.plugins.files.plugin import plugin

__all__ = ["plugin"]
