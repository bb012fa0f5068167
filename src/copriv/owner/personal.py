"""The personal model: an owner's own records, with the joint model as prior. It stays at home and costs nothing.

It has seen the records without noise: no ε covers it, and it must not be passed on.
"""

from __future__ import annotations

from dataclasses import dataclass

from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.owner.comparison import Comparison, cross_validate, summarise
from copriv.owner.own_models import Centres
from copriv.records.target import Target
from copriv.vectors import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PersonalModel:
    """A model for an owner's own records, what it is worth there, and what it is made of.

    Args:
        theta: the model.
        comparison: it and the others, cross-validated on the owner's records.
        around_joint: the share of its candidates, by weight, that are centred at the joint model.
    """

    theta: FloatArray
    comparison: Comparison
    around_joint: float


def personalise(
    sample: Sample, objective: Objective, centres: Centres, target: Target, folds: int = 5
) -> PersonalModel:
    """Weigh candidates by cross-validation, fit them to all records, and take their weighted mean.

    Raises:
        BadInput: there are too few records.
    """
    found = cross_validate(sample, objective, centres, folds)
    weights, family = found.weights["personal"], centres.families["personal"]
    used, theta = sample.usable(), found.models["personal"]
    if found.sample.records < used.records:
        theta = weights @ centres.fit_all(objective, used)[family.rows]
    return PersonalModel(theta, summarise(found, target), float(weights[-centres.around_joint :].sum()))
