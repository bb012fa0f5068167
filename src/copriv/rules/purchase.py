"""What to buy next, and from how many owners: all that is left at once, or something first that tells where to ask.

Asked at a place where the private gradient is expected to have the square G_j in coordinate j, answers with noise of
variance v leave G_j v/(G_j + v) of it unknown. Then the model steps, and what is unknown of the Hessian, V_jk for each
entry, adds Σ_k V_jk G_k/h_k² (h is the diagonal of the expected Hessian). Second moments with noise of variance w leave
V w/(V + w) unknown. So each plan, one or two purchases and then the rest, has an expected cost Σ G_j/2h_j for every
scale of the difference (`rules.difference`).

The plan with the least expected logarithm is chosen: a ratio counts alike whether the difference is large or small.
After a first purchase the scale is known better, so what follows it is the best for each scale.

Under pure ε an owner that splits its budget in two halves tells half as much as one that spends it at once. So it is
better to ask a few owners for everything than all of them for a little, unless owners differ from each other. An owner
that is asked for the rest where it was asked before has split nothing: its answer there becomes as fine as if it had
been asked at once (`Asked`). But then the step from there to the model is made with what is known of the Hessian: for a
step with the squares m it adds Σ_k V_jk m_k to what is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from copriv.rules.rule import AskedKind
from copriv.vectors import FloatArray

# Of all owners a small share (in per cents), at a first look less; or of a part of them everything, or half of it.
_SHARES, _LOOKS = (5, 10, 15, 20, 30, 40), (5, 10, 15, 20)
_PARTS = (0.1, 0.2, 0.35, 0.5)
_HALF = 50
# Second moments may take so many per cents of all budgets together.
_MOST_FOR_MOMENTS = 20
_UNLIKELY = 1e-4
# By how much the logarithm of the cost has to fall before budgets are split, owners are asked in parts, or second
# moments are bought: foresight is rough.
_WORTH_SPLITTING, _WORTH_A_STOP, _WORTH_MOMENTS = 0.05, 0.02, 0.3


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
    kept: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A place where owners were asked before: the per cents that each has spent there, and the way to the model.

    `moved` are the squares of the coordinates of that way.
    """

    level: FloatArray
    moved: FloatArray


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
    """What is unknown after some purchases of the gradient and of the Hessian, and what is left to buy with.

    Args:
        gradient: G, for every scale.
        openness: V, for every scale.
        precision: of all that is left, if it is spent at the model.
        owners: that have something left.
        finer: of what is left of those who were asked at the last place, if it makes their answers there finer.
        others: of what is left of those who were not.
        moved: squares of the way from that place to the model.
    """

    gradient: FloatArray
    openness: FloatArray
    precision: float
    owners: float
    finer: float
    others: float
    moved: FloatArray


def choose(everything: Outlook, budget: Budget, asked: Asked) -> Purchase:
    """The first purchase of the best plan; of nobody if nobody has anything left."""
    outlook = everything.likely()
    rest = Purchase("gradient", 0, int(np.sum(budget.left > 0)))
    if rest.owners == 0:
        return rest
    start = _begin(outlook, budget, asked)
    best, least = rest, min(float(outlook.chances @ cost) for cost in _ends(start, outlook, budget))
    for first in _options(budget) if budget.purchases >= 2 else ():
        cost = _cost_after(first, start, outlook, budget) + _worth(first, budget)
        if cost < least:
            best, least = first, cost
    return best


def choose_look(everything: Outlook, budget: Budget) -> Purchase:
    """The first question of all: little of everybody. It costs nothing where its answers are made finer later."""
    outlook, owners = everything.likely(), budget.left.size
    nowhere = Asked(np.zeros(owners), np.zeros_like(outlook.values))
    start = _begin(outlook, budget, nowhere)
    shares = [share for share in budget.shares if share <= max(_LOOKS)] or [min(budget.shares)]
    looks = [Purchase("gradient", share, owners) for share in shares if share in _LOOKS or share == shares[0]]
    return min(looks, key=lambda look: _cost_after(look, start, outlook, budget))


def _cost_after(first: Purchase, start: _Stage, outlook: Outlook, budget: Budget) -> float:
    """The expected logarithm of the cost if this is bought, and then what is best for every scale."""
    stage = _after(first, start, outlook, budget)
    return float(outlook.chances @ np.minimum.reduce(list(_continue(first, stage, outlook, budget))))


def _worth(purchase: Purchase, budget: Budget) -> float:
    """By how much a purchase before the rest has to lower the logarithm of the cost."""
    if purchase.kind == "second_moments":
        return _WORTH_MOMENTS
    return _WORTH_A_STOP if purchase.share == budget.left.max() else _WORTH_SPLITTING


def gain_of_finer(everything: Outlook, budget: Budget, asked: Asked) -> float:
    """By how much the expected logarithm is lower if who was asked at a place before spends the rest there."""
    outlook = everything.likely()
    at_the_model, finer = _ends(_begin(outlook, budget, asked), outlook, budget)
    return float(outlook.chances @ (at_the_model - finer))


def _begin(outlook: Outlook, budget: Budget, asked: Asked) -> _Stage:
    """Before any purchase."""
    left, level = budget.left / 100, asked.level / 100
    fresh = budget.gradient * left**budget.power
    finer = budget.gradient * ((level + left) ** budget.power - level**budget.power)
    was_asked = level > 0
    return _Stage(
        outlook.gradient,
        outlook.openness,
        float(np.sum(fresh)),
        float(np.sum(left > 0)),
        float(np.sum(finer[was_asked])),
        float(np.sum(fresh[~was_asked])),
        asked.moved,
    )


