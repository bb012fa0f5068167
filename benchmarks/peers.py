"""What users would pick instead, at the same guarantee, unit and adjacency (replace one), each at its best setting.

The squared loss lets every peer run on second moments. None of them clips: the longest gradient of a public row, at 0
and at the public model, stands for the bound. That favours them, as longer private ones would have to be clipped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from copriv.losses.moments import moment_count, pack_moments
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.privacy.calibration import calibrate
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_moments
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.rules.statistics import StatisticsRule, StatisticsState
from copriv.simulation.cost import Protection, Scene, promised, simulate_rule
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.vectors import FloatArray, Norm

HORIZON = 1000
STEPS = 16
SEARCH_RUNS = 10
ROUNDS = (3, 10, 30, 100)
AVERAGED_ANSWERS = (30, 85, 255)
DELTA = 1e-6


@dataclass(frozen=True)
class Table:
    """A scene as second moments."""

    scene: Scene
    parts: tuple[SufficientStatistics, ...]
    joint: SufficientStatistics
    bound: float

    @classmethod
    def of(cls, scene: Scene) -> "Table":
        """One pass over the records."""
        parts = tuple(SufficientStatistics.of(sample) for sample in scene.samples)
        start = minimise(scene.objective, scene.public)
        lengths = [gradient_norms(scene.objective.loss, scene.public, theta, Norm.L1) for theta in (start, 0 * start)]
        return cls(scene, parts, SufficientStatistics.joint(parts), float(np.max(lengths)))

    @property
    def steepest(self) -> float:
        """The largest curvature."""
        return float(np.linalg.eigvalsh(self.joint.curvature)[-1])

    def psi(self, theta: FloatArray) -> float:
        """ψ from the moments."""
        return self.joint.fitness(theta, self.scene.objective.regularization) / self.scene.best - 1


def algorithm_1(table: Table, epsilon: float, *, runs: int, seed: int) -> float:
    """The paper's, T = 1,000, valid L1 noise for T answers, at its best step."""
    sizes = table.scene.records
    share = max(sizes) * len(sizes) / sum(sizes)
    steps = [2 / (share * table.steepest) * 0.5**k for k in range(STEPS)]
    costs = [_paper(table, epsilon, step, SEARCH_RUNS, seed) for step in steps]
    return _paper(table, epsilon, steps[int(np.nanargmin(costs))], runs, seed + 1)


def _paper(table: Table, epsilon: float, step: float, runs: int, seed: int) -> float:
    sizes, objective = table.scene.records, table.scene.objective
    parameters = table.scene.public.parameters
    rule = PaperRule(parameters, sizes, (1 / len(sizes),) * len(sizes), step, objective.regularization, objective.limit)
    deviations = np.asarray([math.sqrt(2) * 2 * table.bound * HORIZON / (n * epsilon) for n in sizes])
    noise = Noise("laplace", deviations, np.full(len(sizes), HORIZON))
    return float(np.mean(simulate(rule, table.parts, noise, horizon=HORIZON, runs=runs, seed=seed).psi[:, -1]))


def synchronous(table: Table, epsilon: float, *, runs: int, generator: np.random.Generator) -> float:
    """Gradient descent with all owners in every round (Wu et al. 2020), ε/T a round, at its best step and T."""
    steps = [1.9 / table.steepest * 0.5**k for k in range(7)]
    settings = [(rounds, step) for rounds in ROUNDS for step in steps]
    costs = [_descend(table, epsilon, *setting, SEARCH_RUNS, generator) for setting in settings]
    return _descend(table, epsilon, *settings[int(np.nanargmin(costs))], runs, generator)


def _descend(
    table: Table, epsilon: float, rounds: int, step: float, runs: int, generator: np.random.Generator
) -> float:
    objective, owners = table.scene.objective, len(table.parts)
    # (n_i/n) times noise of scale 2C·T/(n_i ε) has the same scale for every owner.
    scale = 2 * table.bound * rounds / (table.joint.records * epsilon)
    theta = np.zeros((runs, table.joint.offset.size))
    for _ in range(rounds):
        noise = generator.laplace(scale=scale, size=(owners, *theta.shape)).sum(axis=0)
        gradient = theta @ table.joint.curvature - table.joint.offset + 2 * objective.regularization * theta + noise
        theta = np.clip(theta - step * gradient, -objective.limit, objective.limit)
    return float(np.mean([table.psi(model) for model in theta]))


