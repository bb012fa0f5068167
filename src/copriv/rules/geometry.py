"""The public rows at the public model, in coordinates in which their Hessian is the identity.

With A the Hessian of the public fitness at the public model θ_0 and W = A^(−½), a place is u = W⁻¹(θ − θ_0) and a
gradient is Wᵀg. There the public gradient at u is u itself (for the squared loss), isotropic noise of variance v has
the variance v/λ_j in coordinate j (λ_j are the eigenvalues of A), and what one record adds to the Hessian is about as
large in all entries. What private records differ by is measured in these units (`rules.difference`).

Owners may tell gradients along other axes (`losses.turned`): Tg instead of g, clipped and with isotropic noise there.
That noise is not isotropic in g, nor independent from coordinate to coordinate (`noise_covariance`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_gradient, clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.losses.turned import turn, turned_model
from copriv.rules.left_out import clipped_gradients, covariance
from copriv.vectors import Axes, FloatArray, Norm, read_only

# A direction in which the public rows hardly vary is no direction: eigenvalues below this share are raised to it.
_FLOOR = 1e-9
_LEAST = 1e-18


@dataclass(frozen=True, slots=True, eq=False)
class PublicGeometry:
    """What a rule knows of the public rows, under one clip.

    Args:
        public: the public rows.
        objective: the loss, the regularizer and the box.
        clip: the most that one record's gradient counts.
        norm: in which norm.
        start: θ_0, the public model.
        curvature: A.
        values: what the variance of an owner's noise is divided by in each coordinate: λ_j without axes.
        whiten: W, from a place to a model's difference from θ_0; its transpose takes gradients.
        unwhiten: W⁻¹.
        axes: along which owners tell gradients, one a row; none if along the features.
        along: T, the same as a matrix, which is that of the features where there are none.
        turned: the public rows along these axes.
        heard: takes gradients as owners tell them, one a row, to those of these coordinates.
        unheard: the way back.
        noise_covariance: of an owner's noise in these coordinates, if it has variance 1 in every number that is told.
        spread: covariance of one record's clipped gradient.
        restoring: from a deviation of clipped gradients to one of full gradients, if populations are the same.
        clipping_bias: what the clip takes from the public rows' average gradient at θ_0.
        unevenness: variance, over records, of what one of them adds to each entry of the Hessian.
        second_moments: the average of xxᵀ.
        lift: T with TΔMTᵀ the change of the Hessian that goes with a change ΔM of the second moments.
    """

    public: Sample
    objective: Objective
    clip: float
    norm: Norm
    start: FloatArray
    curvature: FloatArray
    values: FloatArray
    whiten: FloatArray
    unwhiten: FloatArray
    axes: Axes
    along: FloatArray
    turned: Sample
    heard: FloatArray
    unheard: FloatArray
    noise_covariance: FloatArray
    spread: FloatArray
    restoring: FloatArray
    clipping_bias: FloatArray
    unevenness: FloatArray
    second_moments: FloatArray
    lift: FloatArray

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        clip: float,
        norm: Norm,
        start: FloatArray | None = None,
        axes: Axes = (),
    ) -> PublicGeometry:
        """From public rows; `start` saves the search for the public model if it is known."""
        theta = minimise(objective, public) if start is None else objective.project(start)
        turned, along = _turned(public, axes), np.asarray(axes) if axes else np.eye(theta.size)
        curvature = objective.curvature(public, theta)
        values, basis = _eigen(curvature)
        whiten, unwhiten = basis / np.sqrt(values), (basis * np.sqrt(values)).T
        heard = np.linalg.solve(along.T, whiten)
        model = turned_model(theta, axes), along @ curvature @ along.T
        full, clipped, spared = clipped_gradients(turned, objective, model, clip, norm)
        within = heard.T @ covariance(clipped, clipped) @ heard
        across = heard.T @ covariance(full, clipped) @ heard
        ridge = _FLOOR * max(float(np.trace(within)), _LEAST) * np.eye(theta.size)
        second = public.weighted @ public.columns.T / public.records
        spread, taken = within + ridge, heard.T @ (full - clipped).mean(axis=1)
        return cls(
            public=public,
            objective=objective,
            clip=clip,
            norm=norm,
            start=read_only(theta),
            curvature=read_only(curvature),
            values=read_only(1 / np.sum(heard**2, axis=0)),
            whiten=read_only(whiten),
            unwhiten=read_only(unwhiten),
            axes=axes,
            along=read_only(along),
            turned=turned,
            heard=read_only(heard),
            unheard=read_only(unwhiten @ along.T),
            noise_covariance=read_only(heard.T @ heard),
            spread=read_only(spread),
            restoring=read_only(np.linalg.solve(spread, across.T).T),
            clipping_bias=read_only(taken),
            unevenness=read_only(_unevenness(public, whiten.T @ public.columns, spared)),
            second_moments=read_only(second),
            lift=read_only(lift_of(objective, whiten, (values, basis), second)),
        )

    @property
    def parameters(self) -> int:
        """Length of a model (p)."""
        return self.start.size

    def place(self, theta: FloatArray) -> FloatArray:
        """Where a model is."""
        return np.asarray(self.unwhiten @ (theta - self.start))

    def model(self, place: FloatArray) -> FloatArray:
        """The model at a place."""
        return np.asarray(self.start + self.whiten @ place)

    def deviations(self, theta: FloatArray, answers: FloatArray) -> FloatArray:
        """By how much clipped average gradients at θ, one a row, differ from the public rows' own."""
        return np.asarray((answers - self._told(self.turned, theta)) @ self.heard)

    def told_by(self, rows: Sample, theta: FloatArray) -> FloatArray:
        """The clipped average gradient of some rows, as an owner would tell it without noise."""
        return self._told(turn(rows, self.axes), theta)

    def _told(self, turned: Sample, theta: FloatArray) -> FloatArray:
        place = turned_model(theta, self.axes)
        return clipped_average_gradient(self.objective.loss, turned, place, self.clip, self.norm)

    def clipping_doubt(self, theta: FloatArray) -> FloatArray:
        """By how much more the clip takes from the public gradient at θ than at the public model.

        Private records are taken to lose what public rows lose at the same model. This is how wrong that may be.
        """
        return self.taken(theta) - self.taken(self.start)

    def taken(self, theta: FloatArray) -> FloatArray:
        """What the clip takes from the public rows' average gradient at θ."""
        full = average_gradient(self.objective.loss, self.public, theta)
        return np.asarray(self.heard.T @ (self.along @ full - self._told(self.turned, theta)))

    def hessian_change(self, second_moments: FloatArray) -> FloatArray:
        """By how much the Hessian differs from the public one where second moments are these."""
        return np.asarray(self.lift @ (second_moments - self.second_moments) @ self.lift.T)

    def hessian_noise(self, variance: float) -> FloatArray:
        """Variance of each entry of `hessian_change`, if each of the second moments has noise of this variance."""
        return lifted_noise(self.lift, variance, self.norm)

    def lift_of(self, second_moments: FloatArray) -> FloatArray:
        """T with T Δ Tᵀ the change of the Hessian that goes with a change Δ of what the public rows have so much of."""
        return lift_of(self.objective, self.whiten, _eigen(self.curvature), second_moments)


