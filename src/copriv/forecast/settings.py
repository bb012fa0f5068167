"""From public rows, sizes and noise to a forecast, at the setting that does best by it.

The noise of an owner depends on how many answers it promises, which whoever calls knows how to work out: `Promised`
gives, for a number of answers, the deviation of every owner's noise on one answer if the clip were 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.averaged_alike import follow_averaged
from copriv.forecast.forecast import Forecast, jackknife
from copriv.forecast.kinds import Kinds
from copriv.forecast.landscape import Landscape
from copriv.forecast.paper_alike import follow_paper
from copriv.forecast.path import Path
from copriv.forecast.public import PublicView
from copriv.losses.objective import Objective
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import CentralStep, PaperRule
from copriv.rules.prospect import Prospects
from copriv.schedule.poisson import availability, likely_answers
from copriv.vectors import FloatArray, Norm

Promised = Callable[[tuple[int, ...]], Sequence[float]]
_STEPS = 14
_ROUNDS = (2, 4, 8, 16, 32, 64, 128)
_ANSWERS = (1, 2)
# More than this share of gradient lengths beyond the clip, and the clip shapes what is learnt.
_CLIPPED = 0.01


@dataclass(frozen=True, slots=True, eq=False)
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

    @property
    def gammas(self) -> tuple[float, ...]:
        """γ_i."""
        return tuple(availability(self.rates or (1.0,) * len(self.records)).tolist())

    def kinds(self, deviations: Sequence[float]) -> Kinds:
        """Grouped, with how far their records' gradients stray."""
        differences = [1 / size + self.heterogeneity for size in self.records]
        return Kinds.of(self.records, self.gammas, deviations, differences)

    def caps(self, horizon: int) -> tuple[int, ...]:
        """The most answers of each: what its clock is likely to ask for."""
        likely = {gamma: likely_answers(gamma, horizon) for gamma in set(self.gammas)}
        return tuple(likely[gamma] for gamma in self.gammas)


@dataclass(frozen=True, slots=True)
class Choice:
    """What is settled beforehand; None is for the forecast to choose."""

    horizon: int | None = None
    step: float | None = None
    clip: float | None = None
    central: CentralStep = CentralStep.PROOF


def largest_gradient(public: Sample, model: FloatArray, norm: Norm) -> float:
    """Of any public row, where training starts and where it should end: a clip that hardly ever binds."""
    places = (np.zeros_like(model), model)
    longest = max(float(np.max(gradient_norms(SquaredLoss(), public, theta, norm))) for theta in places)
    return float(f"{max(longest, 1e-9):.3g}")


def forecast_paper(view: PublicView, objective: Objective, owners: Owners, choice: Choice) -> Forecast:
    """Algorithm 1 at its best step."""
    _require_squared(objective)
    horizon = choice.horizon or 1000
    clip = choice.clip or largest_gradient(view.sample, view.model, owners.norm)
    caps = owners.caps(horizon)
    kinds = owners.kinds([clip * unit for unit in owners.promised(caps)])
    share = max(n / (gamma * sum(owners.records)) for n, gamma in zip(owners.records, owners.gammas, strict=True))

    def follow(landscape: Landscape, step: float) -> Path:
        rule = PaperRule(
            landscape.optimum.size,
            owners.records,
            owners.gammas,
            step,
            objective.regularization,
            objective.limit,
            choice.central,
        )
        return follow_paper(rule, landscape, kinds, horizon)

    draft = Forecast("paper", 0.0, 0.0, 0.0, max(caps), horizon, 0.0, clip)
    steps = [choice.step] if choice.step else _steps(view, share)
    return _finish(draft, view, objective, owners, follow, steps)


