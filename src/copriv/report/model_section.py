"""What a model says, column by column: a picture of the strongest coefficients, and a table."""

from __future__ import annotations

from typing import Any

from copriv.protocol.text import plain
from copriv.report.coefficients import LEVEL, coefficients_by_column
from copriv.report.model_file import ModelFile
from copriv.report.pages import Tabled
from copriv.report.sentence import many
from copriv.report.svg import Axes, Interval, interval_picture

# Longer models are told by their strongest columns; the file has all of them.
MOST_COEFFICIENTS = 60
_MOST_DRAWN = 15


def model_section(model: ModelFile) -> dict[str, Any]:
    """What the template shows of a model."""
    table = coefficients_by_column(model)
    intercept, found = table.row(-1, named=True), table.head(table.height - 1).to_dicts()
    strongest = sorted(found, key=lambda row: -abs(row["per_deviation"]))
    shown = [*strongest[:MOST_COEFFICIENTS], intercept]
    known = not model.errors.none
    headings = ["column", "kind", "coefficient", "by a standard deviation"]
    rows = [_row(row, known=known) for row in shown]
    if known:
        headings += [f"{LEVEL:.0%} interval".replace("%", " %"), "share of noise"]
    left = len(found) - MOST_COEFFICIENTS
    return {
        "model_words": _words(model),
        "model_picture": _picture(strongest[:_MOST_DRAWN], known=known),
        "model_picture_words": (
            "What one more standard deviation of a column adds to the prediction, strongest first"
            f"{', with 95 % intervals' if known else ''}."
        ),
        "coefficients": Tabled("Coefficients on the original columns, strongest first", headings, rows, frozenset({1})),
        "coefficients_left": (
            f"{many(left, 'weaker coefficient')} left out here: copriv export RUN FILE.csv --to coefficients has all."
            if left > 0
            else ""
        ),
        "no_interval": model.errors.none,
    }


def _words(model: ModelFile) -> str:
    rate = "the logarithm of the expectation, which is so multiplied by its exponential (a rate ratio)"
    units = {"label": "the log-odds", "count": rate, "amount": rate}
    unit = units.get(model.dictionary.target.kind, "the prediction, in the target's unit")
    return (
        f"A coefficient says what one more unit of a column adds to {unit}; a category counts 1 where a row has it. "
        "An interval holds the coefficient of the best model of the population in these features in 95 % of trainings, "
        "if public rows and records are of one population. The share of noise is the part of its variance that owners' "
        "noise adds."
    )


def _row(row: dict[str, Any], *, known: bool) -> tuple[str, ...]:
    cells = (plain(row["column"]), row["kind"] or "–", f"{row['coefficient']:.4g}", f"{row['per_deviation']:.4g}")
    if not known:
        return cells
    ends = "–" if row["low"] is None else f"{row['low']:.4g} to {row['high']:.4g}"
    share = "–" if row["noise_share"] is None else f"{row['noise_share']:.0%}".replace("%", " %")
    return (*cells, ends, share)


def _picture(rows: list[dict[str, Any]], *, known: bool) -> str:
    drawn = [Interval(row["column"], row["per_deviation"], _ends(row) if known else None) for row in rows]
    said = "; ".join(f"{plain(row['column'], 40)}: {row['per_deviation']:.3g}" for row in rows[:5])
    axes = Axes("The strongest columns", said, "added by one standard deviation", "")
    return interval_picture(drawn, axes, zero=0.0)


def _ends(row: dict[str, Any]) -> tuple[float, float] | None:
    """The interval of a coefficient in standard deviations of its column."""
    if row["low"] is None or not row["coefficient"]:
        return None
    unit = row["per_deviation"] / row["coefficient"]
    low, high = sorted((row["low"] * unit, row["high"] * unit))
    return low, high
