"""After training, at home: did joining pay? The owner's own model against the joint one, on the owner's own records.

An own model judged on the records it was fitted to looks better than it is, the more so the fewer there are. So it is
cross-validated: fitted without a fold of the records, and both models are judged on that fold, record by record. That
judges it a little too harshly, because it is fitted to a fold less than the owner has; models that are as good as each
other are called undecided about nine times in ten, and else mostly in favour of the joint one. The joint model has seen
the records too, but only through noise, so that none of them can have moved it by much.

Nothing of this is asked of anybody or charged. The figures come from the records without noise: they stay at home.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_value, record_values
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, IntArray, read_only

Paid: TypeAlias = Literal["joined", "alone", "undecided"]

FEWEST_FOLDS = 2
STANDARD_ERRORS = 2
MARGIN_WORDS = "± is two standard errors of the differences, record by record"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Average losses, without the regularizer, of the owner's own model and of the joint one.

    Args:
        own: of models fitted without the records they are judged on.
        joint: of the joint model on the same records.
        difference: own − joint, so that more than 0 speaks for the joint model.
        standard_error: of the difference, from the records' paired differences.
        own_in_sample: of the model fitted to all records, judged on these same records; flattered, for comparison only.
        records: how many records were compared.
        folds: into how many parts they were divided.
    """

    own: float
    joint: float
    difference: float
    standard_error: float
    own_in_sample: float
    records: int
    folds: int

    @property
    def paid(self) -> Paid:
        """Which model is better, if the difference is more than two standard errors.

        >>> Comparison(0.30, 0.20, 0.10, 0.01, 0.15, 50, 5).paid
        'joined'
        """
        if abs(self.difference) <= STANDARD_ERRORS * self.standard_error:
            return "undecided"
        return "joined" if self.difference > 0 else "alone"

    def in_units(self, factor: float) -> Comparison:
        """The same losses in another unit, of which one of ours is `factor`.

        >>> Comparison(0.30, 0.20, 0.10, 0.01, 0.15, 50, 5).in_units(100.0).joint
        20.0
        """
        return replace(
            self,
            own=self.own * factor,
            joint=self.joint * factor,
            difference=self.difference * factor,
            standard_error=self.standard_error * factor,
            own_in_sample=self.own_in_sample * factor,
        )


def compare(
    sample: Sample, objective: Objective, joint: FloatArray, *, generator: np.random.Generator, folds: int = 5
) -> Comparison:
    """Compare the joint model with what these records give alone.

    Args:
        sample: the owner's own records.
        objective: the fitness of the study.
        joint: the model that was trained together.
        generator: shuffles the records before they are divided.
        folds: into how many parts; fewer are taken where a part would have fewer records than a model has parameters.

    Records without a usable target count in every answer and say nothing here: they are left out.
    """
    sample = sample.usable()
    parts = _divide(generator.permutation(sample.records), _affordable_folds(sample, folds))
    own, together = np.empty(sample.records), np.empty(sample.records)
    for fitted, judged in parts:
        held_out = _take(sample, judged)
        own[judged] = record_values(objective.loss, held_out, minimise(objective, _take(sample, fitted)))
        together[judged] = record_values(objective.loss, held_out, joint)
    differences = own - together
    return Comparison(
        own=float(own.mean()),
        joint=float(together.mean()),
        difference=float(differences.mean()),
        standard_error=float(differences.std(ddof=1)) / math.sqrt(sample.records),
        own_in_sample=average_value(objective.loss, sample, minimise(objective, sample)),
        records=sample.records,
        folds=len(parts),
    )


def explain(comparison: Comparison) -> str:
    """One sentence to act on; ± is two standard errors.

    >>> print(explain(Comparison(0.30, 0.20, 0.10, 0.01, 0.15, 50, 5)))
    Joining paid: use the joint model, whose average loss on your 50 records is 0.2 against 0.3 (lower by 0.1 ± 0.02).
    """
    records, own, joint = f"{comparison.records:,} records", f"{comparison.own:.4g}", f"{comparison.joint:.4g}"
    margin = f"{abs(comparison.difference):.2g} ± {STANDARD_ERRORS * comparison.standard_error:.2g}"
    if comparison.paid == "joined":
        return (
            f"Joining paid: use the joint model, whose average loss on your {records} is {joint} against {own} "
            f"(lower by {margin})."
        )
    if comparison.paid == "alone":
        return (
            f"Joining did not pay: use a model of your own, whose average loss on your {records} is {own} against "
            f"{joint} (lower by {margin})."
        )
    return (
        f"Your {records} cannot tell the joint model (average loss {joint}) from one of your own ({own}; they differ "
        f"by {margin}): use whichever is easier to keep, and compare again when you have more records."
    )


def _affordable_folds(sample: Sample, folds: int) -> int:
    """As many folds as asked for, if each has at least as many records as a model has parameters; else fewer."""
    if folds < FEWEST_FOLDS:
        raise BadInput(f"{folds} folds", remedy=f"give at least {FEWEST_FOLDS}", value=folds)
    affordable = sample.records // sample.parameters
    if affordable < FEWEST_FOLDS:
        raise BadInput(
            f"{sample.records} records for a model of {sample.parameters} parameters are too few to compare models on",
            remedy=f"it takes at least {FEWEST_FOLDS * sample.parameters}; with fewer, use the joint model",
            value=sample.records,
        )
    return min(folds, affordable)


def _divide(order: IntArray, folds: int) -> list[tuple[IntArray, IntArray]]:
    """For each fold the records outside of it, to fit, and those in it, to judge."""
    parts = np.array_split(order, folds)
    return [(np.concatenate(parts[:k] + parts[k + 1 :]), part) for k, part in enumerate(parts)]


def _take(sample: Sample, index: IntArray) -> Sample:
    return Sample(read_only(sample.columns[:, index]), read_only(sample.targets[index]))
