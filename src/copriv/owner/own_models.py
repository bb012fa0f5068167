"""The models that an owner can make at home: of its own records, towards their mean, the public or the joint model.

A candidate is a centre and the strength of a ridge around it (`losses.around`); the ends are no ridge at all and the
centre as it is. A model of a kind is a weighted mean of its candidates, by how well each did on records that it was not
fitted to: that is steadier than to take the one that happened to do best. A personal model is stacked besides with the
models of the other kinds (`owner.stacking`). Outliers count less there (`owner.outliers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from copriv.errors import BadInput
from copriv.losses.around import STRENGTHS, Parabola, models_around
from copriv.losses.logistic import LogisticLoss
from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner.outliers import tempered
from copriv.owner.stacking import stack
from copriv.vectors import FloatArray, IntArray

ModelKind: TypeAlias = Literal["own", "own_public", "public", "joint", "personal"]

# Candidates count by their likelihood to the power of one over this: records of an owner are not quite independent.
_TEMPERATURE = 2.0
# A centre as it is counts as so many candidates beforehand: it is the simplest, and needs no records to be right.
_SIMPLEST = 20.0
_TINY = 1e-300
# No box is wider, and no loss of a margin this large overflows.
_LARGEST = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The candidates of one kind of model: their rows in `Centres.fit_all`, and how much each counts beforehand."""

    rows: IntArray
    prior: FloatArray

    @classmethod
    def of(cls, *parts: tuple[range, float]) -> Family:
        """Of ranges of rows, with what each of their candidates counts."""
        rows = np.concatenate([np.asarray(rows, dtype=np.int64) for rows, _ in parts])
        return cls(rows, np.concatenate([np.full(len(rows), weight) for rows, weight in parts]))

    def weigh(self, loss: Loss, losses: FloatArray, records: int) -> FloatArray:
        """How much candidates count after so many records, by the average losses of all there are; they add up to 1.

        >>> from copriv.losses.choose import choose
        >>> Family.of((range(3), 1.0)).weigh(choose("squared"), np.array([1.0, 1.0, 9.0]), 100).round(3).tolist()
        [0.5, 0.5, 0.0]
        """
        known = losses[self.rows]
        least = float(known[self.prior > 0].min())
        worse = np.maximum(known - least, 0.0)
        weights = self.prior * np.exp(-records * worse / (_TEMPERATURE * unit_of(loss, least)))
        return np.asarray(weights / weights.sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Centres:
    """The public and the joint model, as far as they are known."""

    public: FloatArray | None = None
    joint: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse a model by which a prediction is no number: others have made it."""
        for name, centre in (("public", self.public), ("joint", self.joint)):
            if centre is not None and not np.all(np.abs(centre) <= _LARGEST):
                raise BadInput(
                    f"the {name} model has an entry that is no number, or none to predict with",
                    remedy="ask the learner for the model of this study",
                )

    @cached_property
    def families(self) -> dict[ModelKind, Family]:
        """Every kind of model, by its candidates."""
        size, free = len(STRENGTHS), len(STRENGTHS)
        found: dict[ModelKind, Family] = {"own": Family.of((range(size + 1), 1.0))}
        around, first = [(range(free, free + 1), 1.0)], size + 1
        if self.public is not None:
            end = range(first + size, first + size + 1)
            around.append((range(first, first + size), 1.0))
            found["own_public"] = Family.of(*around, (end, _SIMPLEST))
            found["public"] = Family.of((end, 1.0))
            around.append((end, _SIMPLEST / 2))
            first += size + 1
        if self.joint is not None:
            end = range(first + size, first + size + 1)
            found["joint"] = Family.of((end, 1.0))
            # Own ridges have no say of their own: they are part of what is stacked.
            around.insert(0, (range(size), 0.0))
            found["personal"] = Family.of(*around, (range(first, first + size), 1.0), (end, _SIMPLEST))
        return found

    def weigh(self, loss: Loss, judged: Sample) -> dict[ModelKind, FloatArray]:
        """How much each candidate counts in a model of every kind, by margins of records that it was not fitted to.

        Ridges count by their likelihood. The personal model is the mean of its ridges, stacked with the other kinds.
        Where the loss is squared, outliers count less.

        Args:
            loss: that of the study.
            judged: the records, with the margin by each candidate as features.
        """
        judged = tempered(judged) if isinstance(loss, SquaredLoss) else judged
        margins = judged.columns
        losses = np.array([average_value(loss, judged, each) for each in np.eye(len(margins))])
        found = {kind: family.weigh(loss, losses, judged.records) for kind, family in self.families.items()}
        if "personal" in found:
            mixed = np.zeros((len(found), len(margins)))
            for row, kind in zip(mixed, found, strict=True):
                row[self.families[kind].rows] = found[kind]
            first = np.eye(len(found))[list(found).index("personal")]
            together = judged.with_columns(mixed @ margins)
            unit = unit_of(loss, average_value(loss, together, first))
            found["personal"] = stack(loss, together, first, unit) @ mixed
        return found

    def as_personal(self, kind: ModelKind, weights: FloatArray) -> FloatArray:
        """What the candidates of a personal model count for that is to be a model of another kind.

        >>> around = Centres(np.zeros(1), np.ones(1))
        >>> found = around.as_personal("joint", np.ones(1))
        >>> found.size == around.families["personal"].rows.size, found[-1], found.sum()
        (True, np.float64(1.0), np.float64(1.0))
        """
        everything = np.zeros(1 + max(int(family.rows.max()) for family in self.families.values()))
        everything[self.families[kind].rows] = weights
        return everything[self.families["personal"].rows]

    @property
    def free(self) -> int:
        """The row of the model without a ridge."""
        return len(STRENGTHS)

    @property
    def around_joint(self) -> int:
        """How many of the personal model's candidates are around the joint one: the last ones."""
        return len(STRENGTHS) + 1

    def fit_all(self, objective: Objective, sample: Sample, near: FloatArray | None = None) -> FloatArray:
        """One model a row, all of these records: around their mean, without a ridge, and around each centre.

        `near` has the same models of almost the same records, from which to start.
        """
        loss, size = objective.loss, len(STRENGTHS)
        known = Parabola.of(sample) if isinstance(loss, SquaredLoss) else None
        starts = [None] * 3 if near is None else [near[first : first + size] for first in range(0, len(near), size + 1)]
        ridged = models_around(loss, sample, mean_model(objective, sample), known, starts[0])
        free = minimise_freely(loss, objective.regularization, sample, ridged[-1] if near is None else near[self.free])
        parts = [ridged, free[None]]
        for centre in (self.public, self.joint):
            if centre is not None:
                parts += [models_around(loss, sample, centre, known, starts[len(parts) // 2]), centre[None]]
        return np.concatenate(parts)


def unit_of(loss: Loss, least: float) -> float:
    """What an average loss is divided by to be a log-likelihood, by the least there is.

    >>> from copriv.losses.choose import choose
    >>> unit_of(choose("squared"), 0.5), unit_of(choose("logistic"), 0.5)
    (1.0, 1.0)
    """
    return 1.0 if isinstance(loss, LogisticLoss) else 2 * max(least, _TINY)


def mean_model(objective: Objective, sample: Sample) -> FloatArray:
    """The best model that predicts the same for every record, by a column that is constant; zeros if there is none.

    >>> from copriv.losses.choose import choose
    >>> rows = Sample.of_rows([[1.0, 0.5], [3.0, 0.5]], [0.2, 0.4])
    >>> mean_model(Objective(choose("squared"), 1e-9, 10.0), rows).round(6).tolist()
    [0.0, 0.6]
    """
    constant = np.flatnonzero((np.ptp(sample.columns, axis=1) == 0) & (sample.columns[:, 0] != 0))
    theta = np.zeros(sample.parameters)
    if constant.size:
        rows = sample.with_columns(sample.columns[constant[-1:]])
        theta[constant[-1]] = minimise_freely(objective.loss, objective.regularization, rows)[0]
    return theta
