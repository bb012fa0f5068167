"""What the public rows foretell about an answer: where it should lie, how far it may stray, and what that teaches.

An owner answers with its clipped average gradient c_i. The public rows answer the same question, at the same model,
with c_pub. Only the difference e = c_i − c_pub carries news, and to first order it does not depend on the model asked
at, so it never goes stale. If owners' records and public rows come from one population, then e has covariance
Σ_cc(1/n_pub + 1/n_i), with Σ the covariance of a public record's clipped gradient c and full gradient g; and the best
linear guess of how far the *full* gradients differ is B e with B = Σ_gc Σ_cc⁻¹. That undoes the clipping. Where
populations differ, what the clip takes is presumed the same for owners and public rows, and the guess is e itself.

All of this is worked out once, at the public model θ_0, in the eigenbasis of Σ_cc, where isotropic noise stays
isotropic and every direction is a problem of its own. What no clip changes is worked out once for all clips
(`PublicGradients`), and sums over records are shared by them (`rules.clipped_sums`), so that a further clip costs
little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_lengths, record_curvatures, weighted_outer
from copriv.losses.sample import Sample
from copriv.losses.turned import turn
from copriv.rules.clipped_sums import ClippedSums, GradientsToClip
from copriv.rules.left_out import left_out_slopes, quadratic_forms
from copriv.vectors import Axes, FloatArray, Norm, freeze, read_only

# A direction in which the public rows hardly vary is no direction: eigenvalues below this share are raised to it.
_FLOOR = 1e-9
_LEAST = 1e-18


@dataclass(frozen=True, slots=True, eq=False)
class PublicMoments:
    """Moments of the public rows at the public model, under one clip.

    Args:
        clip: how long a gradient may be.
        start: θ_0, the public model.
        curvature: A, the Hessian of the public fitness at θ_0.
        inverse: A⁻¹.
        basis: columns are the directions u_j (eigenvectors of Σ_cc).
        spread: s_j = u_jᵀ Σ_cc u_j, the variance of one record's clipped gradient.
        sampled: B U, from a deviation in the basis to one of full gradients, if populations are the same.
        price: (BU)ᵀA⁻¹(BU)/2, what a deviation in the basis costs.
        unexplained: trace of A⁻¹(Σ_gg − B Σ_cg)/2, what no answer about clipped gradients can teach.
        spared: ℓ″ of every row; 0 where the clip does not spare its record.
        staleness: what it costs that the public Hessian may be wrong (`rules.unevenness`), after one Newton step from
            θ_0, in fitness times n_pub².
        blunting: what the clip hides of a shift in which gradients differ by one record's variance: a shift is seen
            through the records that the clip spares.
    """

    clip: float
    start: FloatArray
    curvature: FloatArray
    inverse: FloatArray
    basis: FloatArray
    spread: FloatArray
    sampled: FloatArray
    price: FloatArray
    unexplained: float
    spared: FloatArray
    staleness: float
    blunting: float = 0.0

    def restore(self, deviation: FloatArray, apart: float) -> FloatArray:
        """From a deviation of clipped gradients, in the basis, to one of full gradients: (1 − apart) B e + apart e."""
        return np.asarray((1 - apart) * (self.sampled @ deviation) + apart * (self.basis @ deviation))

    @classmethod
    def of(
        cls, public: Sample, objective: Objective, clip: float, norm: Norm, start: FloatArray | None = None
    ) -> PublicMoments:
        """From public rows; `start` saves the search for the public model if it is known."""
        return PublicGradients.of(public, objective, norm, start).under(clip)


@dataclass(frozen=True, slots=True, eq=False)
class PublicGradients:
    """The public rows' gradients at the public model, each record judged by the model of the others.

    Args:
        public: the public rows.
        start: θ_0.
        curvature: A.
        inverse: A⁻¹.
        gradients: ∇ℓ of every record (parameters × records).
        lengths: how long they are.
        curvatures: ℓ″ of every row.
        ridge: what the regularizer adds to A.
        spread: Σ_gg.
        strays: (ℓ″)² xᵀA⁻¹Σ_gg A⁻¹x of every row: how far its slope strays if the model does as samples do.
        strayed: V, the mean of that times xxᵀ.
    """

    public: Sample
    start: FloatArray
    curvature: FloatArray
    inverse: FloatArray
    gradients: FloatArray
    lengths: FloatArray
    curvatures: FloatArray
    ridge: FloatArray
    spread: FloatArray
    strays: FloatArray
    strayed: FloatArray

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        norm: Norm,
        start: FloatArray | None = None,
        axes: Axes = (),
    ) -> PublicGradients:
        """From public rows; `start` saves the search for the public model if it is known.

        Along other axes (`losses.turned`) all but the model is in their coordinates, as if rows had been turned.
        """
        theta = minimise(objective, public) if start is None else objective.project(start)
        curvature, ridge = objective.curvature(public, theta), 2 * objective.regularization * np.eye(theta.size)
        slopes = left_out_slopes(objective, public, theta, curvature)
        curvatures = record_curvatures(objective.loss, public, theta)
        if axes:
            along = np.asarray(axes)
            public, curvature, ridge = turn(public, axes), along @ curvature @ along.T, along @ ridge @ along.T
        inverse = _symmetric(np.asarray(np.linalg.inv(curvature), dtype=np.float64))
        gradients = public.by_record(public.columns * slopes)
        mean = gradients.mean(axis=1)
        spread = gradients @ gradients.T / public.records - np.outer(mean, mean)
        strays = curvatures**2 * quadratic_forms(inverse @ spread @ inverse, public.columns)
        return cls(
            public=public,
            start=read_only(theta),
            curvature=freeze(curvature),
            inverse=freeze(inverse),
            gradients=gradients,
            lengths=gradient_lengths(public, slopes, norm),
            curvatures=curvatures,
            ridge=ridge,
            spread=spread,
            strays=strays,
            strayed=weighted_outer(public.columns, public.weights * strays) / public.records,
        )

    def under(self, clip: float) -> PublicMoments:
        """What a clip leaves of them."""
        return next(self.under_each((clip,)))

    def under_each(self, clips: Sequence[float]) -> Iterator[PublicMoments]:
        """What each of these clips leaves of them, the longest clip first."""
        counted = self.public.weights
        known = GradientsToClip(
            self.public, self.gradients, self.lengths, counted * self.strays, counted * self.curvatures
        )
        return map(self._moments, known.under(clips))

    def _moments(self, sums: ClippedSums) -> PublicMoments:
        values, basis = np.linalg.eigh(sums.within)
        spread = np.maximum(values, _FLOOR * max(float(values[-1]), _LEAST))
        sampled = sums.across @ basis / spread
        price = _symmetric(sampled.T @ (self.inverse @ sampled)) / 2
        everything = float(np.sum(self.inverse * self.spread)) / 2
        return PublicMoments(
            clip=sums.clip,
            start=self.start,
            curvature=self.curvature,
            inverse=self.inverse,
            basis=freeze(basis),
            spread=freeze(spread),
            sampled=freeze(sampled),
            price=freeze(price),
            unexplained=max(everything - float(np.diag(price) @ spread), 0.0),
            spared=freeze(np.where(self.public.by_row(self.lengths <= sums.clip), self.curvatures, 0.0)),
            staleness=self._staleness(self.strayed - sums.strayed, basis),
            blunting=self._blunting(sums.hidden),
        )

    def _staleness(self, spared: FloatArray, basis: FloatArray) -> float:
        """Σ_j ½(u_jᵀA⁻¹u_j) tr M_jA⁻¹Σ_gg A⁻¹, over the records that the clip spares.

        That is Σ_j ½(u_jᵀA⁻¹u_j) u_jᵀVu_j with V = E[(ℓ″)² (xᵀA⁻¹Σ_gg A⁻¹x) xxᵀ]: no M_j is needed.
        """
        price = np.sum(basis * (self.inverse @ basis), axis=0) / 2
        return float(np.sum((basis * price @ basis.T) * spared))

    def _blunting(self, hidden: FloatArray) -> float:
        """½ tr A⁻¹LΣ_ggLᵀ with L = (A − A_s)A⁻¹: what is lost of a difference d is (A − A_s)A⁻¹d."""
        lost = (hidden + self.ridge) @ self.inverse
        return max(float(np.sum((self.inverse @ lost) * (lost @ self.spread))) / 2, 0.0)


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + matrix.T) / 2)
