"""The rows of a sweep as a table, and what may be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

_SHOWN = {"relative_fitness": "ψ", "predicted": "ψ predicted", "alone_median": "ψ alone", "rule_used": "rule used"}
_MOST_SHOWN = 60


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """A row for each training; what some rows do not have is null."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame([_series(name, [row.get(name) for row in rows]) for name in names])


def _series(name: str, values: list[Any]) -> pl.Series:
    """A column; where numbers and words are mixed, words."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known) and not all(isinstance(value, str) for value in known):
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values, strict=False) if known else pl.Series(name, values, dtype=pl.String)


def statement_of(rows: Sequence[Mapping[str, Any]], *, simulated: bool) -> str:
    """What the noise protects, and what was spent."""
    trained = [row for row in rows if not row.get("problem")]
    if simulated:
        return f"simulated, not private: {_count(trained)} with seeded noise, nothing was charged"
    epsilon = sum(row["epsilon_promised"] for row in trained)
    delta = sum(row["delta_promised"] for row in trained)
    unit, adjacency = trained[0]["unit"], trained[0]["adjacency"]
    return (
        f"real noise: {_count(trained)}, each charged to the records; together at most "
        f"ε = {epsilon:g}, δ = {delta:g} for one {unit} ({adjacency})"
    )


def _count(rows: Sequence[object]) -> str:
    return "1 training" if len(rows) == 1 else f"{len(rows)} trainings"


def table_of(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> Table:
    """What was varied and what came of it, for a terminal."""
    table = Table(title="ψ is measured on the records: not private", title_justify="left")
    several = any(row["run"] > 1 for row in rows)
    names = [*axes, *(["run"] if several else [])]
    for name in (*names, *_SHOWN.values()):
        table.add_column(name, justify="right")
    for row in rows[:_MOST_SHOWN]:
        figures = [_in_words(row.get(name)) for name in _SHOWN]
        table.add_row(*(Text(_in_words(row.get(name))) for name in names), *figures)
    if len(rows) > _MOST_SHOWN:
        table.caption = f"and {len(rows) - _MOST_SHOWN:,} more"
    return table


def _in_words(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def show(
    rows: Sequence[Mapping[str, Any]], axes: Sequence[str], statement: str, files: Sequence[Path], console: Console
) -> None:
    """The table, what may be said of it, and where it is kept."""
    console.print(table_of(rows, axes))
    console.print(statement, highlight=False, markup=False, soft_wrap=True)
    for path in files:
        console.print(str(path), highlight=False, markup=False, soft_wrap=True)
