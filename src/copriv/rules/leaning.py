"""Leaning: a long model of few public rows fits them too well, and that is known before anybody answers.

Let λ* be the ridge under which public rows that are left out fare best (`rules.ridge`), and θ_λ the model it gives. If
coefficients lie around 0 as λ* says, then the records of all owners have their best model near θ_λ rather than near the
public model θ_0. So the difference D of the gradients at θ_0, which answers tell with noise, is expected to be

    m = A(θ_0 − θ_λ),    with variance s_j(S_j/n_pub + 1/n),    S = A(A + 2(λ* − λ)I)⁻¹,

instead of 0 with variance s_j(1/n_pub + 1/n). One ridge for all directions is a rough belief: some coefficients are
large. So in each direction both are thought equally likely, and the answers decide. Where noise drowns them the model
stays halfway between θ_0 and θ_λ. The objective does not change: this is how the same minimiser is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules.evidence import Evidence, Posterior, estimate_difference, pool
from copriv.rules.public_moments import PublicMoments
from copriv.rules.ridge import best_ridge
from copriv.vectors import FloatArray, freeze

# How likely it is in each direction, before any answer, that the ridge is right.
_BELIEF = 0.5
# κ_pub, how much all owners together may differ from the public rows, as in `rules.evidence`.
_APART = np.concatenate([[0.0], np.geomspace(1e-7, 10.0, 25)])


@dataclass(frozen=True, slots=True, eq=False)
class Leaning:
    """Where the difference of gradients is expected if the ridge is right, in the basis of `PublicMoments`.

    Args:
        expected: m_j.
        kept: S_j, the share of the public rows' variance that the ridge leaves.
    """

    expected: FloatArray
    kept: FloatArray

    @classmethod
    def of(cls, public: Sample, objective: Objective, outlook: PublicMoments) -> Leaning | None:
        """From the public rows; None if they want no larger ridge than the objective has."""
        ridge = best_ridge(public, objective)
        if ridge <= objective.regularization:
            return None
        held = minimise(replace(objective, regularization=ridge), public)
        stiffer = outlook.curvature + 2 * (ridge - objective.regularization) * np.eye(held.size)
        kept = np.sum(outlook.basis * (outlook.curvature @ np.linalg.solve(stiffer, outlook.basis)), axis=0)
        expected = outlook.basis.T @ (outlook.curvature @ (outlook.start - held))
        return cls(freeze(np.asarray(expected)), freeze(np.clip(kept, np.finfo(float).tiny, 1.0)))

    @property
    def beforehand(self) -> FloatArray:
        """The difference that is expected before any answer."""
        return _BELIEF * self.expected

    def weigh(self, evidence: Evidence, spread: FloatArray, public_records: int) -> tuple[Posterior, FloatArray]:
        """What is expected of D: the part that answers tell, and the part that the ridge tells where they do not."""
        among = estimate_difference(evidence, spread, public_records)
        mean, noise = pool(evidence, spread, among)
        sampling = 1 / public_records + 1 / evidence.total
        loose = spread * (sampling + _APART[:, None])
        tight = spread * (self.kept / public_records + 1 / evidence.total + _APART[:, None])
        plain = np.log(1 - _BELIEF) + _log_density(mean, loose + noise)
        leaning = np.log(_BELIEF) + _log_density(mean - self.expected, tight + noise)
        either = np.logaddexp(plain, leaning)
        chances = _chances(np.sum(either, axis=1), sampling)
        right = np.exp(leaning - either)
        trusts = (1 - right) * loose / (loose + noise) + right * tight / (tight + noise)
        ridge = right * noise / (tight + noise)
        apart = float(chances @ (_APART / (_APART + sampling)))
        return Posterior(chances @ trusts * mean, among, apart), np.asarray(chances @ ridge * self.expected)


def _log_density(values: FloatArray, variances: FloatArray) -> FloatArray:
    """Of a Gaussian around 0, but for a constant."""
    return np.asarray(-(np.log(variances) + values**2 / variances) / 2)


def _chances(likelihood: FloatArray, sampling: float) -> FloatArray:
    """The posterior probability of every κ_pub: half of the prior is on 0, the rest falls off beyond `sampling`."""
    prior = 1 / (1 + _APART / sampling)
    prior[0] = np.sum(prior[1:])
    chances = prior * np.exp(likelihood - np.max(likelihood))
    return np.asarray(chances / np.sum(chances))
