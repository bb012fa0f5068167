"""A small made-up study on which a rule is tried: three owners, public rows, exact answers.

Everything is drawn with a fixed seed, so that a check says the same whenever and wherever it is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copriv.entropy import seeded
from copriv.losses.choose import NAMES
from copriv.losses.sample import Sample
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.terms import Terms
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule, Ask, learn_from, next_ask
from copriv.rules.setting import NoiseModel, Owners
from copriv.vectors import Axes, FloatArray

SIZES = (400, 700, 550)
_PUBLIC_ROWS = 60
_MEETINGS = 300
_STEP = 0.2
_QUIET = 1e-6
# Of gradients, if the rule reads that: all rows of length 1 are told whole below a clip that spares them.
_FILL = 0.5


@dataclass(frozen=True, slots=True)
class RuleBench:
    """A study about to begin under one rule; `build` makes the rule afresh, from the same things each time."""

    entry: RuleEntry
    terms: Terms
    owners: Owners
    noise: NoiseModel
    samples: tuple[Sample, ...]
    commitments: tuple[Commitment, ...]

    @classmethod
    def of(cls, entry: RuleEntry, *, sizes: tuple[int, ...] = SIZES, parameters: int = 4) -> RuleBench:
        """The study of as many owners as there are sizes."""
        entry = resolve(entry)
        truth = seeded(1, "truth").normal(size=parameters) / 2
        samples = tuple(_sample(truth, size, place) for place, size in enumerate(sizes))
        terms = _terms(entry, parameters)
        answers = entry.answers if entry.counts == "answers" else _MEETINGS
        commitments = tuple(make_commitment(terms, Guarantee.of(1e6), records=size, answers=answers) for size in sizes)
        quiet = (_QUIET,) * len(sizes)
        noise = replace(
            NoiseModel.of(commitments, _sample(truth, _PUBLIC_ROWS, -1)),
            noise_std=quiet,
            second_moments_std=quiet if "second_moments" in terms.kinds else (),
            positives_std=quiet if "positives" in terms.kinds else (),
        )
        owners = Owners(sizes, (answers,) * len(sizes), (1 / len(sizes),) * len(sizes))
        return cls(entry, terms, owners, noise, samples, commitments)

    def build(self) -> AnyRule[Any]:
        """The rule, made afresh."""
        return self.entry.make(self.terms, self.owners, self.noise)

    def answer(self, owner: int, ask: Ask) -> FloatArray:
        """What an owner says without noise."""
        return (
            self.commitments[owner]
            .part(ask.kind, ask.share, ask.before)
            .exact(self.samples[owner], np.array(ask.theta))
        )

    def order(self) -> tuple[int, ...]:
        """Whom the learner meets, until the study ends; everybody as often, in an order without a pattern."""
        rounds = self.owners.answers[0] if self.entry.counts == "answers" else _MEETINGS // len(self.samples)
        chance = seeded(2, "order")
        return tuple(int(owner) for _ in range(rounds) for owner in chance.permutation(len(self.samples)))

    def walk(self, rule: AnyRule[Any], order: tuple[int, ...]) -> Iterator[tuple[Any, int, Ask, FloatArray]]:
        """Meet owner after owner: the state before, the owner, what it is asked, and its answer."""
        state = rule.begin()
        for owner in order:
            ask = next_ask(rule, state, owner)
            if ask is not None:
                answer = self.answer(owner, ask)
                yield state, owner, ask, answer
                state = learn_from(rule, state, owner, answer, ask)

    def end(self, rule: AnyRule[Any], order: tuple[int, ...]) -> Any:  # noqa: ANN401
        """The state after all these meetings."""
        state = rule.begin()
        for before, owner, ask, answer in self.walk(rule, order):
            state = learn_from(rule, before, owner, answer, ask)
        return state

    def fitness(self, theta: FloatArray) -> float:
        """On all records."""
        return self.terms.objective().fitness(Sample.join(self.samples), theta)


def _terms(entry: RuleEntry, parameters: int) -> Terms:
    loss = entry.losses[0] if entry.losses else NAMES[0]
    return plain_terms(
        rule=entry.name,
        asks=entry.asks,
        mechanisms="any" if entry.any_noise else "asked",
        shares=entry.shares,
        kinds=entry.kinds,
        fill=_FILL if entry.fills and entry.shares else 0.0,
        axes=_axes(parameters) if entry.turns and entry.shares else (),
        loss=loss,
        threshold=0.25 if loss == "huber" else 0.0,
        parameters=parameters,
        limit=1.0,
        clip=entry.clip or 1e6,
        step=entry.step or _STEP,
        horizon=_MEETINGS,
    )


def _axes(parameters: int) -> Axes:
    """Every feature with a part of the next one."""
    along = (np.eye(parameters) + 0.5 * np.eye(parameters, k=1)) / (2 * np.sqrt(parameters))
    return tuple(tuple(axis) for axis in along.tolist())


def _sample(truth: FloatArray, records: int, place: int) -> Sample:
    """Rows of length at most 1 with an intercept, targets within ±1, and an owner's own small difference."""
    chance = seeded(3, f"records of {place}")
    rows = np.column_stack([chance.normal(size=(records, truth.size - 1)), np.ones(records)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    own = truth + 0.05 * chance.normal(size=truth.size)
    return Sample.of_rows(rows, np.clip(rows @ own + 0.1 * chance.normal(size=records), -1, 1))
