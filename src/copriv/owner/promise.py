"""A promise: what one owner commits to in a study, worked out from the terms, its size and its guarantee.

The clip appears here once. It bounds each record's gradient, and the sensitivity follows from it; there is no way to
set one without the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.losses.objective import Objective
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import Calibration, calibrate, mechanism_norm
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import Sensitivity, of_average_gradient
from copriv.protocol.terms import Terms
from copriv.vectors import FloatArray, Norm

_ROUNDING = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class Promise:
    """A clip, the sensitivity that follows from it, and the noise that keeps the guarantee.

    `row_norm` and `target_bound` are what the terms say of every record; within them no gradient can overflow, and none
    can be too short to be clipped.
    """

    objective: Objective
    row_norm: float
    target_bound: float
    clip: float
    norm: Norm
    sensitivity: Sensitivity
    calibration: Calibration

    def require_bounded(self, sample: Sample) -> None:
        """Refuse records that the dictionary has not bounded, before anything is answered from them."""
        with np.errstate(over="ignore"):
            longest = float(np.max(np.linalg.norm(sample.columns, axis=0)))
        largest = float(np.max(np.abs(sample.targets)))
        if not (longest <= self.row_norm * _ROUNDING and largest <= self.target_bound * _ROUNDING):
            raise BadInput(
                f"records outside the terms: rows longer than {self.row_norm:g} or targets above {self.target_bound:g}",
                remedy="reduce the records with the study's dictionary",
            )

    def exact_answer(self, sample: Sample, theta: FloatArray) -> FloatArray:
        """The clipped average gradient that the noise is calibrated for; to be sealed at once by whoever calls."""
        return clipped_average_gradient(self.objective.loss, sample, theta, self.clip, self.norm)


def make_promise(
    terms: Terms, guarantee: Guarantee, *, records: int, answers: int, accountant: Accountant = "pld"
) -> Promise:
    """What an owner with this many records promises, for at most this many answers."""
    objective = terms.objective()
    norm = mechanism_norm(guarantee)
    proven = objective.gradient_bound(
        row_norm=terms.row_norm, target=terms.target_bound, parameters=terms.parameters, norm=norm
    )
    clip = min(terms.clip, proven)
    sensitivity = of_average_gradient(clip=clip, records=records, parameters=terms.parameters, norm=norm)
    calibration = calibrate(
        guarantee, answers=answers, sensitivity=sensitivity, parameters=terms.parameters, accountant=accountant
    )
    return Promise(objective, terms.row_norm, terms.target_bound, clip, norm, sensitivity, calibration)
