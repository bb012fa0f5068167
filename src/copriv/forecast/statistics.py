"""What one-shot statistics are expected to cost: simulated runs in which owners' moments look like the public rows'."""

from __future__ import annotations

import numpy as np

from copriv.forecast.forecast import Forecast
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.losses.moments import moment_count, pack_moments
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.rules.statistics import StatisticsRule, StatisticsState
from copriv.vectors import FloatArray

_TRIALS, _FEW = 24, 2


def expect_statistics(setting: Setting, evidence: PublicEvidence, chance: np.random.Generator) -> Forecast:
    """The mean ψ on the public rows, its deviation, and the standard error that so few trials leave."""
    psi = _costs(setting, evidence.sample, _noise(setting, chance))
    spread, mean = float(psi.std(ddof=1)), max(float(psi.mean()), float(np.finfo(float).tiny))
    return Forecast(mean, spread, spread / float(np.sqrt(psi.size)))


def least_of_few(setting: Setting, evidence: PublicEvidence, chance: np.random.Generator) -> float:
    """The least ψ of a few trials: with thousands of noisy moments, trials hardly differ."""
    return float(_costs(setting, evidence.sample, _noise(setting, chance, _FEW)).min())


def costs_of_rests(setting: Setting, evidence: PublicEvidence, chance: np.random.Generator) -> list[float]:
    """The mean ψ without one group of public rows after another, with the same noise on each."""
    noise = _noise(setting, chance)
    return [float(_costs(setting, rest.sample, noise).mean()) for rest in evidence.view.rests]


def _noise(setting: Setting, chance: np.random.Generator, trials: int = _TRIALS) -> FloatArray:
    """The sum of all owners' noise in every trial."""
    deviations = np.repeat(setting.noise_std, setting.answers)
    size = moment_count(setting.terms.parameters)
    if setting.mechanism == "gaussian":
        return float(np.linalg.norm(deviations)) * chance.normal(size=(trials, size))
    unit = (chance.laplace(scale=np.sqrt(0.5), size=(deviations.size, size)) for _ in range(trials))
    return np.stack([deviations @ each for each in unit])


def _costs(setting: Setting, rows: Sample, noise: FloatArray) -> FloatArray:
    """ψ of every trial."""
    terms, told = setting.terms, np.asarray(setting.answers, dtype=np.int64)
    exact = pack_moments(rows, setting.norm) / rows.records * float(told @ np.asarray(setting.records))
    statistics, lam = SufficientStatistics.of(rows), terms.regularization
    best = statistics.fitness(np.clip(statistics.minimiser(lam), -terms.limit, terms.limit), lam)
    rule = StatisticsRule(terms.parameters, setting.records, setting.noise_std, setting.norm, lam, terms.limit)
    models = (rule.model(StatisticsState(exact + each, told)) for each in noise)
    return np.asarray([max(statistics.fitness(theta, lam) / best - 1, 0.0) for theta in models])
