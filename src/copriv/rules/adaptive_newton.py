"""Public Newton that looks first: answers of unequal price and kind, and a model of how private gradients differ.

Some owners, the scouts, give a cheap answer at the public model. It tells how far private records are from the public
rows (`rules.difference`). Then all owners are asked, question after question, each at the model of least expected
fitness (`rules.tilted`): what is asked for, and at which share of their budgets, is worked out from what is not yet
known (`rules.purchase`). Without a shift that is everything at once. With one, second moments or another cheap answer
come first.

A question, once settled, is the same for all owners: asked at one place, the ways in which they differ from each other
cancel in the sum. An owner that comes early settles the next question with what is known by then.

Everything after the answers is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.losses.moments import unpack_second_moments
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.rules.difference import (
    Difference,
    HessianObservation,
    Observation,
    gradient_left,
    infer,
    prior,
)
from copriv.rules.evidence import Evidence, difference_among, pool
from copriv.rules.geometry import PublicGeometry
from copriv.rules.purchase import Outlook, Prices, Purchase, choose
from copriv.rules.rule import Ask, AskedKind
from copriv.rules.setting import NoiseModel
from copriv.rules.tilted import least_expected
from copriv.vectors import FloatArray, Norm, read_only

# What the menu of a planned study has.
SHARES = tuple(range(5, 101, 5))
KINDS: tuple[AskedKind, ...] = ("gradient", "second_moments")
MOST_ANSWERS = 5
# A look may cost at most this share of what all answers together could tell.
_PRICE_OF_A_LOOK = 0.1
_DEAREST_LOOK = 50
_SCOUTS = 10
_SILENCE = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """One answer: whose, to what, and the numbers."""

    owner: int
    ask: Ask
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveState:
    """The questions settled after the look (a share of 0 is all that an owner has left), and every answer."""

    rounds: tuple[Ask, ...]
    told: tuple[Told, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveNewton:
    """Public Newton with a menu, for owners with their own sizes and noise.

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
    name = "newton"

    @classmethod
    def of(
        cls,
        public: Sample,
        objective: Objective,
        *,
        records: Sequence[int],
        noise: NoiseModel,
        start: FloatArray | None = None,
    ) -> AdaptiveNewton:
        """The rule for these public rows and owners; `start` is the public model, if it is known already."""
        if not records or len(records) != len(noise.noise_std) or not noise.shares:
            raise BadInput(
                f"{len(records)} sizes, {len(noise.noise_std)} deviations of noise and {len(noise.shares)} shares",
                remedy="give one of each for every owner, and a menu",
                value=(len(records), len(noise.noise_std)),
            )
        geometry = PublicGeometry.of(public, objective, noise.clip, noise.norm, start)
        return cls(geometry, tuple(records), noise, prior())

    @property
    def scouts(self) -> int:
        """How many owners look: all of a few, a tenth of many."""
        owners = len(self.records)
        return owners if owners <= 3 else max(2, math.ceil(owners / _SCOUTS))

    @property
    def look(self) -> int:
        """The share of a scout's look: the largest that costs little."""
        part = self.scouts / len(self.records)
        if self.noise.norm is Norm.L2:
            return max(share for share in self.noise.shares if share <= 20 or share == self.noise.shares[0])
        fitting = [s for s in self.noise.shares if s <= _DEAREST_LOOK and _lost(part, s) <= _PRICE_OF_A_LOOK]
        return max(fitting, default=self.noise.shares[0])

    def begin(self) -> AdaptiveState:
        """No answers."""
        return AdaptiveState((), ())

    def ask(self, state: AdaptiveState, owner: int) -> Ask | None:
        """A look at the public model while scouts are wanted, else the next of the questions that all are asked."""
        answers = [told for told in state.told if told.owner == owner]
        left = 100 - sum(told.ask.share for told in answers)
        if left <= 0:
            return None
        if not answers and sum(map(self._is_look, state.told)) < self.scouts:
            return Ask(self.geometry.start, "gradient", self.look)
        passed = sum(not self._is_look(told) for told in answers)
        following = state.rounds[passed] if passed < len(state.rounds) else _next_round(self, state)
        return Ask(following.theta, following.kind, min(following.share or left, left))

    def learn(self, state: AdaptiveState, owner: int, answer: FloatArray, ask: Ask) -> AdaptiveState:
        """Keep the answer, and the question if it is a new one to all owners."""
        told = Told(owner, ask, read_only(answer))
        earlier = [one for one in state.told if one.owner == owner]
        passed = sum(not self._is_look(one) for one in earlier)
        rounds = state.rounds
        if not self._is_look(told) and passed == len(rounds):
            everything = sum(one.ask.share for one in earlier) + ask.share >= 100
            rounds = (*rounds, Ask(ask.theta, ask.kind, 0 if everything else ask.share))
        return AdaptiveState(rounds, (*state.told, told))

    def model(self, state: AdaptiveState) -> FloatArray:
        """The model of least expected fitness; the public one before any answer."""
        if not any(told.ask.kind == "gradient" for told in state.told):
            return self.geometry.start
        found = inferred(self, state)
        return least_expected(self.geometry, found.intercept, found.hessian)

    def pack(self, state: AdaptiveState) -> bytes:
        """Questions and answers as bytes."""
        rounds = [_Packed.of(-1, ask, np.empty(0)) for ask in state.rounds]
        told = [_Packed.of(one.owner, one.ask, one.values) for one in state.told]
        return msgspec.msgpack.encode((rounds, told))

    def unpack(self, data: bytes) -> AdaptiveState:
        """The state again, to the last bit."""
        try:
            rounds, told = msgspec.msgpack.decode(data, type=tuple[list[_Packed], list[_Packed]])
        except msgspec.DecodeError as problem:
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule: {problem}",
                remedy="use the checkpoint of this study",
                value=len(data),
            ) from problem
        asks = tuple(one.ask() for one in rounds)
        return AdaptiveState(asks, tuple(Told(one.owner, one.ask(), _numbers(one.values)) for one in told))

    def _is_look(self, told: Told) -> bool:
        ask = told.ask
        return ask.kind == "gradient" and ask.share == self.look and np.array_equal(ask.theta, self.geometry.start)


