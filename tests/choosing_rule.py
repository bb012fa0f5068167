"""A rule that chooses from a menu: a cheap gradient, second moments, and the rest of the budget on a last gradient.

It is for tests of everything that a menu goes through. With the squared loss and without noise it solves the problem.
"""

from dataclasses import dataclass

import numpy as np

from copriv.losses.moments import second_moment_count, unpack_second_moments
from copriv.rules.entry import RuleEntry
from copriv.rules.rule import Ask
from copriv.vectors import Norm

LOOK, SQUARES, REST = 20, 15, 65
SHARES, KINDS = (SQUARES, LOOK, REST), ("gradient", "second_moments", "positives")


@dataclass(frozen=True)
class ChoosingRule:
    """A state has a row an owner: how many answers it gave, its gradient at 0 so far, its second moments."""

    parameters: int
    records: tuple[int, ...]
    norm: Norm
    regularization: float
    limit: float
    name = "choosing"

    def begin(self):
        return np.zeros((len(self.records), 1 + self.parameters + second_moment_count(self.parameters)))

    def ask(self, state, owner):
        steps = (
            Ask(np.zeros(self.parameters), "gradient", LOOK),
            Ask(np.zeros(self.parameters), "second_moments", SQUARES),
            Ask(self.model(state), "gradient", REST),
        )
        return steps[int(state[owner, 0])] if state[owner, 0] < len(steps) else None

    def learn(self, state, owner, answer, ask):
        after = state.copy()
        row = after[owner]
        row[0] += 1
        gradient = slice(1, 1 + self.parameters)
        if ask.kind == "second_moments":
            row[1 + self.parameters :] = answer
        elif ask.share == LOOK:
            row[gradient] = answer
        else:
            at_zero = answer - 2 * self._matrix(row) @ ask.theta
            row[gradient] = (LOOK * row[gradient] + REST * at_zero) / (LOOK + REST)
        return after

    def model(self, state):
        weights = np.where(state[:, 0] > 0, self.records, 0.0)
        if not weights.any():
            return np.zeros(self.parameters)
        weights /= weights.sum()
        matrix = sum(weight * self._matrix(row) for weight, row in zip(weights, state, strict=True))
        values, basis = np.linalg.eigh(matrix)
        raised = 2 * np.maximum(values, 0.01) + 2 * self.regularization
        solution = -basis @ ((basis.T @ (weights @ state[:, 1 : 1 + self.parameters])) / raised)
        return np.clip(solution, -self.limit, self.limit)

    def pack(self, state):
        return state.tobytes()

    def unpack(self, data):
        return np.frombuffer(data).reshape(self.begin().shape)

    def _matrix(self, row):
        if row[0] <= 1:
            return np.eye(self.parameters) / self.parameters
        return unpack_second_moments(row[1 + self.parameters :], self.parameters, self.norm)


def build(terms, owners, noise, public):
    return ChoosingRule(terms.parameters, owners.records, noise.norm, terms.regularization, terms.limit)


ENTRY = RuleEntry(
    "choosing",
    build,
    needs=frozenset({"noise"}),
    losses=("squared",),
    answers=3,
    chooses=True,
    shares=SHARES,
    kinds=KINDS,
)


FINER = REST - LOOK


class RefiningRule(ChoosingRule):
    """Makes its first answer finer before it asks once more: the finer answer takes the place of the first."""

    name = "refining"

    def ask(self, state, owner):
        zero = np.zeros(self.parameters)
        steps = (
            Ask(zero, "gradient", LOOK),
            Ask(zero, "second_moments", SQUARES),
            Ask(zero, "gradient", FINER, LOOK),
            Ask(self.model(state), "gradient", LOOK),
        )
        return steps[int(state[owner, 0])] if state[owner, 0] < len(steps) else None

    def learn(self, state, owner, answer, ask):
        after = state.copy()
        row = after[owner]
        row[0] += 1
        gradient = slice(1, 1 + self.parameters)
        if ask.kind == "second_moments":
            row[1 + self.parameters :] = answer
        elif row[0] <= len(("look", "squares", "finer")):
            row[gradient] = answer
        else:
            at_zero = answer - 2 * self._matrix(row) @ ask.theta
            row[gradient] = (REST * row[gradient] + LOOK * at_zero) / (LOOK + REST)
        return after


def build_refining(terms, owners, noise, public):
    return RefiningRule(terms.parameters, owners.records, noise.norm, terms.regularization, terms.limit)


REFINING = RuleEntry(
    "refining",
    build_refining,
    needs=frozenset({"noise"}),
    losses=("squared",),
    answers=4,
    chooses=True,
    shares=SHARES,
    kinds=KINDS,
)
