"""How far from the limit: the least ψ with the best noise, with one noise for all, and by information alone.

For one answer each, clipped into a body C·K, with h the part that the clip hides and price, spread as in
`forecast.newton`,

    ψ = [h(1/n_pub + 1/n) + Σ_j price_j P_j q_j/(P_j + q_j)]/f*,    q_j = s_j(1/n_pub + 1/n),

P_j the variance of the pooled answers. Nothing is counted for a Hessian that is wrong, nor for further answers.

- *Best noise*: the least ψ over clips, bodies and staircases, along the features and along axes on which gradients are
  short (`rules.axes`). With δ, Gaussian noise takes part besides: it is the best that is known, and not proven to be
  the best there is.
- *One noise for all*: the same if one noise is added to the sum of all answers, as a trusted curator does.
- *Information*: `forecast.information`, for any method at all, over the population.

The limits are of the problem. They do not depend on the rule, the clip or the answers that were settled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from copriv.forecast.information import binding, information_limit, of_gaussian_promise, of_pure_promise
from copriv.forecast.newton import STEP, draw_out, kept, ladder, with_knots
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.staircase import Body, radial_variance, staircase_variance
from copriv.privacy.accounting import Accountant, allowed_rho
from copriv.privacy.guarantee import NANO, Guarantee
from copriv.rules.evidence import Evidence, pool
from copriv.rules.left_out import left_out_slopes
from copriv.vectors import Axes, FloatArray, Norm

# A direction in which clipped gradients hardly vary is no direction, as for `rules.public_moments`.
_FLOOR, _LEAST = 1e-9, 1e-18
# Below this share of the largest eigenvalue the Hessian knows nothing of a direction.
_SINGULAR = 1e-12
# Clips go from this quantile of public gradients; so many are tried between the rungs around the best.
_SHORTEST, _BETWEEN = 0.2, 11
# Of so many different promises, at most, one after another is thought of as the loudest that counts in full.
_PROMISES = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What a forecast is compared with.

    Args:
        best_noise: the least ψ with one answer of each owner and the best noise.
        one_noise: the least ψ with one noise for all.
        information: the least ψ of any method, over the population.
        binding: how many owners' promises, and not the sizes of their tables, set the information limit.
        noise: which noise is the best: "staircase" or "gaussian".
        body: into what gradients are then clipped.
        clip: to what length.
    """

    best_noise: float
    one_noise: float
    information: float
    binding: int
    noise: str
    body: str
    clip: float


@dataclass(frozen=True, slots=True, eq=False)
class ClippedMoments:
    """What clipped gradients of public rows tell under one clip.

    Args:
        clip: C.
        spread: s_j.
        price: ½(Bu_j)ᵀA⁻¹(Bu_j).
        unexplained: what no answer can teach.
        hidden: the same with the tail drawn out.
    """

    clip: float
    spread: FloatArray
    price: FloatArray
    unexplained: float
    hidden: float

    def cost(self, variance: FloatArray, sampling: float) -> float:
        """f(θ) − f(θ*) to be expected if the pooled answers have this variance in every direction."""
        public = self.spread * sampling
        left = variance * public / (variance + public)
        share = kept(self.hidden - self.unexplained, float(self.price @ self.spread))
        return self.hidden * sampling + float(self.price @ left) * share


@dataclass(frozen=True, slots=True)
class _Noise:
    """A kind of noise over a body; of each owner, the variance at sensitivity 1, and that of a law that scales."""

    name: Literal["staircase", "gaussian"]
    body: Body
    variances: tuple[float, ...]
    scaling: tuple[float, ...]
    axes: Axes = ()


def find_limits(setting: Setting, evidence: PublicEvidence) -> Limits:
    """The limits for owners of these sizes and promises, from public rows."""
    problem = _Problem(setting, evidence)
    best, noise, clip = problem.least(problem.apart)
    together, _, _ = problem.least(problem.together)
    promised = [_promised_information(guarantee, setting.accountant) for guarantee in setting.guarantees]
    information = information_limit(problem.weights, evidence.sample.records, setting.records, promised)
    return Limits(
        best_noise=best / problem.fitness,
        # Whoever adds one noise may as well add as many as there are owners.
        one_noise=min(best, together) / problem.fitness,
        information=information / problem.fitness,
        binding=binding(problem.parameters, setting.records, promised),
        noise=noise.name,
        body=noise.body.value,
        clip=clip,
    )


