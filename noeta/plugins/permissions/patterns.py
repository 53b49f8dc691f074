"""Patterns of rules for commands, names and hosts.

`*` stands for any text, blanks too. A blank and a `*` at the end, or `:*`, are a word's end:
`ls *` is `ls` and `ls -l`, and not `lsof`. `\\*` is a star, `\\\\` a backslash. All else is itself.
"""

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as it is compared."""

    regex: re.Pattern[str]
    prefix: str
    """What every match begins with, word for word."""
    exact: bool
    """It holds no `*`: one text matches."""
    total: bool
    """Every text matches."""
    base: str
    """The pattern without the `*` at its end."""
    open: bool
    """More words may follow the base."""

    def matches(self, text: str) -> bool:
        """Whether the whole text is one of those that are meant."""
        return self.regex.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def pattern(spec: str) -> Pattern:
    """Read a pattern. Every text is one."""
    if spec.endswith(":*") or (spec.endswith(" *") and not spec.endswith("\\ *")):
        base, is_open = spec[:-2].rstrip(" "), True
    else:
        base, is_open = spec, False
    parts = re.split(r"(\\[*\\]|\*+)", base)
    literal = [re.escape(part[-1]) if part[:1] == "\\" else re.escape(part) for part in parts]
    body = "".join(
        ".*" if part[:1] == "*" else text for part, text in zip(parts, literal, strict=True)
    )
    stars = [index for index, part in enumerate(parts) if part[:1] == "*"]
    head = parts[: stars[0]] if stars else parts
    prefix = "".join(part[-1] if part in ("\\*", "\\\\") else part for part in head)
    total = not base.strip("* ") and (is_open or "*" in base)
    tail = "(?: .*)?" if is_open and not total else ""
    return Pattern(
        regex=re.compile(".*" if total else body + tail, re.DOTALL),
        prefix="" if total else prefix,
        exact=not stars and not is_open,
        total=total,
        base=base,
        open=is_open,
    )


def escaped(text: str) -> str:
    """The pattern that means this text and nothing else."""
    return text.replace("\\", "\\\\").replace("*", "\\*")


def host_matches(spec: str, host: str) -> bool:
    """Whether a host is the one, or one of those, that a `domain:` rule means.

    `*.example.org` is any name below example.org. A `*` elsewhere stays within one label.
    """
    wanted, have = spec.lower().rstrip("."), host.lower().rstrip(".")
    if wanted == "*":
        return bool(have)
    lead = r"(?:[^.]+\.)+" if wanted.startswith("*.") else ""
    rest = wanted[2:] if lead else wanted
    return re.fullmatch(lead + re.escape(rest).replace(r"\*", "[^.]*"), have) is not None
