"""A rehearsal on public rows: the ψ of a training in which every owner's records are played by the public rows.

Where a clip, a box or a cap binds, moments are wrong, and a rehearsal takes their place. Owners who all hold the same
rows do not differ by sampling, so what such differences cost has to be added by whoever knows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from copriv.entropy import seeded
from copriv.forecast.forecast import Forecast
from copriv.forecast.moments_averaged import follow_averaged
from copriv.forecast.moments_paper import follow_paper
from copriv.forecast.public import PublicView
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.planning.search import Owners
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.rules.rule import Rule
from copriv.simulation.quadratic import NoiseKind, draw_meetings, draw_unit_noise
from copriv.vectors import FloatArray

State = TypeVar("State")
_ROWS = 1000


def rehearse(
    forecast: Forecast,
    view: PublicView,
    objective: Objective,
    owners: Owners,
    *,
    noise: NoiseKind,
    runs: int,
    seed: int,
) -> Forecast:
    """The same forecast with its moments replaced by rehearsed runs, for the rules paper and averaged."""
    rows = _some_rows(view.sample)
    best = objective.fitness(rows, minimise(objective, rows))
    models = [_train(forecast, rows, objective, owners, noise, seed + run) for run in range(runs)]
    psi = np.asarray([relative_fitness(objective.fitness(rows, theta), best) for theta in models])
    spread, mean = float(psi.std(ddof=1)), float(psi.mean())
    doubt = mean * forecast.doubt / forecast.relative_fitness
    return replace(
        forecast,
        relative_fitness=mean + _cost_of_differences(forecast, view, objective, owners),
        deviation=spread,
        doubt=float(np.hypot(doubt, spread / np.sqrt(runs))),
        caveats=(*forecast.caveats, f"so {runs} runs were rehearsed on the public rows instead"),
    )


def _train(
    forecast: Forecast, rows: Sample, objective: Objective, owners: Owners, noise: NoiseKind, seed: int
) -> FloatArray:
    rule = _rule(forecast, rows.parameters, objective, owners)
    if isinstance(rule, PaperRule):
        return _run(rule, forecast, rows, objective, owners, noise, seed)
    return _run(rule, forecast, rows, objective, owners, noise, seed)


def _run(
    rule: Rule[State],
    forecast: Forecast,
    rows: Sample,
    objective: Objective,
    owners: Owners,
    noise: NoiseKind,
    seed: int,
) -> FloatArray:
    """One training, with the rule, the caps, the clip and the box as they are."""
    caps = list(owners.caps(forecast.horizon))
    deviations = [forecast.clip * unit for unit in owners.promised(tuple(caps))]
    met = draw_meetings(len(caps), np.asarray(owners.gammas), forecast.horizon, seeded(seed, "schedule"))
    unit = draw_unit_noise(noise, (forecast.horizon, rows.parameters), seeded(seed, "noise"))
    state = rule.begin()
    for k, owner in enumerate(met.tolist()):
        if caps[owner] > 0:
            caps[owner] -= 1
            question = rule.question(state, owner)
            exact = clipped_average_gradient(objective.loss, rows, question, forecast.clip, owners.norm)
            state = rule.absorb(state, owner, exact + deviations[owner] * unit[k])
    return rule.model(state)


def _rule(forecast: Forecast, parameters: int, objective: Objective, owners: Owners) -> PaperRule | AveragedRule:
    lam, limit = objective.regularization, objective.limit
    if forecast.rule == "paper":
        return PaperRule(parameters, owners.records, owners.gammas, forecast.step, lam, limit)
    return AveragedRule(parameters, owners.records, forecast.step, forecast.horizon, lam, limit)


def _cost_of_differences(forecast: Forecast, view: PublicView, objective: Objective, owners: Owners) -> float:
    """By how much moments rise because owners differ by sampling."""
    rule = _rule(forecast, view.model.size, objective, owners)
    landscape = view.landscape(sum(owners.records))
    deviations = [forecast.clip * unit for unit in owners.promised(owners.caps(forecast.horizon))]
    kinds = owners.kinds(deviations)
    costs = []
    for crowd in (kinds, replace(kinds, differences=np.zeros_like(kinds.differences))):
        if isinstance(rule, PaperRule):
            path = follow_paper(rule, landscape, crowd, forecast.horizon)
        else:
            path = follow_averaged(rule, landscape, crowd)
        costs.append(float(path.expected(landscape)[-1]))
    return costs[0] - costs[1]


def _some_rows(public: Sample) -> Sample:
    """Evenly spaced public rows: enough to learn from, few enough to be read a thousand times."""
    chosen = np.linspace(0, public.records - 1, min(_ROWS, public.records)).astype(np.int64)
    return Sample(np.ascontiguousarray(public.columns[:, chosen]), public.targets[chosen])
