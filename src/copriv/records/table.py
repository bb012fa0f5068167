"""Reading tables: CSV, JSON lines, Parquet and Arrow, lazily where the file allows it.

How a file is cut into rows and cells never depends on what is in its rows: CSV follows its header, one line a record
(`csv_file`), JSON lines have one object a line (`json_lines`), and Parquet and Arrow files say it themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from pathlib import Path

import polars as pl

from copriv.errors import BadTable
from copriv.records.canonical import rewrite
from copriv.records.csv_file import open_csv
from copriv.records.file_bytes import PACKED, Tell
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.folder import align, as_one, files_of
from copriv.records.json_lines import open_json_lines

_CSV, _JSON_LINES = (".csv", ".tsv", ".tab"), (".jsonl", ".ndjson")
_PARQUET, _ARROW = (".parquet", ".pq"), (".feather", ".arrow", ".ipc")
_UNPACK = {".zst": "unzstd", ".bz2": "bunzip2", ".xz": "unxz", ".zip": "unzip"}
BATCH_ROWS = 100_000
_PROBLEMS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

Note = Callable[[str], None]


def open_table(
    path: Path,
    form: FileFormat = PLAIN,
    *,
    names: Sequence[str] = (),
    tell: Tell = lambda _done, _total: None,
    note: Note = lambda _words: None,
) -> pl.LazyFrame:
    """A table on disk, not read yet; a file that is missing or no table is refused here.

    Args:
        path: CSV, which is checked line by line; JSON lines; either of them packed by gzip; Parquet; Arrow; or a folder
            of such files, which is one table in the order of their names.
        form: what the owner of the file says about how it is written; what does not apply to its kind is ignored.
        names: the columns that JSON lines are read for, which have no header; all that there are if not given.
        tell: is told how many bytes of how many are checked.
        note: is told what a person should know about the file.
    """
    return as_one(open_tables(path, form, names=names, tell=tell, note=note))


def open_tables(
    path: Path,
    form: FileFormat = PLAIN,
    *,
    names: Sequence[str] = (),
    tell: Tell = lambda _done, _total: None,
    note: Note = lambda _words: None,
) -> tuple[pl.LazyFrame, ...]:
    """The files of a table one by one, in order, with the same columns; as `open_table` has it."""
    files = files_of(path)
    return align(files, [_open_file(file, form, names, tell, note) for file in files])


def _open_file(path: Path, form: FileFormat, names: Sequence[str], tell: Tell, note: Note) -> pl.LazyFrame:
    suffix = _suffix(path)
    if suffix in _CSV:
        return rewrite(_open_csv(path, form, tell, note), form, numbers=True)
    if suffix in _JSON_LINES:
        return rewrite(_open_json_lines(path, form, names, tell, note), form, numbers=False)
    if suffix in _PARQUET:
        return rewrite(_open_columns(path, partial(pl.scan_parquet, glob=False)), form, numbers=False)
    if suffix in _ARROW:
        return rewrite(_open_columns(path, partial(pl.scan_ipc, glob=False)), form, numbers=False)
    raise _unknown(path)


def has_header(path: Path) -> bool:
    """Whether a file itself names its columns; of JSON lines, records do.

    >>> has_header(Path("loans.csv.gz")), has_header(Path("loans.jsonl.gz"))
    (True, False)
    """
    return not any(_suffix(file) in _JSON_LINES for file in ([path] if not path.is_dir() else files_of(path)))


def is_held(path: Path, form: FileFormat = PLAIN) -> bool:
    """Whether the text of a file is held in memory as a whole while it is read: `file_bytes` and `json_lines` say why.

    >>> is_held(Path("loans.csv")), is_held(Path("loans.csv.gz")), is_held(Path("loans.parquet"))
    (False, True, False)
    """
    suffix, encoded = _suffix(path), form.encoding not in (None, "utf-8")
    return suffix in _JSON_LINES or (suffix in _CSV and (encoded or path.suffix.lower() == PACKED))


def _suffix(path: Path) -> str:
    """What a file is by its name; gzip counts around texts only."""
    suffix = path.suffix.lower()
    if suffix != PACKED:
        return suffix
    inner = Path(path.stem).suffix.lower()
    return inner if inner in (*_CSV, *_JSON_LINES) else suffix


def _unknown(path: Path) -> BadTable:
    suffix = path.suffix.lower()
    unpack = f"unpack it: {_UNPACK[suffix]} {path.name}" if suffix in _UNPACK else None
    return BadTable(
        f"{path.name} is neither CSV nor Parquet by its name, nor Arrow, nor JSON lines",
        remedy=unpack or "give a .csv, .tsv, .jsonl (each also .gz), .parquet or .feather file",
        value=path.suffix,
    )


def _open_csv(path: Path, form: FileFormat, tell: Tell, note: Note) -> pl.LazyFrame:
    """Every column as text: what is a number is decided once, on the public rows, not by the first lines of a file."""
    found = open_csv(path, form, tell)
    if found.ragged:
        note(
            f"{found.ragged:,} lines of {path.name} have more or fewer cells than its header: what they lack is "
            "missing, what is too much is dropped"
        )
    if found.unknown:
        line, byte = found.unknown
        note(
            f"line {line:,} of {path.name} has the byte 0x{byte:02x}, which is not UTF-8: such letters are read as "
            "\N{REPLACEMENT CHARACTER}; if the file is not UTF-8, say --encoding latin-1 or cp1252"
        )
    return found.table


def _open_json_lines(path: Path, form: FileFormat, names: Sequence[str], tell: Tell, note: Note) -> pl.LazyFrame:
    found = open_json_lines(path, names, encoding=form.encoding, tell=tell)
    if found.broken:
        note(f"lines of {path.name} that are no JSON object: {found.broken:,}; each counts, with every cell missing")
    if found.unnamed:
        note(f"no line of {path.name} has {', '.join(map(repr, found.unnamed))}: these cells are missing everywhere")
    return found.table


def _open_columns(path: Path, scan: Callable[[Path], pl.LazyFrame]) -> pl.LazyFrame:
    try:
        table = scan(path)
        names = table.collect_schema().names()
        if _suffix(path) in _ARROW:
            table.head(1).collect()  # that a column is named twice shows only here
    except _PROBLEMS as problem:
        raise BadTable(
            f"{path.name} cannot be read: {_first_line(problem)}",
            remedy="check that the file is complete, of the format its name says, and names no column twice",
            value=str(path),
        ) from problem
    if not names:
        raise BadTable(f"{path.name} has no columns", remedy="give a table with a header", value=str(path))
    return table


def count_rows(table: pl.LazyFrame) -> int:
    """How many rows a table has."""
    return int(collect(table.select(pl.len())).item())


def collect(table: pl.LazyFrame) -> pl.DataFrame:
    """Read a (part of a) table into memory; a broken file becomes an error that says so."""
    try:
        return table.collect(engine="streaming")
    except _PROBLEMS as problem:
        raise _broken(problem) from problem


def read_batches(
    table: pl.LazyFrame | Sequence[pl.LazyFrame], names: Iterable[str], tell: Tell
) -> Iterator[tuple[slice, pl.DataFrame]]:
    """Some columns of a table, batch by batch, each with the places of its rows; `tell` is told of rows.

    The files of a folder are read one after another: as one lazy table, many would be at once.
    """
    parts, wanted = [table] if isinstance(table, pl.LazyFrame) else table, sorted(set(names))
    rows, done = sum(map(count_rows, parts)), 0
    for batch in chain.from_iterable(collect_batches(part.select(wanted), BATCH_ROWS) for part in parts):
        yield slice(done, done + batch.height), batch
        done += batch.height
        tell(done, rows)
    if done != rows:
        raise BadTable(
            f"the table had {rows:,} rows, and then {done:,}",
            remedy="do not change the file while it is read",
            value=done,
        )


def collect_batches(table: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """A table in order, not more than so many rows at a time; a broken file becomes an error that says so."""
    try:
        yield from table.collect_batches(chunk_size=rows, maintain_order=True)
    except _PROBLEMS as problem:
        raise _broken(problem) from problem


def require_columns(table: pl.LazyFrame, names: Iterable[str]) -> None:
    """Refuse a table without one of these columns, suggesting the nearest name."""
    present = table.collect_schema().names()
    for name in names:
        if name not in present:
            close = get_close_matches(name, present, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it has {', '.join(present[:12])} …"
            raise BadTable(f"the table has no column {name!r}", remedy=hint, value=name)


def _broken(problem: BaseException) -> BadTable:
    return BadTable(
        f"the table cannot be read to the end: {_first_line(problem)}", remedy="check that the file is complete"
    )


def _first_line(problem: BaseException) -> str:
    return str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
