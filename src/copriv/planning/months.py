"""A lifetime ε over many retrainings: how many months each block of arrival is read, and what that costs. Pure.

Every month new records arrive as a block, and the model is trained again. A block is read in W retrainings, each at the
W-th part of its lifetime budget, so that no record ever loses more than it. The model of a month combines those of all
months so far, each weighed by how exact it should be: models are public once trained, so that costs no ε.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from copriv.errors import BadInput
from copriv.planning.scenario import Scenario
from copriv.privacy.accounting import allowed_rho, pld_epsilon, zcdp_epsilon
from copriv.privacy.guarantee import NANO, Guarantee, written

MOST_MONTHS = 600
# How much worse than a one-off study over the same records the last retraining may be.
MOST_RATIO = 1.5
# So many records that which they are does not matter.
_EVER = 10**15
_WINDOWS = (1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 48)

Gaussian = Literal["zcdp", "pld"]
_EPSILON: Mapping[Gaussian, Callable[[int, float], float]] = {"zcdp": zcdp_epsilon, "pld": pld_epsilon}
Predict = Callable[[Scenario], float]


@dataclass(frozen=True, slots=True)
class Month:
    """One retraining.

    Args:
        month: counts from 1; the block that arrives in it has the same number.
        first: the oldest block that is read; the newest is that of the month.
        records: of all owners, in the blocks that are read.
        epsilon: what the retraining costs every block that it reads; the largest of all owners.
        spent: what the oldest block that is read has spent after it.
        weight: of this month's model among all so far.
        predicted: ψ to be expected of this month's model, on the records that it reads.
        fresh: the same on new records: with what the choice of these records adds.
        combined: what all models so far, combined, should have on new records.
    """

    month: int
    first: int
    records: int
    epsilon: float
    spent: float
    weight: float
    predicted: float
    fresh: float
    combined: float


@dataclass(frozen=True, slots=True)
class Window:
    """Blocks that are read in so many retrainings.

    Args:
        months: how many (W).
        epsilon: what one retraining costs; the largest of all owners.
        predicted: ψ to be expected of the last retraining, on the records that it reads.
        one_off: ψ of one study over the blocks that the last month reads, for the whole lifetime ε.
        combined: ψ of all months' models combined, on new records.
    """

    months: int
    epsilon: float
    predicted: float
    one_off: float
    combined: float

    @property
    def ratio(self) -> float:
        """How much worse than a one-off study over the same records the last retraining should be."""
        return self.predicted / self.one_off


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Retrainings month by month, and the windows that were compared.

    Args:
        scenario: the records that arrive at each owner in a month, and the lifetime promise.
        keep: the weight of a model falls to this part of itself every month; 1 where months are alike.
        window: the one that is taken.
        windows: all that were compared.
        months: every retraining.
        public: ψ to be expected of the model of public rows alone, on new records.
    """

    scenario: Scenario
    keep: float
    window: Window
    windows: tuple[Window, ...]
    months: tuple[Month, ...]
    public: float

    def combination(self, months: int) -> Combination:
        """How the models of the first so many months are combined."""
        return combine([month.fresh for month in self.months[:months]], self.public, self.keep)

    @property
    def study(self) -> Scenario:
        """One retraining once there are enough blocks: what it reads, and what it costs."""
        return in_window(self.scenario, self.window.months, self.window.months)


def plan_months(
    predict: Predict,
    public: Callable[[int], float],
    scenario: Scenario,
    months: int,
    window: int | None = None,
    keep: float = 1.0,
) -> Lifetime:
    """The window under which the last month's models, combined, should be best on new records; and every month of it.

    Among windows whose last retraining should be at most 1.5 times as bad as a one-off study over the same records, at
    the lifetime ε. A block that is read once, for all of its ε, makes both the same, so there is one.

    Args:
        predict: ψ to be expected of a study.
        public: ψ to be expected of the model of public rows alone, on so many records.
        scenario: the records that arrive at each owner in a month, and what it promises about any one in all.
        months: how many retrainings.
        window: the number of months that a block is read, if that is settled.
        keep: the weight of a model falls to this part of itself every month, from 0 to 1.

    Raises:
        BadInput: a number makes no sense.
    """
    _require(months, window, keep)
    told: dict[Scenario, float] = {}

    def cost(asked: Scenario) -> float:
        if asked not in told:
            told[asked] = predict(asked)
        return told[asked]

    tried = [window] if window is not None else [each for each in _WINDOWS if each <= months]
    lives = [_live(cost, scenario, months, each, (keep, public)) for each in tried]
    windows = tuple(_judge(cost, scenario, life, each) for life, each in zip(lives, tried, strict=True))
    within = [each for each in windows if each.ratio <= MOST_RATIO] or windows
    best = min(within, key=lambda each: each.combined)
    return Lifetime(scenario, keep, best, windows, lives[windows.index(best)], public(_EVER))


