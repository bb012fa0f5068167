"""Names that somebody else has chosen, made safe to look at.

What a learner or an owner calls a study, a column or a category may hold an escape sequence that repaints a terminal,
a character that turns the line around, or a page of text. It is shown as text: printable characters as they are,
everything else by its number.
"""

from __future__ import annotations

_BYTE, _SHORT = 0xFF, 0xFFFF


def plain(text: str, most: int = 80) -> str:
    r"""Text with everything unprintable escaped, and nothing behind `most` characters.

    What is cut off is replaced by `…`. Markup, as in `[bold]`, is not touched: print the result with
    `rich.text.Text`, or escaped by `rich.markup.escape`.

    >>> plain("ward\x1b[2J 7")
    'ward\\x1b[2J 7'
    >>> plain("abcdefgh", most=5)
    'abcd…'
    """
    # No more than `most` characters can be shown: a page of text is not escaped only to be thrown away.
    shown = "".join(map(_visible, text[: most + 1]))
    return shown if len(shown) <= most else shown[: max(most - 1, 0)] + "…"


def is_plain(text: str) -> bool:
    r"""Whether every character can be shown as it is.

    >>> is_plain("length of stay"), is_plain("length\tof stay")
    (True, False)
    """
    return text.isprintable()


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _SHORT else f"\\U{code:08x}"
