"""One mapping of a script, as YAML gave it, and the questions a checker asks of it.

Each answer has its type, or is a ScriptError that says where, what is wrong and what to do.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, cast

from noeta.backends.models.script import ScriptError

SECONDS_MAX = 86_400.0
TIMES_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """A mapping in a script, and how errors call it; what is asked of it is given or refused."""

    where: str
    fields: Mapping[object, object]

    def refuse(self, why: str) -> NoReturn:
        """Say what is wrong here, and what to do."""
        raise ScriptError(f"{self.where}: {why}")

    def allow(self, what: str, keys: tuple[str, ...]) -> None:
        """Refuse every key but these."""
        for key in self.fields:
            if key not in keys:
                known = ", ".join(f"`{known}`" for known in keys)
                self.refuse(f"{key!r} is no key of {what}; it may have {known}")

    def part(self, where: str, value: object) -> "Part":
        """A mapping in this one."""
        if not isinstance(value, dict):
            raise ScriptError(
                f"{where}: this must be a mapping (`key: value`), not {kind_of(value)}"
            )
        return Part(where, value)

    def inner(self, key: str) -> "Part":
        """The mapping at a key that is there."""
        return self.part(f"{self.where}, `{key}`", self.fields[key])

    def items(self, key: str) -> list[object]:
        """A list with something in it."""
        value = self.fields.get(key)
        if not isinstance(value, list) or not value:
            self.refuse(f"`{key}` must be a list with at least one item, not {kind_of(value)}")
        return value

    def text(self, key: str) -> str | None:
        """A text with something in it; None when the key is missing."""
        if key not in self.fields:
            return None
        value = self.fields[key]
        if not isinstance(value, str):
            self.refuse(f"`{key}` must be text, not {kind_of(value)}; put it in quotes")
        if not value.strip():
            self.refuse(f"`{key}` is blank; write something or leave it out")
        self.encodable(key, value)
        return value

    def encodable(self, key: str, value: str) -> None:
        """Refuse what no message could hold."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.refuse(f"`{key}` has half a character (a lone surrogate); write it out whole")

    def choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        """One of these words; None when the key is missing."""
        value = self.text(key)
        if value is not None and value not in choices:
            self.refuse(f"`{key}` cannot be {value!r}; it is one of {', '.join(choices)}")
        return value

    def seconds(self, key: str) -> float | None:
        """A length of time; None when the key is missing."""
        value = self.fields.get(key)
        if key not in self.fields:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= cast(float, value) <= SECONDS_MAX:
            self.refuse(f"`{key}` must be seconds from 0 to {SECONDS_MAX:.0f}, not {value!r}")
        return float(cast(float, value))

    def times(self, key: str) -> int:
        """How often; once when the key is missing."""
        value = self.fields.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= TIMES_MAX:
            self.refuse(f"`{key}` must be a whole number from 1 to {TIMES_MAX}, not {value!r}")
        return value

    def target(self, labels: Mapping[str, int]) -> int | None:
        """The step that `goto` leads to; None when it is missing."""
        label = self.text("goto")
        if label is None:
            return None
        if label not in labels:
            known = ", ".join(labels) or "none"
            self.refuse(f"no step has the label {label!r} that `goto` names; labels: {known}")
        return labels[label]

    def pattern(self, key: str) -> re.Pattern[str] | None:
        """A regular expression; None when the key is missing."""
        text = self.text(key)
        try:
            return re.compile(text) if text is not None else None
        except (re.error, OverflowError, RecursionError) as error:
            self.refuse(f"`{key}` is no regular expression Python reads: {error}; correct it")


def kind_of(value: object) -> str:
    """What a value is, in words that an error can end with."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value!r}"
        case str():
            return "text"
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping"
    return f"a {type(value).__name__}"