def least_with_noise(setting: Setting, evidence: PublicEvidence, body: Body, variances: tuple[float, ...]) -> float:
    """The least ψ over clips into a body if owners' noise has these variances at sensitivity 1; to compare noises."""
    problem = _Problem(setting, evidence)
    noise = _Noise("staircase", body, variances, variances)
    return min(problem.apart(noise, moments) for moments in clipped_moments(evidence, body)) / problem.fitness


class _Problem:
    """Owners and public rows, and what a noise over a body costs under a clip; a memo, not a value."""

    def __init__(self, setting: Setting, evidence: PublicEvidence) -> None:
        self.setting, self.evidence = setting, evidence
        self.parameters = evidence.sample.parameters
        self.sizes = np.asarray(setting.records, dtype=np.float64)
        self.total = float(np.sum(self.sizes))
        self.sampling = 1 / evidence.sample.records + 1 / self.total
        self.fitness = evidence.objective.fitness(evidence.sample, evidence.start)

    @cached_property
    def weights(self) -> FloatArray:
        """The eigenvalues of W = Σ^½A⁻¹Σ^½."""
        hessian = self.evidence.objective.curvature(self.evidence.sample, self.evidence.start)
        values = np.linalg.eigvals(np.linalg.pinv(hessian, hermitian=True) @ self.evidence.view.covariance).real
        return np.asarray(np.maximum(values, 0.0))

    @cached_property
    def _choices(self) -> tuple[tuple[_Noise, ClippedMoments], ...]:
        """Every noise with every clip of its body."""
        noises = _noises(self.setting, self.parameters)
        if axes := self.evidence.axes(Norm.L1):
            noises += [replace(noise, axes=axes) for noise in noises]
        ladders = {key: clipped_moments(self.evidence, *key) for key in {(noise.body, noise.axes) for noise in noises}}
        return tuple((noise, moments) for noise in noises for moments in ladders[noise.body, noise.axes])

    def least(self, cost: Callable[[_Noise, ClippedMoments], float]) -> tuple[float, _Noise, float]:
        """The least cost, with its noise and its clip: on the ladder first, and then between its rungs."""
        noise, near = min(self._choices, key=lambda choice: cost(*choice))
        clips = (near.clip * STEP ** np.linspace(-1, 1, _BETWEEN)).tolist()
        found = [
            (cost(noise, moments), moments.clip)
            for moments in clipped_moments(self.evidence, noise.body, noise.axes, clips)
        ]
        least, clip = min([*found, (cost(noise, near), near.clip)])
        return least, noise, clip

    def apart(self, noise: _Noise, moments: ClippedMoments) -> float:
        """The cost if every owner adds its own noise."""
        variances = np.asarray(noise.variances) * (2 * moments.clip / self.sizes) ** 2
        each = np.tile(variances[:, None] + np.finfo(float).tiny, self.parameters)
        evidence = Evidence(np.zeros_like(each), each, self.sizes, np.empty(0))
        _, variance = pool(evidence, moments.spread, self.setting.heterogeneity)
        return moments.cost(variance, self.sampling)

    def together(self, noise: _Noise, moments: ClippedMoments) -> float:
        """The least cost if one noise is added to a weighted sum of all answers."""
        return min(
            moments.cost(moments.spread * strayed + variance * moments.clip**2, self.sampling)
            for strayed, variance in self._sums(noise)
        )

    def _sums(self, noise: _Noise) -> list[tuple[float, float]]:
        """For ways to weigh the answers: how far the sum strays from the average, and its noise for a clip of 1.

        By records, with noise for the strictest promise; and, where promises differ, with less weight for the strict:
        w_i ∝ n_i min(a_i, τ), 1/a_i the deviation that owner i's promise asks for. Staircases do not serve two
        promises at once, so the second way takes noise that scales.
        """
        found = [(0.0, max(noise.variances) * (2 / self.total) ** 2)]
        loudness = 1 / np.sqrt(np.asarray(noise.scaling))
        different = np.unique(loudness)
        if different.size > 1:
            for most in np.quantile(different, np.linspace(0, 1, min(different.size, _PROMISES))):
                counted = self.sizes * np.minimum(loudness, most)
                weights = counted / np.sum(counted) - self.sizes / self.total
                strayed = float(np.sum(weights**2 * (1 / self.sizes + self.setting.heterogeneity)))
                found.append((strayed, float((2 / np.sum(counted)) ** 2)))
        return found


