"""Trainings in which every owner's records are played by the public rows, with the clip, box and caps as they are.

Where one of these binds, moments are wrong, and simulated runs take their place. Owners who all hold the same rows do
not differ by sampling, so what such differences cost has to be added by whoever knows it.
"""

from __future__ import annotations

import numpy as np

from copriv.entropy import seeded
from copriv.forecast.forecast import Forecast
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.losses.objective import relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradients
from copriv.losses.sample import Sample
from copriv.planning.tuning import Pilot, simulate_pairs, some_rows
from copriv.schedule.poisson import until_spent
from copriv.simulation.quadratic import draw_unit_noise
from copriv.vectors import FloatArray, IntArray


def simulate_on_public(
    setting: Setting, evidence: PublicEvidence, caveats: tuple[str, ...], runs: int, seed: int
) -> Forecast:
    """Mean and deviation of ψ over some runs of Algorithm 1 or averaged steps, and the standard error of the mean."""
    rows, objective = some_rows(evidence.sample, setting.terms.horizon), evidence.objective
    best = objective.fitness(rows, minimise(objective, rows))
    simulate = _paper_models if setting.terms.rule == "paper" else _averaged_models
    models = simulate(setting, evidence, rows, runs, seeded(seed, "forecast"))
    psi = np.asarray([relative_fitness(objective.fitness(rows, theta), best) for theta in models])
    spread, mean = float(psi.std(ddof=1)), max(float(psi.mean()), float(np.finfo(float).tiny))
    told = (*caveats, f"so {runs} runs were simulated on the public rows instead")
    return Forecast(mean, spread, spread / float(np.sqrt(runs)), told)


def _paper_models(
    setting: Setting, evidence: PublicEvidence, rows: Sample, runs: int, chance: np.random.Generator
) -> FloatArray:
    """The central model after every run."""
    pilot = Pilot(
        objective=evidence.objective,
        public=evidence.sample,
        model=evidence.start,
        norm=setting.norm,
        deviations=np.asarray(setting.noise_std) / setting.clip,
        caps=setting.answers,
        horizon=setting.terms.horizon,
        gaussian=setting.mechanism == "gaussian",
    )
    rule, pair = setting.paper(), [(setting.clip, setting.terms.step)]
    return np.concatenate([simulate_pairs(rule, pilot, rows, pair, chance) for _ in range(runs)])


def _averaged_models(
    setting: Setting, evidence: PublicEvidence, rows: Sample, runs: int, chance: np.random.Generator
) -> FloatArray:
    """The mean of the second half of every run; all runs take their steps together."""
    rule, loss = setting.averaged(), evidence.objective.loss
    clip, noise_std = setting.clip, np.asarray(setting.noise_std)
    weights = len(rule.records) * np.asarray(rule.records) / sum(rule.records)
    met = np.stack([_order(setting, chance) for _ in range(runs)], axis=1)
    theta, total = np.zeros((2, runs, rule.parameters))
    for k, owners in enumerate(met):
        noise = draw_unit_noise(setting.mechanism, theta.shape, chance) * noise_std[owners][:, None]
        answer = clipped_average_gradients(loss, rows, theta, clip, setting.norm) + noise
        pull = 2 * rule.regularization * theta + weights[owners][:, None] * answer
        theta = np.clip(theta - rule.step * pull, -rule.limit, rule.limit)
        if k >= rule.horizon // 2:
            total += theta
    return np.asarray(total / (len(met) - rule.horizon // 2), dtype=np.float64)


def _order(setting: Setting, chance: np.random.Generator) -> IntArray:
    """Who is met, until all answers are given."""
    rates = setting.rates or (1.0,) * len(setting.records)
    trace = until_spent(rates, setting.answers, chance)
    return np.asarray([meeting.owner for meeting in trace], dtype=np.int64)
