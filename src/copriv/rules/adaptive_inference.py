"""From answers to what they say of the difference: pooled over owners, question by question.

Owners that answer the same question are weighed by precision as far as noise counts, and by their records as far as
they differ (κ, one for gradients and one for second moments). Those who answered one question stand for all owners only
up to that difference, and those who answered another differ the other way: both is known (`Observation.aside`). Owners
that seem alike are then weighed anew, each number by how far its noise lets it be trusted (`rules.laplace`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from copriv.losses.moments import unpack_second_moments
from copriv.rules.adaptive_state import AdaptiveState, Told, settled
from copriv.rules.difference import Difference, HessianObservation, Observation, infer
from copriv.rules.evidence import Among, Evidence, difference_among
from copriv.rules.few_rows import is_few
from copriv.rules.foretold import foretold
from copriv.rules.geometry import PublicGeometry
from copriv.rules.laplace import Gaussians, told_by_owners
from copriv.rules.reading import Reading
from copriv.rules.room import DOUBTS, agreement, read_together, room_at
from copriv.rules.setting import NoiseModel
from copriv.vectors import FloatArray, Norm

# Noise of 0 is taken for this share of what the records themselves leave open, so that nothing is divided by 0.
_SILENCE = 1e-12
# Laplace noise has longer tails than the Gaussian that stands for it; that of many owners together hardly has.
_TAILS = 1.5
# So often every Laplace likelihood is fitted to what the others say (`rules.laplace`), unless at some place the mean
# square of what they differ by is above so many times what it should be.
_FITS, _CONTRARY = 2, 2.0
# Noise counts if it has this part of what samples differ by. Owners differ if κ is perhaps above so many times what
# sampling makes it, and above this part of their noise; of fewer than so many owners nobody knows.
_COUNTS, _DIFFERENT, _SEEN, _PERHAPS, _ENOUGH = 0.1, 2.0, 0.1, 0.3, 4
# Gradients of so many places say something of the Hessian. They contradict a reading of second moments if they are more
# likely under a greater doubt, by this much as a logarithm.
_PLACES, _CONTRADICTED = 2, 3.0


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveSetting:
    """What stays the same during a study.

    Args:
        geometry: of the public rows.
        records: n_i of each owner.
        noise: of the owners; with a menu.
        expected: logarithms of the chances of every size of the difference (`rules.difference.prior`).
        is_moved: whether the public rows have been moved by what second moments told (`rules.transported`).
        known: α of the shift that other labels of the public rows have taken away (`rules.relabelled`).
    """

    geometry: PublicGeometry
    records: tuple[int, ...]
    noise: NoiseModel
    expected: FloatArray
    is_moved: bool = False
    known: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Everything that was told at one place: the answers, what they are evidence of, and how much records vary there.

    `noise` is the deviation of each answer's, before whitening; `doubt` the variance of how clipped gradients are read.
    """

    told: tuple[Told, ...]
    evidence: Evidence
    spread: FloatArray
    noise: FloatArray
    doubt: FloatArray


@lru_cache(maxsize=16)
def inferred(setting: AdaptiveSetting, state: AdaptiveState) -> tuple[Difference, Among]:
    """What the answers so far say of the difference, and how much owners differ; a state is worked out once."""
    reading = Reading(setting.geometry)
    asked = _asked(setting, state, reading)
    among = difference_among([each.evidence for each in asked], [each.spread for each in asked])
    hessian = _hessian(setting, state, [_pooled(setting, each, among.expected)[0] for each in asked])
    found = _read(setting, asked, among, hessian)
    better = reading.again(found)
    if better is not None:
        found = _read(setting, _asked(setting, state, better), among, hessian)
    return found, among


