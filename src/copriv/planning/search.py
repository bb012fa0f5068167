"""From public rows, sizes and noise to a forecast, at the setting that does best by it.

The noise of an owner depends on how many answers it promises, which whoever calls knows how to work out: `Promised`
gives, for a number of answers, the deviation of every owner's noise on one answer if the clip were 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.forecast import Forecast, spread_of_rests
from copriv.forecast.jackknife import Jackknife
from copriv.forecast.moment_path import MomentPath
from copriv.forecast.newton import ANSWERS, NewtonForecast
from copriv.forecast.owner_groups import OwnerGroups
from copriv.forecast.public import PublicView
from copriv.forecast.spectrum import Spectrum
from copriv.forecast.step_search import AveragedStepSearch, PaperStepSearch, StepSearch
from copriv.losses.objective import Objective
from copriv.losses.squared import SquaredLoss
from copriv.rules.paper import CentralStep
from copriv.schedule.poisson import availability, likely_answers
from copriv.vectors import Norm

Promised = Callable[[tuple[int, ...]], Sequence[float]]
_STEPS = 14
_STRIDE = 3
_ROUNDS = (2, 4, 8, 16, 32, 64, 128)
# The best of every third step of the ladder costs a few times as much as the best of all at most.
_HOPELESS = 50.0
# More than this share of gradient lengths beyond the clip, and the clip shapes what is learnt.
_CLIPPED = 0.01


@dataclass(frozen=True, eq=False)
class Owners:
    """Whom a forecast is for.

    Args:
        records: n_i of each.
        promised: the deviation of each one's noise on an answer, by the most answers of each, for a clip of 1.
        norm: in which their mechanism measures gradients.
        rates: of their clocks; None for equal ones.
        heterogeneity: κ, how much they truly differ.
    """

    records: tuple[int, ...]
    promised: Promised
    norm: Norm
    rates: tuple[float, ...] | None = None
    heterogeneity: float = 0.0

    @cached_property
    def gammas(self) -> tuple[float, ...]:
        """γ_i."""
        return tuple(availability(self.rates or (1.0,) * len(self.records)).tolist())

    def kinds(self, deviations: Sequence[float]) -> OwnerGroups:
        """Grouped, with how far their records' gradients stray."""
        differences = [1 / size + self.heterogeneity for size in self.records]
        return OwnerGroups.of(self.records, self.gammas, deviations, differences)

    def caps(self, horizon: int) -> tuple[int, ...]:
        """The most answers of each: what its clock is likely to ask for."""
        likely = {gamma: likely_answers(gamma, horizon) for gamma in set(self.gammas)}
        return tuple(likely[gamma] for gamma in self.gammas)


@dataclass(frozen=True, slots=True)
class Fixed:
    """What is settled beforehand; None is for the forecast to choose.

    `beaten` is an E ψ that another rule has: whatever is far above it at first sight is not looked at twice.
    """

    horizon: int | None = None
    step: float | None = None
    clip: float | None = None
    central: CentralStep = CentralStep.PROOF
    beaten: float = 0.0


def forecast_paper(view: PublicView, objective: Objective, owners: Owners, choice: Fixed) -> Forecast:
    """Algorithm 1 at its best step."""
    _require_squared(objective)
    return doubt_moments(expect_paper(view, objective, owners, choice), view, objective, owners, choice)


def forecast_averaged(view: PublicView, objective: Objective, owners: Owners, choice: Fixed) -> Forecast:
    """Averaged steps at their best step and horizon."""
    _require_squared(objective)
    return doubt_moments(expect_averaged(view, objective, owners, choice), view, objective, owners, choice)


def forecast_newton(view: PublicView, objective: Objective, owners: Owners, prospects: NewtonForecast) -> Forecast:
    """Public Newton at its best clip and number of answers; `prospects` are those of the same public rows."""
    return doubt_newton(expect_newton(owners, prospects), owners, Jackknife(view, objective))


def expect_paper(view: PublicView, objective: Objective, owners: Owners, choice: Fixed) -> Forecast:
    """Algorithm 1 without the doubt that public rows leave."""
    horizon = choice.horizon or 1000
    trial = _trial("paper", view, objective, owners, replace(choice, horizon=horizon))
    share = max(n / (gamma * sum(owners.records)) for n, gamma in zip(owners.records, owners.gammas, strict=True))
    landscape = view.landscape(sum(owners.records))
    step, _ = _best_step(partial(trial.end, landscape), _steps(view, share, choice), choice.beaten)
    draft = Forecast("paper", 0.0, 0.0, 0.0, max(owners.caps(horizon)), horizon, step, _clip(view, owners, choice))
    return _tell(draft, view, objective, owners, trial.follow(landscape, step), landscape)


def expect_averaged(view: PublicView, objective: Objective, owners: Owners, choice: Fixed) -> Forecast:
    """Averaged steps without that doubt."""
    count, clip = len(owners.records), _clip(view, owners, choice)
    horizons = [choice.horizon] if choice.horizon else [rounds * count for rounds in _ROUNDS]
    steps = _steps(view, max(owners.records) * count / sum(owners.records), choice)
    landscape, found = view.landscape(sum(owners.records)), []
    for horizon in horizons:
        trial = _trial("averaged", view, objective, owners, replace(choice, horizon=horizon))
        step, cost = _best_step(partial(trial.end, landscape), steps, choice.beaten)
        found.append((_finite(cost), horizon, step, trial))
    _, horizon, step, trial = min(found, key=lambda entry: entry[0])
    draft = Forecast("averaged", 0.0, 0.0, 0.0, max(owners.caps(horizon)), horizon, step, clip)
    return _tell(draft, view, objective, owners, trial.follow(landscape, step), landscape)


