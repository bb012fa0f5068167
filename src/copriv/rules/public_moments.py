"""What the public rows foretell about an answer: where it should lie, how far it may stray, and what that teaches.

An owner answers with its clipped average gradient c_i. The public rows answer the same question, at the same model,
with c_pub. Only the difference e = c_i − c_pub carries news, and to first order it does not depend on the model asked
at, so it never goes stale. If owners' records and public rows come from one population, then e has covariance
Σ_cc(1/n_pub + 1/n_i), with Σ the covariance of a public record's clipped gradient c and full gradient g; and the best
linear guess of how far the *full* gradients differ is B e with B = Σ_gc Σ_cc⁻¹. That undoes the clipping. Where
populations differ, what the clip takes is presumed the same for owners and public rows, and the guess is e itself.

All of this is worked out once, at the public model θ_0, in the eigenbasis of Σ_cc, where isotropic noise stays
isotropic and every direction is a problem of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.rules.left_out import clipped_gradients, covariance
from copriv.vectors import FloatArray, Norm, read_only

# A direction in which the public rows hardly vary is no direction: eigenvalues below this share are raised to it.
_FLOOR = 1e-9
_LEAST = 1e-18


@dataclass(frozen=True, slots=True, eq=False)
class PublicMoments:
    """Moments of the public rows at the public model.

    Args:
        start: θ_0, the public model.
        curvature: A, the Hessian of the public fitness at θ_0.
        basis: columns are the directions u_j (eigenvectors of Σ_cc).
        spread: s_j = u_jᵀ Σ_cc u_j, the variance of one record's clipped gradient.
        sampled: B U, from a deviation in the basis to one of full gradients, if populations are the same.
        unexplained: trace of A⁻¹(Σ_gg − B Σ_cg)/2, what no answer about clipped gradients can teach.
        leverage: M_j with δᵀM_jδ the variance of u_jᵀ(∂c/∂θ)δ over records: how wrong the public Hessian may be.
        staleness: what that costs after one Newton step from θ_0, in fitness times n_pub².
        blunting: what the clip hides of a shift in which gradients differ by one record's variance: a shift is seen
            through the records that the clip spares.
    """

    start: FloatArray
    curvature: FloatArray
    basis: FloatArray
    spread: FloatArray
    sampled: FloatArray
    unexplained: float
    leverage: FloatArray
    staleness: float
    blunting: float = 0.0

    def restore(self, deviation: FloatArray, apart: float) -> FloatArray:
        """From a deviation of clipped gradients, in the basis, to one of full gradients: (1 − apart) B e + apart e."""
        return np.asarray(((1 - apart) * self.sampled + apart * self.basis) @ deviation)

    @classmethod
    def of(
        cls, public: Sample, objective: Objective, clip: float, norm: Norm, start: FloatArray | None = None
    ) -> PublicMoments:
        """From public rows; `start` saves the search for the public model if it is known."""
        theta = minimise(objective, public) if start is None else objective.project(start)
        curvature = objective.curvature(public, theta)
        full, clipped, spared = clipped_gradients(public, objective, (theta, curvature), clip, norm)
        spared = public.columns * spared
        across, within = covariance(full, clipped), covariance(clipped, clipped)
        values, basis = np.linalg.eigh(within)
        spread = np.maximum(values, _FLOOR * max(float(values[-1]), _LEAST))
        sampled = across @ basis / spread
        everything = covariance(full, full)
        remaining = everything - sampled * spread @ sampled.T
        leverage = _leverage(public, spared, basis)
        wander = np.linalg.solve(curvature, np.linalg.solve(curvature, everything).T)
        price = np.sum(basis * np.linalg.solve(curvature, basis), axis=0) / 2
        return cls(
            start=read_only(theta),
            curvature=read_only(curvature),
            basis=read_only(basis),
            spread=read_only(spread),
            sampled=read_only(sampled),
            unexplained=max(float(np.trace(np.linalg.solve(curvature, remaining))) / 2, 0.0),
            leverage=read_only(leverage),
            staleness=float(price @ np.einsum("jab,ba->j", leverage, wander)),
            blunting=_blunting(curvature, spared @ public.columns.T / public.records, everything),
        )


def _blunting(curvature: FloatArray, spared: FloatArray, spread: FloatArray) -> float:
    """½ tr A⁻¹LΣLᵀ with L = (A − A_s)A⁻¹: what is lost of a difference d is (A − A_s)A⁻¹d."""
    lost = (curvature - spared) @ np.linalg.inv(curvature)
    return max(float(np.trace(np.linalg.solve(curvature, lost @ spread @ lost.T))) / 2, 0.0)


def _leverage(public: Sample, spared: FloatArray, basis: FloatArray) -> FloatArray:
    """M_j = E[(u_jᵀ ℓ″x)² xxᵀ] over the spared records."""
    weights = (basis.T @ spared) ** 2
    return np.stack([(public.columns * weight) @ public.columns.T / public.records for weight in weights])
