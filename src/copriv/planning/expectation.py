"""The forecast of a setting: by closed form, by moments where they hold, else by simulation on the public rows.

It depends on the setting, the public rows and the seed, and on nothing else: whoever asks is told the same number.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from copriv.forecast.forecast import Forecast, spread_of_rests
from copriv.forecast.moment_path import MomentPath
from copriv.forecast.spectrum import Spectrum
from copriv.forecast.step_search import AveragedStepSearch, PaperStepSearch, StepSearch
from copriv.losses.squared import SquaredLoss
from copriv.planning.outside import expect_outside
from copriv.planning.public_evidence import PublicEvidence
from copriv.planning.public_simulation import simulate_on_public
from copriv.planning.setting import Setting
from copriv.planning.statistics_simulation import costs_of_rests, expect_statistics
from copriv.schedule.poisson import likely_answers

RUNS = 20
# More than this share of gradient lengths beyond the clip, and the clip shapes what is learnt.
_CLIPPED = 0.01
# Where moments do not hold, what they say of owners' differences counts if they are not this far off altogether.
_FAR_OFF = 10.0
# Of a rule from outside, the spread of its simulated runs is all that is known.
_KNOWN = frozenset({"newton", "statistics", "paper", "averaged"})
UNKNOWN = Forecast(math.nan, math.nan, math.nan, ("nothing is forecast without public rows",))


def expect(setting: Setting, evidence: PublicEvidence | None, seed: int) -> Forecast:
    """E ψ and its deviation; the standard error is 0 where only the public rows leave one."""
    if evidence is None:
        return UNKNOWN
    if setting.terms.rule == "newton":
        return _expect_newton(setting, evidence)
    if setting.terms.rule == "statistics":
        return expect_statistics(setting, evidence, seed)
    if setting.terms.rule in {"paper", "averaged"}:
        return _expect_steps(setting, evidence, seed)
    return expect_outside(setting, evidence, seed)


def with_standard_error(draft: Forecast, setting: Setting, evidence: PublicEvidence | None, seed: int) -> Forecast:
    """The same with what a finite public sample leaves open, found by leaving out a group of rows after another."""
    if evidence is None or setting.terms.rule not in _KNOWN:
        return draft
    if not evidence.enough:
        return replace(draft, caveats=(*draft.caveats, "too few public rows for a standard error"))
    share = _relative_error(setting, evidence, seed)
    return replace(draft, standard_error=math.hypot(draft.standard_error, share * draft.relative_fitness))


def _relative_error(setting: Setting, evidence: PublicEvidence, seed: int) -> float:
    """The standard error over what it is of, by closed form, moments or the same noise; at most 1."""
    if setting.terms.rule == "newton":
        units = {setting.answers[0]: _units(setting)}
        rests = evidence.newton_rests(setting.norm, setting.clip)
        costs = [rest.best(setting.records, units, setting.heterogeneity).cost for rest in rests]
    elif setting.terms.rule == "statistics":
        costs = costs_of_rests(setting, evidence, seed)
    else:
        search, total = step_search(setting, evidence), sum(setting.records)
        costs = [search.end(rest.landscape(total), setting.terms.step) for rest in evidence.view.rests]
    if not all(map(math.isfinite, costs)):
        return 1.0
    return min(spread_of_rests(costs) / (sum(costs) / len(costs)), 1.0)


def _expect_newton(setting: Setting, evidence: PublicEvidence) -> Forecast:
    ahead = evidence.newton(setting.norm)
    known = ahead.at(setting.clip) or evidence.newton_at(setting.norm, setting.clip)
    best = known.best(setting.records, {setting.answers[0]: _units(setting)}, setting.heterogeneity)
    return Forecast(best.cost, best.deviation, 0.0)


def _units(setting: Setting) -> list[float]:
    clip = setting.clip
    return [deviation / clip for deviation in setting.noise_std]


def _expect_steps(setting: Setting, evidence: PublicEvidence, seed: int) -> Forecast:
    """Algorithm 1 and averaged steps."""
    if not evidence.enough:
        caveat = "there are too few public rows for moments"
        return simulate_on_public(setting, evidence, (caveat,), RUNS, seed)
    landscape = evidence.view.landscape(sum(setting.records))
    path = step_search(setting, evidence).follow(landscape, setting.terms.step)
    caveats = _caveats(setting, evidence, path, landscape)
    moments = float(path.expected(landscape)[-1])
    if not caveats:
        return Forecast(moments, float(path.deviation(landscape)[-1]), 0.0)
    acted = simulate_on_public(setting, evidence, caveats, RUNS, seed)
    if not moments < _FAR_OFF * acted.relative_fitness:
        return acted
    more = _cost_of_differences(setting, evidence, landscape)
    return replace(acted, relative_fitness=acted.relative_fitness + more)


def step_search(setting: Setting, evidence: PublicEvidence, *, alike: bool = False) -> StepSearch:
    """Moments of a setting for any step; `alike` leaves out that owners differ by sampling."""
    groups = setting.groups()
    if alike:
        groups = replace(groups, differences=np.zeros_like(groups.differences))
    horizon = setting.terms.horizon
    if setting.terms.rule == "paper":
        rule = setting.paper()
        return PaperStepSearch(evidence.objective, setting.records, rule.availability, groups, horizon, rule.central)
    return AveragedStepSearch(evidence.objective, setting.records, groups, horizon)


def _cost_of_differences(setting: Setting, evidence: PublicEvidence, landscape: Spectrum) -> float:
    """By how much moments rise because owners differ by sampling."""
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
