"""What of a table a dictionary could not read: values that are missing, unreadable, or of a category it does not list.

Each of them is filled by the public median or counts as "other", and a prediction looks as sure as any other. So
whoever predicts is told, and so is an owner, at home.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from copriv.records.column import Column, raw, text
from copriv.records.dictionary import Dictionary


@dataclass(frozen=True, slots=True)
class Unread:
    """What was filled in one column.

    Args:
        column: its name.
        missing: cells that are empty or say that they are missing.
        unreadable: cells that are no number or date, or not a finite one.
        unseen: cells of a category that the public rows never had, or hardly ever.
        other: whether these count as "other", and not as the public median.
    """

    column: str
    missing: int
    unreadable: int
    unseen: int
    other: bool = False

    @property
    def cells(self) -> int:
        """All of them."""
        return self.missing + self.unreadable + self.unseen


def count_unread(dictionary: Dictionary, table: pl.DataFrame) -> tuple[Unread, ...]:
    """What features of this table are filled in; only columns of which something is.

    >>> from copriv.records.target import Target
    >>> ward = Column("ward", "category", 0.0, 0.0, 1.0, ("east", "west"))
    >>> dictionary = Dictionary((ward,), ((1.0,),), 1.0, 0.5, Target("stay", "number", 0.0, 1.0))
    >>> count_unread(dictionary, pl.DataFrame({"ward": ["east", "north", "n/a"]}))
    (Unread(column='ward', missing=1, unreadable=0, unseen=1, other=False),)
    """
    if not table.height:
        return ()
    counted = table.select(
        expression for column in dictionary.columns for expression in _counts(column, table.schema[column.name])
    ).row(0)
    pairs = zip(dictionary.columns, counted[::2], counted[1::2], strict=True)
    found = (_unread(column, missing, filled) for column, missing, filled in pairs)
    return tuple(each for each in found if each.cells)


def describe_unread(unread: Iterable[Unread]) -> list[str]:
    """One sentence a column.

    >>> describe_unread([Unread("ward", 1, 0, 1_200)])
    ['ward: 1,200 cells of a category that the public rows never had, 1 missing; each is read as the public median']
    """
    return [f"{each.column}: {_words(each)}; {_reading(each)}" for each in unread]


def describe_unseen(unseen: Mapping[str, int]) -> list[str]:
    """One sentence a column, for the people at home.

    >>> describe_unseen({"ward": 1_200})
    ["ward: 1,200 cells of a category that the public rows never or hardly had count as 'other'"]
    """
    return [
        f"{column}: {count:,} cells of a category that the public rows never or hardly had count as 'other'"
        for column, count in unseen.items()
    ]


def _reading(each: Unread) -> str:
    """What is made of them."""
    return (
        "a category without a cell of its own counts as 'other'" if each.other else "each is read as the public median"
    )


def _counts(column: Column, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """How many cells are missing, and how many are filled."""
    missing = text(column.name, dtype).is_null()
    known = raw(column.name, dtype, column.kind, column.categories).is_finite().fill_null(value=False)
    return missing.sum().alias(f"missing {column.name}"), (~known).sum().alias(f"filled {column.name}")


def _unread(column: Column, missing: int, filled: int) -> Unread:
    others = max(filled - missing, 0)
    unseen = others if column.kind == "category" else 0
    return Unread(column.name, missing, others - unseen, unseen, bool(column.encoded.buckets))


def _words(each: Unread) -> str:
    counts = (
        (each.unseen, "cells of a category that the public rows never had"),
        (each.unreadable, "cells that cannot be read"),
        (each.missing, "missing"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)