def _read(
    setting: AdaptiveSetting, asked: list[_Asked], among: Among, hessian: HessianObservation | None
) -> Difference:
    """What answers that are read like this say of the difference."""
    records = float(sum(setting.records))
    pooled = [_pooled(setting, each, among.expected) for each in asked]
    found = infer(setting.geometry, records, [one for one, _ in pooled], hessian, setting.expected)
    if not _has_laplace_tails(setting, asked, among):
        return found
    for turn in range(_FITS):
        expected = foretold(found, setting.geometry, [noise for _, noise in pooled])
        if turn == 0 and _contradict(setting.geometry, pooled, expected):
            break
        known = map(Gaussians, expected.means, expected.variances)
        pooled = [_fitted(setting, *each, among.expected) for each in zip(asked, known, strict=True)]
        observations = [one for one, _ in pooled]
        found = infer(setting.geometry, records, observations, hessian, setting.expected, found.chances)
    return found


def _contradict(geometry: PublicGeometry, pooled: list[tuple[Observation, FloatArray]], expected: Gaussians) -> bool:
    """Whether answers at some place are not what the others foretell: then the model is wrong, not the noise."""
    told = np.stack([one.deviation for one, _ in pooled]) @ geometry.unheard
    squares = (told - expected.means) ** 2 / (expected.variances + np.stack([noise for _, noise in pooled]))
    return float(squares.mean(axis=1).max()) > _CONTRARY


def _has_laplace_tails(setting: AdaptiveSetting, asked: list[_Asked], among: Among) -> bool:
    """Whether answers are read as ones with Laplace noise: it is, it counts, and owners do not differ beside it.

    Owners that differ may do so in any way, not only in a Gaussian one; then an outlier need not be noise. Nor need it
    be where few public rows tell how much to expect.
    """
    geometry = setting.geometry
    if geometry.norm is not Norm.L1 or not asked or is_few(geometry.public.records, geometry.parameters):
        return False
    size = float(np.mean(setting.records))
    least = min(float(np.mean(each.evidence.variances.mean(axis=0) / each.spread)) for each in asked)
    differ = among.exceeds(max(_DIFFERENT / size, _SEEN * least)) > _PERHAPS
    return least > _COUNTS / size and not (differ and len(setting.records) >= _ENOUGH)


def _pooled(setting: AdaptiveSetting, asked: _Asked, among: float) -> tuple[Observation, FloatArray]:
    """The answers to one question as one, weighed by precision as far as noise counts, else by records; and its noise.

    The noise is that of each number as owners send it.
    """
    geometry, theta, evidence = setting.geometry, asked.told[0].ask.theta, asked.evidence
    own = float(asked.spread.mean()) * (1 / evidence.records + among)
    weights = pooling_weights(evidence.records, own, evidence.variances.mean(axis=1))
    tails = _tails(geometry, weights)
    noise = tails * float(weights**2 @ asked.noise**2)
    least = _SILENCE * np.diag(geometry.spread) / sum(setting.records)
    aside = _aside(setting, [told.owner for told in asked.told], weights, among)
    heard = noise * geometry.noise_covariance + np.diag(least + asked.doubt)
    raw = np.full(geometry.parameters, noise)
    return Observation(geometry.place(theta), weights @ evidence.deviations, heard, aside), raw


def _tails(geometry: PublicGeometry, weights: FloatArray) -> float:
    """By how much the variance of Laplace noise of few owners counts more than that of Gaussian noise."""
    return 1 + _TAILS * float(np.sum(weights**4) / np.sum(weights**2) ** 2) if geometry.norm is Norm.L1 else 1.0


