"""Public Newton that looks first: answers of unequal price and kind, and a model of how private gradients differ.

Questions are settled one after the other: where to ask (the model of least expected fitness, `rules.tilted`), what for,
at which share of the owner's budget, and how many owners (`rules.purchase`), from what is known of the difference
between private and public gradients (`rules.difference`). Whoever comes is asked the question of the hour, until enough
have answered it. The first is a look, at the public model. Without a shift the next asks everybody else for everything.
With one, more owners are asked on the way, for gradients or for second moments.

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
from copriv.rules.evidence import Among, Evidence, difference_among
from copriv.rules.geometry import PublicGeometry
from copriv.rules.purchase import Budget, Outlook, choose
from copriv.rules.rule import Ask, AskedKind
from copriv.rules.setting import NoiseModel
from copriv.rules.tilted import least_expected
from copriv.vectors import FloatArray, Norm, read_only

# What the menu of a planned study has.
SHARES = tuple(range(5, 101, 5))
KINDS: tuple[AskedKind, ...] = ("gradient", "second_moments")
# Of one owner, and to all owners together.
MOST_ANSWERS, MOST_QUESTIONS = 5, 7
# The look: of a tenth of the owners, at least of two, half of their budgets (of many less); of all of few, little.
_SCOUTS, _ENOUGH, _MANY = 10, 4, 20
_LOOK, _LOOK_OF_MANY, _GLANCE = 50, 20, 10
_SILENCE = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """One answer: whose, to what, and the numbers."""

    owner: int
    ask: Ask
    values: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One question, to so many owners; a share of 0 is all that an owner has left."""

    ask: Ask
    owners: int


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveState:
    """The questions so far, and every answer."""

    questions: tuple[Question, ...]
    told: tuple[Told, ...]

    def left(self, owner: int) -> int:
        """What an owner has left of its budget, in per cents."""
        return 100 - sum(told.ask.share for told in self.told if told.owner == owner)

    def open_question(self, owner: int) -> Question | None:
        """The question of the hour, if it is not yet answered by enough, nor by this owner."""
        if not self.questions:
            return None
        question = self.questions[-1]
        answered = [told.owner for told in self.told if _is_to(told, question)]
        return question if len(answered) < question.owners and owner not in answered else None


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
        """How many owners are asked together at least."""
        owners = len(self.records)
        return owners if owners < _ENOUGH else max(2, math.ceil(owners / _SCOUTS))

    @property
    def look(self) -> Question:
        """The first question."""
        owners = len(self.records)
        wanted = _GLANCE if owners < _ENOUGH else _LOOK if owners < _MANY else _LOOK_OF_MANY
        share = min(self.noise.shares, key=lambda each: abs(each - wanted))
        return Question(Ask(self.geometry.start, "gradient", share), self.scouts)

    def begin(self) -> AdaptiveState:
        """No answers."""
        return AdaptiveState((), ())

    def ask(self, state: AdaptiveState, owner: int) -> Ask | None:
        """The question of the hour, or the next one; None if the owner has nothing left."""
        left = state.left(owner)
        if left <= 0:
            return None
        question = state.open_question(owner) or _next_question(self, state)
        return Ask(question.ask.theta, question.ask.kind, min(question.ask.share or left, left))

    def learn(self, state: AdaptiveState, owner: int, answer: FloatArray, ask: Ask) -> AdaptiveState:
        """Keep the answer, and its question if it is a new one."""
        told, questions = Told(owner, ask, read_only(answer)), state.questions
        if not any(_is_to(told, question) for question in questions):
            settled = _next_question(self, state)
            questions = (*questions, settled if _is_to(told, settled) else Question(ask, 1))
        return AdaptiveState(questions, (*state.told, told))

    def model(self, state: AdaptiveState) -> FloatArray:
        """The model of least expected fitness; the public one before any answer."""
        if not any(told.ask.kind == "gradient" for told in state.told):
            return self.geometry.start
        found, _ = inferred(self, state)
        return least_expected(self.geometry, found.intercept, found.hessian)

    def pack(self, state: AdaptiveState) -> bytes:
        """Questions and answers as bytes."""
        questions = [_Packed.of(one.owners, one.ask, np.empty(0)) for one in state.questions]
        told = [_Packed.of(one.owner, one.ask, one.values) for one in state.told]
        return msgspec.msgpack.encode((questions, told))

    def unpack(self, data: bytes) -> AdaptiveState:
        """The state again, to the last bit."""
        try:
            questions, told = msgspec.msgpack.decode(data, type=tuple[list[_Packed], list[_Packed]])
        except msgspec.DecodeError as problem:
            raise BadInput(
                f"{len(data)} bytes are not a state of this rule: {problem}",
                remedy="use the checkpoint of this study",
                value=len(data),
            ) from problem
        asked = tuple(Question(one.ask(), one.owner) for one in questions)
        return AdaptiveState(asked, tuple(Told(one.owner, one.ask(), _numbers(one.values)) for one in told))


