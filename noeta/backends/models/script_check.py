"""The script format: from plain values, as YAML gives them, to a Script that is known to be whole.

Everything is checked before the first reply. A mistake is one sentence that names the script, the
step and what to do. The format is described in docs/scripted-models.md.
"""

import math
from collections.abc import Mapping, Sequence
from typing import cast, get_args

import msgspec

from noeta.backends.models.script import (
    Arm,
    Branch,
    Fail,
    Say,
    Script,
    ScriptCall,
    ScriptError,
    Silence,
    Speech,
    Step,
    When,
    has_placeholder,
)
from noeta.backends.models.script_part import Part, kind_of
from noeta.core.message import StopReason
from noeta.core.model import ErrorKind

NESTING_MAX = 64

_STEP_KEYS = {
    "branch": ("branch", "label"),
    "error": ("error", "text", "pause", "chunk_delay", "label", "goto"),
    "empty": ("empty", "pause", "label", "goto"),
    "reply": ("text", "thinking", "calls", "stop", "pause", "chunk_delay", "label", "goto"),
}
_ERROR_KEYS = ("kind", "message", "times", "retry_after")
_WHEN_KEYS = ("result", "result_matches", "result_is_error", "tool", "message", "message_matches")
_STOPS = ("cut", "refusal", "pause")


def check(value: object, *, name: str, lines: Sequence[int] = ()) -> Script:
    """The script these values are; lines says where each step starts. Raises ScriptError."""
    if not isinstance(value, dict):
        raise ScriptError(
            f"{name}: a script is a mapping with the key `steps`; start with `steps:`"
        )
    top = Part(name, value)
    top.allow("a script", ("steps",))
    items = top.items("steps")
    parts: list[Part] = []
    places: list[str] = []
    labels: dict[str, int] = {}
    for index, item in enumerate(items):
        place = f"step {index + 1}"
        line = f"line {lines[index]}, " if index < len(lines) else ""
        step = top.part(f"{name}, {line}{place}", item)
        label = step.text("label")
        if label is not None:
            place = f"{place} (label {label!r})"
            step = Part(f"{name}, {line}{place}", step.fields)
            if label in labels:
                step.refuse(f"step {labels[label] + 1} has this label too; rename one")
            labels[label] = index
        places.append(place)
        parts.append(step)
    steps = tuple(_step(part, labels, index + 1) for index, part in enumerate(parts))
    return Script(name=name, steps=steps, places=tuple(places))


def _step(part: Part, labels: Mapping[str, int], following: int) -> Step:
    kinds = [kind for kind in ("branch", "error", "empty") if kind in part.fields]
    if len(kinds) > 1:
        part.refuse(f"a step cannot be `{kinds[0]}` and `{kinds[1]}`; make two steps of it")
    kind = kinds[0] if kinds else "reply"
    part.allow(f"a step ({kind})", _STEP_KEYS[kind])
    if kind == "branch":
        return _branch(part, labels, following)
    goto = part.target(labels)
    goto = following if goto is None else goto
    match kind:
        case "error":
            return _fail(part, goto)
        case "empty":
            return Silence(speech=_speech(part), times=_silences(part), goto=goto)
    calls = _calls(part)
    speech = _speech(part)
    if not speech.text and not calls:
        part.refuse("this step says nothing; give it `text` or `calls`, or make it `empty: true`")
    stop = part.choice("stop", _STOPS)
    if calls and stop in ("refusal", "pause"):
        part.refuse(f"`stop: {stop}` goes with no `calls`; leave one of them out")
    stop = stop or ("calls" if calls else "end")
    return Say(speech=speech, calls=calls, stop=cast(StopReason, stop), goto=goto)


def _speech(part: Part) -> Speech:
    return Speech(
        thinking=part.text("thinking") or "",
        text=part.text("text") or "",
        chunk_delay_seconds=part.seconds("chunk_delay") or 0.0,
        pause_seconds=part.seconds("pause") or 0.0,
    )