def clipped_moments(
    evidence: PublicEvidence, body: Body, axes: Axes = (), clips: Sequence[float] | None = None
) -> list[ClippedMoments]:
    """What public rows tell under these clips into a body along these axes; without clips, under a ladder of them."""
    sample, objective = evidence.sample, evidence.objective
    hessian = objective.curvature(sample, evidence.start)
    slopes = left_out_slopes(objective, sample, evidence.start, hessian)
    gradients = sample.by_record(sample.columns * slopes)
    told = np.asarray(axes) @ gradients if axes else gradients
    lengths = body.lengths(told)
    curvature, directions = np.linalg.eigh(hessian)
    roots = np.sqrt(np.maximum(curvature, _SINGULAR * curvature[-1]))
    whitened = (directions / roots).T @ (gradients - gradients.mean(axis=1, keepdims=True))
    clips = ladder(lengths, _SHORTEST) if clips is None else clips
    explained = {clip: _explain(whitened, body.clip(told, lengths, clip)) for clip in with_knots(clips, lengths)}
    hidden = draw_out({clip: left for clip, (_, _, left) in explained.items()}, lengths)
    return [ClippedMoments(clip, *explained[clip], hidden[clip]) for clip in clips]


def _explain(whitened: FloatArray, clipped: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Spread and price by direction, and what is unexplained, from A^(−½)g (centred) and clipped gradients."""
    records = clipped.shape[1]
    centred = clipped - clipped.mean(axis=1, keepdims=True)
    values, basis = np.linalg.eigh(centred @ centred.T / records)
    spread = np.maximum(values, _FLOOR * max(float(values[-1]), _LEAST))
    price = np.sum((whitened @ centred.T @ basis / (records * spread)) ** 2, axis=0) / 2
    unexplained = float(np.sum(whitened**2)) / (2 * records) - float(price @ spread)
    return spread, price, max(unexplained, 0.0)


def _noises(setting: Setting, parameters: int) -> list[_Noise]:
    """Those that the owners' promises allow."""
    epsilons = [guarantee.epsilon for guarantee in setting.guarantees]
    found = [
        _Noise(
            "staircase",
            body,
            tuple(staircase_variance(body, parameters, epsilon) for epsilon in epsilons),
            tuple(radial_variance(body, parameters, epsilon) for epsilon in epsilons),
        )
        for body in Body
    ]
    if not setting.guarantees[0].pure:
        gaussian = tuple(0.5 / _rho(guarantee, setting.accountant) for guarantee in setting.guarantees)
        found.append(_Noise("gaussian", Body.BALL, gaussian, gaussian))
    return found


@lru_cache(maxsize=4096)
def _rho(guarantee: Guarantee, accountant: Accountant) -> float:
    """The most that a guarantee with δ allows to Gaussian noise, of variance Δ²/(2ρ)."""
    return allowed_rho(guarantee, "zcdp" if accountant == "zcdp" else "pld") / NANO


def _promised_information(guarantee: Guarantee, accountant: Accountant) -> float:
    """The most information of an owner's release, over n_i²; with δ, of what keeps the ρ that Gaussian noise has."""
    if guarantee.pure:
        return of_pure_promise(guarantee.epsilon)
    return of_gaussian_promise(_rho(guarantee, accountant))


def times(forecast: float, limit: float) -> float:
    """How many times the limit a forecast is."""
    return forecast / limit if limit > 0 else float("inf")