class _Packed(msgspec.Struct, array_like=True):
    """A question or an answer as it is stored: numbers as their bytes."""

    owner: int
    kind: AskedKind
    share: int
    theta: bytes
    values: bytes

    @classmethod
    def of(cls, owner: int, ask: Ask, values: FloatArray) -> _Packed:
        """As stored."""
        return cls(owner, ask.kind, ask.share, ask.theta.tobytes(), values.tobytes())

    def ask(self) -> Ask:
        """The question again."""
        return Ask(_numbers(self.theta), self.kind, self.share)


def _numbers(data: bytes) -> FloatArray:
    return read_only(np.frombuffer(data, dtype="<f8"))


def _lost(part: float, share: int) -> float:
    """What splitting costs if a part of the owners spends a share first: noise falls with the square of the share."""
    first = share / 100
    return part * (1 - first**2 - (1 - first) ** 2)


@lru_cache(maxsize=16)
def inferred(rule: AdaptiveNewton, state: AdaptiveState) -> Difference:
    """What the answers so far say of the difference; a state is worked out once."""
    geometry = rule.geometry
    observations = _observations(rule, state)
    hessian = _hessian(rule, state)
    return infer(geometry, float(sum(rule.records)), observations, hessian, rule.expected)


@lru_cache(maxsize=16)
def _next_round(rule: AdaptiveNewton, state: AdaptiveState) -> Ask:
    """What all owners are asked next."""
    geometry, found = rule.geometry, inferred(rule, state)
    theta = least_expected(geometry, found.intercept, found.hessian)
    gradient = gradient_left(found, geometry, float(sum(rule.records)), geometry.place(theta))
    openness = np.stack([scale.variance for scale in found.scales])
    outlook = Outlook(found.chances, gradient, openness, np.maximum(np.diag(found.hessian), 1e-3))
    purchase = choose(outlook, _prices(rule, state))
    if purchase.kind == "second_moments":
        return Ask(np.zeros(geometry.parameters), "second_moments", purchase.share)
    return Ask(theta, "gradient", purchase.share)


