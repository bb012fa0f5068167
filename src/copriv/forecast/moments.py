"""Exact first and second moments of a training with the squared loss, and what they say about ψ.

Given who answers, an answer changes all models by an affine map, so E θ and E θθᵀ obey closed recursions, averaged over
whom the learner meets. Nothing is fitted and nothing is simulated. Presumed: the squared loss, meetings as independent
clocks make them, noise of mean 0 and equal deviation on all coordinates, no clip, box or cap on answers that binds.

E ψ is exact for any noise. Its deviation between trainings takes the model to be Gaussian (`forecast.path`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copriv.errors import BadInput
from copriv.forecast.moment_path import MomentPath
from copriv.forecast.moments_averaged import follow_averaged
from copriv.forecast.moments_heterogeneous import CoupledPath, follow_averaged_apart, follow_paper_apart
from copriv.forecast.moments_paper import follow_paper
from copriv.forecast.owner_groups import OwnerGroups, require_owners
from copriv.forecast.spectrum import Spectrum
from copriv.losses.quadratic import SufficientStatistics
from copriv.rules.averaged import AveragedRule
from copriv.rules.paper import PaperRule
from copriv.vectors import FloatArray

_SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """After every meeting: E ψ, the deviation of ψ between trainings, and E‖θ − θ*‖²."""

    expected: FloatArray
    deviation: FloatArray
    distance: FloatArray


def paper_moments(
    rule: PaperRule, statistics: Sequence[SufficientStatistics], deviations: Sequence[float], horizon: int
) -> Moments:
    """Algorithm 1 for owners with these statistics and noise of these deviations on each coordinate of an answer."""
    _require(statistics, rule.records, rule.availability, deviations, horizon)
    if not _alike(statistics):
        return _told(follow_paper_apart(rule, statistics, deviations, horizon))
    landscape = Spectrum.of(statistics[0], rule.regularization)
    kinds = OwnerGroups.of(rule.records, rule.availability, deviations)
    return tell(follow_paper(rule, landscape, kinds, horizon), landscape)


def averaged_moments(
    rule: AveragedRule,
    statistics: Sequence[SufficientStatistics],
    deviations: Sequence[float],
    availability: Sequence[float] | None = None,
) -> Moments:
    """Averaged steps for the same; without availabilities, all owners are met equally often."""
    owners = len(rule.records)
    gammas = (1 / owners,) * owners if availability is None else availability
    _require(statistics, rule.records, gammas, deviations, rule.horizon)
    if not _alike(statistics):
        return _told(follow_averaged_apart(rule, statistics, deviations, gammas))
    landscape = Spectrum.of(statistics[0], rule.regularization)
    return tell(follow_averaged(rule, landscape, OwnerGroups.of(rule.records, gammas, deviations)), landscape)


def tell(path: MomentPath, landscape: Spectrum) -> Moments:
    """What decoupled moments say about ψ."""
    return Moments(path.expected(landscape), path.deviation(landscape), path.distance())


def _told(path: CoupledPath) -> Moments:
    return Moments(path.expected(), path.deviation(), path.distance())


def _alike(statistics: Sequence[SufficientStatistics]) -> bool:
    """Whether all owners have one H and one c, so that directions decouple."""
    first = statistics[0]
    return all(
        part is first
        or (
            np.allclose(part.curvature, first.curvature, rtol=_SAME, atol=0)
            and np.allclose(part.offset, first.offset, rtol=_SAME, atol=0)
        )
        for part in statistics
    )


def _require(
    statistics: Sequence[SufficientStatistics],
    records: Sequence[int],
    availability: Sequence[float],
    deviations: Sequence[float],
    horizon: int,
) -> None:
    require_owners(records, availability, deviations, [0.0] * len(records))
    if horizon < 1:
        raise BadInput(f"the horizon is {horizon}", remedy="give at least 1 meeting", value=horizon)
    if [part.records for part in statistics] != list(records):
        raise BadInput(
            f"statistics of {len(statistics)} owners for a rule of {len(records)} others",
            remedy="give the rule the sizes of these owners",
            value=len(statistics),
        )
