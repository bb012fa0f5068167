"""CSV files, one line a record: the header decides how a file is cut, and every line is checked before it is used.

Which separator there is comes from the header alone. A cell may be quoted, and must then end on its line: were a quote
allowed to run on, one record could swallow its neighbours and change how many there are. A line is a record whatever it
holds, even nothing; cells that it lacks are missing, and those beyond the header are dropped.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.errors import BadTable
from copriv.vectors import IntArray, compiled

_SEPARATORS = ",;\t|"
_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_LONGEST_HEADER = 16 << 20
_CHUNK = 4 << 20

# Where the reader is: at the start of a cell, in a plain one, in a quoted one, behind its second quote, and behind that
# and a carriage return.
_START, _PLAIN, _QUOTED, _CLOSED, _RETURNED = range(5)
_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
# What the reader knows: where it is, the line, the cells of the line so far, lines that are ragged, what is wrong.
_STATE, _LINE, _CELLS, _RAGGED, _FAULT = range(5)
_FAULTS = ("", "a quoted cell does not end on its line", "a quote stands where none belongs")
_UNENDED, _STRAY = 1, 2

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file that was checked.

    Args:
        table: its records, not read yet; every cell as text.
        records: how many lines follow the header.
        ragged: how many of them have more or fewer cells than the header.
    """

    table: pl.LazyFrame
    records: int
    ragged: int


def open_csv(path: Path, tell: Tell = lambda _done, _total: None) -> CsvFile:
    """Check a file line by line; `tell` is told how many bytes of how many are checked."""
    header = _header(path)
    separator = find_separator(header)
    names = next(csv.reader([header], delimiter=separator))
    _require_names(path, names)
    records, ragged = _check_lines(path, separator, len(names), tell)
    table = pl.scan_csv(
        path, separator=separator, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy"
    )
    _require_agreement(path, table, len(names), records)
    return CsvFile(table, records, ragged)


def find_separator(header: str) -> str:
    r"""What a header line separates its names by: the most frequent candidate outside of quotes.

    >>> find_separator('"name, first";age'), find_separator("name\tage"), find_separator("name")
    (';', '\t', ',')
    """
    bare = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=bare.count)


def _header(path: Path) -> str:
    """The first line as text."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
    if line.startswith(_WIDE_MARKS) or b"\x00" in line:
        raise _unreadable(path, "is not UTF-8 but looks like UTF-16", "save it as UTF-8: iconv -f UTF-16 -t UTF-8")
    try:
        text = line.removeprefix(_MARK).decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as problem:
        raise _unreadable(path, "has a header that is not UTF-8", "save it as UTF-8: iconv -f LATIN1 -t UTF-8") from (
            problem
        )
    if not text.strip():
        raise _unreadable(path, "has no header", "give a table whose first line names its columns")
    if "\r" in text or len(line) == _LONGEST_HEADER:
        raise _unreadable(path, "has lines that do not end in a line feed", "convert its line ends: mac2unix")
    return text


def _require_names(path: Path, names: list[str]) -> None:
    for name in names:
        if name and names.count(name) > 1:
            raise BadTable(
                f"the header of {path.name} names {name!r} more than once", remedy="rename one of them", value=name
            )


def _check_lines(path: Path, separator: str, cells: int, tell: Tell) -> tuple[int, int]:
    """How many lines follow the header, and how many of them are ragged; a line that runs on is refused."""
    known = np.array([_START, 1, 1, 0, 0], dtype=np.int64)
    for chunk in _chunks(path, tell):
        _read(chunk, ord(separator), cells, known)
        _require_faultless(path, known)
    if known[_STATE] != _START or known[_CELLS] > 1:
        _read(np.array([_NEWLINE], dtype=np.uint8), ord(separator), cells, known)
        _require_faultless(path, known)
    return int(known[_LINE]) - 2, int(known[_RAGGED])


def _chunks(path: Path, tell: Tell) -> Iterator[npt.NDArray[np.uint8]]:
    total, done = path.stat().st_size, 0
    with path.open("rb") as file:
        file.seek(len(_MARK) if file.read(len(_MARK)) == _MARK else 0)
        while chunk := file.read(_CHUNK):
            yield np.frombuffer(chunk, dtype=np.uint8)
            done += len(chunk)
            tell(done, total)


def _require_faultless(path: Path, known: IntArray) -> None:
    if known[_FAULT]:
        raise BadTable(
            f"{path.name}, line {known[_LINE]:,}: {_FAULTS[known[_FAULT]]}",
            remedy='one line is one record: take line breaks out of cells, and write a quote in a quoted cell as ""',
            value=int(known[_LINE]),
        )


def _require_agreement(path: Path, table: pl.LazyFrame, cells: int, records: int) -> None:
    """Refuse a file that polars would cut into other rows or columns than were checked."""
    try:
        found = len(table.collect_schema().names()), int(table.select(pl.len()).collect(engine="streaming").item())
    except pl.exceptions.PolarsError as problem:
        raise _unreadable(path, "cannot be read as CSV", "check that the file is complete") from problem
    if found != (cells, records):
        raise _unreadable(
            path,
            f"has {records:,} lines of {cells} columns, and reads as {found[1]:,} rows of {found[0]}",
            "write it again, by a program that writes plain CSV, or as Parquet",
        )


def _unreadable(path: Path, problem: str, remedy: str) -> BadTable:
    return BadTable(f"{path.name} {problem}", remedy=remedy, value=str(path))


@compiled
def _read(data: npt.NDArray[np.uint8], separator: int, wanted: int, known: IntArray) -> None:
    """Go on reading; stop at the first line that is not one record."""
    state, line, cells, ragged = known[_STATE], known[_LINE], known[_CELLS], known[_RAGGED]
    fault = 0
    for byte in data:
        if byte == _NEWLINE:
            if state == _QUOTED:
                fault = _UNENDED
                break
            ragged += cells != wanted
            line, cells, state = line + 1, 1, _START
        elif byte == _QUOTE:
            if state in (_PLAIN, _RETURNED):
                fault = _STRAY
                break
            state = _CLOSED if state == _QUOTED else _QUOTED
        elif state == _QUOTED:
            continue
        elif byte == separator and state != _RETURNED:
            cells, state = cells + 1, _START
        elif state == _CLOSED and byte == _RETURN:
            state = _RETURNED
        elif state in (_CLOSED, _RETURNED):
            fault = _STRAY
            break
        else:
            state = _PLAIN
    known[_STATE], known[_LINE], known[_CELLS], known[_RAGGED], known[_FAULT] = state, line, cells, ragged, fault
