"""How a file is written, as a person says it: encoding, delimiter, decimal mark and dates.

None of it is ever worked out from rows. What is not said comes from the file's name, its first bytes or its header
line; otherwise one record could change how all others are read.
"""

from __future__ import annotations

import codecs
import re

import msgspec

from copriv.errors import BadInput

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_DECIMALS = {"point": ".", "comma": ","}
_UNICODE = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "ascii": "utf-8", "utf-16": "utf-16"}
_UNICODE |= {"utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be"}
# Encodings in which every byte is one letter, whatever stands beside it, and ASCII is itself.
_ONE_BYTE = re.compile(r"iso8859-\d+|cp125\d|cp437|cp85[0258]|cp866|koi8-[rtu]|mac-roman")
_DATE_PARTS = re.compile("%.|[^%]|%$", re.DOTALL)
_YEARS, _MONTHS, _DAYS = ("%Y", "%y"), ("%m", "%b", "%B"), ("%d",)


class FileFormat(msgspec.Struct, frozen=True):
    """How a file is written. What is None is seen from its name, its first bytes and its header line.

    Args:
        encoding: of CSV and JSON lines: utf-8, utf-16, or one of single bytes; a byte order mark of CSV wins.
        delimiter: between the cells of CSV: one character.
        decimal: in the numbers of CSV: a point or a comma.
        dates: how days in texts are written, as in strftime; 2012-05-31 is read besides.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        """Refuse what `parse_format` would not have made, as a file that was edited may say it."""
        checks = (_encoding, _delimiter, _decimal, _dates)
        for check, (name, value) in zip(checks, msgspec.structs.asdict(self).items(), strict=True):
            if value is not None and check(value) != value:
                raise BadInput(f"the {name} is {value!r}", remedy=f"write {check(value)!r}", value=value)

    @property
    def words(self) -> str:
        """What is said, in words.

        >>> FileFormat().words, FileFormat(delimiter=";", dates="%d.%m.%Y").words
        ('as its name and header say', "delimiter ';', dates '%d.%m.%Y'")
        """
        said = [f"{name} {value!r}" for name, value in msgspec.structs.asdict(self).items() if value is not None]
        return ", ".join(said) or "as its name and header say"


def parse_format(
    *, encoding: str | None = None, delimiter: str | None = None, decimal: str | None = None, dates: str | None = None
) -> FileFormat:
    r"""The format that options describe, or a refusal that names the option.

    >>> parse_format(encoding="Latin-1", delimiter="tab", decimal="comma", dates="%d.%m.%Y")
    FileFormat(encoding='iso8859-1', delimiter='\t', decimal=',', dates='%d.%m.%Y')
    >>> parse_format() == PLAIN
    True
    """
    return FileFormat(
        None if encoding is None else _encoding(encoding),
        None if delimiter is None else _delimiter(delimiter),
        None if decimal is None else _decimal(decimal),
        None if dates is None else _dates(dates),
    )


def _encoding(name: str) -> str:
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if known in _UNICODE:
        return _UNICODE[known]
    if not _ONE_BYTE.fullmatch(known):
        raise BadInput(
            f"--encoding {name} cannot be read line by line" if known else f"--encoding {name} is not known",
            remedy="use utf-8, utf-16, latin-1, cp1252 or another one of single bytes; convert others: iconv -t UTF-8",
            value=name,
        )
    return known


def _delimiter(given: str) -> str:
    mark = _DELIMITERS.get(given.lower(), given)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in '"\r\n\x00.-+_':
        raise BadInput(
            f"--delimiter {given!r}", remedy=f"give one character, or {', '.join(sorted(_DELIMITERS))}", value=given
        )
    return mark


def _decimal(given: str) -> str:
    mark = _DECIMALS.get(given.lower(), given)
    if mark not in _DECIMALS.values():
        raise BadInput(f"--decimal {given!r}", remedy="give . or , (or point, or comma)", value=given)
    return mark


def _dates(given: str) -> str:
    """A format in which no number can be taken for a date."""
    parts = _DATE_PARTS.findall(given)
    counts = [sum(part in some for part in parts) for some in (_YEARS, _MONTHS, _DAYS)]
    marks = [part for part in parts if not part.startswith("%")]
    known = all(part in (*_YEARS, *_MONTHS, *_DAYS) for part in parts if part.startswith("%"))
    if not known or counts != [1, 1, 1] or re.search("%.%", given) or any(mark.isalnum() for mark in marks):
        raise BadInput(
            f"--dates {given!r} does not tell a day from a number",
            remedy="give year, month and day with something between them, as %d.%m.%Y, %m/%d/%Y or %d-%b-%Y",
            value=given,
        )
    return given


PLAIN = FileFormat()
