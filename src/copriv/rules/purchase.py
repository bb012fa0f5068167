"""What to buy next: everything that is left at once, or something cheaper first that tells where to ask the rest.

Asked at a place where the private gradient is expected to have the square G_j in coordinate j, an answer with noise of
variance v leaves G_j v/(G_j + v) of it unknown. Then the model steps, and what is unknown of the Hessian, V_jk for each
entry, adds Σ_k V_jk G_k/h_k² (h are the eigenvalues' stand-ins: the diagonal of the expected Hessian). Second moments
with noise of variance w leave V w/(V + w) unknown. So each plan, a few purchases and then the rest, has an expected cost
Σ G_j/2h_j for every scale of the difference (`rules.difference`). The plan with the least expected logarithm is chosen:
a ratio counts alike whether the difference is large or small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from copriv.rules.rule import AskedKind
from copriv.vectors import FloatArray

# Shares (in per cents) that are thought of before the rest is asked for.
_GRADIENTS = (5, 10, 15, 20, 30, 40)
_SECOND_MOMENTS = (10, 15, 20, 30, 40)
_LEAST_REST = 30


@dataclass(frozen=True, slots=True)
class Purchase:
    """One question to all owners: what for, and at which share; a share of 0 is all that is left."""

    kind: AskedKind
    share: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """The pooled noise that a share buys, and what is on the menu.

    Args:
        gradient: variance of the pooled noise on gradients at a share; at 0, of all that is left.
        second_moments: variance, in each entry of the Hessian, of second moments at a share; None if not on the menu.
        rest: the variance of gradients, if this share (in per cents) is taken from what is left and then all of it.
        shares: on the menu.
        left: the least that any owner has left, in per cents.
        purchases: how many more questions there may be.
    """

    gradient: Callable[[int], FloatArray]
    rest: Callable[[int], FloatArray]
    second_moments: Callable[[int], FloatArray] | None
    shares: tuple[int, ...]
    left: int
    purchases: int


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is expected before the purchase.

    Args:
        chances: of every α and β.
        gradient: G, for every α and β.
        openness: V, for every β.
        hessian: h.
    """

    chances: FloatArray
    gradient: FloatArray
    openness: FloatArray
    hessian: FloatArray


def choose(outlook: Outlook, prices: Prices) -> Purchase:
    """The first purchase of the best plan.

    After a first purchase the scale of the difference is known better. So what follows it is the best for each scale.
    """
    start = _Stage(outlook.gradient, outlook.openness, 0)
    rest = Purchase("gradient")
    options = {rest: np.log(_cost(_after(rest, start, outlook, prices), outlook))}
    for first in _affordable(prices, 0) if prices.purchases >= 2 else ():
        stage = _after(first, start, outlook, prices)
        options[first] = np.minimum.reduce(list(_continuations(first, stage, outlook, prices)))
    return min(options, key=lambda first: float(np.sum(outlook.chances * options[first])))


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """What is unknown after some purchases: of the gradient, of the Hessian; and the share spent on them."""

    gradient: FloatArray
    openness: FloatArray
    spent: int


def _continuations(first: Purchase, stage: _Stage, outlook: Outlook, prices: Prices) -> Iterator[FloatArray]:
    """Logarithms of the cost, for every scale, of the rest at once, or after one more purchase."""
    rest = Purchase("gradient")
    yield np.log(_cost(_after(rest, stage, outlook, prices), outlook))
    for second in _affordable(prices, stage.spent) if prices.purchases >= 3 else ():
        if not first.kind == second.kind == "second_moments":
            yield np.log(_cost(_after(rest, _after(second, stage, outlook, prices), outlook, prices), outlook))


def _affordable(prices: Prices, spent: int) -> Iterator[Purchase]:
    """What can be bought so that enough is left."""
    left = prices.left - spent
    for share in prices.shares:
        if left - share >= _LEAST_REST:
            if share in _GRADIENTS:
                yield Purchase("gradient", share)
            if share in _SECOND_MOMENTS and prices.second_moments is not None:
                yield Purchase("second_moments", share)


def _after(purchase: Purchase, stage: _Stage, outlook: Outlook, prices: Prices) -> _Stage:
    """What is unknown after a purchase."""
    gradient, openness, spent = stage.gradient, stage.openness, stage.spent + purchase.share
    if purchase.kind == "second_moments" and prices.second_moments is not None:
        noise = prices.second_moments(purchase.share)
        return _Stage(gradient, openness * noise / (openness + noise), spent)
    noise = prices.gradient(purchase.share) if purchase.share else prices.rest(stage.spent)
    unknown = gradient * noise / (gradient + noise)
    stale = np.einsum("bjk,abk->abj", openness, gradient / outlook.hessian**2)
    return _Stage(unknown + stale, openness, spent)


def _cost(stage: _Stage, outlook: Outlook) -> FloatArray:
    return np.asarray(np.sum(stage.gradient / outlook.hessian, axis=-1) + np.finfo(float).tiny)
