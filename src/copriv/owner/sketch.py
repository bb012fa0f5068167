"""Recognising records that were seen before: keyed hashes of rows and of ids, and the smallest of them kept.

A row is hashed in a canonical form, so that the same row from a CSV and from a Parquet file, in another order or among
others, has the same hash. Of the hashes the smallest k are kept with the places of their rows (a bottom-k sketch): a
sample of the distinct rows that every version of a file draws alike. All hashes are keyed; without the key they tell
nothing. Of tables that are too long to hold a hash of every row, no others than the smallest are ever held.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from copriv.owner.smallest import Hashes, Smallest
from copriv.records.column import written
from copriv.records.folder import as_one
from copriv.records.table import collect, count_rows, read_batches
from copriv.vectors import IntArray

SMALLEST_SKETCH = 2000
_ROWS_PER_HASH = 50
_ROWS_LOOKED_AT = 10_000
# Of tables with more rows only the smallest hashes are held, and distinct values are estimated.
MOST_IN_FULL = 10_000_000
# An estimate this close to the number of rows counts as all of them.
_ABOUT_ALL = 0.8
_LARGEST = np.uint64(2**64 - 1)
_MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"})
_MISSING = np.uint64(0x7FF8_0000_0000_0001)
_ID_NAME = re.compile(r"(^|[_\-. ]|(?<=[a-z])(?=I))(id|uuid|guid|ID|Id|UUID|GUID|key|number|no)$")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[t ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?z?")

Tell = Callable[[int, int], None]
Kind = Literal["rows", "ids"]
Wanted: TypeAlias = tuple[Kind, tuple[str, ...]]
Batches: TypeAlias = Iterator[tuple[slice, list[Hashes]]]


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """Distinct hashes in rising order, all of them or the smallest, each with the first row that has it.

    Args:
        kind: hashes of whole rows, or of the values of one column.
        columns: of what they are.
        distinct: how many distinct hashes there were in all.
        hashes: the hashes that are kept.
        places: for each, the row where it was first seen.
    """

    kind: Kind
    columns: tuple[str, ...]
    distinct: int
    hashes: Hashes
    places: IntArray

    @property
    def reach(self) -> np.uint64:
        """Up to which hash all are here."""
        return self.hashes[-1] if self.hashes.size < self.distinct else _LARGEST

    def smallest(self, most: int) -> Sketch:
        """The sketch that is kept: of no more than so many hashes."""
        return Sketch(self.kind, self.columns, self.distinct, self.hashes[:most], self.places[:most])

    def shared_with(self, other: Sketch) -> tuple[IntArray, IntArray]:
        """The hashes that both have: where they are in this sketch, and where in the other."""
        _, here, there = np.intersect1d(self.hashes, other.hashes, assume_unique=True, return_indices=True)
        return here.astype(np.int64), there.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A file as it is recognised: its size and the full sketches of its rows and ids."""

    rows: int
    columns: tuple[str, ...]
    sketches: tuple[Sketch, ...]

    def sketch(self, kind: Kind, columns: tuple[str, ...]) -> Sketch | None:
        """The sketch that can be compared with a known one of these columns."""
        return next((each for each in self.sketches if (each.kind, each.columns) == (kind, columns)), None)

    def kept(self) -> tuple[Sketch, ...]:
        """The sketches that a registry keeps."""
        return tuple(sketch.smallest(_most_kept(self.rows)) for sketch in self.sketches)


def recognise(
    tables: Sequence[pl.LazyFrame],
    key: bytes,
    known: Iterable[tuple[Kind, tuple[str, ...]]] = (),
    tell: Tell = lambda _done, _total: None,
) -> Recognised:
    """Hash every row of a table, and every value of the columns that look like ids.

    Args:
        tables: the table, in one file or several.
        key: of the hashes.
        known: kinds and columns of other sketches, to be comparable with these too, where the table has the columns.
        tell: is told how many rows of how many are read.
    """
    whole = as_one(tables)
    names, rows = tuple(sorted(whole.collect_schema().names())), count_rows(whole)
    ids, numbering = _id_columns(whole, rows)
    own: list[tuple[Kind, tuple[str, ...]]] = [("rows", tuple(name for name in names if name not in numbering))]
    own.extend(("ids", (name,)) for name in ids)
    wanted = [each for each in dict.fromkeys([*own, *known]) if each[1] and set(each[1]) <= set(names)]
    make = _full_sketches if rows <= MOST_IN_FULL else _cut_sketches
    sketches = make(_hash_batches(tables, wanted, key, tell), rows, wanted)
    return Recognised(rows, names, tuple(sketch for sketch in sketches if _tells_apart(sketch, rows)))