def in_window(scenario: Scenario, window: int, blocks: int) -> Scenario:
    """A retraining that reads so many blocks, each at the W-th part of its lifetime budget.

    >>> in_window(Scenario([100, 200], epsilon=1.0), window=4, blocks=2)
    Scenario(records=(200, 400), epsilon=('0.25', '0.25'), delta=0.0, rates=None, heterogeneity=0.0, accountant='pld')
    """
    parts = tuple(written(_part(each, scenario, window)) for each in scenario.guarantees)
    return replace(scenario, records=tuple(blocks * size for size in scenario.records), epsilon=parts)


@dataclass(frozen=True, slots=True)
class Combination:
    """The weighted mean of several months' models.

    Args:
        weights: of the models, the oldest first; they add up to 1, and none is below 0.
        predicted: ψ to be expected, if months are alike.
    """

    weights: tuple[float, ...]
    predicted: float


def combine(costs: Sequence[float], public: float, keep: float = 1.0) -> Combination:
    """The mean of several months' models, by the inverse of ψ; losses are convex, so it is no worse than their mean.

    A month's model leans on the public one by the share c/public: that part of its error all months have in common, and
    only the rest is averaged out.

    Args:
        costs: ψ to be expected of each month's model, the oldest first.
        public: ψ to be expected of the model of public rows alone.
        keep: the weight of a model falls to this part of itself every month.

    >>> found = combine([0.1, 0.1], public=1e9)
    >>> found.weights, round(found.predicted, 6)
    ((0.5, 0.5), 0.05)
    """
    newest = len(costs) - 1
    raw = [keep ** (newest - month) / cost for month, cost in enumerate(costs)]
    weights = tuple(each / sum(raw) for each in raw)
    leaning = [min(cost / public, 1.0) for cost in costs]
    own = sum(w * w * cost * (1 - lean) for w, cost, lean in zip(weights, costs, leaning, strict=True))
    shared = public * sum(w * lean for w, lean in zip(weights, leaning, strict=True)) ** 2
    return Combination(weights, own + shared)


def _live(
    cost: Predict, scenario: Scenario, months: int, window: int, leaning: tuple[float, Callable[[int], float]]
) -> tuple[Month, ...]:
    """Every month under one window; `leaning` has the part of weights that is kept, and ψ of public rows alone."""
    found, fresh, (keep, public) = [], [], leaning
    for month in range(1, months + 1):
        blocks = min(month, window)
        study = in_window(scenario, window, blocks)
        predicted = cost(study)
        fresh.append(predicted + max(public(study.total) - public(_EVER), 0.0))
        mean = combine(fresh, public(_EVER), keep)
        spent, first, price = _spent(scenario, window, blocks), month - blocks + 1, max(study.epsilons)
        about = (mean.weights[-1], predicted, fresh[-1], mean.predicted)
        found.append(Month(month, first, study.total, price, spent, *about))
    return tuple(found)


def _judge(cost: Predict, scenario: Scenario, life: Sequence[Month], window: int) -> Window:
    last = life[-1]
    blocks = last.month - last.first + 1
    one_off = replace(scenario, records=tuple(blocks * size for size in scenario.records))
    return Window(window, last.epsilon, last.predicted, cost(one_off), last.combined)


def _part(guarantee: Guarantee, scenario: Scenario, window: int) -> int:
    """Billionths of ε that one of W retrainings may promise, so that all of them keep the lifetime promise."""
    if guarantee.pure:
        return max(guarantee.nano_epsilon // window, 1)
    if window == 1:
        return guarantee.nano_epsilon
    accountant: Gaussian = "zcdp" if scenario.accountant == "zcdp" else "pld"
    share = allowed_rho(guarantee, accountant) // window
    nano = int(_EPSILON[accountant](share, guarantee.delta) * NANO)
    while nano > 1 and allowed_rho(Guarantee(nano, guarantee.delta), accountant) > share:
        nano -= max(nano >> 20, 1)
    return nano


def _spent(scenario: Scenario, window: int, blocks: int) -> float:
    """ε that a block has lost after so many of the W retrainings that read it; the largest of all owners."""
    largest = max(scenario.guarantees)
    if blocks == window:
        return largest.epsilon
    if largest.pure:
        return blocks * _part(largest, scenario, window) / NANO
    accountant: Gaussian = "zcdp" if scenario.accountant == "zcdp" else "pld"
    return _EPSILON[accountant](blocks * (allowed_rho(largest, accountant) // window), largest.delta)


def _require(months: int, window: int | None, keep: float) -> None:
    if not 1 <= months <= MOST_MONTHS:
        raise BadInput(f"{months} months", remedy=f"plan 1 to {MOST_MONTHS}: --months N", value=months)
    if window is not None and not 1 <= window <= months:
        raise BadInput(
            f"blocks are read for {window} of {months} months",
            remedy="give 1 up to all of them: --window W",
            value=window,
        )
    if not 0 <= keep <= 1:
        raise BadInput(f"{keep:g} of a model's weight is kept", remedy="give 0 to 1: --keep 1", value=keep)