class _Packed(msgspec.Struct, array_like=True):
    """An answer as it is stored, numbers as their bytes; of a question, `owner` says to how many."""

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


def _is_to(told: Told, question: Question) -> bool:
    """Whether an answer is one to this question."""
    return told.ask.kind == question.ask.kind and np.array_equal(told.ask.theta, question.ask.theta)


@lru_cache(maxsize=16)
def inferred(rule: AdaptiveNewton, state: AdaptiveState) -> tuple[Difference, Among]:
    """What the answers so far say of the difference, and how much owners differ; a state is worked out once."""
    observations, among = _observations(rule, state)
    records, hessian = float(sum(rule.records)), _hessian(rule, state, among.expected)
    return infer(rule.geometry, records, observations, hessian, rule.expected), among


@lru_cache(maxsize=16)
def _next_question(rule: AdaptiveNewton, state: AdaptiveState) -> Question:
    """What is asked next, and how many owners."""
    if not state.told:
        return rule.look
    geometry, (found, among) = rule.geometry, inferred(rule, state)
    theta = rule.model(state)
    surely = max(found.exceeds(_STRONG), among.exceeds(_STRONG)) > _SURE
    budget = _budget(rule, state, among.expected, surely=surely)
    if not budget.strong and budget.alike:
        return Question(Ask(theta, "gradient", 0), _next_batch(rule, state, budget))
    if not budget.strong:
        return _next_round(theta, state, budget)
    gradient = gradient_left(found, geometry, float(sum(rule.records)), geometry.place(theta))
    scales = np.stack([scale.variance for scale in found.scales])
    shape = gradient.shape[:2]
    outlook = Outlook(
        chances=found.chances.ravel(),
        gradient=gradient.reshape(-1, geometry.parameters),
        openness=np.broadcast_to(scales, (*shape, *scales.shape[1:])).reshape(-1, *scales.shape[1:]),
        hessian=np.maximum(np.diag(found.hessian), _FLATTEST),
        values=geometry.values,
        lift=geometry.hessian_noise(1.0),
        spread=np.diag(geometry.spread),
        unevenness=geometry.unevenness,
    )
    purchase = choose(outlook, budget)
    if purchase.kind == "second_moments":
        return Question(Ask(np.zeros(geometry.parameters), "second_moments", purchase.share), purchase.owners)
    return Question(Ask(theta, "gradient", purchase.share), purchase.owners)


_FLATTEST = 1e-3
# If α is surely beyond this, the public Hessian is not relied on: second moments come before the rest.
_STRONG, _SURE = 0.03, 0.8


def _next_batch(rule: AdaptiveNewton, state: AdaptiveState, budget: Budget) -> int:
    """How many owners are asked for all they have: a part of those who were not asked before, and then the rest."""
    fresh = int(np.sum(budget.left == 100))
    part = max(rule.scouts, math.ceil(_BATCH * fresh))
    last = fresh - part < rule.scouts or len(state.questions) >= _BATCHES
    return int(np.sum(budget.left > 0)) if last else part


_BATCH, _BATCHES = 0.3, 5


def _next_round(theta: FloatArray, state: AdaptiveState, budget: Budget) -> Question:
    """Of owners that differ: little of all of them, a little more, and then the rest."""
    able = int(np.sum(budget.left > 0))
    done = sum(question.owners >= able for question in state.questions)
    wanted = [share for share in _ROUNDS[done:] if share in budget.shares]
    return Question(Ask(theta, "gradient", wanted[0] if wanted else 0), able)


_ROUNDS = (10, 20)


