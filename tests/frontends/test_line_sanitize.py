"""Nothing that a model or tool writes reaches the terminal as more than text."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from noeta.frontends.line.prose import Prose
from noeta.frontends.line.sanitize import clean, columns, one_line, rows


def test_an_escape_sequence_becomes_visible() -> None:
    """It cannot clear the screen or change a colour."""
    assert clean("a\x1b[2J\x1b[31mb") == "a␛[2J␛[31mb"


def test_the_clipboard_and_the_title_are_out_of_reach() -> None:
    """OSC 52 and OSC 0, in both of their spellings."""
    assert clean("\x1b]52;c;aGk=\x07\x9d0;t\x9c") == "␛]52;c;aGk=␇<U+009D>0;t<U+009C>"


def test_a_carriage_return_does_not_overwrite_a_line() -> None:
    """A line end of two characters is one newline."""
    assert clean("safe\rrm -rf /\r\nb") == "safe␍rm -rf /\nb"


def test_text_is_not_reordered_or_hidden() -> None:
    """Overrides, isolates, invisible spaces, tags, and halves of characters."""
    hostile = "a\u202eb\u2066c\u200bd\U000e0041e\ud800f\u2028g"
    assert clean(hostile) == "a<U+202E>b<U+2066>c<U+200B>d<U+E0041>e\ufffdf<U+2028>g"


def test_ordinary_text_stays_as_it_is() -> None:
    """Tabs, newlines, accents, CJK, emoji and joiners."""
    text = "x\ty\nnaïve 漢字 👩\u200d💻 \u0645\u06cc\u200c\u062e"
    assert clean(text) == text


@given(st.text())
def test_cleaned_text_has_no_control_character(text: str) -> None:
    """Whatever comes in."""
    left = {c for c in clean(text) if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    assert left <= {"\n", "\t"}


def test_one_line_collapses_and_cuts() -> None:
    """What was cut shows it."""
    assert one_line("a\n\n  b\tc", 20) == "a b c"
    assert one_line("abcdefghij", 8) == "abcde..."


@given(st.text(), st.integers(2, 30))
def test_rows_fit_their_width_and_lose_nothing(text: str, width: int) -> None:
    """No terminal breaks them again, so nothing slips into column 0."""
    found = rows(text, width)
    assert all(sum(map(columns, row)) <= width for row in found)
    assert "".join(found) == clean(text).expandtabs(4).replace("\n", "")


@given(st.lists(st.text()), st.integers(8, 30))
def test_streamed_prose_never_starts_in_column_0(pieces: list[str], width: int) -> None:
    """However it is cut into pieces: a model cannot write where noeta asks its questions."""
    prose = Prose(width)
    written = "".join(map(prose.feed, pieces)) + prose.end()
    for row in written.split("\n"):
        assert row == "" or row.startswith("  ")
        assert sum(map(columns, row)) <= width


@given(st.text(alphabet="ab \n", max_size=60), st.integers(0, 60))
def test_prose_is_the_same_however_it_streams(text: str, cut: int) -> None:
    """Two pieces look like one."""
    one, two = Prose(12), Prose(12)
    assert one.feed(text) == two.feed(text[:cut]) + two.feed(text[cut:])


def test_prose_is_indented_and_broken_at_the_width() -> None:
    """Empty lines stay empty."""
    prose = Prose(10)
    assert prose.feed("abcdefghijkl\n\n漢漢漢漢漢") + prose.end() == (
        "  abcdefgh\n  ijkl\n\n  漢漢漢漢\n  漢\n"
    )
    assert not re.search(" $", prose.end())
