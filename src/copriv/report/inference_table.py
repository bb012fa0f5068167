"""Coefficients with intervals, for people: a table for the terminal, one for notebooks, and a forest plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rich.console import Console
from rich.table import Table
from rich.text import Text

from copriv.protocol.text import plain
from copriv.report.inference import CAUTION, Coefficient, Inference, OwnerEstimates
from copriv.report.svg import Axes, Interval, interval_picture

_STYLE = (
    "<style>.grid{stroke:#ddd}.axis,.whisker{stroke:#333;fill:none}.mark{fill:#0072B2}"
    "text{font:12px sans-serif;fill:#333}.mid{text-anchor:middle}.end{text-anchor:end}</style>"
)


def show_inference(told: Inference, console: Console) -> None:
    """The table of all owners together, of what it is, and what to beware of."""
    if told.coefficients:
        console.print(_table(finding_headings(told), [finding_cells(told, each) for each in told.coefficients]))
    for words in filter(None, [_no_interval(told), told.population, _promise(told), CAUTION]):
        console.print(words, highlight=False, markup=False)


def show_meta(told: Inference, console: Console) -> None:
    """The same as a meta-analysis."""
    rows = [
        [plain(each.name), *map(_pooled, (each.fixed, each.random)), f"{each.tau_squared:.3g}", f"{each.i_squared:.0%}"]
        for each in told.meta
    ]
    console.print(_table(["coefficient", "fixed effect", "random effects", "τ²", "I²"], rows))
    if told.none:
        console.print(_no_interval(told), highlight=False, markup=False)


def inference_html(told: Inference) -> str:
    """For a notebook."""
    heads = "".join(f"<th>{escape(name)}</th>" for name in finding_headings(told))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in finding_cells(told, each)) + "</tr>"
        for each in told.coefficients
    )
    words = " ".join(filter(None, [_no_interval(told), told.population, CAUTION]))
    return f"<table><tr>{heads}</tr>{rows}</table><p>{escape(words)}</p>"


def forest(told: Inference, name: str) -> str:
    """A forest plot as a file of its own."""
    return forest_picture(told, name).replace(">", f' xmlns="http://www.w3.org/2000/svg">{_STYLE}', 1)


def forest_picture(told: Inference, name: str, most: int | None = None) -> str:
    """One row an owner, then the pooled ones; where intervals would not hold there are none.

    Args:
        told: the inference.
        name: of the coefficient.
        most: so many owners at most, those with most records; None for all.
    """
    place = told.place(name)
    reach, known = 1.96, not told.none
    owners = _largest(told.owners, most)
    rows = [
        Interval(
            each.owner,
            each.estimates[place],
            _ends(each.estimates[place], reach * each.standard_errors[place]) if known else None,
        )
        for each in owners
    ]
    if told.meta:
        pooled = {"fixed effect": told.meta[place].fixed, "random effects": told.meta[place].random}
        rows += [Interval(label, each[0], each[1:] if known else None) for label, each in pooled.items()]
    unit = "log-odds" if told.log_odds else "logarithm of the rate" if told.log_rates else "in the target's unit"
    said = f"{plain(name)}: estimates of {len(owners)} owners with {told.level:.0%} intervals"
    return interval_picture(rows, Axes(plain(name), said, unit, ""), zero=0.0)


def _largest(owners: Sequence[OwnerEstimates], most: int | None) -> list[OwnerEstimates]:
    """Those with most records, in the order they had."""
    ranked = sorted(range(len(owners)), key=lambda place: -owners[place].records)
    return [owners[place] for place in sorted(ranked[:most])]


def finding_headings(told: Inference) -> list[str]:
    """Of a table of coefficients."""
    parts = ["sampling", "privacy", "owners", "public rows"]
    ratio = [told.ratio] if told.ratio else []
    return ["coefficient", "estimate", "standard error", *parts, f"{told.level * 100:.0f} % interval", *ratio, "p"]


def finding_cells(told: Inference, each: Coefficient) -> list[str]:
    """One coefficient, as the table has it."""
    parts = (each.standard_error, each.sampling, each.privacy, each.between, each.public)
    held = each.low is not None and each.high is not None
    ends = f"{each.low:.4g} to {each.high:.4g}" if held else "no interval"
    ratio = [_ratio(each)] if told.ratio else []
    chance = "–" if each.p_value is None else ("< 0.0001" if each.p_value < 1e-4 else f"{each.p_value:.4f}")
    return [plain(each.name), f"{each.estimate:.4g}", *(f"{part:.2g}" for part in parts), ends, *ratio, chance]


def _ratio(each: Coefficient) -> str:
    shown = [each.estimate, *(end for end in (each.low, each.high) if end is not None)]
    first, *ends = (f"{math.exp(min(value, 700.0)):.3g}" for value in shown)
    return f"{first} ({' to '.join(ends)})" if ends else first


def _pooled(pooled: tuple[float, float, float]) -> str:
    return f"{pooled[0]:.4g} ({pooled[1]:.4g} to {pooled[2]:.4g})"


def _no_interval(told: Inference) -> str:
    return f"no interval: {told.none}" if told.none else ""


def _promise(told: Inference) -> str:
    if told.noise != "secure":
        return "simulated: the noise protects nobody, and nothing of this may be passed on"
    return "nothing further was spent; owners' promises hold as they are (unit, adjacency and ε: privacy.html)"


def _table(headings: list[str], rows: list[list[str]]) -> Table:
    table = Table(title_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _ends(value: float, reach: float) -> tuple[float, float]:
    return value - reach, value + reach
