"""Retrainings month by month as they are told: which blocks, at which price, and how good they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from copriv.planning.months import Lifetime, Month
from copriv.privacy.guarantee import ADJACENCY, UNIT
from copriv.report.model_file import ModelFile

_HEADINGS = ("month", "blocks", "records", "ε of each block", "ε of the oldest", "ψ", "ψ on new", "weight", "combined")


class CarriedTold(msgspec.Struct):
    """One model of several months', as it is shown.

    Args:
        model: its file.
        months: how many models it has in it.
        weights: of these, the oldest first.
        predicted: ψ to be expected on new records.
        epsilon: what any one record, or person, may lose in all; the largest of all owners.
        delta: likewise.
        unit: what that is promised about.
        adjacency: of whom it is hidden.
        private: whether all noise in it protects somebody.
    """

    model: str
    months: int
    weights: tuple[float, ...]
    predicted: float
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    private: bool

    @classmethod
    def of(cls, place: str, model: ModelFile, weights: Sequence[float], predicted: float) -> CarriedTold:
        """From the model and its weights."""
        epsilon, delta = (max(each) for each in zip(*((one.epsilon, one.delta) for one in model.promised), strict=True))
        promise = (epsilon, delta, model.promised[0].unit, model.promised[0].adjacency)
        return cls(place, len(weights), tuple(weights), predicted, *promise, model.noise == "secure")

    def lines(self) -> list[str]:
        """The same for people."""
        shares = ", ".join(f"{weight:.0%}".replace("%", " %") for weight in self.weights)
        kept = "if every month has read blocks as planned; nothing further was spent"
        promise = f"ε = {self.epsilon:g}, δ = {self.delta:g} for any one {self.unit} ({self.adjacency}) in all, {kept}"
        return [
            f"{self.model}: the mean of {self.months} months' models, the oldest first: {shares}",
            f"it should have ψ = {self.predicted:.3g} on new records",
            promise if self.private else "simulated: the noise protects nobody, and the model must not be passed on",
        ]


def show_lifetime(life: Lifetime | None, console: Console, unit: str = UNIT) -> None:
    """Print the windows that were compared, and every month; nothing if months were not asked for."""
    if life is None:
        return
    window = life.window
    promise = f"ε = {max(life.scenario.epsilons):g}, δ = {life.scenario.delta:g} in all ({ADJACENCY})"
    read = f"a block is read in {window.months} of {len(life.months)} retrainings, for ε = {window.epsilon:.4g} each"
    mixed = f"all months' models, combined by weight, should have ψ = {window.combined:.3g} on new records"
    against = f"{window.ratio:.2g} times that of a one-off study over the blocks that it reads"
    for line in (
        f"{read}; no {unit} loses more than {promise}",
        f"the last should have ψ = {window.predicted:.3g}, {against}",
        f"{mixed}; that costs no ε: copriv carry, or Plan.carry",
    ):
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if len(life.windows) > 1:
        console.print(_windows(life))
    table = Table(*_HEADINGS, title="month by month", title_justify="left")
    for month in life.months:
        table.add_row(*_cells(month))
    console.print(table)


def lifetime_as_dict(life: Lifetime, unit: str = UNIT) -> dict[str, Any]:
    """The same as plain values."""
    windows = [asdict(each) | {"ratio": each.ratio} for each in life.windows]
    return {
        "window": asdict(life.window) | {"ratio": life.window.ratio},
        "keep": life.keep,
        "windows": windows,
        "months": [asdict(month) for month in life.months],
        "lifetime": life.scenario.to_dict() | {"unit": unit},
    }


def _windows(life: Lifetime) -> Table:
    headings = ("a block is read for", "ε each time", "ψ of the last", "one-off", "ratio", "combined, on new")
    table = Table(*headings, title="windows", title_justify="left")
    for each in life.windows:
        chosen = " (taken)" if each == life.window else ""
        numbers = (each.epsilon, each.predicted, each.one_off, each.ratio, each.combined)
        table.add_row(f"{each.months} months{chosen}", *(f"{number:.3g}" for number in numbers))
    return table


def _cells(month: Month) -> tuple[str, ...]:
    blocks = str(month.month) if month.first == month.month else f"{month.first}–{month.month}"
    return (
        str(month.month),
        blocks,
        f"{month.records:,}",
        f"{month.epsilon:.4g}",
        f"{month.spent:.4g}",
        f"{month.predicted:.3g}",
        f"{month.fresh:.3g}",
        f"{month.weight:.2f}",
        f"{month.combined:.3g}",
    )
