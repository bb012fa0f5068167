"""The clip and step of averaged steps, by simulated runs in which every owner's records look like the public rows."""

from __future__ import annotations

import numpy as np

from copriv.losses.passes import average_curvature, clipped_average_gradients, gradient_norms
from copriv.losses.sample import Sample
from copriv.planning.training_spec import TrainingSpec
from copriv.protocol.commitment import Commitment
from copriv.rules.averaged import AveragedRule
from copriv.vectors import FloatArray

_CLIP_QUANTILES = (0.8, 0.95, 1.0)
_STEPS = 12
_RUNS = 2
_MOST_ROWS = 500


def best_step(
    rule: AveragedRule,
    commitments: tuple[Commitment, ...],
    public: Sample,
    model: FloatArray,
    wishes: TrainingSpec,
    chance: np.random.Generator,
) -> tuple[float, float, float]:
    """The clip and step with the best fitness on the public rows, and that fitness."""
    objective, norm = commitments[0].objective, commitments[0].norm
    lengths = gradient_norms(objective.loss, public, np.zeros_like(model), norm)
    clips = [_digits(float(c)) for c in np.quantile(lengths, _CLIP_QUANTILES)] if wishes.clip is None else [wishes.clip]
    steepest = float(np.linalg.eigvalsh(average_curvature(objective.loss, public, model))[-1])
    heaviest = len(rule.records) * max(rule.records) / sum(rule.records)
    widest = 2 / (heaviest * steepest + 2 * rule.regularization)
    steps = np.asarray([widest * 0.5**k for k in range(_STEPS)] if wishes.step is None else [wishes.step])
    rows = _some_rows(public)
    units = np.asarray([commitment.calibration.mechanism.noise_std / commitment.clip for commitment in commitments])
    found = []
    for clip in clips:
        totals = np.zeros(steps.size)
        for _ in range(_RUNS):
            models = _simulate(rule, commitments[0], rows, units * clip, clip, steps, chance)
            totals += [objective.fitness(public, theta) for theta in models]
        place = int(np.argmin(totals))
        found.append((float(totals[place]) / _RUNS, clip, _digits(float(steps[place]))))
    fitness, clip, step = min(found)
    return clip, step, fitness


def _simulate(
    rule: AveragedRule,
    commitment: Commitment,
    rows: Sample,
    deviations: FloatArray,
    clip: float,
    steps: FloatArray,
    chance: np.random.Generator,
) -> FloatArray:
    """One run for every step, all with the same owners and noise."""
    theta, total = np.zeros((2, steps.size, rule.parameters))
    weights = len(rule.records) * np.asarray(rule.records) / sum(rule.records)
    gaussian = commitment.calibration.mechanism.name == "gaussian"
    for k in range(rule.horizon):
        owner = int(chance.integers(len(rule.records)))
        noise = chance.normal(size=rule.parameters) if gaussian else chance.laplace(0, np.sqrt(0.5), rule.parameters)
        answer = clipped_average_gradients(commitment.objective.loss, rows, theta, clip, commitment.norm)
        pull = 2 * rule.regularization * theta + weights[owner] * (answer + deviations[owner] * noise)
        theta = np.clip(theta - steps[:, None] * pull, -rule.limit, rule.limit)
        if k >= rule.horizon // 2:
            total += theta
    return np.asarray(total / (rule.horizon - rule.horizon // 2), dtype=np.float64)


def _some_rows(public: Sample) -> Sample:
    chosen = np.linspace(0, public.records - 1, min(_MOST_ROWS, public.records)).astype(np.int64)
    return Sample.of_rows(public.columns[:, chosen].T, public.targets[chosen])


def _digits(value: float) -> float:
    return float(f"{max(value, 1e-9):.2e}")
