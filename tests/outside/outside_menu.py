"""Nibbling steps: many small questions from a menu, until 60 per cent are asked.

Second moments and gradients in turn. Every gradient is asked for at 2 per cent first and made finer by one at the same
model when the owner is met again: the finer answer is the one that counts. The trace of the second moments sets how
long a step is.
"""

from dataclasses import dataclass

import numpy as np

from copriv.rules.entry import RuleEntry
from copriv.rules.rule import Ask

COARSE, FINER = 2, 1
TURNS = 3
MOST = 36


@dataclass(frozen=True)
class NibblingRule:
    parameters: int
    records: tuple[int, ...]
    limit: float
    name = "nibbling"

    def begin(self):
        """A row an owner: how often it answered, its trace, where it was asked; and the model in the last row."""
        state = np.zeros((len(self.records) + 1, 2 + self.parameters))
        state[:-1, 1] = 1
        return state

    def ask(self, state, owner):
        turn = int(state[owner, 0]) % TURNS
        if state[owner, 0] >= MOST:
            return None
        if turn == 0:
            return Ask(np.zeros(self.parameters), "second_moments", COARSE)
        if turn == 1:
            return Ask(self.model(state), "gradient", COARSE)
        return Ask(state[owner, 2:].copy(), "gradient", FINER, COARSE)

    def learn(self, state, owner, answer, ask):
        after = state.copy()
        after[owner, 0] += 1
        if ask.kind == "second_moments":
            after[owner, 1] = min(max(float(answer[: self.parameters].sum()), 0.5), 2.0)
        elif ask.level == COARSE:
            after[owner, 2:] = ask.theta
        else:
            weight = self.records[owner] / sum(self.records)
            moved = after[-1, 2:] - 0.3 * weight / after[owner, 1] * answer
            after[-1, 2:] = np.clip(moved, -self.limit, self.limit)
        return after

    def model(self, state):
        return state[-1, 2:].copy()

    def pack(self, state):
        return state.tobytes()

    def unpack(self, data):
        return np.frombuffer(data).reshape(self.begin().shape)


def build(terms, owners, noise, public):
    return NibblingRule(terms.parameters, owners.records, terms.limit)


RULE = RuleEntry(
    "nibbling", build, answers=36, chooses=True, shares=(2, 3), kinds=("gradient", "second_moments"), clip=1.0
)
