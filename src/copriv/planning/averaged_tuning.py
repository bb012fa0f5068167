"""The clip and step of averaged steps, by simulated runs in which every owner's records look like the public rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.passes import average_curvature, clipped_average_gradients, gradient_norms
from copriv.losses.sample import Sample
from copriv.planning.training_spec import TrainingSpec
from copriv.rules.averaged import AveragedRule
from copriv.vectors import FloatArray, Norm

_CLIP_QUANTILES = (0.8, 0.95, 1.0)
_STEPS = 12
_RUNS = 2
_MOST_ROWS = 500


@dataclass(frozen=True, slots=True, eq=False)
class AveragedPilot:
    """What the public rows stand for, and the chance that the owners add.

    Args:
        rule: averaged steps of some step.
        objective: the fitness.
        public: the public rows.
        model: the public model.
        norm: the norm of the owners' mechanism.
        units: deviation of each owner's noise if the clip were 1.
        gaussian: whether the noise is Gaussian rather than Laplace.
    """

    rule: AveragedRule
    objective: Objective
    public: Sample
    model: FloatArray
    norm: Norm
    units: FloatArray
    gaussian: bool


def best_step(pilot: AveragedPilot, spec: TrainingSpec, chance: np.random.Generator) -> tuple[float, float]:
    """The clip and step with the best fitness on the public rows, of those that are not settled."""
    objective, rule = pilot.objective, pilot.rule
    clips = averaged_clips(pilot.objective.loss, pilot.public, pilot.norm) if spec.clip is None else [spec.clip]
    steepest = float(np.linalg.eigvalsh(average_curvature(objective.loss, pilot.public, pilot.model))[-1])
    heaviest = len(rule.records) * max(rule.records) / sum(rule.records)
    widest = 2 / (heaviest * steepest + 2 * rule.regularization)
    steps = np.asarray([widest * 0.5**k for k in range(_STEPS)] if spec.step is None else [spec.step])
    rows = _some_rows(pilot.public)
    found = []
    for clip in clips:
        totals = np.zeros(steps.size)
        for _ in range(_RUNS):
            models = _simulate(pilot, rows, clip, steps, chance)
            totals += [objective.fitness(pilot.public, theta) for theta in models]
        place = int(np.argmin(totals))
        found.append((float(totals[place]) / _RUNS, clip, _digits(float(steps[place]))))
    _, clip, step = min(found)
    return clip, step


def averaged_clips(loss: Loss, public: Sample, norm: Norm) -> list[float]:
    """Quantiles of the public gradients' lengths where training starts."""
    lengths = gradient_norms(loss, public, np.zeros(public.parameters), norm)
    return [_digits(float(clip)) for clip in np.quantile(lengths, _CLIP_QUANTILES)]


def _simulate(
    pilot: AveragedPilot, rows: Sample, clip: float, steps: FloatArray, chance: np.random.Generator
) -> FloatArray:
    """One run for every step, all with the same owners and noise."""
    rule, loss = pilot.rule, pilot.objective.loss
    theta, total = np.zeros((2, steps.size, rule.parameters))
    weights = len(rule.records) * np.asarray(rule.records) / sum(rule.records)
    for k in range(rule.horizon):
        owner = int(chance.integers(len(rule.records)))
        laplace = not pilot.gaussian
        noise = chance.laplace(0, np.sqrt(0.5), rule.parameters) if laplace else chance.normal(size=rule.parameters)
        answer = clipped_average_gradients(loss, rows, theta, clip, pilot.norm)
        pull = 2 * rule.regularization * theta + weights[owner] * (answer + pilot.units[owner] * clip * noise)
        theta = np.clip(theta - steps[:, None] * pull, -rule.limit, rule.limit)
        if k >= rule.horizon // 2:
            total += theta
    return np.asarray(total / (rule.horizon - rule.horizon // 2), dtype=np.float64)


def _some_rows(public: Sample) -> Sample:
    chosen = np.linspace(0, public.records - 1, min(_MOST_ROWS, public.records)).astype(np.int64)
    return public.take(chosen)


def _digits(value: float) -> float:
    return float(f"{max(value, 1e-9):.2e}")
