"""Public rows with other labels, where the owners' records are positive more or less often than they.

How often labels are positive is the most common way in which populations differ, and the costliest: where 3 % of the
public rows are positive and 34 % of the records, the public model is far off, and its Hessian several times too small.
Gradients tell it badly, as the clip takes most of what rare labels say. But it is one number, and one record moves it
by 1/n: owners of labels tell it first, for a small share of their budgets. If it surely differs, some public rows get
the other label, as few as possible: those chances rise (or fall) by one and the same log-odds until as many are
positive as owners told, less what noise may have added. The rows that are made stand for the public ones: their model,
Hessian and clipped gradients are what answers are read beside, and owners are asked for gradients where that model is.

Everything here is post-processing of answers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit

from copriv.losses.sample import Sample
from copriv.rules.adaptive_inference import AdaptiveSetting, pooling_weights, visible
from copriv.rules.adaptive_state import AdaptiveState, Told
from copriv.rules.difference import prior
from copriv.rules.geometry import PublicGeometry
from copriv.rules.setting import NoiseModel
from copriv.rules.transported import can_move
from copriv.vectors import FloatArray, freeze

# Per cents of everybody's budget: the first at which noise on the share of all owners together is no larger than this.
_PRICES = ((5, 0.045), (10, 0.045), (15, 0.06), (20, 0.15))
# Labels differ if their shares do by so many deviations; one of them is taken off again, in case it was noise. Labels
# that were changed in vain cost twenty times what the public model does, so once in thousands of trainings is enough.
_SURE, _TAKEN_OFF = 4.0, 1.0
# Gradients tell of smaller changes of the log-odds as well, unless noise hides all but this of what samples differ by.
_LARGE, _QUIET = 1.0, 0.1
# A chance that is too small costs more than one too large: this part of the change of the log-odds if it leads away
# from one half, as some of it may be due to rows that differ.
_RARER = 0.75
_FURTHEST, _HALVINGS = 8.0, 40
# Chances nearer to 0 or 1 than this are certain.
_CERTAIN = 1e-12


def price_of_positives(noise: NoiseModel) -> int:
    """Per cents of each budget that owners spend on their share of positive labels; 0 if noise would hide it."""
    if "positives" not in noise.kinds:
        return 0
    for share, most in _PRICES:
        stds = np.asarray([noise.at_share(std, share) for std in noise.positives_std])
        if share in noise.shares and float(np.sum(stds**-2.0)) >= most**-2.0:
            return share
    return 0


def after_positives(noise: NoiseModel) -> NoiseModel:
    """The noise of what is left of the budgets then, as if it were all there is."""
    left = 100 - price_of_positives(noise)
    if left == 100:
        return noise
    gradients, squares = (
        tuple(noise.at_share(std, left) for std in stds) for stds in (noise.noise_std, noise.second_moments_std)
    )
    return replace(noise, noise_std=gradients, second_moments_std=squares)


def positives_wanted(setting: AdaptiveSetting, state: AdaptiveState) -> int:
    """At which share the first question asks for positives; 0 if it asks for something else."""
    return price_of_positives(setting.noise) if not state.told and can_move(setting) else 0


def relabelled(setting: AdaptiveSetting, state: AdaptiveState) -> AdaptiveSetting:
    """The setting with the labels of public rows changed as owners told before any gradient; else as it is.

    What is told later, by owners that come late, changes no labels: answers would have been asked for elsewhere.
    """
    kinds = [told.ask.kind for told in state.told]
    first = kinds.index("gradient") if "gradient" in kinds else len(kinds)
    told = tuple(one for one in state.told[:first] if one.ask.kind == "positives")
    everybody = len(told) == len(setting.records)
    return _relabelled(setting, told) if told and (everybody or first < len(kinds)) and can_move(setting) else setting


@lru_cache(maxsize=16)
def _relabelled(setting: AdaptiveSetting, told: tuple[Told, ...]) -> AdaptiveSetting:
    geometry = setting.geometry
    public, now = geometry.public, float(np.mean(geometry.public.targets > 0))
    share, variance = _pooled(setting, told)
    deviation = math.sqrt(variance + now * (1 - now) / public.records)
    wanted = _surely(now, share, deviation)
    if wanted == now or not 0 < now < 1:
        return setting
    if abs(logit(wanted) - logit(now)) < _LARGE and visible(setting, 0.0) > _QUIET:
        return setting
    margins = geometry.start @ public.columns
    part = _RARER if abs(wanted - 0.5) > abs(now - 0.5) else 1.0
    chances = expit(margins), expit(margins + part * _log_odds(margins, wanted))
    rows = Sample(public.columns, freeze(flip(public.targets, *chances)))
    there = PublicGeometry.of(rows, geometry.objective, geometry.clip, geometry.norm, axes=geometry.axes)
    known = _distance(geometry, rows)
    return replace(setting, geometry=there, expected=prior(least=known), known=known)


def _pooled(setting: AdaptiveSetting, told: tuple[Told, ...]) -> tuple[float, float]:
    """The share of positive labels of all owners, and the variance of what it may be wrong by."""
    records = np.asarray([setting.records[one.owner] for one in told], dtype=np.float64)
    noise = np.asarray([setting.noise.std_of(one.owner, one.ask) for one in told]) ** 2
    shares = np.asarray([float(one.values[0]) for one in told])
    middle = float(np.clip(np.average(shares, weights=1 / noise), 0.01, 0.99))
    sampled = middle * (1 - middle) / records
    among = max(float(np.var(shares) - np.mean(noise + sampled)), 0.0)
    weights = pooling_weights(records, sampled + among, noise)
    unheard = 1 - float(records.sum()) / sum(setting.records)
    return float(weights @ shares), float(weights**2 @ (noise + unheard * (sampled + among)))


def _surely(now: float, share: float, deviation: float) -> float:
    """The share to go by: the one that there is, unless another one was surely told; then a little less far away.

    >>> [round(_surely(0.1, share, 0.02), 2) for share in (0.17, 0.19, 0.3, -0.02)]
    [0.1, 0.17, 0.28, 0.04]
    """
    if abs(share - now) < _SURE * deviation:
        return now
    wanted = share - math.copysign(_TAKEN_OFF * deviation, share - now)
    return float(np.clip(wanted, min(2 * deviation, now), max(1 - 2 * deviation, now)))


def _log_odds(margins: FloatArray, wanted: float) -> float:
    """By how much all log-odds change until the chances come to this share."""
    low, high = -_FURTHEST, _FURTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.mean(expit(margins + middle))) < wanted else (low, middle)
    return (low + high) / 2


def flip(labels: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """Labels (±1) of these chances before, as few of them changed as the chances after demand; none by chance.

    Rows are put in the order of their chance to change, and of every stretch as many change as these add up to.

    >>> flip(np.array([-1.0, -1.0, -1.0, 1.0]), np.full(4, 0.25), np.full(4, 0.5)).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    rises = (after > before) & (labels < 0)
    falls = (after < before) & (labels > 0)
    certain = np.clip(before, _CERTAIN, 1 - _CERTAIN)
    rise, fall = (after - before) / (1 - certain), (before - after) / certain
    chances = np.where(rises, rise, np.where(falls, fall, 0.0))
    order = np.argsort(chances, kind="stable")
    passed = np.floor(np.cumsum(chances[order]) + 0.5)
    changed = np.zeros(labels.size, dtype=bool)
    changed[order] = np.diff(passed, prepend=0.0) > 0
    return np.where(changed, -labels, labels)


def _distance(geometry: PublicGeometry, rows: Sample) -> float:
    """How large a shift the other labels are, as α: what they change the gradient at the public model by."""
    told = geometry.told_by(rows, geometry.start)
    change = geometry.deviations(geometry.start, told[None])[0]
    return float(change @ np.linalg.solve(geometry.spread, change) / change.size)
