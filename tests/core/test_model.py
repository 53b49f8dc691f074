"""A reply is checked before it enters the log; a call keeps the text of its last attempt."""

from collections.abc import Callable

import msgspec
import pytest

from noeta.core.context import Request
from noeta.core.message import ReplyBlock, Text, ToolCall
from noeta.core.model import Delta, ModelError, Reply, TextDelta, checked
from noeta.core.retry import delay_seconds
from noeta.core.runner.model_call import Partial, call_model

REQUEST = Request(model="m", system=(), tools=(), messages=(), digest="")


def call(raw: bytes) -> ToolCall:
    return ToolCall(call_id="", name="Do", input=msgspec.Raw(raw))


@pytest.mark.parametrize(
    ("said", "stop", "kept"),
    [
        ((Text(""), Text("a")), "end", (Text("a"),)),
        ((call(b"{}"), call(b'{"x": ')), "cut", (call(b"{}"),)),
        ((call(b'{"x":1}'),), "calls", (call(b'{"x":1}'),)),
    ],
)
def test_empty_text_and_the_call_that_was_cut_are_dropped(
    said: tuple[ReplyBlock, ...], stop: str, kept: tuple[ReplyBlock, ...]
) -> None:
    reply = Reply(content=said, stop="cut" if stop == "cut" else "end")
    assert checked(reply).content == kept


@pytest.mark.parametrize("raw", [b"[]", b"3", b"{", b"", b"nonsense"])
def test_a_whole_reply_with_an_input_that_is_no_object_is_asked_again(raw: bytes) -> None:
    with pytest.raises(ModelError) as error:
        checked(Reply(content=(call(raw),), stop="calls"))
    assert error.value.kind == "transient"


async def test_the_partial_text_is_that_of_the_last_attempt() -> None:
    class Breaking:
        attempts = 0

        async def call(self, request: Request, on_delta: Callable[[Delta], None]) -> Reply:
            self.attempts += 1
            on_delta(TextDelta(f"attempt {self.attempts}"))
            raise ModelError(
                "broke", kind="transient" if self.attempts < 3 else "fatal", retry_after=0.0
            )

    heard = Partial()
    with pytest.raises(ModelError):
        await call_model(
            Breaking(), REQUEST, publish=lambda progress: None, jitter=lambda: 0.0, partial=heard
        )
    assert heard.text == "attempt 3"


def test_waits_double_up_to_half_a_minute_less_a_quarter_at_most() -> None:
    waits = [delay_seconds(attempt, jitter=0.0) for attempt in range(1, 10)]
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert delay_seconds(1, jitter=1.0) == 0.375
    assert delay_seconds(5000, jitter=0.0) == 30


def test_what_the_provider_asks_to_wait_goes_first_up_to_five_minutes() -> None:
    assert delay_seconds(1, jitter=0.5, retry_after=7.0) == 7.0
    assert delay_seconds(1, jitter=0.5, retry_after=4_294_967.0) == 300.0
