"""Public Newton's prospects without one group of public rows after another: what a jackknife of them goes through.

They depend on the clip and on the norm, and on no question, so they are worked out when first asked for and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from copriv.forecast.newton import NewtonForecast
from copriv.forecast.public import PublicView
from copriv.losses.objective import Objective
from copriv.vectors import Norm


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """NewtonForecast of the rests of some public rows, by norm and clip."""

    view: PublicView
    objective: Objective
    kept: dict[tuple[Norm, float], tuple[NewtonForecast, ...]] = field(default_factory=dict)

    def prospects(self, norm: Norm, clip: float) -> tuple[NewtonForecast, ...]:
        """One for every rest, as if it had as many rows as all."""
        if (norm, clip) not in self.kept:
            rests = (
                NewtonForecast.of(rest.sample, self.objective, norm, rest.model, clips=(clip,))
                for rest in self.view.rests
            )
            self.kept[norm, clip] = tuple(replace(rest, records=self.view.sample.records) for rest in rests)
        return self.kept[norm, clip]
