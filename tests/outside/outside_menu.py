"""Nibbling steps: many small questions from a menu, gradients and second moments in turn, until 95 per cent are asked.

The trace of the second moments sets how long a step is.
"""

from dataclasses import dataclass

import numpy as np

from copriv.rules.entry import RuleEntry
from copriv.rules.rule import Ask

TURNS = (("second_moments", 2), ("gradient", 3))
MOST = 38


@dataclass(frozen=True)
class NibblingRule:
    parameters: int
    records: tuple[int, ...]
    limit: float
    name = "nibbling"

    def begin(self):
        """How often each owner answered, the trace of each, and the model."""
        return np.concatenate([np.zeros(len(self.records)), np.ones(len(self.records)), np.zeros(self.parameters)])

    def ask(self, state, owner):
        kind, share = TURNS[int(state[owner]) % 2]
        theta = self.model(state) if kind == "gradient" else np.zeros(self.parameters)
        return Ask(theta, kind, share) if state[owner] < MOST else None

    def learn(self, state, owner, answer, ask):
        after, owners = state.copy(), len(self.records)
        after[owner] += 1
        if ask.kind == "second_moments":
            after[owners + owner] = min(max(float(answer[: self.parameters].sum()), 0.5), 2.0)
        else:
            weight = self.records[owner] / sum(self.records)
            moved = after[2 * owners :] - 0.3 * weight / after[owners + owner] * answer
            after[2 * owners :] = np.clip(moved, -self.limit, self.limit)
        return after

    def model(self, state):
        return state[2 * len(self.records) :].copy()

    def pack(self, state):
        return state.tobytes()

    def unpack(self, data):
        return np.frombuffer(data).reshape(self.begin().shape)


def build(terms, owners, noise, public):
    return NibblingRule(terms.parameters, owners.records, terms.limit)


RULE = RuleEntry(
    "nibbling", build, answers=40, chooses=True, shares=(2, 3), kinds=("gradient", "second_moments"), clip=1.0
)
