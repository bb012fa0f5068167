"""Rows of a registry: sketches, splits and forms of files as they are kept, and read again; and what it refuses."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable, LedgerRefusal
from copriv.owner.hidden_names import hide_names
from copriv.owner.sketch import Kind, Sketch
from copriv.owner.split import Split, bits
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.table import open_tables


def packed_sketch(sketch: Sketch) -> tuple[object, ...]:
    """A sketch as it is kept."""
    columns = msgspec.json.encode(sketch.columns).decode()
    hashes, places = sketch.hashes.astype("<u8").tobytes(), sketch.places.astype("<i8").tobytes()
    return sketch.kind, columns, sketch.distinct, hashes, places


def read_sketch(row: tuple[object, ...], key: bytes) -> Sketch:
    """A sketch that is kept; registries of before have the names of columns in clear."""
    kind, columns, distinct, hashes, places = msgspec.convert(row, tuple[Kind, str, int, bytes, bytes])
    return Sketch(
        kind,
        hide_names(msgspec.json.decode(columns, type=tuple[str, ...]), key),
        distinct,
        np.frombuffer(hashes, dtype="<u8").astype(np.uint64),
        np.frombuffer(places, dtype="<i8").astype(np.int64),
    )


def read_split(row: tuple[object, ...], rows: int) -> Split:
    """A split that is kept."""
    public, private, options, seed = msgspec.convert(row, tuple[bytes, bytes, str, int | None])
    return Split(bits(public, rows), bits(private, rows), options, seed)


def keep_form(connection: sqlite3.Connection, fingerprint: bytes, form: FileFormat) -> None:
    """Keep how a known file is written, if somebody has said it; what was said last counts."""
    if form != PLAIN:
        kept = msgspec.json.encode(form).decode()
        connection.execute("INSERT OR REPLACE INTO form VALUES (?, ?)", (fingerprint, kept))


def keep_nameless(connection: sqlite3.Connection, fingerprint: bytes, sketch: Sketch) -> None:
    """Keep what a known file's rows say without their ids; once is enough."""
    values = (fingerprint, *packed_sketch(sketch))
    connection.execute("INSERT OR IGNORE INTO nameless VALUES (?, ?, ?, ?, ?, ?)", values)


def tables_in(path: Path, form: FileFormat) -> Sequence[pl.LazyFrame] | None:
    """The tables of a file; None if it is none."""
    try:
        return open_tables(path, form)
    except BadTable:
        return None


def form_kept(rows: Sequence[tuple[object, ...]]) -> FileFormat:
    """A form that is kept; none says that the file tells itself."""
    return msgspec.json.decode(str(rows[0][0]), type=FileFormat) if rows else PLAIN


def private_as_public(path: Path, dataset: str, ledger: Path) -> BadInput:
    """Why private rows cannot become public."""
    return BadInput(
        f"{path} is private: it is the file of the dataset {dataset!r}, whose ledger is {ledger}",
        remedy="give another file of public rows; rows once private stay private",
        value=str(path),
    )


def public_as_private(path: Path) -> BadInput:
    """Why public rows cannot become private."""
    return BadInput(
        f"{path} was declared public before, and cannot be protected any more",
        remedy="rows once public stay public: give private records that were never declared public",
        value=str(path),
    )


def known_already(path: Path, ledger: Path) -> LedgerRefusal:
    """Why a file gets no other ledger than the one that it has."""
    return LedgerRefusal(
        f"{path} is known, and its ledger is {ledger}",
        remedy="use this ledger: one set of records has one budget",
        value=str(ledger),
    )
