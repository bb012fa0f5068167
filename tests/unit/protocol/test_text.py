"""Names that others have chosen are shown as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.protocol.text import is_plain, plain, quoted


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
        ("\u2502 you promise", "\\u2502 you promise"),
        ("\u2588\u2591", "\\u2588\\u2591"),
        ("a\u3164b\u115f\u1160\uffa0", "a\\u3164b\\u115f\\u1160\\uffa0"),
        ("\u2800\u034f\u180b\u180f", "\\u2800\\u034f\\u180b\\u180f"),
        ("\ufe0f\U000e0100", "\\ufe0f\\U000e0100"),
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


@pytest.mark.parametrize(
    "name", ["Größe", "e\u0301tude", "漢字 かな 한국어", "עברית", "हिन्दी", "ตาราง", "a  b", "№ 1 – ½ €"]
)
def test_letters_of_any_language_stay(name: str) -> None:
    assert is_plain(name)
    assert plain(name) == name


@pytest.mark.parametrize("code", [0x034F, 0x115F, 0x1160, 0x180B, 0x2500, 0x257F, 0x2580, 0x259F, 0x2800, 0x3164,
                                  0xFE00, 0xFE0F, 0xFFA0, 0xE0100, 0xE01EF])  # fmt: skip
def test_what_shows_nothing_or_draws_frames_is_not_plain(code: int) -> None:
    assert not is_plain(f"loans {chr(code)}")


def test_a_quoted_name_cannot_push_anything_to_another_place() -> None:
    assert quoted("loans" + " " * 150 + "ε = 0.1") == "'loans ε = 0.1'"
