"""What held-back records say of a model, as rows: for tables, pages and the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from copriv.forecast.calibration_slope import Ends
from copriv.forecast.validation import Figure
from copriv.learner.validation import FIGURES, Validation
from copriv.protocol.text import plain

EVERYBODY = "all owners"
MEANING = (
    "Owners held records back from training, by a key of their own, and were paid to tell behind noise how well the "
    "model predicts them. 95 % intervals: for the population, with privacy noise and sampling in it; and for the "
    "held-back records themselves, with privacy noise and the width of bins."
)


def validation_rows(found: Validation) -> list[dict[str, Any]]:
    """One row an owner and figure, all owners first."""
    everybody = [(EVERYBODY, found.figures), *((each.owner, each.figures) for each in found.owners)]
    return [
        {
            "owner": owner,
            "figure": name,
            "value": figure.value,
            "low": figure.interval[0],
            "high": figure.interval[1],
            "records_low": figure.of_records[0],
            "records_high": figure.of_records[1],
        }
        for owner, figures in everybody
        for name, figure in figures.items()
    ]


def validation_cells(found: Validation) -> list[tuple[str, ...]]:
    """The figures over all owners, for people: name, value, interval for the population, and for the records."""
    return [(FIGURES[name], *figure_cells(figure)) for name, figure in found.figures.items()]


def owner_cells(found: Validation) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Each owner's figures for people, one row an owner: headings, and rows of value and interval."""
    headings = ("owner", *(FIGURES[name] for name in found.figures))
    return headings, [
        (plain(each.owner), *(" ".join(figure_cells(figure)[:2]) for figure in each.figures.values()))
        for each in found.owners
    ]


def price_words(found: Validation) -> str:
    """What it was paid with."""
    paid = sorted({(each.paid, each.measure) for each in found.owners})
    least, most = paid[0], paid[-1]
    sign = "ε" if most[1] == "epsilon" else "ρ"
    price = f"{sign} = {most[0]:g}" if least == most else f"{sign} = {least[0]:g} to {most[0]:g}"
    return f"It is part of what they have spent: {price} each, for any one record (replace one)."


def figure_cells(figure: Figure) -> tuple[str, str, str]:
    """A figure, and its two intervals."""
    value = "–" if figure.value is None else f"{figure.value:.4g}"
    return value, ends_words(figure.interval), ends_words(figure.of_records)


def ends_words(ends: Ends) -> str:
    """An interval; an end that there is not is left open.

    >>> ends_words((0.5, 0.75)), ends_words((None, 1.0))
    ('(0.5 to 0.75)', '(any to 1)')
    """
    low, high = ("any" if end is None else f"{end:.4g}" for end in ends)
    return f"({low} to {high})"


def show_validation(found: Validation | None, console: Console) -> None:
    """Print the figures over all owners; nothing without a validation."""
    if found is None:
        return
    table = Table(title="validated on held-back records of all owners: private", title_justify="left")
    for heading in ("figure", "value", "population, 95 %", "held-back records, 95 %"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for row in validation_cells(found):
        table.add_row(*row)
    console.print(table)
    console.print(price_words(found), style="dim", highlight=False)
