"""Folding 100,000 events of 1 KB beside decoding them, the collector off."""

import gc
import time
from pathlib import Path

import msgspec

from bench.measure import ratio, verdict
from noeta.core import codec
from noeta.core import events as e
from noeta.core.fold import fold
from noeta.core.message import Text, ToolCall
from noeta.core.state import TaskState

EVENTS = 100_000
ROUNDS = 5
TEXT = "x" * 900


def log_bodies(count: int) -> list[bytes]:
    """A log of tool steps, about 1 KB an event."""
    events: list[e.Event] = [
        e.TaskCreated(task_id="t1", kind="one_shot", cwd="/", model="m"),
        e.MessageReceived(item=1, content=(Text(TEXT),)),
    ]
    number = 0
    big = msgspec.Raw(msgspec.json.encode({"command": TEXT}))
    while len(events) < count:
        number += 1
        call_id = f"c{number}"
        call = ToolCall(call_id=call_id, name="Bash", input=big)
        events += [
            e.ModelCalled(model="m", request_digest="0" * 64),
            e.ModelReplied(content=(Text(TEXT), call), stop="calls"),
            e.ToolStarted(call_id=call_id, name="Bash", input=big, version="1"),
            e.ToolFinished(call_id=call_id, content=(Text(TEXT),)),
        ]
    return [codec.encode(event) for event in events[:count]]


def run(directory: Path) -> list[str]:
    """The lines of the table."""
    bodies = log_bodies(EVENTS)
    size = sum(map(len, bodies)) / EVENTS
    decoding: list[float] = []
    folding: list[float] = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            started = time.perf_counter()
            events = [codec.decode(body) for body in bodies]
            decoding.append(time.perf_counter() - started)
            del events
            started = time.perf_counter()
            state = TaskState()
            for seq, body in enumerate(bodies, 1):
                fold(state, seq, codec.decode(body))
            folding.append(time.perf_counter() - started)
            gc.collect()
    finally:
        gc.enable()
    return [
        f"decoding {EVENTS:,} events of {size:.0f} B   {min(decoding):.2f} s",
        f"decoding and folding them           {min(folding):.2f} s",
        f"folding / decoding                  {verdict(ratio(folding, decoding), 2.5)}",
    ]