def moments(table: Table, epsilon: float, delta: float, *, runs: int, generator: np.random.Generator) -> float:
    """Our one-shot statistics: no public rows."""
    scene, parameters = table.scene, table.scene.public.parameters
    norm = Norm.L2 if delta else Norm.L1
    deviations = {
        n: calibrate(
            Guarantee.of(epsilon, delta),
            answers=1,
            sensitivity=of_moments(records=n, parameters=parameters, norm=norm),
            parameters=moment_count(parameters),
        ).mechanism.noise_std
        for n in set(scene.records)
    }
    each = tuple(deviations[n] for n in scene.records)
    rule = StatisticsRule(parameters, scene.records, each, norm, scene.objective.regularization, scene.objective.limit)
    exact = np.sum([pack_moments(sample, norm) for sample in scene.samples], axis=0)
    told = np.ones(len(each), dtype=np.int64)
    costs = []
    for _ in range(runs):
        unit = _unit(generator, norm, (len(each), exact.size))
        costs.append(table.psi(rule.model(StatisticsState(exact + np.asarray(each) @ unit, told))))
    return float(np.mean(costs))


def averaged(table: Table, epsilon: float, *, runs: int, seed: int) -> float:
    """Our averaged steps under a pure ε, real clipping, at the best step, clip and number of answers.

    The settings are searched for on owners that all hold the public rows, with the noise of the real ones; the run
    starts at 0 and uses no public rows itself.
    """
    scene = table.scene
    owners, protection = len(scene.records), promised(Guarantee.of(epsilon), scene.public.parameters)
    standing_in = replace(scene, samples=(scene.public,) * owners, joint=scene.public, best=1.0)
    loud = Protection(protection.norm, lambda _, clip, answers: protection.noise(scene.records[0], clip, answers))
    lengths = gradient_norms(scene.objective.loss, scene.public, np.zeros(scene.public.parameters), Norm.L1)
    settings = [
        (float(np.quantile(lengths, quantile)), 2 / table.steepest * 0.5**k, max(1, total // owners))
        for quantile in (0.9, 0.99)
        for k in range(1, 7)
        for total in AVERAGED_ANSWERS
    ]
    costs = [averaged_cost(standing_in, loud, *setting, 4, seed) for setting in settings]
    return averaged_cost(scene, protection, *settings[int(np.argmin(costs))], runs, seed + 1)


def averaged_cost(
    scene: Scene, protection: Protection, clip: float, step: float, answers: int, runs: int, seed: int
) -> float:
    """Mean ψ of averaged steps at one setting."""
    objective, owners = scene.objective, len(scene.records)
    rule = AveragedRule(
        scene.public.parameters, scene.records, step, answers * owners, objective.regularization, objective.limit
    )
    states = simulate_rule(rule, scene, protection, clip=clip, answers=answers, runs=runs, seed=seed)
    return float(np.mean([scene.psi(rule.model(state)) for state in states]))


def _unit(generator: np.random.Generator, norm: Norm, size: tuple[int, int]) -> FloatArray:
    return generator.normal(size=size) if norm is Norm.L2 else generator.laplace(scale=math.sqrt(0.5), size=size)


def adassp(
    table: Table,
    parts: Sequence[Sample | SufficientStatistics],
    epsilon: float,
    *,
    runs: int,
    generator: np.random.Generator,
) -> float:
    """AdaSSP (Wang 2018) of each part at (ε, δ), averaged by records; one part is a trusted curator with all records.

    Wang's noise is for adding or removing a record. Replacing one moves xxᵀ by up to √2, xy by up to 2 and the least
    eigenvalue by up to 1.
    """
    sums = [part if isinstance(part, SufficientStatistics) else SufficientStatistics.of(part) for part in parts]
    weights = [part.records / sum(other.records for other in sums) for part in sums]
    limit = table.scene.objective.limit
    costs = []
    for _ in range(runs):
        models = [weight * _adassp(part, epsilon, generator) for weight, part in zip(weights, sums, strict=True)]
        costs.append(table.psi(np.clip(np.sum(models, axis=0), -limit, limit)))
    return float(np.mean(costs))


def _adassp(part: SufficientStatistics, epsilon: float, generator: np.random.Generator) -> FloatArray:
    p, n = part.offset.size, part.records
    matrix, vector = part.curvature * n / 2, part.offset * n / 2
    root, third = math.sqrt(math.log(6 / DELTA)), epsilon / 3
    least = float(np.linalg.eigvalsh(matrix)[0])
    least = max(least + root / third * generator.normal() - root**2 / third, 0.0)
    ridge = max(0.0, math.sqrt(2 * p) * root * math.sqrt(math.log(2 * p**2 / 0.05)) / third - least)
    noise = np.triu(generator.normal(size=(p, p)))
    noise += np.triu(noise, 1).T
    noisy = matrix + math.sqrt(2) * root / third * noise + ridge * np.eye(p)
    told = vector + 2 * root / third * generator.normal(size=p)
    return np.asarray(np.linalg.lstsq(noisy, told, rcond=None)[0])


def alone(table: Table) -> FloatArray:
    """ψ of each owner's own model."""
    return np.asarray([table.psi(part.minimiser(table.scene.objective.regularization)) for part in table.parts])
