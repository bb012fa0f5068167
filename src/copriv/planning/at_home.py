"""Join or not, before training, by what counts for an owner: its own records.

Own, own + public and public model are cross-validated at home (`owner.comparison`). What is not there yet is forecast
from them. The joint model is the public one, but for what it is closer to the best: the loss falls by

    Δ = e − f*ψ_joint,

with ψ_joint as `forecast` expects it, and e what the public model costs for its finite sample: as much as on average,
and where the owner's rows are like the public ones, as much as these rows show (both, by their precision).

A personal model is own + public with a better centre. Of the error of its centre, the part R passes into the model, so
that its loss falls by ρΔ, with ρ = tr(RᵀHRA⁻¹)/p; ρ is 1 where the public model as it is does best, and near 0 for an
owner with many records.

Gain is by which share the better of the two lowers the loss of the best model that needs nobody. Its interval has ψ's
own, the standard error of what was compared at home, that of e, and what the owner's records would show by chance:
their average gradient g at the best model, along the distance between the two, gᵀA⁻¹ΣA⁻¹g(1 + ψ_joint/ψ_public)/m. So
a gain that one's own records could not tell from nothing is not called one.

Stay is advised where the joint model as it is should be worse than what needs nobody, and the personal one is not
foreseen to be better: as after training. An owner unlike the public rows may find others like itself, so that the joint
model is better than these rows foretell. Where its own records make a better model than the public rows do, that has
hardly ever happened; where the public model is still the best at home, it is left open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copriv.losses.around import pulls
from copriv.losses.metrics import Metrics
from copriv.losses.passes import average_curvature, average_gradient, record_values
from copriv.losses.sample import Sample
from copriv.owner.comparison import Comparison, CrossValidation, cross_validate, summarise
from copriv.owner.own_models import Centres, ModelKind
from copriv.planning.advice import Advice, Adviser, Decision
from copriv.planning.alone import OwnModel, Yardstick
from copriv.planning.candidate import Candidate
from copriv.planning.scenario import Scenario
from copriv.records.target import Target
from copriv.vectors import FloatArray

_STANDARD_ERRORS = 2
_LOWEST_RATIO = 1e-6
# What the joint and the personal model are forecast from.
_BASES: Mapping[ModelKind, ModelKind] = {"joint": "public", "personal": "own_public"}


@dataclass(frozen=True, slots=True)
class HomeAdvice:
    """What an owner should do, by its own records.

    Args:
        known: own, own + public and public model, cross-validated.
        psi: ψ of everything, on everybody's records: the consortium's figures.
        losses: what is forecast of the joint and of the personal model, on the owner's own records.
        gain: by which share the better of the two lowers the loss of the best model that needs nobody.
        gain_interval: where that lies, with a probability of 95 %.
        joint_gain: by which share the joint model as it is lowers that loss.
        joint_interval: where that lies.
        fits: whether the owner's records say that the public rows fit.
    """

    known: Comparison
    psi: Advice
    losses: Mapping[ModelKind, float]
    gain: float
    gain_interval: tuple[float, float]
    joint_gain: float
    joint_interval: tuple[float, float]
    fits: bool = True

    @property
    def advice(self) -> Decision:
        """Join if the gain's interval lies above 0, and public rows fit; stay if the joint model's lies below."""
        if self.gain_interval[0] > 0:
            return "join" if self.fits else "either"
        return "stay" if min(self.gain_interval[1], self.joint_interval[1]) < 0 else "either"

    @property
    def together(self) -> ModelKind:
        """The better of the joint and the personal model, as forecast."""
        return "joint" if self.losses["joint"] <= self.losses["personal"] else "personal"

    @property
    def ratio(self) -> tuple[float, float]:
        """Where the loss with the others over that without lies; joining pays below 1."""
        low, high = self.gain_interval
        return max(1 - high, _LOWEST_RATIO), max(1 - low, _LOWEST_RATIO)

    @property
    def expected_ratio(self) -> float:
        """The loss with the others over that without."""
        return max(1 - self.gain, _LOWEST_RATIO)

    @property
    def metrics(self) -> dict[ModelKind, Metrics]:
        """Figures of all models: cross-validated, and forecast for the joint and the personal one."""
        ahead = {
            kind: self.known.metrics[base].at_loss(self.losses[kind] / (self.known.losses[base] or 1.0))
            for kind, base in _BASES.items()
        }
        return {**self.known.metrics, **ahead}


@dataclass(frozen=True, slots=True, eq=False)
class AtHome:
    """What an owner knows at home before anybody is asked.

    Args:
        found: own, own + public and public model, record by record.
        known: the same, as averages.
        passed_on: ρ, the share of a centre's excess loss that passes into a model around it.
        along: gᵀA⁻¹ΣA⁻¹g, of the owner's average gradient, but for what it owes to the public model.
        least: the loss of the own model on the records that it was fitted to: what no linear model can be below.
        excess: e, what the public model costs for its finite sample.
        excess_error: the standard error of that.
        alike: whether the owner's rows are like the public ones, as far as its records can tell.
    """

    found: CrossValidation
    known: Comparison
    passed_on: float
    along: float
    least: float
    excess: float
    excess_error: float
    alike: bool

    @classmethod
    def of(cls, own: Sample, ruler: Yardstick, target: Target, *, alike: bool) -> AtHome:
        """Cross-validate at home."""
        objective, centres = ruler.objective, Centres(public=ruler.model)
        found = cross_validate(own, objective, centres)
        gradient = average_gradient(objective.loss, found.sample, ruler.model)
        strayed = np.linalg.solve(objective.curvature(ruler.public, ruler.model), gradient)
        free = found.sample.by_record(record_values(objective.loss, found.sample, found.free))
        excess, error = _excess(found.losses["public"] - free, ruler, alike=alike)
        return cls(
            found=found,
            known=summarise(found, target),
            passed_on=_passed_on(found, ruler),
            along=_along(float(strayed @ ruler.covariance @ strayed), found.sample.records, ruler, alike=alike),
            least=float(free.mean()),
            excess=excess,
            excess_error=error,
            alike=alike,
        )

    def advise(self, psi: Advice, ruler: Yardstick, *, fits: bool) -> HomeAdvice:
        """From what is forecast of the joint model on everybody's records."""
        base = self.known.losses[self.known.without]
        ends = {kind: self._gain(kind, psi, ruler) for kind in _BASES}
        gain, low, high = (each / base for each in max(ends.values()))
        joint, worst, best = (each / base for each in ends["joint"])
        if not self.alike:
            most = 1 - self.least / base
            high, best = max(high, most), max(best, most) if self.known.without == "public" else best
        losses = {kind: max(base - each[0], 0.0) for kind, each in ends.items()}
        return HomeAdvice(self.known, psi, losses, gain, (low, high), joint, (worst, best), fits)

    def _gain(self, kind: ModelKind, psi: Advice, ruler: Yardstick) -> tuple[float, float, float]:
        """By how much a model lowers the loss: expected, and from where to where."""
        share = 1.0 if kind == "joint" else self.passed_on
        ends = (psi.expected, psi.interval[1], psi.interval[0])
        gap, worst, best = (share * (self.excess - ruler.fitness * each) for each in ends)
        without, of, rows = self.known.without, _BASES[kind], ruler.public.records
        base = self.known.losses[without]
        gain = base - self.known.losses[of] + gap
        shown = math.sqrt(share * self.along * (1 + psi.expected / psi.alone.public) / rows)
        errors = (
            base * self.found.difference(without, of).standard_error,
            shown,
            share * self.excess_error,
        )
        spread = _STANDARD_ERRORS * math.hypot(*errors)
        return gain, gain - math.hypot(gap - worst, spread), gain + math.hypot(best - gap, spread)


