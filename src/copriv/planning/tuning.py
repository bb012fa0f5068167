"""Choices that would otherwise be guessed, made on the public rows only: the box, the clip, the step.

Nothing private is looked at, so none of it costs budget. Clip and step are judged together, by simulated runs in which
every owner's records look like the public rows, with each owner's own size, cap and noise. The best pair wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.outside import OutsideLoss
from copriv.losses.passes import average_curvature, clipped_average_gradient, gradient_norms
from copriv.losses.sample import Sample
from copriv.rules.paper import PaperRule
from copriv.schedule.poisson import draw
from copriv.simulation.kernel import Draws, PublicRows, Shape, run_alike
from copriv.vectors import FloatArray, IntArray, Norm

_BOX_MARGIN = 2.0
_CLIP_QUANTILES = (0.8, 0.9, 0.95, 0.99, 1.0)
_STEPS = 13
_RUNS = 3
_MOST_ROWS, _FEWEST_ROWS, _ROW_ITERATIONS = 1000, 200, 1_000_000


@dataclass(frozen=True, slots=True)
class Pilot:
    """What the public rows stand for, and the chance that the owners add.

    Args:
        objective: the fitness.
        public: the public rows.
        model: the public model.
        norm: the norm of the owners' mechanism.
        deviations: of each owner's noise if the clip were 1.
        caps: the most answers of each owner.
        horizon: T.
        gaussian: whether the noise is Gaussian rather than Laplace.
    """

    objective: Objective
    public: Sample
    model: FloatArray
    norm: Norm
    deviations: FloatArray
    caps: tuple[int, ...]
    horizon: int
    gaussian: bool


def choose_limit(model: FloatArray) -> float:
    """A box with room for twice the public model, in two digits.

    >>> choose_limit(np.array([0.31, -1.234]))
    2.5
    """
    return float(f"{max(_BOX_MARGIN * float(np.max(np.abs(model))), 1e-3) * 1.01:.1e}")


def candidate_clips(pilot: Pilot) -> list[float]:
    """Quantiles of the public gradients' lengths, where training starts and where it should end."""
    return paper_clips(pilot.objective.loss, pilot.public, pilot.model, pilot.norm)


def paper_clips(loss: Loss, public: Sample, model: FloatArray, norm: Norm) -> list[float]:
    """Clips that Algorithm 1 has to choose from."""
    lengths = [gradient_norms(loss, public, theta, norm) for theta in (np.zeros_like(model), model)]
    return [_digits(max(float(clip), 1e-9)) for clip in np.quantile(np.concatenate(lengths), _CLIP_QUANTILES)]


def candidate_steps(rule: PaperRule, pilot: Pilot) -> list[float]:
    """From the largest stable step down by factors of 2: beyond it a copy overshoots by more than it was away."""
    curvature = average_curvature(pilot.objective.loss, pilot.public, pilot.model)
    steepest = float(np.linalg.eigvalsh(curvature)[-1]) + 2 * rule.regularization
    shares = [n / (gamma * sum(rule.records)) for gamma, n in zip(rule.availability, rule.records, strict=True)]
    return [_digits(2 / (max(shares) * steepest) * 0.5**k) for k in range(_STEPS)]


def judge_clips_and_steps(
    rule: PaperRule, pilot: Pilot, clips: Sequence[float], steps: Sequence[float], generator: np.random.Generator
) -> tuple[float, float]:
    """The clip and the step with the best average fitness on the public rows after a few simulated runs."""
    pairs = [(clip, step) for clip in clips for step in steps]
    rows = some_rows(pilot.public, pilot.horizon)
    fitness = np.zeros(len(pairs))
    for _ in range(_RUNS):
        models = simulate_pairs(rule, pilot, rows, pairs, generator)
        fitness += [pilot.objective.fitness(pilot.public, theta) for theta in models]
    return pairs[int(np.argmin(fitness))]


def some_rows(public: Sample, horizon: int) -> Sample:
    """Evenly spaced public rows, fewer for a longer horizon."""
    wanted = min(max(_ROW_ITERATIONS // horizon, _FEWEST_ROWS), _MOST_ROWS, public.records)
    chosen = np.linspace(0, public.records - 1, wanted).astype(np.int64)
    return public.take(chosen)


def simulate_pairs(
    rule: PaperRule, pilot: Pilot, rows: Sample, pairs: list[tuple[float, float]], generator: np.random.Generator
) -> FloatArray:
    """One run for each pair, all with the same meetings and noise so that they are compared on equal terms."""
    met = np.asarray([meeting.owner for meeting in draw(rule.availability, pilot.horizon, generator)], dtype=np.int64)
    size = (pilot.horizon, rule.parameters)
    unit = generator.normal(size=size) if pilot.gaussian else generator.laplace(scale=np.sqrt(0.5), size=size)
    noise = unit * pilot.deviations[met][:, None]
    if isinstance(pilot.objective.loss, OutsideLoss):
        return np.stack([_run_one(rule, pilot, rows, pair, met, noise) for pair in pairs])
    weights = np.asarray(rule.records) / sum(rule.records)
    owners = np.column_stack([1 / np.asarray(rule.availability), weights])
    loss = pilot.objective.loss
    return run_alike(
        PublicRows.of((loss.code, loss.threshold), rows, pilot.norm.value),
        Draws(met, noise, np.asarray(pilot.caps, dtype=np.int64)),
        Shape(owners, rule.central.factor(rule.owners), rule.regularization, rule.limit),
        np.asarray([clip for clip, _ in pairs]),
        np.asarray([step for _, step in pairs]),
    )


def _run_one(
    rule: PaperRule, pilot: Pilot, rows: Sample, pair: tuple[float, float], met: IntArray, noise: FloatArray
) -> FloatArray:
    """`run_alike` for one pair and a loss from outside, which the compiled kernel does not know: the rule itself."""
    clip, step = pair
    tried = replace(rule, step=step)
    state, left = tried.begin(), list(pilot.caps)
    for owner, unit in zip(met.tolist(), noise, strict=True):
        if left[owner] > 0:
            left[owner] -= 1
            asked = tried.question(state, owner)
            exact = clipped_average_gradient(pilot.objective.loss, rows, asked, clip, pilot.norm)
            state = tried.absorb(state, owner, exact + clip * unit)
    return tried.model(state)


def _digits(value: float) -> float:
    return float(f"{value:.2e}")
