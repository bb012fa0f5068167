"""Fading steps: after every answer a step, and each step is a little shorter than the one before."""

from dataclasses import dataclass

import numpy as np

from copriv.rules.entry import RuleEntry


@dataclass(frozen=True)
class FadingRule:
    parameters: int
    records: tuple[int, ...]
    step: float
    regularization: float
    limit: float
    name = "fading"
    asks = "gradient"

    @property
    def answer_size(self):
        return self.parameters

    def begin(self):
        return np.zeros(1 + self.parameters)  # how many answers there were, and the model

    def question(self, state, owner):
        return state[1:].copy()

    def absorb(self, state, owner, answer, asked=None):
        weight = len(self.records) * self.records[owner] / sum(self.records)
        step = self.step / (1 + state[0] / len(self.records)) ** 0.5
        moved = state[1:] - step * (2 * self.regularization * state[1:] + weight * answer)
        return np.append(state[0] + 1, np.clip(moved, -self.limit, self.limit))

    def model(self, state):
        return state[1:].copy()

    def pack(self, state):
        return state.tobytes()

    def unpack(self, data):
        return np.frombuffer(data).reshape(1 + self.parameters)


def build(terms, owners, noise, public):
    return FadingRule(terms.parameters, owners.records, terms.step, terms.regularization, terms.limit)


RULE = RuleEntry("fading", build, needs=frozenset({"step"}), any_noise=True, answers=20, step=0.5)