def _budget(rule: AdaptiveNewton, state: AdaptiveState, among: float, *, surely: bool) -> Budget:
    """What owners can still tell, after what they have told."""
    left = np.full(len(rule.records), 100.0)
    for told in state.told:
        left[told.owner] -= told.ask.share
    noise, owners = rule.noise, len(rule.records)
    bought = any(told.ask.kind == "second_moments" for told in state.told)
    squares = np.zeros(owners)
    probed = surely or sum(question.ask.kind == "gradient" for question in state.questions) >= 2
    if "second_moments" in noise.kinds and probed and not bought:
        squares = _precision(noise.second_moments_std)
    return Budget(
        left=left,
        gradient=_precision(noise.noise_std),
        second_moments=squares,
        power=2 if noise.norm is Norm.L1 else 1,
        among=among + 1 / float(np.mean(rule.records)),
        shares=noise.shares,
        fewest=rule.scouts,
        purchases=MOST_QUESTIONS - len(state.questions),
        strong=surely,
        must_look=surely and bool(squares.any()),
        alike=_is_alike(rule, among),
    )


def _is_alike(rule: AdaptiveNewton, among: float) -> bool:
    """Whether noise hides how owners differ: then it does not matter who is asked where."""
    geometry, sizes = rule.geometry, np.asarray(rule.records, dtype=np.float64)
    own = (among + 1 / sizes.mean()) * np.diag(geometry.spread)
    noise = float(np.mean(np.asarray(rule.noise.noise_std) ** 2)) / geometry.values
    return len(sizes) >= _ENOUGH and (among * sizes.mean() < 1 or float(np.mean(own / (own + noise))) < _HIDDEN)


_HIDDEN = 0.1


def _precision(stds: Sequence[float]) -> FloatArray:
    return np.asarray(1 / (np.asarray(stds) ** 2 + np.finfo(float).tiny))


def _observations(rule: AdaptiveNewton, state: AdaptiveState) -> tuple[list[Observation], Among]:
    """One for every place: the answers there, pooled over owners; and how much owners differ."""
    geometry, groups = rule.geometry, _by_place(state)
    evidences = [_evidence(rule, group) for group in groups]
    spreads = [_spread_at(geometry, geometry.place(group[0].ask.theta)) for group in groups]
    among = difference_among(evidences, spreads)
    pooled = zip(groups, evidences, spreads, strict=True)
    return [_pooled(rule, *one, among.expected) for one in pooled], among


def _pooled(rule: AdaptiveNewton, group: list[Told], evidence: Evidence, spread: FloatArray, among: float) -> Observation:
    """The answers to one question as one: weighed by precision as far as noise counts, else by records."""
    geometry, theta = rule.geometry, group[0].ask.theta
    own = float(spread.mean()) * (1 / evidence.records + among)
    noise = evidence.variances.mean(axis=1)
    weights = _weights(evidence.records, own, noise)
    variance = weights**2 @ evidence.variances + geometry.clipping_doubt(theta) ** 2
    aside = _aside(rule, [told.owner for told in group], weights, among)
    return Observation(geometry.place(theta), weights @ evidence.deviations, variance, aside)


def _weights(records: FloatArray, own: FloatArray, noise: FloatArray) -> FloatArray:
    """Of owners that differ by `own` and answer with `noise`, to learn of their average by records."""
    precise, sized, kept = 1 / (own + noise), records / records.sum(), own / (own + noise)
    return np.asarray(precise / precise.sum() * (1 - sized @ kept) + sized * kept)


def _aside(rule: AdaptiveNewton, owners: list[int], weights: FloatArray, among: float) -> FloatArray:
    """By how much some owners, weighed like this, stand for others than all: one number an owner."""
    sizes = np.asarray(rule.records, dtype=np.float64)
    off = -sizes / sizes.sum()
    off[owners] += weights
    return np.asarray(off * np.sqrt(1 / sizes + among))


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


def _hessian(rule: AdaptiveNewton, state: AdaptiveState, among: float) -> HessianObservation | None:
    """The second moments that were told, pooled over owners."""
    told = [one for one in state.told if one.ask.kind == "second_moments"]
    if not told:
        return None
    geometry, owners = rule.geometry, [one.owner for one in told]
    records = np.asarray([rule.records[owner] for owner in owners], dtype=np.float64)
    noise = np.asarray([rule.noise.std_of(one.owner, one.ask) for one in told]) ** 2
    scale = float(np.median(geometry.unevenness / geometry.hessian_noise(1.0)))
    weights = _weights(records, scale * (1 / records + among), noise)
    moments = unpack_second_moments(weights @ np.stack([one.values for one in told]), geometry.parameters, geometry.norm)
    aside = _aside(rule, owners, weights, among)
    variance = geometry.hessian_noise(float(weights**2 @ noise)) + float(aside @ aside) * geometry.unevenness
    return HessianObservation(geometry.hessian_change(moments), variance)