def _fitted(
    setting: AdaptiveSetting, asked: _Asked, expected: Gaussians, among: float
) -> tuple[Observation, FloatArray]:
    """The same with every answer's Laplace noise fitted to what is expected of it (`rules.laplace`)."""
    geometry, theta, evidence = setting.geometry, asked.told[0].ask.theta, asked.evidence
    spread = geometry.spread + np.diag(asked.spread - np.diag(geometry.spread))
    varies = np.sum(geometry.unheard * (spread @ geometry.unheard), axis=0)
    own = varies * (1 / evidence.records + among)[:, None]
    scales = asked.noise[:, None] / math.sqrt(2)
    told = told_by_owners(evidence.deviations @ geometry.unheard, scales, own, expected)
    weights = pooling_weights(evidence.records[:, None], own, told.variances)
    noise = np.sum(weights**2 * told.variances, axis=0)
    whole = geometry.heard.T @ (noise[:, None] * geometry.heard) + np.diag(asked.doubt)
    aside = _aside(setting, [told.owner for told in asked.told], weights.mean(axis=1), among)
    deviation = np.sum(weights * told.means, axis=0) @ geometry.heard
    return Observation(geometry.place(theta), deviation, whole, aside), noise


def pooling_weights(records: FloatArray, own: FloatArray, noise: FloatArray) -> FloatArray:
    """Of owners (rows) that differ by `own` and answer with `noise`, to learn of their average by records."""
    precise, sized, kept = 1 / (own + noise), records / records.sum(), own / (own + noise)
    return np.asarray(precise / precise.sum(axis=0) * (1 - np.sum(sized * kept, axis=0)) + sized * kept)


def _aside(setting: AdaptiveSetting, owners: list[int], weights: FloatArray, among: float) -> FloatArray:
    """By how much some owners, weighed like this, stand for others than all: one number an owner."""
    sizes = np.asarray(setting.records, dtype=np.float64)
    off = -sizes / sizes.sum()
    np.add.at(off, owners, weights)
    return np.asarray(off * np.sqrt(1 / sizes + among))


def _asked(setting: AdaptiveSetting, state: AdaptiveState, reading: Reading) -> list[_Asked]:
    """What was told at every place."""
    return [_asked_there(setting, group, reading) for group in _by_place(setting, state)]


def _by_place(setting: AdaptiveSetting, state: AdaptiveState) -> list[tuple[Told, ...]]:
    """The gradients that were told at every place."""
    groups: dict[bytes, list[Told]] = {}
    for told in settled(state.told, setting.noise.norm):
        if told.ask.kind == "gradient":
            groups.setdefault(told.ask.theta.tobytes(), []).append(told)
    return list(map(tuple, groups.values()))


def _asked_there(setting: AdaptiveSetting, group: tuple[Told, ...], reading: Reading) -> _Asked:
    """The deviations of answers to one question, the noise in them, and who has not answered it."""
    geometry, sizes = setting.geometry, np.asarray(setting.records, dtype=np.float64)
    theta, owners = group[0].ask.theta, [told.owner for told in group]
    stds = np.asarray([setting.noise.std_of(told.owner, told.ask) for told in group])
    least = _SILENCE * np.diag(geometry.spread) / sizes.sum()
    deviations = reading.deviations(theta, np.stack([told.values[: geometry.parameters] for told in group]))
    variances = stds[:, None] ** 2 / geometry.values + least
    evidence = Evidence(deviations, variances, sizes[owners], np.delete(sizes, owners))
    return _Asked(group, evidence, _spread_at(geometry, geometry.place(theta)), stds, reading.doubt(theta))


def _spread_at(geometry: PublicGeometry, place: FloatArray) -> FloatArray:
    """How much one record's gradient varies at a place, beside what the public rows' does there."""
    return np.asarray(np.diag(geometry.spread) + geometry.unevenness @ place**2)


