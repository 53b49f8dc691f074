"""Logs drawn from a seed, in which each event may follow the one before.

Each event is chosen by asking the folded state what may come next, so the logs reach corners
that a runner would seldom write. The same seed gives the same log.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Literal, get_args

import msgspec

from noeta.core import events as e
from noeta.core.fold import fold
from noeta.core.message import (
    Limits,
    Media,
    ReplyBlock,
    Shown,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolSpec,
    Usage,
)
from noeta.core.state import CallState, TaskState

WORDS = ("", "a", "hello", "two\nlines", "\u00e9\u4e2d\U0001f600", '"quoted\\"', "\x00", "x" * 300)
MODELS = ("m1", "m2")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAA"
    "AABJRU5ErkJggg=="
)
"""A PNG of one pixel, in base64."""


Opaque = Callable[[str, str], str]
"""A provider's block of thinking, from a model and a word."""


def generated_log(
    seed: int,
    *,
    events_max: int = 40,
    models: tuple[str, ...] = MODELS,
    opaque: Opaque = lambda model, word: word,
) -> list[e.Event]:
    """A log of 2 to events_max events, shorter when it ends before, by these models."""
    drawn = _Drawn(Random(seed), models, opaque)
    log: list[e.Event] = [drawn.created()]
    state = TaskState()
    fold(state, 1, log[0])
    for seq in range(2, drawn.random.randint(2, events_max) + 1):
        if state.ended is not None:
            break
        event = drawn.next(state)
        fold(state, seq, event)
        log.append(event)
    return log


class _Drawn:
    def __init__(self, random: Random, models: tuple[str, ...], opaque: Opaque) -> None:
        self.random = random
        self.models = models
        self.opaque = opaque

    def created(self) -> e.TaskCreated:
        return e.TaskCreated(
            task_id="t1",
            kind=self.random.choice(("interactive", "one_shot")),
            cwd="/w",
            model=self.model(),
            on_ask=self.random.choice(("park", "deny")),
        )

    def next(self, state: TaskState) -> e.Event:
        """An event that may stand after this state."""
        choices: list[Callable[[], e.Event]] = [self.message]
        if not state.turn_open:
            choices += [self.message, self.notice, self.pins, self.prompt, self.record]
            choices += [self.interrupt, self.waiting, self.ended]
            return self.random.choice(choices)()
        if state.model_call_open:
            choices += [lambda: self.reply(state.calls_count)] * 4
        for call in state.open_calls:
            choices += self.call_events(call)
        if not state.calls:
            choices += [self.model_called] * 2 + [self.turn_ended, self.noted]
        return self.random.choice(choices)()

    def call_events(self, call: CallState) -> list[Callable[[], e.Event]]:
        """What may happen to an open call."""
        call_id = call.call.call_id
        events: list[Callable[[], e.Event]] = [lambda: self.finished(call_id)] * 2
        if call.awaits_answer:
            return [*events, lambda: self.answer(call)]
        events.append(lambda: self.started(call))
        if call.started is None and call.parked is None:
            events.append(lambda: self.parked(call_id))
        return events

    # Values

    def word(self) -> str:
        return self.random.choice(WORDS)

    def model(self) -> str:
        return self.random.choice(self.models)

    def texts(self, least: int = 0) -> tuple[Text, ...]:
        return tuple(Text(self.word()) for _ in range(self.random.randint(least, 2)))

    def shown(self, least: int = 0) -> tuple[Shown, ...]:
        content: list[Shown] = [*self.texts(least)]
        if self.random.random() < 0.2:
            content.insert(0, Media(media_type="image/png", data=PIXEL))
        return tuple(content)

    def raw(self) -> msgspec.Raw:
        value = {self.word(): self.random.choice((1, 1.5, None, self.word(), [1, {}]))}
        # Spaces and all: stored bytes are the model's own and no encoder's of ours.
        return msgspec.Raw(json.dumps(value, indent=self.random.choice((None, 1))).encode())

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def item(self) -> int:
        return self.random.randint(1, 99)

    # Events

    def message(self) -> e.Event:
        return e.MessageReceived(item=self.item(), content=self.shown(1), sender=self.word())

    def notice(self) -> e.Event:
        return e.NoticeReceived(item=self.item(), text=self.word())

    def interrupt(self) -> e.Event:
        return e.InterruptReceived(item=self.item())

    def waiting(self) -> e.Event:
        return e.Waiting(why="message", ready_at=self.random.choice((None, 1.5)))

    def ended(self) -> e.Event:
        return e.TaskEnded(outcome=self.random.choice(("done", "failed", "cancelled")))

    def record(self) -> e.Event:
        return e.PluginRecorded(plugin=self.word(), record=self.raw())

    def pins(self) -> e.Event:
        return e.PluginsPinned(pins=(e.Pin(name=self.word(), source="s", version="1"),))

    def prompt(self) -> e.Event:
        tool = ToolSpec(name="T", description=self.word(), input_schema=self.raw())
        system = (self.word(),)
        limits = Limits(
            context_tokens=self.random.choice((0, 200_000)),
            output_tokens_max=8_000,
        )
        tools = (tool,) * self.flag()
        return e.PromptSet(model=self.model(), system=system, tools=tools, limits=limits)

    def model_called(self) -> e.Event:
        return e.ModelCalled(model=self.model(), request_digest=self.word())

    def reply(self, calls_count: int) -> e.Event:
        content: list[ReplyBlock] = [*self.texts()]
        if self.flag():
            model, word = self.model(), self.word()
            opaque = self.opaque(model, word)
            content.insert(0, Thinking(model=model, opaque=opaque, text=word))
        for number in range(self.random.choice((0, 0, 1, 2, 3))):
            call_id = f"c{calls_count + number + 1}"
            name = self.random.choice(("Read", "Bash"))
            content.append(
                ToolCall(call_id=call_id, name=name, input=self.raw(), provider_id=self.word())
            )
        stop: StopReason = self.random.choice(get_args(StopReason))
        usage = Usage(input_tokens=self.item(), cache_read_tokens=self.item())
        cost = self.random.choice((None, 0.25))
        return e.ModelReplied(content=tuple(content), stop=stop, usage=usage, cost_usd=cost)

    def started(self, call: CallState) -> e.Event:
        return e.ToolStarted(
            call_id=call.call.call_id,
            name=call.call.name,
            input=self.raw(),
            version=self.word(),
            retry_safe=self.flag(),
            evidence=self.raw() if self.flag() else e.NO_EVIDENCE,
        )

    def finished(self, call_id: str) -> e.Event:
        return e.ToolFinished(
            call_id=call_id,
            content=self.shown(),
            is_error=self.flag(),
            reason=self.random.choice(get_args(e.FinishReason)),
        )

    def parked(self, call_id: str) -> e.Event:
        return e.CallParked(
            call_id=call_id, input=self.raw(), input_digest=self.word(), reason=self.word()
        )

    def answer(self, call: CallState) -> e.Event:
        assert call.parked is not None
        return e.AnswerReceived(
            item=self.item(),
            call_id=call.call.call_id,
            input_digest=call.parked.input_digest,
            allow=self.flag(),
            reason=self.word(),
        )

    def noted(self) -> e.Event:
        reason: Literal["cut", "empty"] = self.random.choice(("cut", "empty"))
        return e.Noted(reason=reason, text=self.word())

    def turn_ended(self) -> e.Event:
        return e.TurnEnded(outcome=self.random.choice(get_args(e.TurnOutcome)), detail=self.word())
