"""An edit changes what it names and no other byte, whatever the bytes mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noeta.plugins.files.replace import NotOnce, Replaced, replace, same_text

MARKS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}

# Letters, line ends, and what encodings stumble over: accents, an astral character, the mark.
PIECES = st.text(st.sampled_from("ab \r\n\té\u0a0d\ufeff\U0001f600"), max_size=12)
NEEDLES = PIECES.map(lambda text: f"<{text}>")
"""Found where they were put: what is around them holds no angle bracket."""
JUNK = st.binary(max_size=12).map(lambda data: data.translate(None, b"<>"))


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, bytes, str, bytes, str, str]:
    """The bytes before and after a place, the text there, its bytes, its codec, the new text."""
    codec = draw(st.sampled_from(sorted(MARKS)))
    mark = MARKS[codec] if codec != "utf-8" or draw(st.booleans()) else b""
    old, new = draw(NEEDLES), draw(PIECES)
    sides = []
    for _ in "12":
        side = draw(PIECES).encode(codec)
        if codec == "utf-8":
            side += draw(JUNK) + draw(PIECES).encode(codec)
        sides.append(side)
    before, after = mark + sides[0], sides[1]
    if mark == b"" and before.startswith(tuple(MARKS.values())):
        before = b"x" + before
    # The file's line ends are of either kind, each for itself.
    there = "".join(
        draw(st.sampled_from(["\r\n", "\n"])) if char == "\n" else char
        for char in old.replace("\r\n", "\n")
    )
    return before, after, old, there.encode(codec), codec, new


@given(edits())
def test_bytes_outside_the_edit_are_unchanged(
    edit: tuple[bytes, bytes, str, bytes, str, str],
) -> None:
    """Whatever the encoding, the mark and the line ends; broken bytes stay broken."""
    before, after, old, there, codec, new = edit
    if old.replace("\r\n", "\n").count("\r"):
        # A lone CR before an LF that we turned into CRLF would be another text.
        there = old.encode(codec)
    made = replace(before + there + after, old=old, new=new, every=False)
    assert isinstance(made, Replaced)
    assert made.data.startswith(before)
    assert made.data.endswith(after)
    middle = made.data[len(before) : len(made.data) - len(after)].decode(codec)
    assert same_text(middle, new)


@given(edits(), st.integers(2, 4))
def test_every_place_is_replaced_and_nothing_between_them(
    edit: tuple[bytes, bytes, str, bytes, str, str], times: int
) -> None:
    before, after, old, _, codec, _ = edit
    there = old.encode(codec)
    data = before + (there + after) * times
    assert replace(data, old=old, new="!", every=False) == NotOnce(
        getattr(replace(data, old=old, new="!", every=True), "lines", ())
    )
    made = replace(data, old=old, new="!", every=True)
    assert isinstance(made, Replaced)
    assert made.data == before + ("!".encode(codec) + after) * times


@given(st.binary(max_size=40), st.text(min_size=1, max_size=3), st.text(max_size=3))
def test_any_bytes_at_all_are_edited_or_left(data: bytes, old: str, new: str) -> None:
    made = replace(data, old=old, new=new, every=True)
    if isinstance(made, NotOnce):
        assert made.lines == ()


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\nb\nc\n", "a\r\nb", "a\r\nx", b"a\nx\nc\n"),
        (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
        (b"one line", "line", "line\r\nmore", b"one line\r\nmore"),
        # Of mixed line ends the kept lines keep theirs, at the start and at the end.
        (b"a\nb\r\nc\nd\r\n", "a\nb\nc\nd\n", "a\nx\nc\nd\n", b"a\nx\r\nc\nd\r\n"),
        (b"a\r\nb\nc", "a\nb\nc", "a\nb\nnew\nc", b"a\r\nb\nnew\nc"),
        (b"x\r\ny", "\ny", "\nz", b"x\r\nz"),
    ],
)
def test_line_ends_match_in_either_style_and_the_files_are_kept(
    data: bytes, old: str, new: str, expected: bytes
) -> None:
    made = replace(data, old=old, new=new, every=False)
    assert isinstance(made, Replaced)
    assert made.data == expected


def test_a_text_that_overlaps_itself_is_there_twice() -> None:
    assert replace(b"aaa", old="aa", new="b", every=False) == NotOnce((1, 1))
    assert replace(b"a\r\nb", old="\n", new="", every=False) == Replaced(data=b"ab", lines=(1,))


def test_halves_of_neighbouring_characters_are_no_match() -> None:
    """The second byte of U+410A and the first of U+4241 are those of U+0A42."""
    data = b"\xfe\xff" + "\u410a\u4241".encode("utf-16-be")
    assert replace(data, old="\u0a42", new="", every=True) == NotOnce(())


def test_the_byte_order_mark_is_no_text() -> None:
    assert replace(b"\xef\xbb\xbfa", old="\ufeff", new="", every=False) == NotOnce(())
