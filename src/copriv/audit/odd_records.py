"""Records that have told on their owner elsewhere, or might: each one replaces a usual record of `raw_table`."""

from __future__ import annotations

import math

from copriv.audit.raw_table import Odd, Suffix, usual, usual_cells

_HUGE, _LARGEST, _SUBNORMAL = 1e308, 1.7976931348623157e308, 5e-324
_CSV: tuple[Suffix, ...] = ("csv",)


def _number(name: str, text: str, value: float | None, *columns: str) -> Odd:
    """The same number, or what is none, in some columns."""
    chosen = columns or ("age", "income", "stay")
    return Odd(name, {column: text.encode() for column in chosen}, dict.fromkeys(chosen, value))


def _word(name: str, text: str, cell: bytes | None = None) -> Odd:
    """A text where categories and dates are expected; in CSV also where a number is."""
    written = text.encode() if cell is None else cell
    return Odd(name, dict.fromkeys(("city", "since", "grade", "stay"), written), {"city": text, "since": text})


def _of_length(name: str, age: str, income: str, since: str, stay: float) -> Odd:
    """A row near the means, or far from them."""
    numbers: dict[str, float] = {"age": float(age), "income": float(income), "stay": stay}
    cells = {column: repr(value).encode() for column, value in numbers.items()} | {"since": since.encode()}
    return Odd(name, {**cells, "city": b"Oslo"}, {**numbers, "since": since, "city": "Oslo"})


_MISSING = ("age", "income", "city", "since", "day", "moment", "blob", "amount", "stay")

