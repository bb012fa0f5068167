"""CSV files, one line a record: the header decides how a file is cut, and every line is checked before it is used.

Which separator there is comes from the owner of the file, or its name, or the header alone. A cell may be quoted, and
must then end on its line: were a quote allowed to run on, one record could swallow its neighbours and change how many
there are. A line is a record whatever it holds, even nothing; cells that it lacks are missing, and those beyond the
header are dropped.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from copriv.errors import BadTable
from copriv.records.file_bytes import PACKED, Source, Tell, open_text, read_chunks, read_line
from copriv.records.file_format import PLAIN, FileFormat
from copriv.vectors import IntArray, compiled

_SEPARATORS = ",;\t|"
_TAB_SUFFIXES = (".tsv", ".tab")
_LONGEST_HEADER = 16 << 20

# Where the reader is: at the start of a cell, in a plain one, in a quoted one, behind its second quote, and behind that
# and a carriage return.
_START, _PLAIN, _QUOTED, _CLOSED, _RETURNED = range(5)
_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
# What the reader knows: where it is, the line, the cells of the line so far, lines that are ragged, what is wrong.
_STATE, _LINE, _CELLS, _RAGGED, _FAULT = range(5)
_FAULTS = ("", "a quoted cell does not end on its line", "a quote stands where none belongs")
_UNENDED, _STRAY = 1, 2
_OTHER_ENCODING = "say how it is written: --encoding latin-1 or cp1252, or save it as UTF-8"


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file that was checked.

    Args:
        table: its records, not read yet; every cell as text.
        records: how many lines follow the header.
        ragged: how many of them have more or fewer cells than the header.
        unknown: the first line with a byte that is not UTF-8, and this byte; None if there is none.
    """

    table: pl.LazyFrame
    records: int
    ragged: int
    unknown: tuple[int, int] | None = None


def open_csv(path: Path, form: FileFormat = PLAIN, tell: Tell = lambda _done, _total: None) -> CsvFile:
    """Check a file line by line; `tell` is told how many bytes of how many are checked."""
    source = open_text(path, form.encoding, tell)
    header = _header(path, source)
    separator = form.delimiter or _separator(path, header)
    names = next(csv.reader([header], delimiter=separator))
    _require_names(path, names)
    checked = _check_lines(path, source, separator, len(names), tell)
    table = pl.scan_csv(
        source, separator=separator, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy", glob=False
    )
    _require_agreement(path, table, len(names), checked[0])
    return CsvFile(table, *checked)


def _separator(path: Path, header: str) -> str:
    """By the file's name, if its header agrees, or else by the header."""
    named = path.name.lower().removesuffix(PACKED).endswith(_TAB_SUFFIXES)
    return "\t" if named and "\t" in header else find_separator(header)


def find_separator(header: str) -> str:
    r"""What a header line separates its names by: the most frequent candidate outside of quotes.

    >>> find_separator('"name, first";age'), find_separator("name\tage"), find_separator("name")
    (';', '\t', ',')
    """
    bare = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=bare.count)


def _header(path: Path, source: Source) -> str:
    """The first line as text."""
    line = read_line(source, _LONGEST_HEADER)
    if b"\x00" in line:
        raise _unreadable(
            path, "is not UTF-8 but looks like UTF-16", "say --encoding utf-16-le or utf-16-be, or save it as UTF-8"
        )
    try:
        text = line.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as problem:
        raise _unreadable(
            path, f"has the byte 0x{line[problem.start]:02x} in its header, which is not UTF-8", _OTHER_ENCODING
        ) from problem
    if not text.strip():
        raise _unreadable(path, "has no header", "give a table whose first line names its columns")
    if "\r" in text or len(line) == _LONGEST_HEADER:
        raise _unreadable(path, "has lines that do not end in a line feed", "convert its line ends: mac2unix")
    return text


def _require_names(path: Path, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise BadTable(
            f"the header of {path.name} names {', '.join(map(repr, twice))} more than once",
            remedy="rename all but one of them: it is not clear which one is meant",
            value=twice[0],
        )


def _check_lines(
    path: Path, source: Source, separator: str, cells: int, tell: Tell
) -> tuple[int, int, tuple[int, int] | None]:
    """Lines after the header, how many are ragged, and the first byte that is no text; what runs on is refused."""
    known = np.array([_START, 1, 1, 0, 0], dtype=np.int64)
    decoder, unknown = codecs.getincrementaldecoder("utf-8")(), None
    for chunk in read_chunks(source, tell):
        if unknown is None:
            unknown = _undecodable(decoder, chunk, int(known[_LINE]))
        _read(np.frombuffer(chunk, dtype=np.uint8), ord(separator), cells, known)
        _require_faultless(path, known)
    if known[_STATE] != _START or known[_CELLS] > 1:
        _read(np.array([_NEWLINE], dtype=np.uint8), ord(separator), cells, known)
        _require_faultless(path, known)
    return int(known[_LINE]) - 2, int(known[_RAGGED]), unknown


def _undecodable(decoder: codecs.IncrementalDecoder, chunk: bytes, line: int) -> tuple[int, int] | None:
    """The line and the value of the first byte that is not UTF-8; `line` is the one the chunk starts in."""
    try:
        decoder.decode(chunk)
    except UnicodeDecodeError as problem:
        return line + problem.object[: problem.start].count(b"\n"), problem.object[problem.start]
    return None


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
