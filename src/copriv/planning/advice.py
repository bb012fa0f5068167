"""Join or stay alone: the ψ that is forecast of the joint model against that of an owner's own.

The owner trains at home and judges its model with the public rows, at home: nothing leaves and nothing is spent
(`planning.alone`). What joining costs is the forecast of the candidate that `plan` would take. Joining is advised if
the interval of the ratio of the two lies below 1, staying if it lies above.

The public rows may be of another population than everybody's records: how far the own model lies from theirs tells how
likely that is, and the interval of the joint ψ is that over all such shifts. Where an owner's records say that the
public rows do not fit, nobody is advised to join: both figures rest on these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from copriv.errors import BadInput
from copriv.forecast.comparison import Estimate, ratio_interval, smaller
from copriv.forecast.forecast import Forecast
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.sample import Sample
from copriv.planning.alone import Alone, OwnModel, Yardstick
from copriv.planning.candidate import Candidate
from copriv.planning.outline import Study, gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose, glance
from copriv.planning.training_spec import TrainingSpec
from copriv.vectors import FloatArray

Decision = Literal["join", "stay", "either"]
ForeseenDecision = Literal["join", "stay", "public", "either"]
_DECISIONS: dict[str, Decision] = {"first": "join", "second": "stay", "undecided": "either"}


# Where public rows differ from records, so may what they say of one's own model: by about this factor.
_ASKEW = 1.5


@dataclass(frozen=True, slots=True)
class Advice:
    """What an owner should do: ψ of its own model, and the ψ forecast of the joint one.

    Args:
        alone: ψ of the own model.
        joint: what is forecast if the public rows fit.
        shifts: the chances of every size of a shift; None if there is none to think of.
        fits: whether the owner's own records say that the public rows fit.
    """

    alone: Alone
    joint: Forecast
    shifts: FloatArray | None = field(default=None, compare=False, repr=False)
    fits: bool = True

    @property
    def expected(self) -> float:
        """ψ of the joint model: as forecast, or more, where shifts are likely."""
        if self.shifts is None or self.joint.shifts is None:
            return self.joint.relative_fitness
        return max(self.joint.relative_fitness, self.joint.shifts.quantile(self.shifts, 0.5))

    @property
    def interval(self) -> tuple[float, float]:
        """Where ψ of the joint model is expected."""
        return self.joint.interval if self.shifts is None else self.joint.under(self.shifts)

    @property
    def ratio(self) -> tuple[float, float]:
        """Where ψ of the joint model over that of the own one is expected."""
        return ratio_interval(self._joint, self._own)

    @property
    def expected_ratio(self) -> float:
        """ψ of the joint model over that of the own one; joining pays below 1."""
        return self.expected / self.alone.psi

    @property
    def advice(self) -> Decision:
        """Join, stay, or either, if the difference is within what is known; nobody joins if public rows do not fit."""
        found = _DECISIONS[smaller(self._joint, self._own)]
        return "either" if found == "join" and not self.fits else found

    @property
    def _joint(self) -> Estimate:
        if self.shifts is None or self.joint.shifts is None:
            return Estimate.of(self.joint)
        return Estimate(self.expected, self.joint.deviation, self.interval)

    @property
    def _own(self) -> Estimate:
        known = Estimate(self.alone.psi, self.alone.standard_error)
        if self.alone.least is None or self.shifts is None:
            return known
        low, high = known.ends
        return replace(known, interval=(min(low, self.alone.least / _ASKEW), high * _ASKEW))


def decide(joint: Forecast, alone: Estimate) -> Decision:
    """Join if the interval of joint over alone lies below 1, stay if it lies above."""
    return _DECISIONS[smaller(Estimate.of(joint), alone)]


def foresee(joint: Forecast, alone: float, public: float) -> ForeseenDecision:
    """What owners should do, by the ψ of all models in the same features, before any of them has looked at its records.

    The alternative to joining is the better of the own and the public model. Join if the joint one should beat it;
    where it should not, use that one and spend nothing.

    Args:
        joint: what is forecast.
        alone: ψ of the median owner's own model.
        public: ψ of the public model, which costs nobody anything.
    """
    found = decide(joint, Estimate(min(alone, public), 0.0))
    return "public" if found == "stay" and public < alone else found


class Adviser:
    """Public rows and what is settled, ready to advise owners. It remembers forecasts: a memo, and not a value."""

    def __init__(self, evidence: PublicEvidence, spec: TrainingSpec, study: Study | None = None) -> None:
        self.evidence, self.spec, self.study = evidence, spec, study
        self.yardstick = Yardstick.of(evidence.sample.usable(), evidence.objective)
        self.joint = cache(self._joint)

    @classmethod
    def of(cls, public: Sample, spec: TrainingSpec) -> Adviser:
        """From public rows."""
        return cls(gather_evidence(public, spec), spec)

    def judge(self, own: OwnModel, scenario: Scenario) -> Advice:
        """Compare joining the others of a scenario with staying alone; one of its owners has this model's records."""
        return self._advise(own, scenario, self.joint(scenario).forecast)

    def glance(self, own: OwnModel, scenario: Scenario, like: Candidate) -> Advice:
        """The same in no time, with the rule of another candidate and, relatively, its standard error."""
        found = glance(outline_of(scenario, self.evidence, _as(like, self.spec), self.study)).forecast
        known = like.forecast
        error = found.relative_fitness * known.standard_error / known.relative_fitness
        return self._advise(own, scenario, replace(found, standard_error=error))

    def _advise(self, own: OwnModel, scenario: Scenario, joint: Forecast) -> Advice:
        alone = self.yardstick.judge(own, others_of(own, scenario))
        return Advice(alone, joint, None if joint.shifts is None else self.yardstick.shifts(own))

    def _joint(self, scenario: Scenario) -> Candidate:
        """What `plan` would take."""
        return choose(outline_of(scenario, self.evidence, self.spec, self.study))


def others_of(own: OwnModel, scenario: Scenario) -> tuple[int, ...]:
    """The sizes of the others."""
    sizes = list(scenario.records)
    if own.records not in sizes:
        raise BadInput(
            f"an owner of {own.records} records, which nobody of the scenario has",
            remedy="name your own size among the records",
            value=own.records,
        )
    sizes.remove(own.records)
    if not sizes:
        raise BadInput("a consortium of one", remedy="say how many owners there would be: --owners N", value=1)
    return tuple(sizes)


def _as(like: Candidate, spec: TrainingSpec) -> TrainingSpec:
    """What is settled, and the rule of a candidate; of a rule that is tuned by simulation also its clip and step."""
    rule, terms = like.rule, like.setting.terms
    if rule in {"newton", "statistics"}:
        return replace(spec, rule=rule)
    return replace(spec, rule=rule, clip=terms.clip, step=terms.step or None, rho=None)
