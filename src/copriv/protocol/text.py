"""Names that somebody else has chosen, made safe to look at.

What a learner or an owner calls a study, a column or a category may hold an escape sequence that repaints a terminal,
a character that turns the line around, or a page of text. It is shown as text: letters of any language as they are,
and everything that cannot be seen, or that could draw a frame of its own, by its number.
"""

from __future__ import annotations

import re

_SPACES = re.compile(r" {2,}")
_BYTE, _SHORT = 0xFF, 0xFFFF
# Python calls these printable. The first ones show nothing; the last ones draw what tables are drawn with.
_INVISIBLE = (
    (0x034F, 0x034F),  # joins letters, and has no shape
    (0x115F, 0x1160),  # fillers of Hangul
    (0x17B4, 0x17B5),  # vowels of Khmer that are not written
    (0x180B, 0x180F),  # variants of Mongolian letters
    (0x2800, 0x2800),  # a Braille letter without dots
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variants of symbols
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_DRAWING = ((0x2500, 0x259F),)
_MISLEADING = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in (*_INVISIBLE, *_DRAWING)) + "]")


def plain(text: str, most: int = 80) -> str:
    r"""Text with everything unprintable escaped, and nothing behind `most` characters.

    What is cut off is replaced by `…`. Markup, as in `[bold]`, is not touched: print the result with
    `rich.text.Text`, or escaped by `rich.markup.escape`.

    >>> plain("ward\x1b[2J 7")
    'ward\\x1b[2J 7'
    >>> plain("abcdefgh", most=5)
    'abcd…'
    """
    if len(text) <= most and is_plain(text):
        return text
    # No more than `most` characters can be shown: a page of text is not escaped only to be thrown away.
    shown = "".join(map(_visible, text[: most + 1]))
    return shown if len(shown) <= most else shown[: max(most - 1, 0)] + "…"


def is_plain(text: str) -> bool:
    r"""Whether every character can be shown as it is.

    >>> is_plain("length of stay"), is_plain("length\tof stay")
    (True, False)
    >>> is_plain("\u2502 you promise nothing"), is_plain("\u3164")
    (False, False)
    """
    return text.isprintable() and _MISLEADING.search(text) is None


def squeezed(text: str, most: int = 80) -> str:
    """Plain text in which no run of spaces can push anything to another place."""
    return plain(_SPACES.sub(" ", text), most)


def quoted(text: str, most: int = 200) -> str:
    r"""The same between quotation marks; where it ends can be seen.

    >>> quoted("loans        2026")
    "'loans 2026'"
    >>> quoted("a', 'b")
    "'a\\', \\'b'"
    """
    shown = squeezed(text, most).replace("'", "\\'")
    return f"'{shown}'"


def _visible(character: str) -> str:
    if is_plain(character):
        return character
    code = ord(character)
    if code <= _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _SHORT else f"\\U{code:08x}"
