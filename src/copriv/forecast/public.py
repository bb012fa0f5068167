"""What the public rows tell about owners nobody has asked yet: the fitness, and how far samples stray from it.

If owners' records and public rows come from one population, then owner i's average gradient at θ* is 0 ± Σ/n_i, with Σ
the covariance of one record's gradient. So the model of n records costs tr(A⁻¹Σ)/(2n) more than the population's best,
and looks as much better on its own records. Owners that truly differ stray by Σ(1/n_i + κ): κ, the heterogeneity, says
how large a sample would differ from the rest as much as an owner does by nature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.spectrum import Spectrum
from copriv.losses.loss import Loss
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_curvature, average_gradient, average_value, gradient_lengths, record_slopes
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.vectors import FloatArray, Norm

GROUPS = 10
_SQUARED = SquaredLoss()
# Below this share of the largest eigenvalue a direction is one in which the public rows do not vary.
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class PublicView:
    """The loss on the public rows; what does not depend on a question is worked out once.

    Args:
        sample: the public rows.
        statistics: H, c, m of the squared loss; of another, those of its parabola at the public model.
        covariance: Σ, of one record's gradient at the public model.
        model: the public model.
        regularization: λ.
        singular: directions in which the public rows do not vary, where λ alone decides.
        loss: what a mistake costs.
    """

    sample: Sample
    statistics: SufficientStatistics
    covariance: FloatArray
    model: FloatArray
    regularization: float
    singular: int
    loss: Loss = _SQUARED

    @classmethod
    def of(cls, sample: Sample, regularization: float, loss: Loss = _SQUARED) -> PublicView:
        """From public rows, of which there have to be more than features."""
        _require_more_rows(sample)
        if isinstance(loss, SquaredLoss):
            statistics = SufficientStatistics.of(sample)
            model = statistics.minimiser(regularization)
        else:
            model = minimise_freely(loss, regularization, sample)
            statistics = _parabola(loss, sample, model)
        eigenvalues = np.linalg.eigvalsh(statistics.curvature)
        gradients = sample.by_record(sample.columns * record_slopes(loss, sample, model))
        covariance = gradients @ gradients.T / (sample.records - sample.parameters)
        singular = int(np.sum(eigenvalues < _SINGULAR * eigenvalues[-1]))
        return cls(sample, statistics, covariance, model, regularization, singular, loss)

    @cached_property
    def rests(self) -> tuple[PublicView, ...]:
        """The same without one group of public rows after another, for a jackknife."""
        return tuple(PublicView.of(rest, self.regularization, self.loss) for rest in leave_out(self.sample, GROUPS))

    @cached_property
    def excess_risk_rate(self) -> float:
        """tr(A⁻¹Σ)/2: what a model of n records costs more than the population's best, times n."""
        hessian = self.statistics.curvature + 2 * self.regularization * np.eye(self.model.size)
        return float(np.trace(np.linalg.solve(hessian, self.covariance))) / 2

    @cached_property
    def fitness(self) -> float:
        """Of the public model on the public rows."""
        return self.statistics.fitness(self.model, self.regularization)

    @cached_property
    def steepest(self) -> float:
        """The largest eigenvalue of A."""
        return float(np.linalg.eigvalsh(self.statistics.curvature)[-1]) + 2 * self.regularization

    def best(self, records: int) -> float:
        """f(θ*) to be expected on so many private records."""
        return self.fitness + self.excess_risk_rate * (1 / self.sample.records - 1 / records)

    @cached_property
    def _landscape(self) -> Spectrum:
        return Spectrum.of(self.statistics, self.regularization, self.covariance)

    def landscape(self, records: int) -> Spectrum:
        """The fitness of so many private records, and how far one record's gradient strays."""
        return replace(self._landscape, best=self.best(records))

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
        return self.excess_risk_rate * apart * few / self.best(int(sizes.sum()))

    def median_alone(self, records: Sequence[int], heterogeneity: float = 0.0) -> float:
        """ψ that the median owner's own model may be expected to reach; where all are alike, one stands for all."""
        owners = [0] if len(set(records)) == 1 else range(len(records))
        return float(np.median([self.alone(records, owner, heterogeneity) for owner in owners]))

    def public_model(self, records: int) -> float:
        """ψ that the public model may be expected to have on so many private records."""
        return self.excess_risk_rate * (1 / self.sample.records + 1 / records) / self.best(records)

    def lost_to_clip(self, clip: float, norm: Norm, variance: FloatArray) -> float:
        """The share of all gradient lengths that a clip takes while models stray by a variance (p × p) around.

        The larger of that at the beginning of training and that at the public model.
        """
        columns = self.sample.columns
        strayed = np.sum(columns * (variance @ columns), axis=0)
        lost = 0.0
        for theta in (np.zeros_like(self.model), self.model):
            missed = theta @ columns - self.sample.targets
            gradients = gradient_lengths(self.sample, 2 * np.copysign(np.sqrt(missed**2 + strayed), missed), norm)
            lost = max(lost, float(np.sum(np.maximum(gradients - clip, 0)) / max(np.sum(gradients), math.ulp(1.0))))
        return lost


def public_model(loss: Loss, regularization: float, sample: Sample) -> FloatArray:
    """The model that public rows give, of which there have to be more than features; no box binds."""
    _require_more_rows(sample)
    if isinstance(loss, SquaredLoss):
        return SufficientStatistics.of(sample).minimiser(regularization)
    return minimise_freely(loss, regularization, sample)


def _require_more_rows(sample: Sample) -> None:
    if sample.records <= sample.parameters:
        raise BadInput(
            f"{sample.records} public rows for {sample.parameters} features",
            remedy=f"give more than {sample.parameters} public rows, or fewer features",
            value=sample.records,
        )


def _parabola(loss: Loss, sample: Sample, model: FloatArray) -> SufficientStatistics:
    """The quadratic with the value, the slope and the curvature that a loss has at a model."""
    curvature = average_curvature(loss, sample, model)
    offset = curvature @ model - average_gradient(loss, sample, model)
    power = average_value(loss, sample, model) - float(model @ curvature @ model / 2 - offset @ model)
    return SufficientStatistics(curvature, offset, power, sample.records)


def leave_out(sample: Sample, groups: int) -> Iterator[Sample]:
    """The public rows without every so-manieth, once for each group: what a jackknife goes through, one at a time."""
    place = np.arange(sample.records) % groups
    for group in range(groups):
        yield sample.take(np.flatnonzero(place != group))
