"""From noisy answers about held-back records to figures with intervals.

The noise in a sum of answers has a known law. Taking draws of it from what was told gives draws of what the exact sums
may have been; every figure is worked out for each, and the interval lies between the quantiles. Of a ratio of two sums
with a positive denominator that is Fieller's interval, which holds its level at any amount of noise. No count is
forced to be what a count must be: that would move figures at little ε.

There are two truths. `of_records` is for the figure of the held-back records themselves: privacy noise, and where
records lie within bins. `interval` is for the population that they come from: sampling is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.forecast.calibration_slope import Ends, slope_between
from copriv.forecast.label_figures import CellRows, Places, label_figures
from copriv.forecast.noise_sums import draw_noise
from copriv.losses.sample import Sample
from copriv.losses.validation import LIGHT, Grid, LabelGrid, NumberGrid
from copriv.privacy.mechanism import Mechanism
from copriv.vectors import FloatArray

LEVEL = 0.95
_DRAWS = 4000
_HALVINGS = 40
# Of every figure that is a ratio; where an interval would go further, it has no end. R² is told as 1 − R².
_HIGHEST: Mapping[str, float] = {"auc": 1.0, "log_loss": 50.0, "observed_expected": 100.0, "r2": 1e3, "rmse": 16.0}
Ratio: TypeAlias = tuple[FloatArray, FloatArray]
Chance: TypeAlias = Callable[[], np.random.Generator]


class Figure(msgspec.Struct, frozen=True):
    """A figure as far as owners have told it; an end is None where there is none, the value where it is not defined.

    Args:
        value: the best guess.
        interval: where the figure of the population lies, 95 %.
        of_records: where that of the held-back records themselves lies, 95 %.
    """

    value: float | None
    interval: Ends
    of_records: Ends

    @property
    def half_width(self) -> float:
        """Half of the interval's width; infinite where it has no end."""
        low, high = self.interval
        return np.inf if low is None or high is None else (high - low) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What owners have told, added up: the numbers, each owner's noise, and about how many records were held back."""

    values: FloatArray
    mechanisms: tuple[Mechanism, ...]
    records: int


@dataclass(frozen=True, slots=True, eq=False)
class Ruler:
    """A grid, and how public rows lie on it at one model: what is needed to read answers."""

    grid: Grid
    cells: CellRows | None
    covariance: FloatArray | None
    unit: float = 1.0

    @classmethod
    def of(cls, grid: Grid, public: Sample, theta: FloatArray, unit: float = 1.0) -> Ruler:
        """From public rows at a model; a distance of 1 between targets stands for `unit`."""
        if isinstance(grid, LabelGrid):
            return cls(grid, CellRows.of(grid, public, theta), None)
        rows = grid.rows(public.usable(), theta)
        if rows.shape[1] < 2:
            raise BadInput("fewer than two public rows", remedy="give more", value=rows.shape[1])
        return cls(grid, None, np.cov(rows), unit)


def read_figures(ruler: Ruler, told: Told, chance: Chance, *, draws: int = _DRAWS) -> dict[str, Figure]:
    """Every figure with its intervals.

    Args:
        ruler: how to read the answers.
        told: the answers, added up.
        chance: a stream that starts anew each time, so that the same answers give the same intervals.
        draws: of noise.
    """
    generator = chance()
    noise = draw_noise(told.mechanisms, told.values.size, draws, generator)
    if isinstance(ruler.grid, LabelGrid):
        return _of_labels(ruler, told, noise, generator)
    return _of_numbers(ruler, ruler.grid, told, noise, generator)


def _of_labels(ruler: Ruler, told: Told, noise: FloatArray, generator: np.random.Generator) -> dict[str, Figure]:
    known = ruler.cells
    if known is None:
        raise BadInput("bins without public rows", remedy="make the ruler of public rows", value=0)
    shape, draws = (-1, *known.rows.shape), len(noise)
    exact = told.values - noise
    counts = told.values[:-1].reshape(known.rows.shape)
    sampled = exact + _multinomial(np.maximum(told.values, 0.0), told.records, draws, generator)
    best = label_figures(known, counts[None], Places.nowhere(known.rows.shape[1]))
    near, far = Places.draw(known, counts, draws, generator), Places.draw(known, None, draws, generator)
    here_counts, there_counts = (each[:, :-1].reshape(shape) for each in (exact, sampled))
    here, there = label_figures(known, here_counts, near), label_figures(known, there_counts, far)
    slope = partial(slope_between, known, _likely(known, told, counts), counts, tail=(1 - LEVEL) / 2)
    inner, outer = (slope(draws_of, drawn) for draws_of, drawn in ((here_counts, near), (there_counts, far)))
    slopes = {"calibration_slope": Figure(inner[0], outer[1], inner[1])}
    return _told(best, there, here) | slopes


