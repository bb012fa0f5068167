"""What to buy next, and from how many owners: all that is left at once, or something first that tells where to ask.

Asked at a place where the private gradient is expected to have the square G_j in coordinate j, answers with noise of
variance v leave G_j v/(G_j + v) of it unknown. Then the model steps, and what is unknown of the Hessian, V_jk for each
entry, adds Σ_k V_jk G_k/h_k² (h is the diagonal of the expected Hessian). Second moments with noise of variance w leave
V w/(V + w) unknown. So each plan, one or two purchases and then the rest, has an expected cost Σ G_j/2h_j for every
scale of the difference (`rules.difference`).

The plan with the least expected logarithm is chosen: a ratio counts alike whether the difference is large or small.
After a first purchase the scale is known better, so what follows it is the best for each scale.

Under pure ε an owner that splits its budget in two halves tells half as much as one that spends it at once. So it is
better to ask a few owners for everything than all of them for a little, unless owners differ from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from copriv.rules.rule import AskedKind
from copriv.vectors import FloatArray

# Of all owners a small share (in per cents), or of a part of them everything.
_SHARES = (5, 10, 15, 20, 30, 40)
_PARTS = (0.1, 0.2, 0.35, 0.5)
_HALF = 50
_UNLIKELY = 1e-4
# By how much the logarithm of the cost has to fall before budgets are split, or something else than gradients bought.
_WORTH_SPLITTING, _WORTH_A_STOP = 0.3, 0.02


@dataclass(frozen=True, slots=True)
class Purchase:
    """One question: what for, at which share (0 for all that is left), and to how many owners."""

    kind: AskedKind
    share: int
    owners: int


@dataclass(frozen=True, slots=True, eq=False)
class Budget:
    """What owners can still tell.

    Args:
        left: per cents that each has left.
        gradient: precision (one over the variance) of each owner's gradient at a share of 100, before whitening.
        second_moments: likewise of its second moments; zeros if they are not to be bought.
        power: 2 if precision grows with the square of the share (pure ε), 1 with the share.
        among: κ, how much owners differ.
        shares: on the menu.
        fewest: the least owners that are asked at once.
        purchases: how many more questions there may be.
        alike: whether it does not matter who is asked where.
        must_look: whether something has to be bought before the rest.
        kept: per cents that each keeps when it is asked for the rest.
    """

    left: FloatArray
    gradient: FloatArray
    second_moments: FloatArray
    power: int
    among: float
    shares: tuple[int, ...]
    fewest: int
    purchases: int
    alike: bool
    must_look: bool
    kept: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What is expected before the purchase.

    Args:
        chances: of every scale.
        gradient: G, for every scale.
        openness: V, for every scale.
        hessian: h.
        values: λ_j, by which noise is divided.
        lift: the variance that second moments with noise of variance 1 leave in each entry of the Hessian.
        spread: variance of one record's gradient in each coordinate.
        unevenness: of what one record adds to the Hessian.
    """

    chances: FloatArray
    gradient: FloatArray
    openness: FloatArray
    hessian: FloatArray
    values: FloatArray
    lift: FloatArray
    spread: FloatArray
    unevenness: FloatArray

    def likely(self) -> Outlook:
        """Without the scales that hardly matter."""
        kept = self.chances > _UNLIKELY
        return replace(self, chances=self.chances[kept], gradient=self.gradient[kept], openness=self.openness[kept])


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """What is unknown after some purchases of the gradient and of the Hessian; the precision and owners still left."""

    gradient: FloatArray
    openness: FloatArray
    precision: float
    owners: float


def choose(everything: Outlook, budget: Budget) -> Purchase:
    """The first purchase of the best plan; of nobody if nobody has anything left."""
    outlook = everything.likely()
    rest = Purchase("gradient", 0, int(np.sum(budget.left > 0)))
    if rest.owners == 0:
        return rest
    whole = float(np.sum(budget.gradient * (budget.left / 100) ** budget.power))
    start = _Stage(outlook.gradient, outlook.openness, whole, rest.owners)
    best, least = rest, float(outlook.chances @ _log_cost(_finish(start, outlook, budget), outlook))
    for first in _options(budget) if budget.purchases >= 2 else ():
        if budget.must_look and first.kind == "gradient" and first.share > max(_SHARES):
            continue
        stage = _after(first, start, outlook, budget)
        cost = float(outlook.chances @ np.minimum.reduce(list(_continue(first, stage, outlook, budget))))
        simple = first.kind == "gradient" and budget.alike and first.share == budget.left.max()
        cost += _WORTH_A_STOP if simple else _WORTH_SPLITTING
        if cost < least or (budget.must_look and best is rest):
            best, least = first, cost
    return best


