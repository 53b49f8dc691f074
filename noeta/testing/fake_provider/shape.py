"""What a JSON body must look like, said as Anthropic's own parser says it.

Each function gives the value with its type known, or raises `Refused` with the path and the rule.
"""

import re
from collections.abc import Collection, Mapping

from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.turn import Json

ID_PATTERN = "^[a-zA-Z0-9_-]+$"


def needed(holder: Mapping[str, object], name: str, path: str = "") -> object:
    """The field. Refused when it is not there."""
    if name not in holder:
        raise invalid(f"{_at(path, name)}: Field required")
    return holder[name]


def an_object(value: object, path: str) -> Json:
    """Refused when it is no object."""
    if not isinstance(value, dict):
        raise invalid(f"{path}: Input should be an object")
    return value


def a_list(value: object, path: str) -> list[object]:
    """Refused when it is no list."""
    if not isinstance(value, list):
        raise invalid(f"{path}: Input should be a valid list")
    return value


def a_string(value: object, path: str) -> str:
    """Refused when it is no string."""
    if not isinstance(value, str):
        raise invalid(f"{path}: Input should be a valid string")
    return value


def an_integer(value: object, path: str, *, least: int) -> int:
    """Refused when it is no integer, or less than the least."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise invalid(f"{path}: Input should be a valid integer")
    if value < least:
        raise invalid(f"{path}: Input should be greater than or equal to {least}")
    return value


def a_number(value: object, path: str, *, most: float) -> float:
    """Refused when it is no number from 0 to the most."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise invalid(f"{path}: Input should be a valid number")
    if value < 0:
        raise invalid(f"{path}: Input should be greater than or equal to 0")
    if value > most:
        raise invalid(f"{path}: range: 0..{most:g}")
    return value


def one_of(value: object, allowed: Collection[str], path: str) -> str:
    """Refused when it is not among the allowed."""
    if not isinstance(value, str) or value not in allowed:
        *most, last = [f"'{each}'" for each in allowed]
        words = f"{', '.join(most)} or {last}" if most else last
        raise invalid(f"{path}: Input should be {words}")
    return value


def matching(value: object, pattern: str, path: str) -> str:
    """Refused when it is no string of the pattern."""
    text = a_string(value, path)
    if not re.fullmatch(pattern.strip("^$"), text):
        raise invalid(f"{path}: String should match pattern '{pattern}'")
    return text


def nothing_else(holder: Mapping[str, object], allowed: Collection[str], path: str = "") -> None:
    """Refused when there is a field that is not among the allowed."""
    for name in holder:
        if name not in allowed:
            raise invalid(f"{_at(path, name)}: Extra inputs are not permitted")


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
