"""Names that others have chosen are shown as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.protocol.text import is_plain, plain


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("length of stay", "length of stay"),
        ("Größe 漢字", "Größe 漢字"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("two\r\nlines", "two\\x0d\\x0alines"),
        ("\x9b31m", "\\x9b31m"),
        ("turned \u202e round", "turned \\u202e round"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_cannot_be_shown_is_escaped(raw: str, shown: str) -> None:
    assert plain(raw) == shown


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300), st.integers(1, 200))
def test_any_text_becomes_short_and_printable(raw: str, most: int) -> None:
    shown = plain(raw, most)
    assert len(shown) <= most
    assert is_plain(shown)
    assert shown == raw or not is_plain(raw) or len(raw) > most
