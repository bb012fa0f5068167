"""What a validation will be worth, and what it takes to be so sure: from public rows, before anybody is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.validation import Chance, Figure, Ruler, Told, read_figures
from copriv.losses.sample import Sample
from copriv.losses.validation import Grid, Shape
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.mechanism import Mechanism
from copriv.protocol.further_questions import expect_validation_noise
from copriv.vectors import FloatArray

_LEAST, _MOST, _HALVINGS = 1e-4, 1e3, 18
# Chosen on generated loans alone: fewer bins have less noise, and public rows tell how records lie within them.
BINS = 12
_FEWEST_ROWS = 100
# Owners' records go beyond the furthest public row, the further the fewer rows there are: with 10,000 of them, a tenth.
_ROOM = 10.0


def draw_grid(shape: Shape, public: Sample, model: FloatArray) -> tuple[float, ...]:
    """What terms agree on: edges of bins with as many public rows each, or centre, width and residual, with room.

    Args:
        shape: labels or numbers.
        public: public rows.
        model: the public one.
    """
    known = public.usable()
    if known.records < _FEWEST_ROWS:
        raise BadInput(
            f"{known.records} public rows for validation", remedy=f"give at least {_FEWEST_ROWS}", value=known.records
        )
    margins = model @ known.columns
    if shape == "labels":
        return tuple(np.unique(np.quantile(margins, np.arange(1, BINS) / BINS)).tolist())
    centre = float(known.targets.mean())
    room = 1 + _ROOM / math.sqrt(known.records)
    width, residual = np.abs(known.targets - centre).max() * room, np.abs(margins - known.targets).max() * room
    return centre, float(max(min(width, 1 + abs(centre)), 1e-6)), float(max(residual, 1e-6))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAnswers:
    """What held-back records should tell, if they are as public rows are.

    Args:
        ruler: how answers are read.
        per_record: what one record adds to each number, on average.
        records: how many each owner holds back.
        chance: of the draws of noise.
    """

    ruler: Ruler
    per_record: FloatArray
    records: tuple[int, ...]
    chance: Chance

    @classmethod
    def of(
        cls, grid: Grid, public: Sample, model: FloatArray, records: Sequence[int], unit: float, chance: Chance
    ) -> ExpectedAnswers:
        """From public rows at a model; a distance of 1 between targets stands for `unit`."""
        averages = grid.exact(public, model) / public.records
        return cls(Ruler.of(grid, public, model, unit), averages, tuple(records), chance)

    def figures(self, mechanisms: Sequence[Mechanism]) -> dict[str, Figure]:
        """Every figure over all owners, with the intervals that are to be expected; one mechanism an owner."""
        total = sum(self.records)
        return read_figures(self.ruler, Told(total * self.per_record, tuple(mechanisms), total), self.chance)


def epsilon_for(expected: ExpectedAnswers, figure: str, within: float, delta: float = 0.0) -> float | None:
    """The ε of each owner's one answer at which a figure is known to ± so much, 95 %, for the population.

    None if records are too few for that at any ε: sampling alone is wider.

    Args:
        expected: what should be told.
        figure: its name.
        within: half of the interval's width.
        delta: 0 for Laplace noise.
    """

    def width(epsilon: float) -> float:
        mechanism = noise_at(expected.ruler.grid, epsilon, delta)
        return expected.figures([mechanism] * len(expected.records))[figure].half_width

    low, high = math.log(_LEAST), math.log(_MOST)
    if width(_MOST) > within:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if width(math.exp(middle)) > within else (low, middle)
    return math.exp(high)


def noise_at(grid: Grid, epsilon: float, delta: float = 0.0) -> Mechanism:
    """The noise of one answer at (ε, δ)."""
    guarantee = Guarantee.of(f"{epsilon:.9f}", delta)
    std = expect_validation_noise(grid, guarantee)
    return Laplace(std / math.sqrt(2)) if guarantee.pure else Gaussian(std)
