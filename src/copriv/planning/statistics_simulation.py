"""What one-shot statistics are expected to cost: simulated runs in which owners' moments look like the public rows'."""

from __future__ import annotations

import numpy as np

from copriv.entropy import seeded
from copriv.forecast.forecast import Forecast
from copriv.losses.moments import moment_count, pack_moments
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.planning.public_evidence import PublicEvidence
from copriv.planning.setting import Setting
from copriv.rules.statistics import StatisticsRule, StatisticsState
from copriv.simulation.quadratic import draw_unit_noise
from copriv.vectors import FloatArray

_TRIALS = 24


def expect_statistics(setting: Setting, evidence: PublicEvidence, seed: int) -> Forecast:
    """The mean ψ on the public rows, its deviation, and the standard error that so few trials leave."""
    psi = _costs(_rule(setting), setting, evidence.sample, _noise(setting, seed))
    spread, mean = float(psi.std(ddof=1)), max(float(psi.mean()), float(np.finfo(float).tiny))
    return Forecast(mean, spread, spread / float(np.sqrt(psi.size)))


def costs_of_rests(setting: Setting, evidence: PublicEvidence, seed: int) -> list[float]:
    """The mean ψ without one group of public rows after another, with the same noise on each."""
    rule, noise = _rule(setting), _noise(setting, seed)
    return [float(_costs(rule, setting, rest.sample, noise).mean()) for rest in evidence.view.rests]


def _rule(setting: Setting) -> StatisticsRule:
    terms = setting.terms
    return StatisticsRule(
        parameters=terms.parameters,
        records=setting.records,
        noise_std=setting.noise_std,
        norm=setting.norm,
        regularization=terms.regularization,
        limit=terms.limit,
    )


def _noise(setting: Setting, seed: int) -> FloatArray:
    """The sum of all owners' noise in every trial."""
    stream, size = seeded(seed, "moments"), moment_count(setting.terms.parameters)
    deviations = np.repeat(setting.noise_std, setting.answers)
    if setting.mechanism == "gaussian":
        return float(np.linalg.norm(deviations)) * stream.normal(size=(_TRIALS, size))
    unit = (draw_unit_noise("laplace", (deviations.size, size), stream) for _ in range(_TRIALS))
    return np.stack([deviations @ each for each in unit])


def _costs(rule: StatisticsRule, setting: Setting, rows: Sample, noise: FloatArray) -> FloatArray:
    """ψ of every trial."""
    told = np.asarray(setting.answers, dtype=np.int64)
    exact = pack_moments(rows, rule.norm) / rows.records * float(told @ np.asarray(setting.records))
    statistics, lam = SufficientStatistics.of(rows), rule.regularization
    best = statistics.fitness(np.clip(statistics.minimiser(lam), -rule.limit, rule.limit), lam)
    models = (rule.model(StatisticsState(exact + each, told)) for each in noise)
    return np.asarray([max(statistics.fitness(theta, lam) / best - 1, 0.0) for theta in models])