NUMBERS = (
    _number("target missing", "", None, "stay"),
    _number("feature missing", "", None, "income"),
    _number("target says it is missing", "n/a", None, "stay"),
    _number("target as drafted for its centre", "5", 5.0, "stay"),
    _number("below 0", "-3", -3.0),
    _number("zero", "0", 0.0),
    _number("huge", "1e308", _HUGE),
    _number("largest", repr(_LARGEST), _LARGEST),
    _number("largest, negative", repr(-_LARGEST), -_LARGEST),
    _number("subnormal", "5e-324", _SUBNORMAL),
    _number("negative zero", "-0.0", -0.0),
    _number("infinite", "inf", math.inf),
    _number("infinite target", "-Infinity", -math.inf, "stay"),
    _number("not a number", "NaN", math.nan),
    _number("beyond every double", "1e999", math.inf),
    _number("many digits", "9" * 400, math.inf, "income", "stay"),
    _number("percent", "13.5%", 13.5),
    _number("hexadecimal", "0x1p4", 16.0),
    _number("digits of another script", "١٢", None),
)
TEXTS = (
    _word("new category", "Atlantis"),
    _word("control characters and escapes", "\x1b[2J\x07\x08"),
    _word("markup", "[/x][bold]"),
    _word("a format", "{0.__class__}%s%n"),
    _word("a very long cell", "x" * 300_000),
    _word("zero byte", "a\x00b"),
    _word("a word that reads backwards", "\u202eolsO"),
    _word("a date that does not exist", "2021-02-30"),
    _word("a year beyond the calendar", "99999-01-01"),
    _word("quoted, with a separator", "a,b", b'"a,b"'),
    _word("quoted, with a quote", 'a"b', b'"a""b"'),
    _word("line ends in cells", "a\rb"),
    _word("a byte order mark", "\ufeffOslo"),
    _word("one unpaired letter", "\U0001f468\u200d"),
)
TYPED = (
    Odd("everything missing", dict.fromkeys(_MISSING, b""), dict.fromkeys(_MISSING)),
    Odd("last day of all", {"day": b"5881580-07-11"}, {"day": 2**31 - 1, "moment": 2**63 - 1, "instant": 2**63 - 1}),
    Odd("first day of all", {"day": b"-5877641-06-23"}, {"day": -(2**31), "moment": -(2**63), "instant": -(2**63)}),
    Odd("largest of its type", {"tall": b"18446744073709551615"}, {"tall": 2**64 - 1, "amount": "9" * 36 + ".99"}),
    Odd("a flag that is missing", {"flag": b"maybe", "grade": b""}, {"flag": None, "grade": None, "short": math.inf}),
    Odd("bytes that are no text", {"blob": b"\xff\xfe", "city": b"\xc3\x28"}, {"blob": b"\xff\xfe\x00"}),
    Odd("no tags", {"tags": b""}, {"tags": None}),
)
IDS = (
    Odd("an id that repeats", {"id": b"1001"}, {"id": 1001}),
    Odd("an id that is missing", {"id": b""}, {"id": None}),
    Odd("a duplicate of another record", usual_cells(0), usual(0)),
)
LINES = (
    Odd("an empty line", line=b"", formats=_CSV),
    Odd("a line of spaces", line=b"   \t ", formats=_CSV),
    Odd("a line of separators", line=b"," * 6, formats=_CSV),
    Odd("too few cells", line=b"1,2", formats=_CSV),
    Odd("too many cells", line=b"1,2,3,Oslo" + b",9" * 200, formats=_CSV),
    Odd("a comment", line=b"# 1,2,3", formats=_CSV),
    Odd("a line that ends in a carriage return", line=b"1,2,3\r", formats=_CSV),
    Odd("other separators", line=b"1;2;3\t4|5", formats=_CSV),
    Odd("the header again", line=b"id,age,income,city,since,day", formats=_CSV),
    Odd("nothing but quotes", line=b'"",""', formats=_CSV),
    Odd("bytes of every value", line=bytes(set(range(256)) - {10, 34}), formats=_CSV),
    Odd("a quote that does not end", line=b'1,2,"3', formats=_CSV, fits=False),
    Odd("a quote in a cell", line=b'1,2,3"4,5', formats=_CSV, fits=False),
    Odd("a record of two lines", line=b'1,2,"a\nb",4', formats=_CSV, fits=False),
)
# Whole people: of one row or of many, with targets and features or without, and one that nobody names.
PEOPLE = (
    Odd("a person of three rows", rows=3),
    Odd("a person of forty rows", rows=40),
    Odd("a person of forty rows without a target", {"stay": b""}, {"stay": None}, rows=40),
    Odd(
        "a person of forty rows at the end of doubles",
        {"income": repr(_LARGEST).encode(), "stay": repr(-_LARGEST).encode(), "city": b"Atlantis"},
        {"income": _LARGEST, "stay": -_LARGEST, "city": "Atlantis"},
        rows=40,
    ),
    Odd("a row that names nobody", {"id": b""}, {"id": None}),
    Odd("a person of three rows by another name", {"id": b"-7"}, {"id": -7}, rows=3),
)
# On which side of a study's centre, or of 0, the target lies: it moves the share of positives, or leaves it.
SIDES: tuple[Odd, ...] = (
    _number("target just above the centre", "5.000000000000001", 5.000000000000001, "stay"),
    _number("target on the centre, or the upper level", "5.0", 5.0, "stay"),
    _number("target below the centre, or the lower level", "1.0", 1.0, "stay"),
    _number("target zero", "0", 0.0, "stay"),
    _number("target missing", "", None, "stay"),
)
# How long a row is and how much of the clip its gradient takes: both change what second moments find room in.
ROOMS: tuple[Odd, ...] = (
    _of_length("a long row beyond the clip", "1000000", "2500", "2020-05-18", 9.0),
    _of_length("the same row on the other side", "1000000", "2500", "2020-05-18", 0.0),
    _of_length("the opposite row beyond the clip", "-1000000", "2500", "2020-05-18", 9.0),
    _of_length("a long row, no gradient at first", "-1000000", "2500", "2020-05-18", 5.0),
    _of_length("a short row, no gradient at first", "40", "2500", "2020-05-18", 5.0),
    _of_length("a row about on the clip", "52", "3600", "2020-08-06", 5.75),
)
# Whole people on one side, or on both: what a row of them counts depends on how many they have.
SIDES_OF_PEOPLE: tuple[Odd, ...] = (
    Odd("a person of forty rows above the centre", {"stay": b"9.0"}, {"stay": 9.0}, rows=40),
    Odd("a person of forty rows on both sides", rows=40, turns={"stay": (9.0, 1.0, 6.0)}),
    Odd("a person of two rows, one on the centre", rows=2, turns={"stay": (5.0, 5.5)}),
)
# What a table with few columns can hold, and everything.
NARROW: tuple[Odd, ...] = (*NUMBERS, *TEXTS, *IDS, *LINES)
ALL: tuple[Odd, ...] = (*NARROW, *TYPED)
# Of what a study can aim at: a target that is missing, or sits on a centre, and both ends of the range of doubles.
SHARP: tuple[Odd, ...] = (
    Odd("no target, new category", {"stay": b"", "city": b"Atlantis"}, {"stay": None, "city": "Atlantis"}),
    Odd(
        "largest feature, target on the centre",
        {"income": repr(_LARGEST).encode(), "age": repr(-_LARGEST).encode(), "stay": b"5.0"},
        {"income": _LARGEST, "age": -_LARGEST, "stay": 5.0},
    ),
    Odd(
        "missing feature, largest target",
        {"income": b"", "age": b"NaN", "city": b"", "stay": repr(-_LARGEST).encode()},
        {"income": None, "age": math.nan, "city": None, "stay": -_LARGEST},
    ),
)
