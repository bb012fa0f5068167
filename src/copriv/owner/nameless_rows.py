"""Rows of people without their ids: whoever is renumbered is known by what else its rows say.

Beside the hashes of whole rows a registry keeps, of the files of blocks of people, those of the rows without the
column of people. They are compared with each other alone. Rows that say little meet by chance; how often they do is
seen from how often they repeat within one file, and only what is beyond that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from copriv.owner.hidden_names import hide_name, hide_names, hide_sketches, show_wanted
from copriv.owner.kinship import Kin, KnownFile, find_kin
from copriv.owner.registry import Dataset, Found, Registry
from copriv.owner.registry_rows import tables_in
from copriv.owner.sketch import Recognised, Sketch, recognise
from copriv.records.file_format import PLAIN

NAMELESS = "rows, but for the ids of people,"
# Beyond chance; a new block of other people shares about nothing.
_SMALLEST_SHARE = 0.1


def note_nameless(registry: Registry, dataset: Dataset, person: str) -> None:
    """Keep hashes of the rows without ids of every file of a dataset that is where it was, unless they are kept."""
    hidden = hide_name(person, _key(registry))
    noted = {file.fingerprint for file in registry.nameless_files() if hidden not in file.sketches[0].columns}
    for file in registry.known_files():
        if file.dataset == dataset.id and file.fingerprint not in noted and _is_there(registry, file):
            tables = tables_in(file.path, registry.form_of(file.fingerprint)) or ()
            if tables:
                registry.keep_nameless(file.fingerprint, _sketch(tables, person, _key(registry)))


def kin_by_rows(registry: Registry, found: Found) -> tuple[Kin, ...]:
    """The known files of blocks of people that have rows of this one, whatever ids are beside them."""
    known, key = registry.nameless_files(), _key(registry)
    tables = _tables(registry, found) if known else ()
    if not tables:
        return ()
    hidden = [(sketch.kind, sketch.columns) for file in known for sketch in file.sketches]
    wanted = show_wanted(hidden, tables[0].collect_schema().names(), key)
    if not wanted:
        return ()
    seen = hide_sketches(recognise(tables, key, wanted), key)
    near = [
        kin
        for kin in find_kin(seen, known)
        if max(kin.of_known, kin.of_file) - _chance(kin.file, seen) >= _SMALLEST_SHARE
    ]
    return tuple(replace(kin, by=NAMELESS) for kin in near)


def _chance(known: KnownFile, seen: Recognised) -> float:
    """The share of rows that meets by chance: no more than that of the rows which are not alone in their own file."""
    sketch = known.sketches[0]
    mine = seen.sketch(sketch.kind, sketch.columns)
    repeated = [1 - sketch.distinct / max(known.rows, 1)]
    repeated += [] if mine is None else [1 - mine.distinct / max(seen.rows, 1)]
    return 2 * max(repeated)


def _sketch(tables: Sequence[pl.LazyFrame], person: str, key: bytes) -> Sketch:
    """What is kept of the rows of a table without their ids; no hash if they mostly repeat."""
    seen = recognise([table.drop(person, strict=False) for table in tables], key)
    rows = next((sketch for sketch in seen.kept() if sketch.kind == "rows"), None)
    blank = Sketch("rows", seen.columns, 0, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
    return replace(rows or blank, columns=hide_names((rows or blank).columns, key))


def _tables(registry: Registry, found: Found) -> Sequence[pl.LazyFrame]:
    if found.table is not None:
        return (found.table,)
    form = registry.form_of(found.fingerprint) if found.form == PLAIN else found.form
    return tables_in(found.path, form) or ()


def _is_there(registry: Registry, file: KnownFile) -> bool:
    return file.path.exists() and registry.fingerprint(file.path) == file.fingerprint


def _key(registry: Registry) -> bytes:
    """A key of their own: these hashes are comparable with no others."""
    return registry.keyed(b"rows without ids").encode()
