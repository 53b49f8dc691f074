"""Which turn answers a request: by its position in the conversation, or by a function of it."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from noeta.testing.fake_provider.asked import Asked
from noeta.testing.fake_provider.refused import invalid
from noeta.testing.fake_provider.turn import Call, Turn, say

TurnFunction: TypeAlias = Callable[[Asked], Turn | str | Awaitable[Turn | str]]
Turns: TypeAlias = Sequence[Turn | str] | TurnFunction
"""The n-th answers a request with n replies in it; or a function chooses. A string is a text."""


def by_position(turns: Sequence[Turn | str]) -> TurnFunction:
    """The turns in order; past the last, a refusal that no client retries."""

    def chosen(asked: Asked) -> Turn | str:
        if asked.position < len(turns):
            return turns[asked.position]
        raise invalid(
            f"the fake provider's script has no turn {asked.position}: it has {len(turns)}, and "
            f"this conversation holds {asked.position} replies"
        )

    return chosen


def echo(asked: Asked) -> Turn:
    """What is played without a script: says what it heard, or calls the tool that it is told to.

    `call NAME {"json": "input"}` calls a tool, if there is one of the name on offer; what comes of
    it is said in the next turn.
    """
    if asked.results and not asked.new_text:
        told = "\n".join(asked.results.values())
        return say(f"The tool said: {told}" if told else "The tool said nothing.")
    verb, _, rest = asked.new_text.strip().partition(" ")
    tool, _, given = rest.partition(" ")
    if verb == "call" and tool in asked.tools:
        try:
            value = json.loads(given or "{}")
        except ValueError:
            return say(f"That is no JSON: {given}")
        if isinstance(value, dict):
            return say(Call(tool, value))
    return say(f"You said: {asked.new_text or 'nothing'}")
