"""From answers to what they say of the difference: pooled over owners, question by question.

Owners that answer the same question are weighed by precision as far as noise counts, and by their records as far as
they differ (κ, one for gradients and one for second moments). Those who answered one question stand for all owners only
up to that difference, and those who answered another differ the other way: both is known (`Observation.aside`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from copriv.losses.moments import unpack_second_moments
from copriv.rules.adaptive_state import AdaptiveState, Told, settled
from copriv.rules.difference import Difference, HessianObservation, Observation, infer
from copriv.rules.evidence import Among, Evidence, difference_among
from copriv.rules.geometry import PublicGeometry
from copriv.rules.setting import NoiseModel
from copriv.vectors import FloatArray, Norm

# Noise of 0 is taken for this share of what the records themselves leave open, so that nothing is divided by 0.
_SILENCE = 1e-12
# Laplace noise has longer tails than the Gaussian that stands for it; that of many owners together hardly has.
_TAILS = 1.5


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveSetting:
    """What stays the same during a study.

    Args:
        geometry: of the public rows.
        records: n_i of each owner.
        noise: of the owners; with a menu.
        expected: logarithms of the chances of every size of the difference (`rules.difference.prior`).
    """

    geometry: PublicGeometry
    records: tuple[int, ...]
    noise: NoiseModel
    expected: FloatArray


@lru_cache(maxsize=16)
def inferred(setting: AdaptiveSetting, state: AdaptiveState) -> tuple[Difference, Among]:
    """What the answers so far say of the difference, and how much owners differ; a state is worked out once."""
    observations, among = _observations(setting, state)
    records, hessian = float(sum(setting.records)), _hessian(setting, state)
    return infer(setting.geometry, records, observations, hessian, setting.expected), among


def _observations(setting: AdaptiveSetting, state: AdaptiveState) -> tuple[list[Observation], Among]:
    """One for every place: the answers there, pooled over owners; and how much owners differ."""
    geometry, groups = setting.geometry, _by_place(setting, state)
    evidences = [_evidence(setting, group) for group in groups]
    spreads = [_spread_at(geometry, geometry.place(group[0].ask.theta)) for group in groups]
    among = difference_among(evidences, spreads)
    pooled = zip(groups, evidences, spreads, strict=True)
    return [_pooled(setting, *one, among.expected) for one in pooled], among


def _pooled(
    setting: AdaptiveSetting, group: list[Told], evidence: Evidence, spread: FloatArray, among: float
) -> Observation:
    """The answers to one question as one: weighed by precision as far as noise counts, else by records."""
    geometry, theta = setting.geometry, group[0].ask.theta
    own = float(spread.mean()) * (1 / evidence.records + among)
    noise = evidence.variances.mean(axis=1)
    weights = pooling_weights(evidence.records, own, noise)
    tails = 1 + _TAILS * float(np.sum(weights**4) / np.sum(weights**2) ** 2) if geometry.norm is Norm.L1 else 1.0
    variance = tails * (weights**2 @ evidence.variances) + geometry.clipping_doubt(theta) ** 2
    aside = _aside(setting, [told.owner for told in group], weights, among)
    return Observation(geometry.place(theta), weights @ evidence.deviations, variance, aside)


def pooling_weights(records: FloatArray, own: FloatArray, noise: FloatArray) -> FloatArray:
    """Of owners that differ by `own` and answer with `noise`, to learn of their average by records."""
    precise, sized, kept = 1 / (own + noise), records / records.sum(), own / (own + noise)
    return np.asarray(precise / precise.sum() * (1 - sized @ kept) + sized * kept)


def _aside(setting: AdaptiveSetting, owners: list[int], weights: FloatArray, among: float) -> FloatArray:
    """By how much some owners, weighed like this, stand for others than all: one number an owner."""
    sizes = np.asarray(setting.records, dtype=np.float64)
    off = -sizes / sizes.sum()
    np.add.at(off, owners, weights)
    return np.asarray(off * np.sqrt(1 / sizes + among))


def _by_place(setting: AdaptiveSetting, state: AdaptiveState) -> list[list[Told]]:
    groups: dict[bytes, list[Told]] = {}
    for told in settled(state.told, setting.noise.norm):
        if told.ask.kind == "gradient":
            groups.setdefault(told.ask.theta.tobytes(), []).append(told)
    return list(groups.values())


def _evidence(setting: AdaptiveSetting, group: list[Told]) -> Evidence:
    """The deviations of answers to one question, the noise in them, and who has not answered it."""
    geometry, sizes = setting.geometry, np.asarray(setting.records, dtype=np.float64)
    answers = np.stack([told.values for told in group])
    owners = [told.owner for told in group]
    stds = np.asarray([setting.noise.std_of(told.owner, told.ask) for told in group])
    least = _SILENCE * np.diag(geometry.spread) / sizes.sum()
    variances = stds[:, None] ** 2 / geometry.values + least
    return Evidence(
        geometry.deviations(group[0].ask.theta, answers), variances, sizes[owners], np.delete(sizes, owners)
    )


def _spread_at(geometry: PublicGeometry, place: FloatArray) -> FloatArray:
    """How much one record's gradient varies at a place, beside what the public rows' does there."""
    return np.asarray(np.diag(geometry.spread) + geometry.unevenness @ place**2)


def _hessian(setting: AdaptiveSetting, state: AdaptiveState) -> HessianObservation | None:
    """The second moments that were told, pooled over owners."""
    told = [one for one in settled(state.told, setting.noise.norm) if one.ask.kind == "second_moments"]
    if not told:
        return None
    geometry, owners = setting.geometry, [one.owner for one in told]
    records = np.asarray([setting.records[owner] for owner in owners], dtype=np.float64)
    noise = np.asarray([setting.noise.std_of(one.owner, one.ask) for one in told]) ** 2
    among = _hessians_differ(setting, told, noise)
    scale = float(np.median(geometry.unevenness / geometry.hessian_noise(1.0)))
    weights = pooling_weights(records, scale * (1 / records + among), noise)
    moments = unpack_second_moments(
        weights @ np.stack([one.values for one in told]), geometry.parameters, geometry.norm
    )
    aside = _aside(setting, owners, weights, among)
    variance = geometry.hessian_noise(float(weights**2 @ noise)) + float(aside @ aside) * geometry.unevenness
    return HessianObservation(geometry.hessian_change(moments), variance)


def _hessians_differ(setting: AdaptiveSetting, told: list[Told], noise: FloatArray) -> float:
    """How much owners differ in their Hessians, from how far apart their second moments lie."""
    geometry, sizes = setting.geometry, np.asarray(setting.records, dtype=np.float64)
    upper = np.triu_indices(geometry.parameters)
    changes = [
        geometry.hessian_change(unpack_second_moments(one.values, geometry.parameters, geometry.norm))[upper]
        for one in told
    ]
    owners = [one.owner for one in told]
    variances = np.outer(noise, geometry.hessian_noise(1.0)[upper])
    evidence = Evidence(np.stack(changes), variances, sizes[owners], np.delete(sizes, owners))
    return difference_among([evidence], [geometry.unevenness[upper]]).expected
