"""JSON lines: one object a line, one line a record, every value as text.

A line that is no object is a record with nothing in it: it counts, and its neighbours are read as ever. There is no
header. So which columns there are is said by whoever opens the file, as a study's dictionary does; or all names that
any line has, sorted, of which only those that public rows know are ever used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from copriv.errors import BadTable
from copriv.records.file_bytes import Tell, open_text, read_lines
from copriv.records.ranges import LONGEST_TEXT, is_pattern

_BATCH = 100_000
# Numbers as they are written.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
# No column is called so; it keeps the height of a table without columns.
_HEIGHT = "_" * (LONGEST_TEXT + 1)


@dataclass(frozen=True, slots=True)
class JsonLines:
    """A file of JSON lines that was read.

    Args:
        table: its records; every cell as text.
        broken: how many lines are no object.
        unnamed: of the columns asked for, those that no line has.
    """

    table: pl.LazyFrame
    broken: int
    unnamed: tuple[str, ...]


def open_json_lines(
    path: Path, names: Sequence[str] = (), *, encoding: str | None = None, tell: Tell = lambda _done, _total: None
) -> JsonLines:
    """Read a file line by line.

    Args:
        path: the file.
        names: the columns to read, if they are known.
        encoding: if it is not UTF-8; no byte order mark says it, as the first bytes belong to a record.
        tell: is told how many bytes of how many are read.
    """
    lines = read_lines(open_text(path, encoding, tell, header=False), tell)
    wanted, batches, broken, seen = set(names), [], 0, set[str]()
    while rows := [_record(line) for line in islice(lines, _BATCH)]:
        broken += sum(row is None for row in rows)
        records = [row or {} for row in rows]
        here = set().union(*records)
        seen |= here
        batches.append(_frame(records, wanted & here if names else here))
    columns = list(dict.fromkeys(names)) or sorted(seen)
    if not columns:
        raise BadTable(f"{path.name} names no column", remedy="give one JSON object a line", value=str(path))
    schema = dict.fromkeys(columns, pl.String())
    table = pl.concat([pl.DataFrame(schema=schema), *batches], how="diagonal").select(columns)
    return JsonLines(table.lazy(), broken, tuple(name for name in names if name not in seen))


def _record(line: bytes) -> dict[str, str | None] | None:
    """The cells of a line; None if it is no object.

    >>> _record(b'{"a": 1.50, "b": "x", "c": true, "d": null, "e": [1]}')
    {'a': '1.50', 'b': 'x', 'c': 'true', 'd': None, 'e': None}
    >>> _record(b'{"a": 1') is None
    True
    """
    try:
        found = _DECODER.decode(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return {_whole(name): _cell(value) for name, value in found.items() if _is_name(name)}


def _is_name(name: str) -> bool:
    """Whether a column can be called so; what else a record holds is nobody's column."""
    return len(name) <= LONGEST_TEXT and not is_pattern(name)


def _cell(value: object) -> str | None:
    if isinstance(value, str):
        return _whole(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return None


def _whole(text: str) -> str:
    """A text without halves of letters, which JSON can hold and a table cannot."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _frame(records: Sequence[dict[str, str | None]], names: Iterable[str]) -> pl.DataFrame:
    columns = [pl.Series(name, [record.get(name) for record in records], dtype=pl.String) for name in names]
    return pl.DataFrame([pl.Series(_HEIGHT, [None] * len(records), dtype=pl.String), *columns])
