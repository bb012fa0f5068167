"""What an owner has to know of a study's public rows to compare its own with them: all of it is public.

The public model, the average gradient of the public rows there, their number, and the share of them that the dictionary
has shortened. No covariance is needed: an owner takes that of its own gradients, which is the same if the rows are of
one population.
"""

from __future__ import annotations

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

# A shortened row is as long as rows may be, but for rounding.
_NEARLY = 1e-9
_LARGEST = {"model": 1e6, "gradient": 1e12}
# As of the terms. With more, whether counts still fit into a machine's integers could depend on an owner's records.
_MOST_ROWS = 10**12


class PublicSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A summary of public rows with a usable target.

    Args:
        rows: how many there are.
        shortened: the share of them that was shortened to the longest that a row may be.
        model: the public model, in the box.
        gradient: their average gradient there, without the regularizer.

    >>> PublicSummary(rows=0, shortened=0.0, model=(0.1,), gradient=(0.0,))
    Traceback (most recent call last):
    copriv.errors.BadInput: a summary of 0 public rows (draft the study again)
    """

    rows: int
    shortened: float
    model: tuple[float, ...]
    gradient: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= _MOST_ROWS:
            raise _refusal(f"a summary of {self.rows} public rows", self.rows)
        if not 0 <= self.shortened <= 1:
            raise _refusal(f"{self.shortened:g} of the public rows are shortened", self.shortened)
        for name, most in _LARGEST.items():
            if not all(-most <= number <= most for number in getattr(self, name)):
                raise _refusal(f"the {name} of the public rows has a number beyond ±{most:g}", name)

    def require_parameters(self, parameters: int) -> None:
        """Refuse a summary that is of another model."""
        for name in _LARGEST:
            if len(getattr(self, name)) != parameters:
                raise _refusal(f"the {name} of the public rows has not {parameters} numbers", name)


def summarise(public: Sample, objective: Objective, model: FloatArray, row_norm: float) -> PublicSummary | None:
    """The summary of public rows; None if those with a usable target are not more than the numbers of a model.

    Args:
        public: the public rows.
        objective: the fitness of the study.
        model: the public model.
        row_norm: the longest that a row may be.
    """
    if int(public.used.sum()) <= public.parameters:
        return None
    rows, start = public.usable(), objective.project(model)
    return PublicSummary(
        rows=rows.records,
        shortened=shortened_share(rows, row_norm),
        model=tuple(start.tolist()),
        gradient=tuple(average_gradient(objective.loss, rows, start).tolist()),
    )


def shortened_share(rows: Sample, row_norm: float) -> float:
    """The share of rows that are as long as a row may be.

    >>> shortened_share(Sample.of_rows([[0.6, 0.8], [0.1, 0.1]], [0.0, 0.0]), 1.0)
    0.5
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", rows.columns, rows.columns))
    return float(np.mean(lengths >= row_norm * (1 - _NEARLY)))


def _refusal(problem: str, value: object) -> BadInput:
    return BadInput(problem, remedy="draft the study again", value=value)
