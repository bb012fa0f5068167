"""Losses by the names people type: those of this project, and those that others bring.

A loss from outside comes by entry point (group `copriv.losses`, the object is an `OutsideLoss`), or is passed to
`add_loss` and known from then on in this process. The names of this project's losses cannot be taken.
"""

from __future__ import annotations

from copriv.errors import BadInput
from copriv.extensions import extension_names, load_extension
from copriv.losses.gamma import GammaLoss
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.loss import Loss
from copriv.losses.outside import OutsideLoss
from copriv.losses.poisson import PoissonLoss
from copriv.losses.squared import SquaredLoss

NAMES = ("squared", "huber", "logistic", "poisson", "gamma")
GROUP = "copriv.losses"

_PASSED: dict[str, OutsideLoss] = {}


def loss_names() -> tuple[str, ...]:
    """The names of all losses that can be used here.

    >>> loss_names()[:3]
    ('squared', 'huber', 'logistic')
    """
    outside = sorted({*_PASSED, *extension_names(GROUP)} - set(NAMES))
    return (*NAMES, *outside)


def is_known(name: str) -> bool:
    """Whether a loss has the name; nothing is loaded."""
    return name in NAMES or name in _PASSED or name in extension_names(GROUP)


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
    if name == "poisson":
        return PoissonLoss()
    if name == "gamma":
        return GammaLoss()
    return _PASSED[name] if name in _PASSED else _load(name)


def add_loss(loss: OutsideLoss) -> OutsideLoss:
    """Make a loss known by its name in this process; fails if it has the name of one of this project's."""
    if loss.name in NAMES:
        raise BadInput(f"a loss from outside is called {loss.name!r}", remedy="give it another name", value=loss.name)
    _PASSED[loss.name] = loss
    return loss


def loss_name(loss: str | OutsideLoss) -> str:
    """What a loss is called; one that is passed is known by its name from then on.

    >>> loss_name("huber")
    'huber'
    """
    return add_loss(loss).name if isinstance(loss, OutsideLoss) else loss


def _load(name: str) -> OutsideLoss:
    found = load_extension(GROUP, name)
    if found is None:
        raise BadInput(
            f"the loss {name!r} is not known",
            remedy=f"choose one of {', '.join(loss_names())}, or install the package that brings it",
            value=name,
        )
    if not isinstance(found, OutsideLoss) or found.name != name:
        raise BadInput(
            f"what is installed as the loss {name!r} is no OutsideLoss of that name",
            remedy=f"let its entry point in the group {GROUP} name a copriv.losses.outside.OutsideLoss",
            value=name,
        )
    return found