def visible(setting: AdaptiveSetting, among: float) -> float:
    """The share that differences between owners, of κ and of samples, have in what their answers differ by."""
    geometry, sizes = setting.geometry, np.asarray(setting.records, dtype=np.float64)
    own = (among + 1 / sizes.mean()) * np.diag(geometry.spread)
    noise = np.asarray(setting.noise.noise_std)[:, None] ** 2 / geometry.values
    return float(sizes / sizes.sum() @ np.mean(own / (own + noise), axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class PooledMoments:
    """Second moments of some owners as one: the matrix, its noise's variance, and whom they do not stand for."""

    matrix: FloatArray
    noise: float
    aside: FloatArray


def pooled_second_moments(setting: AdaptiveSetting, told: Sequence[Told]) -> PooledMoments:
    """The second moments that were told, pooled over owners."""
    geometry, owners = setting.geometry, [one.owner for one in told]
    records = np.asarray([setting.records[owner] for owner in owners], dtype=np.float64)
    noise = np.asarray([setting.noise.std_of(one.owner, one.ask) for one in told]) ** 2
    among = _hessians_differ(setting, told, noise)
    scale = float(np.median(geometry.unevenness / geometry.hessian_noise(1.0)))
    weights = pooling_weights(records, scale * (1 / records + among), noise)
    packed = weights @ np.stack([one.values for one in told])
    moments = unpack_second_moments(packed, geometry.parameters, geometry.norm)
    return PooledMoments(moments, float(weights**2 @ noise), _aside(setting, owners, weights, among))


def _hessian(
    setting: AdaptiveSetting, state: AdaptiveState, observations: list[Observation]
) -> HessianObservation | None:
    """What second moments tell of the Hessian: those that were asked for, and those in the room of gradients.

    The latter are doubted as little as the gradients of several places and the former allow.
    """
    bought = _bought(setting, state)
    if not setting.noise.fill:
        return bought
    readings = [_seen(setting, group) for group in _by_place(setting, state)]
    each = [read_together(readings, bought, doubt) for doubt in DOUBTS]
    if each[0] is None:
        return None
    likely = np.asarray([agreement(readings, bought, doubt) for doubt in DOUBTS])
    if len(observations) >= _PLACES:
        likely += [_likely(setting, observations, hessian) for hessian in each]
    return next(one for one, chance in zip(each, likely, strict=True) if chance > likely.max() - _CONTRADICTED)


def _likely(setting: AdaptiveSetting, observations: list[Observation], hessian: HessianObservation | None) -> float:
    """The logarithm of how likely gradients are, given what second moments tell."""
    records = float(sum(setting.records))
    before, after = (infer(setting.geometry, records, told, hessian, setting.expected) for told in ([], observations))
    return after.evidence - before.evidence


def _seen(setting: AdaptiveSetting, group: tuple[Told, ...]) -> HessianObservation:
    """What the second moments in the room of gradients of one place tell of the Hessian."""
    geometry, noise, p = setting.geometry, setting.noise, setting.geometry.parameters
    room, owners = room_at(geometry, group[0].ask.theta, noise.fill), [one.owner for one in group]
    records = np.asarray([setting.records[owner] for owner in owners], dtype=np.float64)
    variances = np.asarray([noise.std_of(one.owner, one.ask) for one in group]) ** 2 / noise.fill**2
    scale = float(np.median(geometry.unevenness / room.noise(1.0)))
    weights = pooling_weights(records, scale / records, variances)
    packed = weights @ np.stack([one.values[p:] for one in group]) / noise.fill
    aside = _aside(setting, owners, weights, 0.0)
    loud = _tails(geometry, weights) * float(weights**2 @ variances)
    variance = room.noise(loud) + float(aside @ aside) * geometry.unevenness
    return HessianObservation(room.change(unpack_second_moments(packed, p, geometry.norm)), variance)


def _bought(setting: AdaptiveSetting, state: AdaptiveState) -> HessianObservation | None:
    """What second moments that were asked for tell; nothing more, once public rows have been moved by them."""
    told = [one for one in settled(state.told, setting.noise.norm) if one.ask.kind == "second_moments"]
    if not told or setting.is_moved:
        return None
    geometry, pooled = setting.geometry, pooled_second_moments(setting, told)
    aside = float(pooled.aside @ pooled.aside)
    variance = geometry.hessian_noise(pooled.noise) + aside * geometry.unevenness
    return HessianObservation(geometry.hessian_change(pooled.matrix), variance)


def _hessians_differ(setting: AdaptiveSetting, told: Sequence[Told], noise: FloatArray) -> float:
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
