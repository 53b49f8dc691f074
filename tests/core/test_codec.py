"""Bytes to events and back, and what bytes that are no event are called."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeta.core import codec
from noeta.core import events as e
from noeta.core.codec import NewerEntry, UnreadableEntry
from tests.core.generated_logs import any_event


@given(any_event())
def test_decode_gives_back_what_encode_was_given(event: e.Event) -> None:
    assert codec.decode(codec.encode(event)) == event


@given(any_event())
def test_encoding_is_deterministic(event: e.Event) -> None:
    assert codec.encode(codec.decode(codec.encode(event))) == codec.encode(event)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_or_newer_or_unreadable(body: bytes) -> None:
    with contextlib.suppress(NewerEntry, UnreadableEntry):
        codec.decode(body)


@given(any_event(), st.data())
def test_a_damaged_event_is_unreadable_not_newer(event: e.Event, data: st.DataObject) -> None:
    body = codec.encode(event)
    cut = data.draw(st.integers(0, len(body) - 1))
    with pytest.raises(UnreadableEntry):
        codec.decode(body[:cut])


def test_an_unknown_type_was_written_by_a_newer_version() -> None:
    with pytest.raises(NewerEntry, match="SomethingLater"):
        codec.decode(b'{"type":"SomethingLater","x":1}')


def test_a_known_type_with_a_wrong_field_is_damaged() -> None:
    with pytest.raises(UnreadableEntry, match="ModelCalled"):
        codec.decode(b'{"type":"ModelCalled","model":3,"request_digest":"d"}')


def test_a_field_that_a_newer_version_added_is_passed_over() -> None:
    event = codec.decode(b'{"type":"InterruptReceived","item":3,"later":true}')
    assert event == e.InterruptReceived(item=3)


def test_very_deep_json_is_unreadable() -> None:
    with pytest.raises(UnreadableEntry):
        codec.decode(b"[" * 100_000)


@pytest.mark.parametrize(
    ("event", "body"),
    [
        (
            e.TaskCreated(task_id="t1", kind="one_shot", cwd="/w", model="m"),
            b'{"type":"TaskCreated","task_id":"t1","kind":"one_shot","cwd":"/w","model":"m"}',
        ),
        (
            e.PluginsPinned(pins=(e.Pin(name="p", source="s", version="1"),)),
            b'{"type":"core/plugins","pins":[{"name":"p","source":"s","version":"1"}]}',
        ),
        (
            e.ToolFinished(call_id="c1", content=(), is_error=True, reason="unknown"),
            b'{"type":"ToolFinished","call_id":"c1","content":[],"is_error":true,'
            b'"reason":"unknown"}',
        ),
    ],
)
def test_the_stored_form_of_an_event_never_changes(event: e.Event, body: bytes) -> None:
    """Golden bytes: logs of every release fold for ever."""
    assert codec.encode(event) == body