def gain(purchase: Purchase, everything: Outlook, budget: Budget) -> float:
    """By how much a purchase before the rest lowers the expected logarithm of the cost."""
    outlook = everything.likely()
    whole = float(np.sum(budget.gradient * (budget.left / 100) ** budget.power))
    start = _Stage(outlook.gradient, outlook.openness, whole, float(np.sum(budget.left > 0)))
    stage = _after(purchase, start, outlook, budget)
    now, later = (_log_cost(_finish(each, outlook, budget), outlook) for each in (start, stage))
    return float(outlook.chances @ (now - later))


def _continue(first: Purchase, stage: _Stage, outlook: Outlook, budget: Budget) -> Iterator[FloatArray]:
    """Logarithms of the cost, for every scale, of the rest at once, or after one more purchase."""
    yield _log_cost(_finish(stage, outlook, budget), outlook)
    for second in _options(budget) if budget.purchases >= 3 else ():
        if second.kind == "gradient" or first.kind == "gradient":
            yield _log_cost(_finish(_after(second, stage, outlook, budget), outlook, budget), outlook)


def _options(budget: Budget) -> Iterator[Purchase]:
    """A little of all owners, or half of what some of them have, or all of it."""
    able = int(np.sum(budget.left > max(_SHARES)))
    fresh, most = int(np.sum(budget.left == budget.left.max())), int(budget.left.max())
    some = [(share, able) for share in _SHARES if share in budget.shares and able]
    counts = sorted({max(budget.fewest, math.ceil(part * fresh)) for part in _PARTS if budget.alike})
    halves = {most, *(share for share in (_HALF,) if share in budget.shares and share < most)}
    some += [(share, count) for count in counts if count < fresh for share in sorted(halves)]
    for share, owners in some:
        yield Purchase("gradient", share, owners)
        if budget.second_moments.any():
            yield Purchase("second_moments", share, owners)


def _after(purchase: Purchase, stage: _Stage, outlook: Outlook, budget: Budget) -> _Stage:
    """What is unknown after a purchase, and what is left to buy with."""
    able = budget.left >= purchase.share
    part = purchase.owners / int(np.sum(able))
    share, left = purchase.share / 100, budget.left[able] / 100
    lost = part * float(budget.gradient[able] @ (left**budget.power - (left - share) ** budget.power))
    gone = part * float(np.sum(left <= share))
    stage = replace(stage, precision=max(stage.precision - lost, 1e-300), owners=max(stage.owners - gone, 1e-9))
    apart = _apart(budget, purchase.owners)
    if purchase.kind == "second_moments":
        precision = part * float(np.sum(budget.second_moments[able])) * share**budget.power
        noise = outlook.lift / precision + apart * outlook.unevenness
        return replace(stage, openness=stage.openness * noise / (stage.openness + noise))
    precision = part * float(np.sum(budget.gradient[able])) * share**budget.power
    return _step(stage, 1 / precision / outlook.values + apart * outlook.spread, outlook)


def _finish(stage: _Stage, outlook: Outlook, budget: Budget) -> _Stage:
    """All that is left, from everybody who has something left."""
    noise = 1 / stage.precision / outlook.values + _apart(budget, stage.owners) * outlook.spread
    return _step(stage, noise, outlook)


def _apart(budget: Budget, owners: float) -> float:
    """By how much the average of some owners differs from that of all, in units of one record's variance."""
    everybody = budget.left.size
    return budget.among * max(1 / owners - 1 / everybody, 0.0)


def _step(stage: _Stage, noise: FloatArray, outlook: Outlook) -> _Stage:
    """After answers with this noise, and a step that does not know the Hessian; no step is better than a bad one."""
    wrong = noise + np.einsum("cjk,ck->cj", stage.openness, stage.gradient / outlook.hessian**2)
    return replace(stage, gradient=stage.gradient / (1 + stage.gradient / wrong))


def _log_cost(stage: _Stage, outlook: Outlook) -> FloatArray:
    return np.asarray(np.log(np.sum(stage.gradient / outlook.hessian, axis=-1) + np.finfo(float).tiny))