def _likely(known: CellRows, told: Told, counts: FloatArray) -> FloatArray:
    """The counts as they may be: as told, drawn to those of the public rows where noise is large."""
    usual = told.records * known.rows / known.rows.sum()
    noise = sum(mechanism.noise_std**2 for mechanism in told.mechanisms)
    trust = (usual / 2) ** 2 / ((usual / 2) ** 2 + noise)
    return np.asarray(np.maximum(usual + trust * (counts - usual), 0.0), dtype=np.float64)


def _of_numbers(
    ruler: Ruler, grid: NumberGrid, told: Told, noise: FloatArray, generator: np.random.Generator
) -> dict[str, Figure]:
    exact = told.values - noise
    sampling = np.zeros(exact.shape)
    if ruler.covariance is not None:
        sampling = generator.multivariate_normal(np.zeros(4), ruler.covariance, len(noise), method="eigh")
    best, here = _number_figures(grid, told.values[None]), _number_figures(grid, exact)
    found = _told(best, _number_figures(grid, exact + np.sqrt(told.records) * sampling), here)
    return {"r2": _changed(found["r2"], _explained), "rmse": _changed(found["rmse"], partial(_root, ruler.unit))}


def _changed(figure: Figure, change: Callable[[float], float]) -> Figure:
    """The same in other words; where they fall, the ends change places."""
    value = None if figure.value is None else change(figure.value)
    pairs = [[None if end is None else change(end) for end in ends] for ends in (figure.interval, figure.of_records)]
    falls = change(0.0) > change(1.0)
    interval, of_records = [(high, low) if falls else (low, high) for low, high in pairs]
    return Figure(value, interval, of_records)


def _explained(left: float) -> float:
    return 1 - left


def _root(unit: float, square: float) -> float:
    return unit * float(np.sqrt(square))


def _number_figures(grid: NumberGrid, sums: FloatArray) -> dict[str, Ratio]:
    """1 − R², and the average square."""
    residuals, squares = sums[:, 0] * grid.residual**2, sums[:, 1] * grid.width**2
    distances, records = sums[:, 2] / LIGHT * grid.width, sums[:, 3] / LIGHT
    around = squares - distances**2 / np.where(records > 0, records, 1.0)
    return {"r2": (residuals, around), "rmse": (residuals, records)}


def _told(best: Mapping[str, Ratio], there: Mapping[str, Ratio], here: Mapping[str, Ratio]) -> dict[str, Figure]:
    return {
        name: Figure(
            value=_value(best[name], _HIGHEST[name]),
            interval=_between(there[name], _HIGHEST[name]),
            of_records=_between(here[name], _HIGHEST[name]),
        )
        for name in best
    }


def _value(ratio: Ratio, highest: float) -> float | None:
    part, whole = float(ratio[0][0]), float(ratio[1][0])
    return min(max(part / whole, 0.0), highest) if whole > 0 else None


def _between(ratio: Ratio, highest: float) -> Ends:
    """The ratios x from 0 on at which neither part > x·whole nor part < x·whole is too rare among the draws.

    None above where there is no such end: the whole itself may be nothing.
    """
    tail = (1 - LEVEL) / 2
    low, high = _first_below(ratio, 1 - tail, highest), _first_below(ratio, tail, highest)
    return low if low is not None else highest, high


def _first_below(ratio: Ratio, level: float, highest: float) -> float | None:
    """The least x at which the share of draws with part > x·whole is at most this; None if it is above the highest."""
    part, whole = ratio

    def share(x: float) -> float:
        return float(np.mean(part > x * whole))

    low, high = 0.0, highest
    if share(low) <= level:
        return low
    if share(high) > level:
        return highest if highest == 1.0 else None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) > level else (low, middle)
    return (low + high) / 2


def _multinomial(counts: FloatArray, records: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """How far counts of so many records are from what is to be expected, by chance, in the normal limit."""
    shares = counts / max(float(counts.sum()), 1.0)
    free = generator.standard_normal((draws, counts.size)) * np.sqrt(records * shares)
    return np.asarray(free - shares * free.sum(axis=1, keepdims=True), dtype=np.float64)
