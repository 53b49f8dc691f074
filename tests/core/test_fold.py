"""Laws of the fold, over generated logs."""

import copy
import dataclasses
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeta.core import codec
from noeta.core import events as e
from noeta.core import fold as folding
from noeta.core.fold import UnreadableLog, fold, fold_all
from noeta.core.message import Text, UserMessage
from noeta.core.state import TaskState
from tests.core.generated_logs import any_event, logs

CREATED = e.TaskCreated(task_id="t1", kind="interactive", cwd="/w", model="m")
HELLO = e.MessageReceived(item=1, content=(Text("hello"),))


def folded(*events: e.Event) -> TaskState:
    return fold_all(TaskState(), enumerate(events, 1))


@given(logs(), st.data())
def test_fold_of_a_and_b_is_fold_of_b_after_fold_of_a(
    log: list[e.Event], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(log)))
    whole = folded(*log)
    first = fold_all(TaskState(), enumerate(log[:cut], 1))
    assert fold_all(copy.deepcopy(first), enumerate(log[cut:], cut + 1)) == whole


@given(logs())
def test_a_log_read_back_from_its_bytes_folds_to_the_same_state(log: list[e.Event]) -> None:
    assert folded(*(codec.decode(codec.encode(event)) for event in log)) == folded(*log)


@given(logs(), any_event())
def test_any_event_folds_or_is_refused_as_unreadable(log: list[e.Event], event: e.Event) -> None:
    state = folded(*log)
    try:
        fold(state, state.last_seq + 1, event)
    except UnreadableLog:
        return
    assert state.last_seq == len(log) + 1


def test_every_kind_of_event_has_a_fold() -> None:
    kinds = set(get_args(e.Event))
    assert {*folding._FOLDS, e.PluginRecorded} == kinds
    assert kinds == set(e.Fact.__subclasses__())


@pytest.mark.parametrize(
    ("log", "event"),
    [
        ((), HELLO),
        ((CREATED,), CREATED),
        ((CREATED,), e.ModelCalled(model="m", request_digest="d")),
        ((CREATED, HELLO), e.ModelReplied(content=(), stop="end")),
        ((CREATED, HELLO), e.ToolFinished(call_id="c1", content=())),
        ((CREATED, HELLO), e.PromptSet(model="m", system=())),
        ((CREATED,), e.TurnEnded(outcome="done")),
        ((CREATED, e.TaskEnded(outcome="done")), HELLO),
    ],
)
def test_an_event_that_cannot_stand_there_makes_the_log_unreadable(
    log: tuple[e.Event, ...], event: e.Event
) -> None:
    state = folded(*log)
    with pytest.raises(UnreadableLog):
        fold(state, state.last_seq + 1, event)


@pytest.mark.parametrize("seq", [0, 1, 3])
def test_a_gap_or_a_repeat_in_the_seqs_makes_the_log_unreadable(seq: int) -> None:
    with pytest.raises(UnreadableLog):
        fold(folded(CREATED), seq, HELLO)


def test_interrupted_attempts_are_counted_until_a_reply() -> None:
    called = e.ModelCalled(model="m", request_digest="d")
    state = folded(CREATED, HELLO, called, called)
    assert state.model_attempts == 2
    fold(state, 5, e.ModelReplied(content=(Text("hi"),), stop="end"))
    assert state.model_attempts == 0


def test_a_message_before_any_reply_joins_the_one_before() -> None:
    state = folded(CREATED, HELLO, e.MessageReceived(item=2, content=(Text("you"),)))
    assert state.messages == [UserMessage((Text("hello"), Text("you")))]


def test_a_plugins_records_reach_its_own_fold_and_no_other() -> None:
    record = e.PluginRecorded(plugin="p", record=msgspec.Raw(b"1"))
    seen: list[str] = []

    def count(state: object, record: object) -> object:
        seen.append("p")
        return (state if isinstance(state, int) else 0) + 1

    def other(state: object, record: object) -> object:
        raise AssertionError

    log: list[e.Event] = [CREATED, record, record]
    state = fold_all(TaskState(), enumerate(log, 1), {"p": count, "q": other})
    assert state.plugin_states == {"p": 2}
    assert seen == ["p", "p"]


def test_a_state_is_plain_data() -> None:
    """A snapshot will hold it: every field is a value, none a function or a handle."""
    state = folded(CREATED, HELLO)
    assert copy.deepcopy(state) == state
    assert {f.name for f in dataclasses.fields(state)} >= {"messages", "calls", "last_seq"}