def expect_newton(owners: Owners, prospects: NewtonForecast) -> Forecast:
    """Public Newton without that doubt."""
    units = {k: owners.promised((k,) * len(owners.records)) for k in ANSWERS}
    best = prospects.best(owners.records, units, owners.heterogeneity)
    horizon = best.answers * len(owners.records)
    return Forecast("newton", best.cost, best.deviation, 0.0, best.answers, horizon, 0.0, best.clip)


def doubt_moments(
    forecast: Forecast, view: PublicView, objective: Objective, owners: Owners, choice: Fixed
) -> Forecast:
    """With the doubt about moments: what they are without one group of public rows after another."""
    settled = replace(choice, horizon=forecast.horizon, clip=forecast.clip)
    trial, total = _trial(forecast.rule, view, objective, owners, settled), sum(owners.records)
    return replace(
        forecast, doubt=spread_of_rests([trial.end(rest.landscape(total), forecast.step) for rest in view.rests])
    )


def doubt_newton(forecast: Forecast, owners: Owners, hindsight: Jackknife) -> Forecast:
    """With the doubt about the prospect."""
    units = {forecast.answers: owners.promised((forecast.answers,) * len(owners.records))}
    rests = hindsight.prospects(owners.norm, forecast.clip)
    return replace(
        forecast,
        doubt=spread_of_rests([rest.best(owners.records, units, owners.heterogeneity).cost for rest in rests]),
    )


def _trial(rule: str, view: PublicView, objective: Objective, owners: Owners, choice: Fixed) -> StepSearch:
    """A rule with everything settled but its step."""
    horizon, clip = choice.horizon or 1, _clip(view, owners, choice)
    kinds = owners.kinds([clip * unit for unit in owners.promised(owners.caps(horizon))])
    if rule == "paper":
        return PaperStepSearch(objective, owners.records, owners.gammas, kinds, horizon, choice.central)
    return AveragedStepSearch(objective, owners.records, kinds, horizon)


def _clip(view: PublicView, owners: Owners, choice: Fixed) -> float:
    return choice.clip or view.largest_gradient(owners.norm)


def _steps(view: PublicView, share: float, choice: Fixed) -> list[float]:
    """The one that is settled; else from the largest stable step down by factors of 2."""
    if choice.step:
        return [choice.step]
    return [_digits(2 / (share * view.steepest) * 0.5 ** (k + 0.5)) for k in range(_STEPS)]


def _best_step(cost: Callable[[float], float], steps: Sequence[float], beaten: float = 0.0) -> tuple[float, float]:
    """The step of least cost, and that: the best of some of a ladder, of its neighbours, and of what lies between."""
    costs: dict[float, float] = {}

    def best_of(candidates: Sequence[float]) -> float:
        costs.update({step: _finite(cost(step)) for step in candidates if step not in costs})
        return min(costs, key=lambda step: costs[step])

    place = steps.index(best_of(steps[::_STRIDE]))
    if costs[steps[place]] > _HOPELESS * beaten > 0:
        return steps[place], costs[steps[place]]
    best = best_of(steps[max(place - _STRIDE + 1, 0) : place + _STRIDE])
    if len(steps) > 1:
        best = best_of([_digits(best * factor) for factor in (0.6, 0.77, 1.3, 1.68)])
    return best, costs[best]


def _finite(cost: float) -> float:
    return cost if np.isfinite(cost) else np.inf


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def _tell(
    draft: Forecast, view: PublicView, objective: Objective, owners: Owners, path: MomentPath, landscape: Spectrum
) -> Forecast:
    """What the moments at the best setting say."""
    return replace(
        draft,
        relative_fitness=float(path.expected(landscape)[-1]),
        deviation=float(path.deviation(landscape)[-1]),
        caveats=_caveats(view, objective, owners.norm, draft.clip, path, landscape),
    )


def _caveats(
    view: PublicView, objective: Objective, norm: Norm, clip: float, path: MomentPath, landscape: Spectrum
) -> tuple[str, ...]:
    """What would bind, and so make moments wrong."""
    if not isinstance(objective.loss, SquaredLoss):
        return (f"moments are of the squared loss, and this is the {objective.loss.name} loss",)
    found = []
    reach = path.reach(landscape)
    if reach > objective.limit:
        found.append(f"the box binds: models would reach {reach:.3g} and may not exceed {objective.limit:.3g}")
    strayed = landscape.basis * np.max(path.wander, axis=1) @ landscape.basis.T / 2
    lost = view.lost_to_clip(clip, norm, strayed)
    if lost > _CLIPPED:
        found.append(f"the clip binds: it would take {lost:.1%} of the gradients' length")
    return tuple(found)


def _require_squared(objective: Objective) -> None:
    if not isinstance(objective.loss, SquaredLoss):
        raise BadInput(
            f"moments of the {objective.loss.name} loss",
            remedy="use the squared loss, or the rule newton",
            value=objective.loss.name,
        )
