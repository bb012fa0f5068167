"""What the public rows tell about owners nobody has asked yet: the fitness, and how far samples stray from it.

If owners' records and public rows come from one population, then owner i's average gradient at θ* is 0 ± Σ/n_i, with Σ
the covariance of one record's gradient. So the model of n records costs tr(A⁻¹Σ)/(2n) more than the population's best,
and looks as much better on its own records. Owners that truly differ stray by Σ(1/n_i + κ): κ, the heterogeneity, says
how large a sample would differ from the rest as much as an owner does by nature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.landscape import Landscape
from copriv.losses.quadratic import Statistics
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm

# Below this share of the largest eigenvalue a direction is one in which the public rows do not vary.
_SINGULAR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PublicView:
    """The squared loss on the public rows.

    Args:
        sample: the public rows.
        statistics: H, c, m of them.
        covariance: Σ, of one record's gradient at the public model.
        model: the public model.
        regularization: λ.
        singular: directions in which the public rows do not vary, where λ alone decides.
    """

    sample: Sample
    statistics: Statistics
    covariance: FloatArray
    model: FloatArray
    regularization: float
    singular: int

    @classmethod
    def of(cls, sample: Sample, regularization: float) -> PublicView:
        """From public rows, of which there have to be more than features."""
        if sample.records <= sample.parameters:
            raise BadInput(
                f"{sample.records} public rows for {sample.parameters} features",
                remedy=f"give more than {sample.parameters} public rows, or fewer features",
                value=sample.records,
            )
        statistics = Statistics.of(sample)
        eigenvalues = np.linalg.eigvalsh(statistics.curvature)
        model = statistics.minimiser(regularization)
        gradients = 2 * sample.columns * (model @ sample.columns - sample.targets)
        covariance = gradients @ gradients.T / (sample.records - sample.parameters)
        singular = int(np.sum(eigenvalues < _SINGULAR * eigenvalues[-1]))
        return cls(sample, statistics, covariance, model, regularization, singular)

    @property
    def strain(self) -> float:
        """tr(A⁻¹Σ)/2: what a model of n records costs more than the population's best, times n."""
        hessian = self.statistics.curvature + 2 * self.regularization * np.eye(self.model.size)
        return float(np.trace(np.linalg.solve(hessian, self.covariance))) / 2

    def best(self, records: int) -> float:
        """f(θ*) to be expected on so many private records."""
        seen = self.statistics.fitness(self.model, self.regularization)
        return seen + self.strain * (1 / self.sample.records - 1 / records)

    def landscape(self, records: int) -> Landscape:
        """The fitness of so many private records, and how far one record's gradient strays."""
        found = Landscape.of(self.statistics, self.regularization, self.covariance)
        return replace(found, best=self.best(records))

    def alone(self, records: Sequence[int], owner: int, heterogeneity: float = 0.0) -> float:
        """ψ that an owner's own model may be expected to reach on all owners' records.

        Its gradient strays from everyone's by (1 − s_i)d_i − Σ s_j d_j over the others, s = n_i/n. For few records the
        inverse of its own Hessian is larger than A⁻¹ by about n_i/(n_i − p − 1).
        """
        sizes = np.asarray(records, dtype=np.float64)
        shares = sizes / sizes.sum()
        weights = shares**2
        weights[owner] = (1 - shares[owner]) ** 2
        apart = float(weights @ (1 / sizes + heterogeneity))
        few = float(sizes[owner] / max(sizes[owner] - self.model.size - 1, 1.0))
        return self.strain * apart * few / self.best(int(sizes.sum()))

    def public_model(self, records: int) -> float:
        """ψ that the public model may be expected to have on so many private records."""
        return self.strain * (1 / self.sample.records + 1 / records) / self.best(records)

    def lost_to_clip(self, clip: float, norm: Norm, variance: FloatArray) -> float:
        """The share of all gradient lengths that a clip takes while models stray by a variance (p × p) around.

        The larger of that at the beginning of training and that at the public model.
        """
        lengths = np.linalg.norm(self.sample.columns, ord=norm.value, axis=0)
        strayed = np.sum(self.sample.columns * (variance @ self.sample.columns), axis=0)
        lost = 0.0
        for theta in (np.zeros_like(self.model), self.model):
            residuals = np.sqrt((theta @ self.sample.columns - self.sample.targets) ** 2 + strayed)
            gradients = 2 * residuals * lengths
            lost = max(lost, float(np.sum(np.maximum(gradients - clip, 0)) / max(np.sum(gradients), math.ulp(1.0))))
        return lost


def leave_out(sample: Sample, groups: int) -> list[Sample]:
    """The public rows without every so-manieth, once for each group: what a jackknife goes through."""
    place = np.arange(sample.records) % groups
    kept = [np.flatnonzero(place != group) for group in range(groups)]
    return [Sample(np.ascontiguousarray(sample.columns[:, rows]), sample.targets[rows]) for rows in kept]
