"""What public rows say whatever the owners are: their model, its parabola, and what they foretell of public Newton."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property

from copriv.forecast.newton import NewtonForecast
from copriv.forecast.public import GROUPS, PublicView, leave_out, public_model
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.rules.axes import choose_axes
from copriv.rules.geometry import PublicGeometry
from copriv.rules.public_moments import PublicGradients
from copriv.vectors import Axes, FloatArray, Norm


class PublicEvidence:
    """Public rows and a fitness. It remembers what it has worked out, so it is a memo and not a value.

    Args:
        sample: the public rows.
        objective: the fitness, with the box that the study will have.
        model: the model that the public rows alone give.
    """

    def __init__(self, sample: Sample, objective: Objective, model: FloatArray) -> None:
        self.sample, self.objective, self.model = sample, objective, model
        # The public model, in the box.
        self.start = objective.project(model)
        # Whether the rows are more than the numbers of a model, also without one group of them.
        self.enough = sample.records * (GROUPS - 1) // GROUPS > sample.parameters
        # By norm; by norm and clip; and by the axes of gradients besides.
        self.gradients = cache(self._gradients)
        self.newton = cache(self._newton)
        self.newton_at = cache(self._newton_at)
        self.newton_rests = cache(self._newton_rests)
        self.geometry = cache(self._geometry)

    @cached_property
    def fitness(self) -> float:
        """Of the public model on the public rows."""
        return self.objective.fitness(self.sample, self.start)

    @cached_property
    def view(self) -> PublicView:
        """The fitness as a parabola, and how far samples stray; too few rows are refused."""
        return PublicView.of(self.sample, self.objective.regularization, self.objective.loss)

    def axes(self, norm: Norm) -> Axes:
        """Along which gradients are best told under a menu; none if along the features."""
        return choose_axes(self.sample, self.objective, norm, self.start)

    def _gradients(self, norm: Norm, axes: Axes) -> PublicGradients:
        """The public rows' gradients, told along these axes."""
        return PublicGradients.of(self.sample, self.objective, norm, self.start, axes)

    def _newton(self, norm: Norm, axes: Axes = ()) -> NewtonForecast:
        """Public Newton at every clip there is to choose from, if gradients are told along these axes."""
        return NewtonForecast.under(self.gradients(norm, axes), self.fitness)

    def _newton_at(self, norm: Norm, clip: float, axes: Axes = ()) -> NewtonForecast:
        """At one clip."""
        return NewtonForecast.under(self.gradients(norm, axes), self.fitness, (clip,))

    def _geometry(self, norm: Norm, clip: float, axes: Axes = ()) -> PublicGeometry:
        """The public rows as public Newton with a menu sees them, under one clip."""
        return PublicGeometry.of(self.sample, self.objective, clip, norm, self.model, axes)

    def _newton_rests(self, norm: Norm, clip: float, axes: Axes = ()) -> tuple[NewtonForecast, ...]:
        """At one clip, without one group of public rows after another, as if each rest had as many rows as all."""
        loss, regularization = self.objective.loss, self.objective.regularization
        return tuple(
            replace(
                NewtonForecast.of(
                    rest, self.objective, norm, public_model(loss, regularization, rest), clips=(clip,), axes=axes
                ),
                records=self.sample.records,
            )
            for rest in leave_out(self.sample, GROUPS)
        )