def _prices(rule: AdaptiveNewton, state: AdaptiveState) -> Prices:
    """What shares of all owners' budgets buy, after what they have given."""
    spent = np.zeros(len(rule.records), dtype=np.int64)
    for told in state.told:
        spent[told.owner] += told.ask.share
    weights = (np.asarray(rule.records) / sum(rule.records)) ** 2
    std, noise, geometry = np.asarray(rule.noise.noise_std), rule.noise, rule.geometry

    def pooled(stds: FloatArray, shares: FloatArray) -> float:
        """Of owners that have nothing left, nothing more is heard."""
        power = 2 if noise.norm is Norm.L1 else 1
        return float(np.sum(weights * stds**2 * (100 / np.maximum(shares, 1)) ** power))

    def gradient(share: int) -> FloatArray:
        return _whitened(geometry, pooled(std, np.minimum(share, 100 - spent)))

    def rest(taken: int) -> FloatArray:
        return _whitened(geometry, pooled(std, 100 - spent - taken))

    def second_moments(share: int) -> FloatArray:
        squares = np.asarray(noise.second_moments_std)
        return geometry.hessian_noise(pooled(squares, np.minimum(share, 100 - spent)))

    asked = sum(told.ask.kind == "second_moments" for told in state.told)
    on_menu = "second_moments" in noise.kinds and not asked
    left = int(np.min(100 - spent[spent < 100], initial=100))
    more = MOST_ANSWERS - 1 - len(state.rounds)
    return Prices(gradient, rest, second_moments if on_menu else None, noise.shares, left, more)


def _whitened(geometry: PublicGeometry, variance: float) -> FloatArray:
    return np.asarray(variance / geometry.values)


def _observations(rule: AdaptiveNewton, state: AdaptiveState) -> list[Observation]:
    """One for every place: the answers there, pooled over owners."""
    geometry, groups = rule.geometry, _by_place(state)
    places = [geometry.place(group[0].ask.theta) for group in groups]
    evidences = [_evidence(rule, group) for group in groups]
    spreads = [_spread_at(geometry, place) for place in places]
    among = difference_among(evidences, spreads)
    pooled = [pool(one, spread, among) for one, spread in zip(evidences, spreads, strict=True)]
    doubts = [geometry.clipping_doubt(group[0].ask.theta) ** 2 for group in groups]
    return [
        Observation(place, mean, variance + doubt)
        for place, (mean, variance), doubt in zip(places, pooled, doubts, strict=True)
    ]


def _by_place(state: AdaptiveState) -> list[list[Told]]:
    groups: dict[bytes, list[Told]] = {}
    for told in state.told:
        if told.ask.kind == "gradient":
            groups.setdefault(told.ask.theta.tobytes(), []).append(told)
    return list(groups.values())


def _evidence(rule: AdaptiveNewton, group: list[Told]) -> Evidence:
    """The deviations of answers to one question, the noise in them, and who has not answered it."""
    geometry, sizes = rule.geometry, np.asarray(rule.records, dtype=np.float64)
    answers = np.stack([told.values for told in group])
    owners = [told.owner for told in group]
    stds = np.asarray([rule.noise.std_of(told.owner, told.ask) for told in group])
    least = _SILENCE * np.diag(geometry.spread) / sizes.sum()
    variances = stds[:, None] ** 2 / geometry.values + least
    return Evidence(geometry.deviations(group[0].ask.theta, answers), variances, sizes[owners], np.delete(sizes, owners))


def _spread_at(geometry: PublicGeometry, place: FloatArray) -> FloatArray:
    """How much one record's gradient varies at a place, beside what the public rows' does there."""
    return np.asarray(np.diag(geometry.spread) + geometry.unevenness @ place**2)


def _hessian(rule: AdaptiveNewton, state: AdaptiveState) -> HessianObservation | None:
    """The second moments that were told, pooled by records."""
    told = [one for one in state.told if one.ask.kind == "second_moments"]
    if not told:
        return None
    geometry = rule.geometry
    weights = np.asarray([rule.records[one.owner] for one in told], dtype=np.float64)
    weights /= weights.sum()
    values = sum(weight * one.values for weight, one in zip(weights, told, strict=True))
    stds = np.asarray([rule.noise.std_of(one.owner, one.ask) for one in told])
    moments = unpack_second_moments(np.asarray(values), geometry.parameters, geometry.norm)
    return HessianObservation(
        geometry.hessian_change(moments), geometry.hessian_noise(float(weights**2 @ stds**2))
    )