@lru_cache(maxsize=8)
def _turned(public: Sample, axes: Axes) -> Sample:
    """Public rows along axes: the same ones for every clip."""
    return turn(public, axes)


def lifted_noise(lift: FloatArray, variance: float, norm: Norm) -> FloatArray:
    """Variance of each entry of T Δ Tᵀ, if each of the packed numbers of Δ has noise of this variance."""
    squares, product = lift**2, lift @ lift.T
    lengths = np.sum(squares, axis=1)
    whole = np.outer(lengths, lengths) + product**2
    # Off the diagonal L2 packs moments times √2, so that their noise there has half the variance.
    return np.asarray(variance * (whole / 2 if norm is Norm.L2 else whole - squares @ squares.T))


def lift_of(
    objective: Objective, whiten: FloatArray, curvature: tuple[FloatArray, FloatArray], second_moments: FloatArray
) -> FloatArray:
    """The same, with W and the eigenvalues and vectors of A."""
    roots = _eigen(second_moments + objective.regularization * np.eye(second_moments.shape[0]))
    return np.asarray(whiten.T @ _root(*curvature) @ (roots[1] / np.sqrt(roots[0])) @ roots[1].T)


def _unevenness(public: Sample, rows: FloatArray, curvatures: FloatArray) -> FloatArray:
    """Variance over records of ℓ″zzᵀ, entry by entry, for whitened rows z; for people, a bound on it."""
    weighted, counts = rows * curvatures, public.weights
    squares = (counts * weighted**2) @ (rows**2).T / public.records
    mean = (counts * weighted) @ rows.T / public.records
    return np.asarray(np.maximum(squares - mean**2, _LEAST))


def _eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, basis = np.linalg.eigh(matrix)
    return np.maximum(values, _FLOOR * max(float(values[-1]), _LEAST)), basis


def _root(values: FloatArray, basis: FloatArray) -> FloatArray:
    return np.asarray((basis * np.sqrt(values)) @ basis.T)
