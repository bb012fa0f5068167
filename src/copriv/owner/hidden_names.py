"""Names of columns as a registry keeps them: keyed hashes.

A file without a header, as JSON lines are, may have a column that one private record names. So no name is written down:
whoever gets the registry without its key learns none, and two files of the same columns are still seen to be that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from copriv.owner.kinship import Kin
from copriv.owner.sketch import Kind, Recognised
from copriv.records.table import collect

_HIDDEN = re.compile("#[0-9a-f]{32}")


def common_names(table: pl.LazyFrame) -> tuple[str, ...]:
    """The columns that most rows fill, sorted: in a file without a header, no single record adds one.

    >>> common_names(pl.LazyFrame({"wage": [1, 2, 3], "age": [4, None, 5], "note": [None, None, "yes"]}))
    ('age', 'wage')
    """
    filled = collect(table.select(pl.all().is_not_null().mean())).row(0, named=True)
    return tuple(sorted(name for name, share in filled.items() if share is not None and 2 * share > 1))


def hide_name(name: str, key: bytes) -> str:
    """The keyed hash of a column's name; of one that is hidden already, itself.

    >>> hidden = hide_name("wage", b"a key")
    >>> len(hidden), hide_name(hidden, b"a key") == hidden, hide_name("wage", b"another") == hidden
    (33, True, False)
    """
    if _HIDDEN.fullmatch(name):
        return name
    found = hashlib.blake2b(name.encode(), digest_size=16, key=key, person=b"copriv column")
    return f"#{found.hexdigest()}"


def hide_names(names: Iterable[str], key: bytes) -> tuple[str, ...]:
    """The keyed hashes of names, in their order."""
    return tuple(hide_name(name, key) for name in names)


def hide_sketches(recognised: Recognised, key: bytes) -> Recognised:
    """What was recognised, with sketches that can be compared with those of a registry."""
    sketches = (replace(sketch, columns=hide_names(sketch.columns, key)) for sketch in recognised.sketches)
    return replace(recognised, sketches=tuple(sketches))


def show_wanted(
    wanted: Iterable[tuple[Kind, tuple[str, ...]]], names: Iterable[str], key: bytes
) -> list[tuple[Kind, tuple[str, ...]]]:
    """Of hidden sets of columns those that a table has, by its own names for them."""
    shown = {hide_name(name, key): name for name in names}
    return [(kind, tuple(shown[name] for name in columns)) for kind, columns in wanted if shown.keys() >= set(columns)]


def show_kin(kin: Kin, names: Iterable[str], key: bytes) -> Kin:
    """What is shared in the words of the file at hand, which has these columns."""
    by = kin.by
    for name in names:
        by = by.replace(repr(hide_name(name, key)), repr(name))
    return replace(kin, by=by)