def digest_table(table: pl.LazyFrame, key: bytes, tell: Tell = lambda _done, _total: None) -> bytes:
    """The keyed hash of a table's content: of its columns' names, and of its rows in canonical form and in order."""
    names = tuple(sorted(table.collect_schema().names()))
    rows = count_rows(table)
    found = hashlib.blake2b(digest_size=32, key=key, person=b"copriv table")
    found.update(repr((names, rows)).encode())
    for _, (hashes,) in _hash_batches([table], [("rows", names)], key, tell):
        found.update(hashes.astype("<u8").tobytes())
    return found.digest()


def _most_kept(rows: int) -> int:
    return max(SMALLEST_SKETCH, rows // _ROWS_PER_HASH)


def _tells_apart(sketch: Sketch, rows: int) -> bool:
    """Rows, or ids, that mostly repeat identify nobody."""
    return 0 < rows <= 2 * sketch.distinct


def _full_sketches(batches: Batches, rows: int, wanted: Sequence[Wanted]) -> list[Sketch]:
    hashed = [np.empty(rows, dtype=np.uint64) for _ in wanted]
    for span, found in batches:
        for hashes, here in zip(hashed, found, strict=True):
            hashes[span] = here
    return [_full_sketch(kind, columns, hashes) for (kind, columns), hashes in zip(wanted, hashed, strict=True)]


def _cut_sketches(batches: Batches, rows: int, wanted: Sequence[Wanted]) -> list[Sketch]:
    kept = [Smallest(_most_kept(rows)) for _ in wanted]
    for span, found in batches:
        for smallest, (kind, _), here in zip(kept, wanted, found, strict=True):
            # A missing id is the largest hash: it is never among the smallest of a long table.
            smallest.add(np.where(here == _MISSING, _LARGEST, here) if kind == "ids" else here, span.start)
    return [
        Sketch(kind, columns, smallest.distinct(), smallest.hashes, smallest.places)
        for (kind, columns), smallest in zip(wanted, kept, strict=True)
    ]


def _full_sketch(kind: Kind, columns: tuple[str, ...], hashes: Hashes) -> Sketch:
    found, places = np.unique(hashes, return_index=True)
    known = found != _MISSING if kind == "ids" else np.ones(found.size, dtype=np.bool_)
    return Sketch(kind, columns, int(known.sum()), found[known], places[known].astype(np.int64))


def _id_columns(table: pl.LazyFrame, rows: int) -> tuple[list[str], list[str]]:
    """The columns that look like ids, and those that only number the rows, which every table may have alike."""
    first = collect(table.head(_ROWS_LOOKED_AT))
    candidates = [name for name in first.columns if _may_be_id(first[name])]
    if not candidates:
        return [], []
    count = pl.Expr.n_unique if rows <= MOST_IN_FULL else pl.Expr.approx_n_unique
    described = collect(table.select(_describe_column(name, first[name].dtype, count) for name in candidates))
    ids, numbering = [], []
    for name in candidates:
        distinct, lowest, highest = described[name].item().values()
        if rows > MOST_IN_FULL and distinct >= _ABOUT_ALL * rows:
            distinct = rows
        if distinct == rows and lowest in (0, 1) and highest - lowest + 1 == rows:
            numbering.append(name)
        elif distinct == rows or (_ID_NAME.search(name) and 2 * distinct >= rows):
            ids.append(name)
    return ids, numbering


def _may_be_id(values: pl.Series) -> bool:
    """Whether the first rows leave it open that a column names records."""
    if values.dtype.is_nested() or values.dtype.is_float() or values.dtype == pl.Boolean:
        return False
    distinct = values.drop_nulls().n_unique()
    if 2 * distinct < len(values) or (distinct < len(values) and not _ID_NAME.search(values.name)):
        return False
    numbers = _numbers(values).drop_nulls()
    return bool((numbers == numbers.round()).all())


def _describe_column(name: str, dtype: pl.DataType, count: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    column = pl.col(name)
    counted = dtype.is_numeric() or dtype == pl.String
    numbers = column.cast(pl.Float64, strict=False) if counted else pl.lit(None, dtype=pl.Float64)
    return pl.struct(count(column).alias("distinct"), numbers.min().alias("low"), numbers.max().alias("high")).alias(
        name
    )


def _hash_batches(tables: Sequence[pl.LazyFrame], wanted: Sequence[Wanted], key: bytes, tell: Tell) -> Batches:
    """For every wanted set of columns the hash of every row, batch by batch, with the places of the rows."""
    names = sorted({name for _, columns in wanted for name in columns})
    for span, batch in read_batches(tables, names, tell):
        cells = np.column_stack([_cells(batch[name], key) for name in names])
        hashed = []
        for kind, columns in wanted:
            chosen = np.ascontiguousarray(cells[:, [names.index(name) for name in columns]])
            found = _hash_rows(chosen, f"{kind}:{columns[0] if kind == 'ids' else ''}", key)
            if kind == "ids":
                found[chosen[:, 0] == _MISSING] = _MISSING
            hashed.append(found)
        yield span, hashed


def _hash_rows(cells: Hashes, purpose: str, key: bytes) -> Hashes:
    begun = hashlib.blake2b(purpose.encode() + b"\0", digest_size=8, key=key)
    content, width = cells.tobytes(), cells.shape[1] * cells.itemsize

    def digest(start: int) -> bytes:
        found = begun.copy()
        found.update(content[start : start + width])
        return found.digest()

    digests = b"".join(digest(start) for start in range(0, len(content), width))
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _cells(values: pl.Series, key: bytes) -> Hashes:
    """A column in canonical form: a number as its bits, a text as its keyed hash."""
    numbers = _numbers(values)
    found = (numbers.fill_null(np.nan).to_numpy() + 0.0).view(np.uint64).copy()
    found[np.isnan(found.view(np.float64))] = _MISSING
    if values.dtype.is_numeric():
        return found
    words = values.to_frame().select(pl.col(values.name).filter(numbers.is_null())).to_series().drop_nulls()
    if len(words):
        textual = (numbers.is_null() & values.is_not_null()).to_numpy()
        found[textual] = _hash_words(_as_text(words), key)
    return found


def _numbers(values: pl.Series) -> pl.Series:
    """The column as doubles; null where it is no number."""
    if values.dtype == pl.Float32:
        return values.cast(pl.String).cast(pl.Float64)
    if values.dtype.is_numeric():
        return values.cast(pl.Float64)
    if values.dtype == pl.String:
        return values.str.strip_chars().cast(pl.Float64, strict=False)
    return pl.Series(values.name, [None] * len(values), dtype=pl.Float64)


def _as_text(values: pl.Series) -> pl.Series:
    """Texts; of what polars has no text for, such as a day beyond the calendar, the number that stands for it."""
    if values.dtype.is_nested() or values.dtype == pl.Object:
        return pl.Series(values.name, [str(value) for value in values.to_physical().to_list()], dtype=pl.String)
    if values.dtype == pl.Binary:  # a cast would raise on bytes that are no text
        return values.map_elements(lambda data: data.decode(errors="replace"), return_dtype=pl.String)
    if values.dtype.is_temporal() and not isinstance(values.dtype, (pl.Date, pl.Datetime)):
        return values.to_physical().cast(pl.String)
    text = values.to_frame().select(written(values.name, values.dtype).cast(pl.String, strict=False)).to_series()
    return text.fill_null(values.to_physical().cast(pl.String)) if values.dtype.is_temporal() else text


def _hash_words(words: pl.Series, key: bytes) -> Hashes:
    """The hash of each word, every distinct one worked out once."""
    distinct = words.unique()
    hashes = pl.Series([_hash_word(word, key) for word in distinct.to_list()], dtype=pl.UInt64)
    return words.replace_strict(distinct, hashes, return_dtype=pl.UInt64).to_numpy()


def _hash_word(word: str, key: bytes) -> int:
    plain = word.strip().lower()
    if plain in _MISSING_WORDS:
        return int(_MISSING)
    moment = _MOMENT.fullmatch(plain)
    if moment:
        plain = _plain_moment(moment)
    return int.from_bytes(hashlib.blake2b(plain.encode(), digest_size=8, key=key).digest(), "little")


def _plain_moment(moment: re.Match[str]) -> str:
    """A date and time, however it is written."""
    day, clock, fraction = moment.group(1), moment.group(2), (moment.group(3) or "").rstrip("0")
    clock = clock if clock.count(":") > 1 else f"{clock}:00"
    return day if clock == "00:00:00" and not fraction else f"{day}t{clock}.{fraction}"
