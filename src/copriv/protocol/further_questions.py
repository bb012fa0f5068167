"""Questions other than those of training: the average loss, and what held-back records say of a model.

Each kind has a portion of the budget of its own, a bound of what one record counts, and the sensitivity that follows
from it. A new kind is one function and one entry of `further_questions`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.passes import bounded_average_value
from copriv.losses.records import Records
from copriv.losses.validation import LIGHT, Grid, LabelGrid
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import calibrate, expected_noise_std, mechanism_norm
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity, of_average_value, of_counts, of_square_sums
from copriv.protocol.messages import Kind
from copriv.protocol.query_budget import Exact, QueryBudget
from copriv.protocol.terms import Terms
from copriv.vectors import FloatArray, Norm


@dataclass(frozen=True, slots=True)
class FurtherQuestion:
    """A kind of question other than for gradients, with the portion of the budget that the terms set aside for it."""

    kind: Kind
    portion: Fraction
    answers: int
    numbers: int
    bound: float
    sensitivity: Sensitivity
    exact: Exact


def further_questions(terms: Terms, objective: Objective, records: int, norm: Norm) -> tuple[FurtherQuestion, ...]:
    """Every other kind of question that the terms allow; a new kind is one more entry."""
    makers = (_evaluation, _validation)
    found = (make(terms, objective, records, norm) for make in makers)
    return tuple(question for question in found if question is not None)


def promise_part(question: FurtherQuestion, guarantee: Guarantee, accountant: Accountant) -> QueryBudget:
    """What an owner commits to for one of them."""
    calibration = calibrate(
        guarantee,
        answers=question.answers,
        sensitivity=question.sensitivity,
        parameters=question.numbers,
        accountant=accountant,
        portion=question.portion,
    )
    return QueryBudget(
        question.kind, question.bound, question.sensitivity, calibration, question.exact, numbers=question.numbers
    )


def _evaluation(terms: Terms, objective: Objective, records: int, norm: Norm) -> FurtherQuestion | None:
    """The average loss at a model, each record's bounded by the terms or by what the loss cannot exceed."""
    if terms.evaluations == 0:
        return None
    bound = min(terms.loss_bound, _proven_loss_bound(terms, objective))
    return FurtherQuestion(
        kind="loss",
        portion=Fraction(str(terms.evaluation_share)),
        answers=terms.evaluations,
        numbers=1,
        bound=bound,
        sensitivity=of_average_value(bound=bound, records=records, norm=norm),
        exact=partial(_bounded_loss, objective.loss, bound),
    )


def expect_validation_noise(grid: Grid, guarantee: Guarantee) -> float:
    """Standard deviation of the noise on each number of one validation for the whole of a guarantee."""
    return expected_noise_std(guarantee, answers=1, sensitivity=_of_grid(grid, mechanism_norm(guarantee)))


def _of_grid(grid: Grid, norm: Norm) -> Sensitivity:
    return of_counts(norm) if isinstance(grid, LabelGrid) else of_square_sums(light=LIGHT, norm=norm)


def _validation(terms: Terms, _objective: Objective, _records: int, norm: Norm) -> FurtherQuestion | None:
    """What held-back records say of a model: counts by bin and label, or sums of squares within bounds."""
    if terms.validations == 0:
        return None
    grid = terms.grid()
    return FurtherQuestion(
        kind="validation",
        portion=Fraction(str(terms.validation_share)),
        answers=terms.validations,
        numbers=grid.numbers,
        bound=1.0,
        sensitivity=_of_grid(grid, norm),
        exact=grid.exact,
    )


def _proven_loss_bound(terms: Terms, objective: Objective) -> float:
    """The largest loss of any record within the terms at any model in the box."""
    margin = terms.limit * math.sqrt(terms.parameters) * terms.row_norm
    return objective.loss.value_bound(margin, terms.target_bound)


def _bounded_loss(loss: Loss, bound: float, records: Records, theta: FloatArray) -> FloatArray:
    return np.array([bounded_average_value(loss, records, theta, bound)])