class HomeAdviser:
    """An adviser that judges by the owner's own records; `break_even` can ask it, too."""

    def __init__(self, adviser: Adviser, home: AtHome, *, fits: bool = True) -> None:
        self.adviser, self.home, self.fits = adviser, home, fits

    def joint(self, scenario: Scenario) -> Candidate:
        """What `plan` would take."""
        return self.adviser.joint(scenario)

    def judge(self, own: OwnModel, scenario: Scenario) -> HomeAdvice:
        """Compare joining the others of a scenario with what needs nobody."""
        return self._advise(self.adviser.judge(own, scenario))

    def glance(self, own: OwnModel, scenario: Scenario, like: Candidate) -> HomeAdvice:
        """The same in no time, with the rule of another candidate."""
        return self._advise(self.adviser.glance(own, scenario, like))

    def _advise(self, psi: Advice) -> HomeAdvice:
        return self.home.advise(psi, self.adviser.yardstick, fits=self.fits)


def _along(seen: float, records: int, ruler: Yardstick, *, alike: bool) -> float:
    """gᵀA⁻¹ΣA⁻¹g of the owner's average gradient at the best model: by chance, and by how the owner differs."""
    unit = 2 * ruler.wobble
    return unit / records if alike else max(seen - unit / ruler.public.records, unit / records)


def _excess(differences: FloatArray, ruler: Yardstick, *, alike: bool) -> tuple[float, float]:
    """What the public model costs for its finite sample, and the standard error of that.

    As expected; where rows are alike, also as seen: the differences between its loss and that of the own model on the
    records that this was fitted to, which flatters it by as much as the own model of so many records costs.
    """
    rows, records = ruler.public.records, differences.size
    expected, error = ruler.excess_risk_rate / rows, math.sqrt(ruler.wobble) / rows
    if not alike:
        return expected, error
    seen = float(differences.mean()) - ruler.excess_risk_rate / records
    doubt = math.hypot(float(differences.std(ddof=1)) / math.sqrt(records), math.sqrt(ruler.wobble) / records)
    weight = error**2 / (error**2 + doubt**2)
    return max((1 - weight) * expected + weight * seen, 0.0), error * math.sqrt(1 - weight)


def _passed_on(found: CrossValidation, ruler: Yardstick) -> float:
    """ρ of own + public: 1 for the public model as it is, 0 without any ridge."""
    objective, weights = ruler.objective, found.weights["own_public"]
    curvature = average_curvature(objective.loss, found.sample, ruler.model)
    part = weights[-1] * np.eye(curvature.shape[0])
    for weight, pull in zip(weights[1:-1], pulls(found.sample, curvature), strict=True):
        part += weight * np.linalg.solve(curvature + np.diag(pull), np.diag(pull))
    inverse = np.linalg.inv(objective.curvature(ruler.public, ruler.model))
    return _held(float(np.trace(part.T @ curvature @ part @ inverse)) / curvature.shape[0])


def _held(share: float) -> float:
    return min(max(share, 0.0), 1.0)
