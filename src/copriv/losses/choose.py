"""Losses by the names people type."""

from __future__ import annotations

from copriv.errors import BadInput
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.loss import Loss
from copriv.losses.squared import SquaredLoss

NAMES = ("squared", "huber", "logistic")


def choose(name: str, threshold: float = 0.0) -> Loss:
    """The loss of that name; the threshold is the Huber loss's.

    >>> choose("logistic").name
    'logistic'
    """
    if name == "squared":
        return SquaredLoss()
    if name == "huber":
        return HuberLoss(threshold)
    if name == "logistic":
        return LogisticLoss()
    raise BadInput(f"the loss {name!r} is not known", remedy=f"choose one of {', '.join(NAMES)}", value=name)
