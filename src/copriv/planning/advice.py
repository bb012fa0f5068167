"""Join or stay alone: the ψ that is foreseen of the joint model against that of an owner's own.

The owner trains at home and judges its model with the public rows, at home: nothing leaves and nothing is spent
(`simulation.alone`). What joining costs is the forecast of public Newton, with its interval, from the public rows, the
owners' sizes and their guarantees. Joining is advised if the interval of the ratio of the two lies below 1, staying if
it lies above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from copriv.errors import BadInput
from copriv.forecast.comparison import Estimate, ratio_interval, smaller
from copriv.forecast.forecast import Forecast
from copriv.forecast.newton import ANSWERS, NewtonForecast
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.planning.alone import Alone, OwnModel, Yardstick
from copriv.planning.forecaster import Forecaster, Scenario
from copriv.privacy.guarantee import Guarantee
from copriv.vectors import Norm

Decision = Literal["join", "stay", "either"]

# For losses without a forecast of their own: what was foreseen was within this factor of what was measured.
FORECAST_FACTOR = 1.25


@dataclass(frozen=True, slots=True)
class Advice:
    """What an owner should do: ψ of its own model, and the ψ foreseen of the joint one."""

    alone: Alone
    joint: Forecast

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of the joint model is expected."""
        return self.joint.interval()

    @property
    def ratio(self) -> tuple[float, float]:
        """Where ψ of the joint model over that of the own one is expected."""
        return ratio_interval(Estimate.of(self.joint), Estimate(self.alone.psi, self.alone.standard_error))

    @property
    def gain(self) -> float:
        """ψ of the joint model over that of the own one; joining pays below 1."""
        return self.joint.relative_fitness / self.alone.psi

    @property
    def advice(self) -> Decision:
        """Join, stay, or either, if the difference is within what is known."""
        outcome = smaller(Estimate.of(self.joint), Estimate(self.alone.psi, self.alone.standard_error))
        words: dict[str, Decision] = {"first": "join", "second": "stay", "undecided": "either"}
        return words[outcome]


@dataclass(frozen=True, slots=True, eq=False)
class Adviser:
    """Public rows and the fitness, ready to advise owners; what was worked out once is kept."""

    yardstick: Yardstick
    oracle: Forecaster | None
    prospects: dict[Norm, NewtonForecast] = field(default_factory=dict)
    kept: dict[Scenario, Forecast] = field(default_factory=dict)

    @classmethod
    def of(cls, public: Sample, objective: Objective) -> Adviser:
        """From public rows."""
        squared = isinstance(objective.loss, SquaredLoss)
        return cls(Yardstick.of(public, objective), Forecaster.of(public, objective) if squared else None)

    def judge(self, own: OwnModel, others: Sequence[int], guarantee: Guarantee) -> Advice:
        """Compare joining others of these sizes with staying alone, if everybody gives the same guarantee."""
        return Advice(self.yardstick.judge(own, others), self.foresee(_question(own, others, guarantee)))

    def glance(self, own: OwnModel, others: Sequence[int], guarantee: Guarantee, like: Forecast) -> Advice:
        """The same in no time: relatively, a finite public sample leaves the doubt that another forecast has."""
        found = self._foresee_roughly(_question(own, others, guarantee))
        doubt = found.relative_fitness * like.doubt / like.relative_fitness
        return Advice(self.yardstick.judge(own, others), replace(found, doubt=doubt))

    def foresee(self, question: Scenario) -> Forecast:
        """The forecast of public Newton, which every plan came down to on the data tried (docs/theory/forecast.md)."""
        if question not in self.kept:
            self.kept[question] = (
                self._foresee_roughly(question) if self.oracle is None else self.oracle.forecast(question, "newton")
            )
        return self.kept[question]

    def _foresee_roughly(self, question: Scenario) -> Forecast:
        """For any loss, with a doubt that experience suggests."""
        owners, count = question.owners(self.yardstick.public.parameters), len(question.records)
        units = {answers: owners.promised((answers,) * count) for answers in ANSWERS}
        best = self._prospects(question.norm).best(question.records, units)
        doubt = (FORECAST_FACTOR - 1) * best.cost
        horizon = best.answers * count
        return Forecast("newton", best.cost, best.deviation, doubt, best.answers, horizon, 0.0, best.clip)

    def _prospects(self, norm: Norm) -> NewtonForecast:
        if self.oracle is not None:
            return self.oracle.prospects(norm)
        if norm not in self.prospects:
            ruler = self.yardstick
            self.prospects[norm] = NewtonForecast.of(ruler.public, ruler.objective, norm, ruler.model)
        return self.prospects[norm]


def _question(own: OwnModel, others: Sequence[int], guarantee: Guarantee) -> Scenario:
    """Sizes are sorted, as the forecast is the same whoever asks."""
    if not others:
        raise BadInput("a consortium of one", remedy="say how many owners there would be: --owners N", value=1)
    return Scenario(tuple(sorted((own.records, *others))), (guarantee,) * (len(others) + 1))
