"""Margins of a model and targets as they are trained on, back in the target's unit and in figures people know.

Targets beyond the public bound were clipped when records were read: errors are those against the clipped ones.
"""

from __future__ import annotations

from copriv.losses.metrics import Metrics, label_metrics, number_metrics, rate_metrics, with_auc_fall
from copriv.losses.sample import Sample
from copriv.records.target import Target
from copriv.vectors import FloatArray


def metrics_of_margins(target: Target, margins: FloatArray, targets: FloatArray) -> Metrics:
    """Of margins (θᵀx with the offset) against targets within ±1, or labels −1 and +1.

    >>> import numpy as np
    >>> stay = Target("stay", "number", center=5.0, scale=2.0)
    >>> metrics_of_margins(stay, np.array([0.5, 0.0]), np.array([1.0, 0.0])).mae
    0.5
    """
    predictions = target.restore(margins)
    if target.kind == "label":
        return label_metrics(predictions, targets > 0)
    if target.is_rate:
        return rate_metrics(predictions, target.values(targets), amounts=target.kind == "amount")
    return number_metrics(predictions, target.values(targets))


def cross_validated_metrics(target: Target, margins: FloatArray, targets: FloatArray) -> Metrics:
    """Of margins by models that have not seen the record; what follows of other models' AUC is worked out, too."""
    found = metrics_of_margins(target, margins, targets)
    return with_auc_fall(found, margins, targets > 0) if target.kind == "label" else found


def metrics_of_model(target: Target, sample: Sample, theta: FloatArray) -> Metrics:
    """Of a model on the records of a sample that have a usable target."""
    used = sample.usable()
    return metrics_of_margins(target, used.margins(theta), used.targets)