def _fail(part: Part, goto: int) -> Fail:
    error = part.inner("error")
    error.allow("an error", _ERROR_KEYS)
    kind = cast(ErrorKind, error.choice("kind", get_args(ErrorKind)) or "transient")
    return Fail(
        speech=_speech(part),
        kind=kind,
        message=error.text("message") or f"the script plays a {kind} error",
        retry_after=error.seconds("retry_after"),
        times=error.times("times"),
        goto=goto,
    )


def _silences(part: Part) -> int:
    if part.fields["empty"] is True:
        return 1
    if part.fields["empty"] is False:
        part.refuse("`empty` is true or how often; leave it out for a step that says something")
    return part.times("empty")


def _branch(part: Part, labels: Mapping[str, int], following: int) -> Branch:
    arms: list[Arm] = []
    for number, item in enumerate(part.items("branch"), 1):
        arm = part.part(f"{part.where}, arm {number}", item)
        if arms and arms[-1].when is None:
            arm.refuse("this arm is never reached; put `otherwise` last")
        if ("when" in arm.fields) == ("otherwise" in arm.fields):
            arm.refuse("an arm has either `when` or `otherwise: true`; give it one of them")
        arm.allow("a branch's arm", ("when", "otherwise", "goto"))
        if arm.fields.get("otherwise", True) is not True:
            arm.refuse("`otherwise` can only be true; say where to go in `goto`")
        goto = arm.target(labels)
        if goto is None:
            arm.refuse("this arm goes nowhere; add `goto` with a step's label")
        arms.append(Arm(_when(arm.inner("when")) if "when" in arm.fields else None, goto))
    return Branch(arms=tuple(arms), goto=following)


def _when(part: Part) -> When:
    part.allow("a condition", _WHEN_KEYS)
    if not part.fields:
        part.refuse("this condition is empty; say what to look for, or write `otherwise: true`")
    is_error = part.fields.get("result_is_error")
    if "result_is_error" in part.fields and not isinstance(is_error, bool):
        part.refuse(f"`result_is_error` is true or false, not {kind_of(is_error)}")
    return When(
        result=part.text("result"),
        result_matches=part.pattern("result_matches"),
        result_is_error=cast(bool | None, is_error),
        tool=part.text("tool"),
        message=part.text("message"),
        message_matches=part.pattern("message_matches"),
    )


def _calls(part: Part) -> tuple[ScriptCall, ...]:
    calls: list[ScriptCall] = []
    for number, item in enumerate(part.items("calls") if "calls" in part.fields else (), 1):
        call = part.part(f"{part.where}, call {number}", item)
        call.allow("a call", ("tool", "input"))
        tool = call.text("tool")
        if tool is None:
            call.refuse("it names no tool; add `tool`")
        value = call.fields.get("input", {})
        if not isinstance(value, dict):
            call.refuse(f"`input` must be a mapping (`key: value`), not {kind_of(value)}")
        _check_json(call, value, 0)
        fixed = None if has_placeholder(value) else msgspec.Raw(msgspec.json.encode(value))
        calls.append(ScriptCall(tool=tool, input=value, fixed=fixed))
    return tuple(calls)


def _check_json(part: Part, value: object, depth: int) -> None:
    """Refuse what JSON does not have: dates, bytes, NaN, huge numbers, keys that are no text."""
    if depth > NESTING_MAX:
        part.refuse(f"`input` is nested more than {NESTING_MAX} deep; flatten it")
    match value:
        case None | bool():
            pass
        case int():
            if value.bit_length() > 63:
                part.refuse("`input` has a number of more than 63 bits; put it in quotes")
        case str():
            part.encodable("input", value)
        case float():
            if not math.isfinite(value):
                part.refuse(f"`input` has the number {value!r}, which JSON lacks; put it in quotes")
        case list():
            for item in value:
                _check_json(part, item, depth + 1)
        case dict():
            for key, item in value.items():
                if not isinstance(key, str):
                    part.refuse(f"`input` has {key!r} for a key; put it in quotes")
                part.encodable("input", key)
                _check_json(part, item, depth + 1)
        case _:
            part.refuse(f"`input` has {kind_of(value)}, which JSON lacks; put it in quotes")