def _continue(first: Purchase, stage: _Stage, outlook: Outlook, budget: Budget) -> Iterator[FloatArray]:
    """Logarithms of the cost, for every scale, of the rest at once, or after one more purchase."""
    yield from _ends(stage, outlook, budget)
    for second in _options(budget) if budget.purchases >= 3 else ():
        if second.kind == "gradient" or first.kind == "gradient":
            yield from _ends(_after(second, stage, outlook, budget), outlook, budget)


def _options(budget: Budget) -> Iterator[Purchase]:
    """A little of all owners; if they are alike, all that some of them have."""
    able = int(np.sum(budget.left > max(_SHARES)))
    fresh, most = int(np.sum(budget.left == budget.left.max())), int(budget.left.max())
    some = [(share, able) for share in _SHARES if share in budget.shares and able]
    if budget.alike:
        counts = sorted({max(budget.fewest, math.ceil(part * fresh)) for part in _PARTS})
        halves = sorted({most, *(share for share in (_HALF,) if share in budget.shares and share < most)})
        some += [(share, count) for count in counts if count < fresh for share in halves]
    for share, owners in some:
        yield Purchase("gradient", share, owners)
        if budget.second_moments.any() and share * owners <= _MOST_FOR_MOMENTS * budget.left.size:
            yield Purchase("second_moments", share, owners)


def _after(purchase: Purchase, stage: _Stage, outlook: Outlook, budget: Budget) -> _Stage:
    """What is unknown after a purchase, and what is left to buy with; a second one is judged by whole budgets, too."""
    able = budget.left >= purchase.share
    part = purchase.owners / int(np.sum(able))
    share, left, power = purchase.share / 100, budget.left[able] / 100, budget.power
    lost = part * float(budget.gradient[able] @ (left**power - (left - share) ** power))
    gone = part * float(np.sum(left <= share))
    apart = _apart(budget, purchase.owners)
    after = replace(stage, precision=_some(stage.precision - lost), owners=max(stage.owners - gone, 1e-9))
    if purchase.kind == "second_moments":
        precision = part * float(np.sum(budget.second_moments[able])) * share**power
        noise = outlook.lift / precision + apart * outlook.unevenness
        kept = after.precision / _some(stage.precision)
        return replace(
            after,
            openness=stage.openness * noise / (stage.openness + noise),
            finer=stage.finer * kept,
            others=stage.others * kept,
        )
    precision = part * float(np.sum(budget.gradient[able])) * share**power
    finer = part * float(budget.gradient[able] @ (left**power - share**power))
    after = replace(
        after,
        finer=finer,
        others=max(stage.precision - part * float(budget.gradient[able] @ left**power), 0.0),
        moved=stage.gradient / outlook.hessian**2,
    )
    return _step(after, 1 / precision / outlook.values + apart * outlook.spread, outlook)


def _some(precision: float) -> float:
    return max(precision, 1e-300)


def _ends(stage: _Stage, outlook: Outlook, budget: Budget) -> Iterator[FloatArray]:
    """Logarithms of the cost, for every scale, after all that is left: at the model; and finer where owners were."""
    yield _log_cost(_step(stage, _noise(stage.precision, stage.owners, outlook, budget), outlook), outlook)
    at_the_model = _wrong(stage, _noise(stage.others, stage.owners, outlook, budget), outlook)
    there = _noise(stage.finer, stage.owners, outlook, budget)
    moved = np.broadcast_to(stage.moved, stage.gradient.shape)
    there = _wrong(stage, there, outlook) + np.einsum("cjk,ck->cj", stage.openness, moved)
    yield _log_cost(_learned(stage, 1 / (1 / at_the_model + 1 / there)), outlook)


def _noise(precision: float, owners: float, outlook: Outlook, budget: Budget) -> FloatArray:
    """Of answers of that precision by so many owners, in each coordinate."""
    return np.asarray(1 / _some(precision) / outlook.values + _apart(budget, owners) * outlook.spread)


def _apart(budget: Budget, owners: float) -> float:
    """By how much the average of some owners differs from that of all, in units of one record's variance."""
    everybody = budget.left.size
    return budget.among * max(1 / owners - 1 / everybody, 0.0)


def _step(stage: _Stage, noise: FloatArray, outlook: Outlook) -> _Stage:
    """After answers with this noise at the model, and a step that does not know the Hessian."""
    return _learned(stage, _wrong(stage, noise, outlook))


def _wrong(stage: _Stage, noise: FloatArray, outlook: Outlook) -> FloatArray:
    """What noise and the step after it leave unknown."""
    return np.asarray(noise + np.einsum("cjk,ck->cj", stage.openness, stage.gradient / outlook.hessian**2))


def _learned(stage: _Stage, wrong: FloatArray) -> _Stage:
    """No step is better than a bad one."""
    return replace(stage, gradient=stage.gradient / (1 + stage.gradient / wrong))


def _log_cost(stage: _Stage, outlook: Outlook) -> FloatArray:
    return np.asarray(np.log(np.sum(stage.gradient / outlook.hessian, axis=-1) + np.finfo(float).tiny))
