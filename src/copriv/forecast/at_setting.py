"""The forecast of a setting from public rows alone: by closed form for public Newton, by moments for steps.

It depends on the setting and the public rows, and on nothing else: whoever asks is told the same number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.forecast.forecast import Forecast, spread_of_rests
from copriv.forecast.moment_path import MomentPath
from copriv.forecast.newton import NewtonPrediction
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.shifts import ShiftCosts, shift_costs
from copriv.forecast.spectrum import Spectrum
from copriv.forecast.statistics import costs_of_rests
from copriv.forecast.step_search import step_search
from copriv.losses.squared import SquaredLoss
from copriv.rules.relabelled import after_positives
from copriv.schedule.poisson import likely_answers

# What closed forms of public Newton leave out, as measured on trainings: the deviation of log ψ, and how it
# grows with the root of the numbers of a model over public rows; of people who weigh unequally, over as many as would
# say as much if they weighed alike.
_DOUBT, _FEW = 0.7, 6.0
# More than this share of gradient lengths beyond the clip, and the clip shapes what is learnt.
_CLIPPED = 0.01


@dataclass(frozen=True, slots=True)
class MomentForecast:
    """What moments say of a setting: E ψ, its deviation, and what would bind and so make them wrong."""

    expected: float
    deviation: float
    caveats: tuple[str, ...]


def best_newton(
    draft: Setting, evidence: PublicEvidence, choices: Sequence[int], clip: float | None
) -> NewtonPrediction:
    """The clip and the number of answers with the least expected ψ; at this clip, if there is one."""
    units = {most: draft.answering(most).unit_noise for most in choices}
    ahead = evidence.newton(draft.norm) if clip is None else evidence.newton_at(draft.norm, clip)
    return ahead.best(draft.records, units, draft.heterogeneity)


def expect_newton(setting: Setting, evidence: PublicEvidence) -> Forecast:
    """Public Newton at a setting."""
    ahead = evidence.newton(setting.norm, setting.terms.axes)
    known = ahead.at(setting.clip) or evidence.newton_at(setting.norm, setting.clip, setting.terms.axes)
    best = known.best(setting.records, _noise_by_answers(setting), setting.heterogeneity)
    rows, parameters = evidence.sample.effective_records, evidence.sample.parameters
    doubt = math.hypot(_DOUBT, _FEW * math.sqrt(parameters / rows))
    return Forecast(best.cost, best.deviation, 0.0, doubt=doubt, shifts=_shifts(setting, evidence, best.cost))


def _shifts(setting: Setting, evidence: PublicEvidence, known: float) -> ShiftCosts | None:
    """What shifts would cost under a menu; without one the rule does not look for them."""
    if not setting.terms.shares:
        return None
    geometry = evidence.geometry(setting.norm, setting.clip, setting.terms.axes)
    return shift_costs(geometry, setting.records, after_positives(setting.noise_model(evidence.sample)), known)


def _noise_by_answers(setting: Setting) -> dict[int, tuple[float, ...]]:
    """The noise of so many answers if the clip were 1; under a menu, of one: a look is part of it."""
    if not setting.terms.shares:
        return {setting.answers[0]: setting.unit_noise}
    left = after_positives(setting.noise_model(None))
    return {1: tuple(std / left.clip for std in left.noise_std)}


def expect_moments(setting: Setting, evidence: PublicEvidence) -> MomentForecast:
    """Algorithm 1 or averaged steps at a setting, by moments."""
    landscape = evidence.view.landscape(sum(setting.records))
    path = step_search(setting, evidence).follow(landscape, setting.terms.step)
    caveats = _caveats(setting, evidence, path, landscape)
    expected = float(path.expected(landscape)[-1])
    return MomentForecast(expected, math.nan if caveats else float(path.deviation(landscape)[-1]), caveats)


def relative_error(setting: Setting, evidence: PublicEvidence, chance: np.random.Generator) -> float:
    """The standard error over what it is of, by closed form, moments or the noise that `chance` draws; at most 1."""
    if setting.terms.rule == "newton":
        units = _noise_by_answers(setting)
        rests = evidence.newton_rests(setting.norm, setting.clip, setting.terms.axes)
        costs = [rest.best(setting.records, units, setting.heterogeneity).cost for rest in rests]
    elif setting.terms.rule == "statistics":
        costs = costs_of_rests(setting, evidence, chance)
    else:
        search, total = step_search(setting, evidence), sum(setting.records)
        costs = [search.end(rest.landscape(total), setting.terms.step) for rest in evidence.view.rests]
    if not all(map(math.isfinite, costs)):
        return 1.0
    return min(spread_of_rests(costs) / (sum(costs) / len(costs)), 1.0)


def cost_of_differences(setting: Setting, evidence: PublicEvidence) -> float:
    """By how much moments rise because owners differ by sampling."""
    landscape = evidence.view.landscape(sum(setting.records))
    apart, same = (step_search(setting, evidence, alike=alike) for alike in (False, True))
    costs = [search.follow(landscape, setting.terms.step).end(landscape) for search in (apart, same)]
    return max(costs[0] - costs[1], 0.0)


def _caveats(setting: Setting, evidence: PublicEvidence, path: MomentPath, landscape: Spectrum) -> tuple[str, ...]:
    """What would bind, and so make moments wrong."""
    objective, terms = evidence.objective, setting.terms
    if not isinstance(objective.loss, SquaredLoss):
        return (f"moments are of the squared loss, and this is the {objective.loss.name} loss",)
    found = []
    reach = path.reach(landscape)
    if not reach <= objective.limit:
        found.append(f"the box binds: models would reach {reach:.3g} and may not exceed {objective.limit:.3g}")
    lost = evidence.view.lost_to_clip(setting.clip, setting.norm, _strayed(path, landscape))
    if not lost <= _CLIPPED:
        found.append(f"the clip binds: it would take {lost:.1%} of the gradients' length")
    if terms.rule == "paper":
        capped = zip(setting.answers, setting.by_clock, strict=True)
        if any(most < likely_answers(gamma, terms.horizon) for most, gamma in set(capped)):
            found.append("owners would be asked more often than they answer")
    elif setting.rates is not None and len(set(setting.rates)) > 1:
        found.append("owners with faster clocks would answer earlier")
    return tuple(found)


def _strayed(path: MomentPath, landscape: Spectrum) -> np.ndarray:
    """The covariance of models on the way."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(landscape.basis * np.max(path.wander, axis=1) @ landscape.basis.T / 2)
