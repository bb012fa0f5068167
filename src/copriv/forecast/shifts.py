"""What public Newton costs if the public rows come from elsewhere: ψ for every size of the difference, and intervals.

Private gradients differ from public ones by d_0 + Δu at a place u (`rules.difference`). Another population adds α to
the variance of d_0 and β to that of Δ, in units of one record's. For each pair of sizes the rule's own way is followed
in expectation (`rules.purchase`): it asks for a little, steps, and asks on; each answer leaves of the squared gradient
what its noise hides and what the step got wrong, as the Hessian is not known; second moments make it known. The best of
a few such plans stands for what the rule will do.

Some of the difference may never be learnt, whatever the budget: where records are clipped that public rows are not, or
owners differ among themselves. It is a share of what the public model costs, between nothing and a third (`_STUBBORN`,
as measured on pairs of years, regions and owners).

What sizes there are is not known before the first answer. For a public file from elsewhere they are about equally
likely on a logarithmic scale (`from_elsewhere`). The answers tell more, one by one (`rules.adaptive_inference`), and an
owner's own records as well (`given_distance`): then the same costs are weighed by those chances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copriv.rules.difference import ALPHAS, BETAS, prior
from copriv.rules.geometry import PublicGeometry
from copriv.rules.setting import NoiseModel
from copriv.vectors import FloatArray, Norm

# The chance that a public file from elsewhere is of the same population after all, and the largest α thought of.
_UNSHIFTED, _UNSHIFTED_HERE, _LARGEST = 0.05, 0.9, 1.0
# The least distance, as a share of what sampling makes.
_NEAREST = 1e-9
# α beyond which public rows do not fit, and how sure one has to be to say so.
MISFIT, SURE = 0.03, 0.8
# Shares of what the public model costs that are never learnt, and the chance of each.
_STUBBORN = np.array([0.0, 1e-3, 1e-2, 0.1, 0.3])
_STUBBORN_CHANCES = np.array([0.4, 0.2, 0.1, 0.15, 0.15])
# Gradients at these shares (g), and second moments (h) before the rest is asked for.
_PLANS: tuple[tuple[tuple[str, float], ...], ...] = (
    (),
    (("g", 0.1),),
    (("g", 0.1), ("g", 0.2)),
    (("h", 0.2),),
    (("g", 0.1), ("h", 0.2)),
    (("g", 0.1), ("h", 0.2), ("g", 0.2)),
)
# What a cost under a shift may be off by: the deviation of its logarithm.
_ROUGH = 0.9
_BISECTIONS, _TAILS = 50, 6


@dataclass(frozen=True, slots=True, eq=False)
class ShiftCosts:
    """ψ to be expected for every α, β and share that is never learnt, and the deviation of its logarithm."""

    costs: FloatArray
    deviation: float = _ROUGH

    def interval(self, chances: FloatArray, level: float = 0.95) -> tuple[float, float]:
        """Where ψ of one training lies with that probability, if α (rows) and β (columns) have these chances."""
        return self.quantile(chances, (1 - level) / 2), self.quantile(chances, (1 + level) / 2)

    def quantile(self, chances: FloatArray, part: float) -> float:
        """Of the mixture of log-normal costs, by bisection."""
        from scipy.special import ndtr

        places = np.log(self.costs).ravel()
        weights = (chances[:, :, None] * _STUBBORN_CHANCES).ravel() / chances.sum()
        low, high = (float(end) for end in (places.min(), places.max()))
        low, high = low - _TAILS * self.deviation, high + _TAILS * self.deviation
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            below = float(weights @ ndtr((middle - places) / self.deviation))
            low, high = (middle, high) if below < part else (low, middle)
        return math.exp((low + high) / 2)


def from_elsewhere(unshifted: float = _UNSHIFTED) -> FloatArray:
    """Chances of every α (row) and β (column) for a public file from elsewhere."""
    chances = np.exp(prior(unshifted)) * (ALPHAS <= _LARGEST)[:, None]
    return np.asarray(chances / chances.sum())


def given_distance(squared: float, sampling: float, wobble: float) -> FloatArray:
    """The same for an owner that has looked at its own records.

    Args:
        squared: how far its best model lies from the public one, in units of what one record's sampling costs.
        sampling: what is expected of that if both are draws of one population, such as 1/n + 1/n_pub.
        wobble: its relative deviation then.
    """
    from scipy.stats import gamma

    shape = 1 / wobble**2
    means = sampling + ALPHAS
    # A distance of 0 (its records are the public rows) has no density; ratios of densities near it do.
    likelihood = gamma.logpdf(max(squared, _NEAREST * sampling), shape, scale=means / shape)
    chances = from_elsewhere(_UNSHIFTED_HERE) * np.exp(likelihood - likelihood[ALPHAS <= _LARGEST].max())[:, None]
    return np.asarray(chances / chances.sum())


def shift_costs(geometry: PublicGeometry, records: tuple[int, ...], noise: NoiseModel, known: float) -> ShiftCosts:
    """For owners with such noise; `known` is ψ without a shift, which no shift makes smaller."""
    fitness = geometry.objective.fitness(geometry.public, geometry.start)
    sampling = 1 / geometry.public.records + 1 / float(sum(records))
    sizes, slopes = np.meshgrid(ALPHAS, BETAS, indexing="ij")
    gradient = (sampling + sizes.ravel())[:, None] * np.diag(geometry.spread)
    openness = (sampling + slopes.ravel())[:, None, None] * geometry.unevenness
    plans = [_cost(plan, gradient, openness, geometry, noise) for plan in _PLANS if _has(noise, plan)]
    learnt = np.minimum.reduce(plans).reshape(sizes.shape) / fitness
    public = sizes * float(np.trace(geometry.spread)) / 2 / fitness
    left = learnt[:, :, None] - learnt[0, 0] + _STUBBORN * public[:, :, None]
    return ShiftCosts(known + np.maximum(left, 0.0))


def _has(noise: NoiseModel, plan: tuple[tuple[str, float], ...]) -> bool:
    return "second_moments" in noise.kinds or all(kind == "g" for kind, _ in plan)


def _cost(
    plan: tuple[tuple[str, float], ...],
    gradient: FloatArray,
    openness: FloatArray,
    geometry: PublicGeometry,
    noise: NoiseModel,
) -> FloatArray:
    """f(θ) − f(θ*) after a plan and the rest, for every size of the difference."""
    power = 2 if noise.norm is Norm.L1 else 1
    tiny = np.finfo(float).tiny
    whole = 1 / float(np.sum(1 / (np.asarray(noise.noise_std) ** 2 + tiny)))
    left = 1.0
    for kind, share in (*plan, ("g", 1 - sum(share for _, share in plan))):
        left -= share
        if kind == "h":
            squares = 1 / float(np.sum(1 / (np.asarray(noise.second_moments_std) ** 2 + tiny)))
            told = geometry.hessian_noise(squares / share**power)
            openness = openness * told / (openness + told)
            continue
        hessian = np.sqrt(1 + np.einsum("cjj->cj", openness))
        hidden = whole / share**power / geometry.values
        wrong = hidden + np.einsum("cjk,ck->cj", openness, gradient / hessian**2)
        gradient = gradient / (1 + gradient / wrong)
    hessian = np.sqrt(1 + np.einsum("cjj->cj", openness))
    return np.asarray(np.sum(gradient / hessian, axis=1) / 2)
