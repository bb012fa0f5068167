"""Small public rows and owners of another population, and trainings with a menu, for tests of rules that look first."""

import numpy as np
from scipy.special import expit

from copriv.losses.choose import choose
from copriv.losses.moments import pack_second_moments, positive_share
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.protocol.commitment import told_gradient
from copriv.rules.adaptive_newton import KINDS, KINDS_OF_LABELS, SHARES, AdaptiveNewton
from copriv.rules.setting import NoiseModel
from copriv.vectors import Norm

OBJECTIVE = Objective(choose("squared"), 1e-5, 50.0)
P = 4
CLIP = 2.0
TILT = np.linspace(-0.6, 0.7, P)
# Rows of the other population: features that the public ones vary little in vary much, and they go together.
MIXED = np.eye(P)[::-1] + 0.6
# Of the labels of `labelled`.
SLOPES = np.array([2.0, -1.5, 1.0, -0.5])


def objective(loss="squared", limit=50.0, regularization=1e-5):
    return Objective(choose(loss, 0.25), regularization, limit)


def population(records, seed, *, model=TILT, mixing=None, loss="squared"):
    """Rows of length at most 1, and targets (labels for the logistic loss) around a model."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, P)) * np.array([0.5, 0.35, 0.25, 0.18])
    rows = rows if mixing is None else rows @ mixing
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    noisy = rows @ model + 0.1 * generator.normal(size=records)
    return Sample.of_rows(rows, np.where(noisy > 0, 1.0, -1.0) if loss == "logistic" else np.clip(noisy, -1, 1))


def labelled(records, seed, *, intercept=-3.0, away=None, mixing=None):
    """Rows with a constant of 0.4 behind them, and labels of a logistic model."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(records, 4)) * 0.25
    features = features if mixing is None else features @ mixing
    features = features if away is None else features + away
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True) / 0.9, 1)
    chances = expit(4 * features @ SLOPES + intercept)
    rows = np.column_stack([features, np.full(records, 0.4)])
    return Sample.of_rows(rows, np.where(generator.random(records) < chances, 1.0, -1.0))


def strangers(owners, records=4000, seed=100):
    """Owners of another population: other rows, and another model."""
    return [population(records, seed + i, model=-TILT / 2, mixing=MIXED) for i in range(owners)]


def noise_model(
    owners,
    deviation,
    *,
    norm=Norm.L1,
    squares=None,
    clip=CLIP,
    shares=SHARES,
    kinds=KINDS,
    positives=None,
    fill=0.0,
    axes=(),
):
    """Noise of one deviation for all owners; of second moments as much, unless said otherwise; of positives if said."""
    second = (deviation if squares is None else squares,) * owners
    third = () if positives is None else (positives,) * owners
    kinds = kinds if positives is None else KINDS_OF_LABELS
    deviations = {"second_moments_std": second, "positives_std": third}
    told = {"fill": fill, "axes": axes}
    return NoiseModel((deviation,) * owners, clip, norm, shares=shares, kinds=kinds, **told, **deviations)


def rule_for(public, samples, noise, of=OBJECTIVE):
    return AdaptiveNewton.of(public, of, records=[each.records for each in samples], noise=noise)


def answer_to(sample, ask, rule, owner, generator):
    """What an owner answers: the truth, and Laplace or Gaussian noise of the deviation that the share buys."""
    noise = rule.setting.noise
    if ask.kind == "second_moments":
        truth = pack_second_moments(sample, noise.norm)
    elif ask.kind == "positives":
        truth = positive_share(sample)
    else:
        bounds = noise.clip, noise.fill, noise.axes
        truth = told_gradient(rule.setting.geometry.objective.loss, sample, ask.theta, bounds, noise.norm)
    draw = (
        generator.laplace(size=truth.size) / np.sqrt(2) if noise.norm is Norm.L1 else generator.normal(size=truth.size)
    )
    return truth + noise.std_of(owner, ask) * draw


def train(rule, samples, seed=0, order=None):
    """All meetings in rounds until nobody has anything left; the last state, and what was asked of whom."""
    generator, state, asked = np.random.default_rng(seed), rule.begin(), []
    for owner in order if order is not None else list(range(len(samples))) * 20:
        ask = rule.ask(state, owner)
        if ask is not None:
            asked.append((owner, ask))
            state = rule.learn(state, owner, answer_to(samples[owner], ask, rule, owner, generator), ask)
    return state, asked


def cost(theta, samples, of=OBJECTIVE):
    """ψ of a model on all these records together."""
    joint = Sample.join(samples)
    return relative_fitness(of.fitness(joint, theta), of.fitness(joint, minimise(of, joint)))
