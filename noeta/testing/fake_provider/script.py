"""Script files: the turns of the fake provider, written in YAML or JSON.

A file holds `turns`, a list. A turn is a text, or a mapping with `blocks` (or `text` for one), and
perhaps `stop`, `usage`, `misbehave` and `piece_chars`; docs/fake-provider.md has the format.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml

from noeta.backends.models.script import ScriptError
from noeta.testing.fake_provider.misbehaviour import (
    BadMisbehaviour,
    Misbehaviour,
    misbehaviour_from,
)
from noeta.testing.fake_provider.turn import (
    Block,
    Call,
    Counted,
    Redacted,
    Refusal,
    Stop,
    Text,
    Thinking,
    Turn,
    say,
)

SCRIPT_BYTES_MAX = 16 * 1024 * 1024
_TURN_KEYS = ("text", "blocks", "stop", "usage", "misbehave", "piece_chars")
_BLOCK_KEYS = ("text", "thinking", "redacted", "call", "refusal")


def read_script(path: Path) -> list[Turn]:
    """The turns of a file. Raises ScriptError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: {error.strerror}; check the path") from error
    if len(data) > SCRIPT_BYTES_MAX:
        raise ScriptError(f"{path} has more than 16 MiB; is it a script?")
    return parse_script(data.decode("utf-8", errors="replace"), name=str(path))


def parse_script(text: str, *, name: str = "script") -> list[Turn]:
    """The turns of a script's text; errors call it by the name. Raises ScriptError."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScriptError(f"{name}: this is not valid YAML: {error}") from error
    if not isinstance(value, dict) or set(value) != {"turns"}:
        raise ScriptError(f"{name}: a script is a mapping with one key, `turns`")
    if not isinstance(value["turns"], list) or not value["turns"]:
        raise ScriptError(f"{name}: `turns` is a list with at least one turn")
    return [_turn(each, f"{name}, turn {at}") for at, each in enumerate(value["turns"])]


def _turn(value: object, where: str) -> Turn:
    if isinstance(value, str):
        return say(value)
    told = _mapping(value, _TURN_KEYS, where)
    if ("text" in told) == ("blocks" in told):
        raise ScriptError(f"{where}: it has either `text` or `blocks`")
    blocks: tuple[Block, ...] = (
        (Text(_string(told["text"], f"{where}: `text`")),)
        if "text" in told
        else tuple(
            _block(each, f"{where}, block {at}")
            for at, each in enumerate(_listed(told["blocks"], f"{where}: `blocks`"))
        )
    )
    stop: Stop = told.get("stop", "auto")
    if stop not in get_args(Stop):
        raise ScriptError(f"{where}: `stop` is one of {', '.join(get_args(Stop))}, not {stop!r}")
    size = told.get("piece_chars", 24)
    if not isinstance(size, int) or size < 1:
        raise ScriptError(f"{where}: `piece_chars` is a number from 1, not {size!r}")
    return Turn(
        blocks=blocks,
        stop=stop,
        usage=_usage(told.get("usage", {}), where),
        misbehave=tuple(_misbehaviours(told.get("misbehave", []), where)),
        piece_chars=size,
    )


def _block(value: object, where: str) -> Block:
    if isinstance(value, str):
        return Text(value)
    told = _mapping(value, (*_BLOCK_KEYS, "citations"), where)
    kinds = [key for key in _BLOCK_KEYS if key in told]
    if len(kinds) != 1 or ("citations" in told and kinds != ["text"]):
        raise ScriptError(f"{where}: a block has one of {', '.join(_BLOCK_KEYS)}")
    if kinds == ["call"]:
        return _call(told["call"], where)
    text = _string(told[kinds[0]], f"{where}: `{kinds[0]}`")
    match kinds[0]:
        case "text":
            return Text(text, tuple(_listed(told.get("citations", []), f"{where}: `citations`")))
        case "thinking":
            return Thinking(text)
        case "redacted":
            return Redacted(text)
        case _:
            return Refusal(text)


def _call(value: object, where: str) -> Call:
    told = _mapping(value, ("tool", "input", "id"), f"{where}: `call`")
    if "tool" not in told:
        raise ScriptError(f"{where}: a call names its `tool`")
    given = told.get("input", {})
    if not isinstance(given, dict):
        raise ScriptError(f"{where}: a call's `input` is a mapping, not {given!r}")
    call_id = told.get("id")
    if call_id is not None:
        _string(call_id, f"{where}: `id`")
    return Call(_string(told["tool"], f"{where}: `tool`"), given, call_id)


def _usage(value: object, where: str) -> Mapping[str, int]:
    names = tuple(Counted.__dataclass_fields__)
    told = _mapping(value, names, f"{where}: `usage`")
    if not all(isinstance(each, int) for each in told.values()):
        raise ScriptError(f"{where}: `usage` holds numbers")
    return told


def _misbehaviours(value: object, where: str) -> list[Misbehaviour]:
    told = value if isinstance(value, list) else [value]
    try:
        return [misbehaviour_from(each) for each in told]
    except BadMisbehaviour as error:
        raise ScriptError(f"{where}: {error}") from error


def _mapping(value: object, keys: tuple[str, ...], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ScriptError(f"{where}: a mapping belongs here, not {value!r}")
    unknown = [key for key in value if key not in keys]
    if unknown:
        raise ScriptError(f"{where}: {unknown[0]!r} is no key here; there are {', '.join(keys)}")
    return value


def _listed(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ScriptError(f"{where} is a list, not {value!r}")
    return value


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ScriptError(f"{where} is a text, not {value!r}; put it in quotes")
    return value
