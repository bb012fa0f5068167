"""What models should be worth on new records, in figures people know.

The public model is cross-validated on the public rows: that is L. Its loss lies 1 + ψ_public above that of the best
model in the same features, and the loss of a model whose ψ is forecast lies 1 + ψ above it. So the joint model is
predicted to lose L·(1 + ψ)/(1 + ψ_public). Only public rows and forecasts are looked at: nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.metrics import Metrics, little_to_learn
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.records.boosting import FOLDS, folds_of
from copriv.records.quality import cross_validated_metrics
from copriv.records.target import Target
from copriv.rules.adaptive_newton import MOST_PARAMETERS
from copriv.rules.few_rows import is_few
from copriv.rules.ridge import best_ridge

# Rows of which this share predicts the rest say little about that.
_FEWEST_ROWS = 2 * FOLDS


class ExpectedQuality(msgspec.Struct, frozen=True, omit_defaults=True):
    """Figures to be expected on new records; those of the public model are cross-validated, all others predicted.

    Args:
        public: of the public model.
        joint: of the joint, private model; None if nothing is forecast.
        alone: of the median owner's own model.
        warning: what a person should not overlook, if anything.
    """

    public: Metrics
    joint: Metrics | None = None
    alone: Metrics | None = None
    warning: str | None = None


def expect_quality(public: Metrics, psi_public: float, joint: float, alone: float | None = None) -> ExpectedQuality:
    """What follows from the cross-validated public model and from every ψ that is forecast.

    Args:
        public: of the public model, cross-validated.
        psi_public: its ψ.
        joint: ψ of the joint model.
        alone: ψ of the median owner's own model, if that is known.

    >>> found = expect_quality(Metrics(100, r2=0.5, rmse=2.0, mae=1.0, rmse_of_mean=3.0), 0.1, joint=0.0)
    >>> round(found.joint.r2, 3), found.warning
    (0.545, None)
    """
    together, own = (_at(public, psi, psi_public) for psi in (joint, alone))
    best = max((each for each in (public, together, own) if each is not None), key=_explained)
    return ExpectedQuality(public, together, own, little_to_learn(best))


def ratio(psi: float, psi_public: float) -> float:
    """The loss of a model over that of the public one, by the ψ of both."""
    return (1 + psi) / (1 + psi_public)


def cross_validate(parts: Iterable[tuple[Sample, Sample]], evidence: PublicEvidence, target: Target) -> Metrics | None:
    """Figures of every row at the model of the other folds; None if there are no folds.

    The ridge is that of the objective where the model is short beside the rows, else the best one of the rows of the
    first model, for all folds.

    Args:
        parts: of each fold, the other rows and its own.
        evidence: the objective.
        target: what is predicted, to have figures in its own unit.
    """
    objective, ridge = evidence.objective, None
    margins, targets = [], []
    for others, own in parts:
        if ridge is None:
            long = others.parameters > MOST_PARAMETERS or is_few(others.records, others.parameters)
            ridge = best_ridge(others, objective) if long else objective.regularization
        margins.append(own.margins(minimise_freely(objective.loss, ridge, others)))
        targets.append(own.targets)
    return cross_validated_metrics(target, np.concatenate(margins), np.concatenate(targets)) if margins else None


def folds_of_sample(public: Sample) -> Iterator[tuple[Sample, Sample]]:
    """Of each fold, the other rows and its own, by features that are there already.

    Honest where no target has shaped the features. Too few rows make no folds.
    """
    used = public.usable()
    if used.records < _FEWEST_ROWS:
        return
    of_row = folds_of(used.records)
    for fold in range(FOLDS):
        yield used.take(np.flatnonzero(of_row != fold)), used.take(np.flatnonzero(of_row == fold))


def _at(public: Metrics, psi: float | None, psi_public: float) -> Metrics | None:
    if psi is None or not math.isfinite(psi):
        return None
    return public.at_loss(ratio(psi, psi_public))


def _explained(metrics: Metrics) -> float:
    return -math.inf if metrics.explained is None else metrics.explained
