"""Script files of the fake provider: the turns they write, and what is said of their mistakes."""

from pathlib import Path

import pytest

from noeta.backends.models.script import ScriptError
from noeta.testing.fake_provider import (
    Call,
    Misbehaviour,
    Redacted,
    Refusal,
    Text,
    Thinking,
    Turn,
    say,
)
from noeta.testing.fake_provider.script import parse_script, read_script

WHOLE = """
turns:
  - Hello.
  - text: Cut
    stop: length
    piece_chars: 3
  - blocks:
      - thinking: Let me see.
      - redacted: secret
      - Looking.
      - text: As they say.
        citations: [{type: char_location}]
      - call: {tool: Bash, input: {command: ls}, id: toolu_1}
      - call: {tool: Read}
    usage: {input_tokens: 7}
    misbehave: [{status: 529, retry_after: 2}, {then: reset, in_event: 3, split_at: [1, -1]}]
  - blocks: [{refusal: No.}]
    misbehave: {html: true}
"""


def test_a_script_says_what_the_values_say() -> None:
    """Every key, once."""
    assert parse_script(WHOLE) == [
        say("Hello."),
        say("Cut", stop="length", piece_chars=3),
        Turn(
            blocks=(
                Thinking("Let me see."),
                Redacted("secret"),
                Text("Looking."),
                Text("As they say.", ({"type": "char_location"},)),
                Call("Bash", {"command": "ls"}, "toolu_1"),
                Call("Read"),
            ),
            usage={"input_tokens": 7},
            misbehave=(
                Misbehaviour(status=529, retry_after="2"),
                Misbehaviour(then="reset", in_event=3, split_at=(1, -1)),
            ),
        ),
        say(Refusal("No."), misbehave=(Misbehaviour(html=True),)),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "one key, `turns`"),
        ("turns: [", "not valid YAML"),
        ("turns: []", "at least one turn"),
        ("turns: [{}]", "turn 0: it has either `text` or `blocks`"),
        ("turns: [{text: a, blocks: []}]", "either `text` or `blocks`"),
        ("turns: [ok, {txt: a}]", "turn 1: 'txt' is no key here"),
        ("turns: [7]", "a mapping belongs here, not 7"),
        ("turns: [{text: 7}]", "`text` is a text, not 7; put it in quotes"),
        ("turns: [{text: a, stop: never}]", "`stop` is one of auto, end"),
        ("turns: [{blocks: [{text: a, thinking: b}]}]", "turn 0, block 0: a block has one of"),
        ("turns: [{blocks: [{call: {input: {}}}]}]", "a call names its `tool`"),
        ("turns: [{blocks: [{call: {tool: A, input: [1]}}]}]", "`input` is a mapping"),
        ("turns: [{text: a, misbehave: {statsu: 1}}]", "turn 0: 'statsu' is no misbehaviour"),
        ("turns: [{text: a, usage: {tokens: 1}}]", "'tokens' is no key here"),
        ("turns: [{text: a, usage: {input_tokens: x}}]", "`usage` holds numbers"),
        ("turns: [{text: a, piece_chars: 0}]", "`piece_chars` is a number from 1"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, says: str) -> None:
    """Before the first request."""
    with pytest.raises(ScriptError) as caught:
        parse_script(text, name="s.yaml")
    assert str(caught.value).startswith("s.yaml")
    assert says in str(caught.value)


def test_a_script_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(ScriptError, match=r"nowhere\.yaml: No such file"):
        read_script(tmp_path / "nowhere.yaml")