def forecast_averaged(view: PublicView, objective: Objective, owners: Owners, choice: Choice) -> Forecast:
    """Averaged steps at their best step and horizon."""
    _require_squared(objective)
    count = len(owners.records)
    clip = choice.clip or largest_gradient(view.sample, view.model, owners.norm)
    horizons = [choice.horizon] if choice.horizon else [rounds * count for rounds in _ROUNDS]
    share = max(owners.records) * count / sum(owners.records)
    steps = [choice.step] if choice.step else _steps(view, share)
    found = []
    for horizon in horizons:
        caps = owners.caps(horizon)
        kinds = owners.kinds([clip * unit for unit in owners.promised(caps)])

        def follow(landscape: Landscape, step: float, kinds: Kinds = kinds, horizon: int = horizon) -> Path:
            rule = AveragedRule(
                landscape.optimum.size, owners.records, step, horizon, objective.regularization, objective.limit
            )
            return follow_averaged(rule, landscape, kinds)

        draft = Forecast("averaged", 0.0, 0.0, 0.0, max(caps), horizon, 0.0, clip)
        found.append(_finish(draft, view, objective, owners, follow, steps, doubted=len(horizons) == 1))
    best = min(found, key=lambda forecast: forecast.relative_fitness)
    if len(horizons) == 1:
        return best
    return forecast_averaged(view, objective, owners, replace(choice, horizon=best.horizon, step=best.step))


def forecast_newton(view: PublicView, objective: Objective, owners: Owners, prospects: Prospects) -> Forecast:
    """Public Newton at its best clip and number of answers; `prospects` are those of the same public rows."""
    units = {k: owners.promised((k,) * len(owners.records)) for k in _ANSWERS}
    best = prospects.best(owners.records, units, owners.heterogeneity)

    def expected(rest: Sample) -> float:
        there = Prospects.of(rest, objective, owners.norm, clips=(best.clip,))
        alike = replace(there, records=view.sample.records)
        return alike.best(owners.records, {best.answers: units[best.answers]}, owners.heterogeneity).cost

    doubt = jackknife(view.sample, expected)
    horizon = best.answers * len(owners.records)
    return Forecast("newton", best.cost, best.deviation, doubt, best.answers, horizon, 0.0, best.clip)


def _steps(view: PublicView, share: float) -> list[float]:
    """From the largest stable step down by factors of 2."""
    steepest = float(np.linalg.eigvalsh(view.statistics.curvature)[-1]) + 2 * view.regularization
    return [_digits(2 / (share * steepest) * 0.5 ** (k + 0.5)) for k in range(_STEPS)]


def _best_step(cost: Callable[[float], float], steps: Sequence[float]) -> float:
    """The step of least cost: the best of a coarse ladder, and then between its neighbours."""
    costs = {step: cost(step) for step in steps}
    if len(steps) > 1:
        rough = min(costs, key=lambda step: _finite(costs[step]))
        costs |= {step: cost(step) for factor in (0.6, 0.77, 1.3, 1.68) for step in [_digits(rough * factor)]}
    return min(costs, key=lambda step: _finite(costs[step]))


def _finite(cost: float) -> float:
    return cost if np.isfinite(cost) else np.inf


def _digits(value: float) -> float:
    return float(f"{value:.3g}")


def _finish(
    draft: Forecast,
    view: PublicView,
    objective: Objective,
    owners: Owners,
    follow: Callable[[Landscape, float], Path],
    steps: Sequence[float],
    *,
    doubted: bool = True,
) -> Forecast:
    """The best of some steps, with its deviation, doubt and caveats."""
    total = sum(owners.records)
    landscape = view.landscape(total)
    step = _best_step(lambda candidate: float(follow(landscape, candidate).expected(landscape)[-1]), steps)
    path = follow(landscape, step)

    def expected(rest: Sample) -> float:
        there = PublicView.of(rest, view.regularization).landscape(total)
        return float(follow(there, step).expected(there)[-1])

    return replace(
        draft,
        relative_fitness=float(path.expected(landscape)[-1]),
        deviation=float(path.deviation(landscape)[-1]),
        doubt=jackknife(view.sample, expected) if doubted else 0.0,
        step=step,
        caveats=_caveats(view, objective, owners.norm, draft.clip, path, landscape),
    )


def _caveats(
    view: PublicView, objective: Objective, norm: Norm, clip: float, path: Path, landscape: Landscape
) -> tuple[str, ...]:
    """What would bind, and so make moments wrong."""
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
