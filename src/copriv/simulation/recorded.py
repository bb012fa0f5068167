"""Many runs of Algorithm 1 over records, for clipped gradients and for losses that are not quadratic.

At each meeting the runs that meet the same owner ask it together: one reading of its records answers all of them. Every
answer is, to the last bit, what a live owner computes, so that a run without noise is the live run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from copriv.entropy import seeded
from copriv.losses.objective import Objective, relative_fitness
from copriv.losses.optimum import minimise
from copriv.losses.passes import clipped_average_gradients
from copriv.losses.sample import Sample
from copriv.rules.paper import PaperRule, PaperState
from copriv.schedule.trace import Trace
from copriv.simulation.quadratic import Noise, Paths, draw_meetings, draw_unit_noise, unequal_availability
from copriv.vectors import FloatArray, IntArray, Norm


@dataclass(frozen=True, slots=True)
class RecordOwners:
    """What the owners answer from.

    Args:
        objective: the loss, the regularizer and the box.
        samples: of each owner.
        clip: the most that one record's gradient may count.
        norm: in which norm.
    """

    objective: Objective
    samples: Sequence[Sample]
    clip: float
    norm: Norm

    def answers(self, owner: int, thetas: FloatArray) -> FloatArray:
        """The exact answers of an owner at many models, one a row."""
        return clipped_average_gradients(self.objective.loss, self.samples[owner], thetas, self.clip, self.norm)


def simulate_records(
    rule: PaperRule,
    owners: RecordOwners,
    noise: Noise,
    *,
    horizon: int,
    runs: int,
    seed: int,
    trace: Trace | None = None,
    every: int = 1,
) -> Paths:
    """Run Algorithm 1 many times over records.

    Args:
        rule: the rule, with the owners' sizes and availabilities.
        owners: their records.
        noise: of each owner.
        horizon: T.
        runs: how many.
        seed: of schedules and noise.
        trace: a recorded schedule that every run follows, instead of drawn ones.
        every: ψ is recorded after every so many meetings, as each record of it is a pass over all records.
    """
    streams = [(seeded(seed, f"schedule {r}"), seeded(seed, f"noise {r}")) for r in range(runs)]
    met = np.stack([_owners_met(rule, horizon, trace, schedule) for schedule, _ in streams]).astype(np.int32)
    unit = np.stack([draw_unit_noise(noise.kind, (horizon, rule.parameters), stream) for _, stream in streams])
    objective, joint = owners.objective, Sample.join(owners.samples)
    best = objective.fitness(joint, minimise(objective, joint))
    states = [rule.begin() for _ in range(runs)]
    left = np.tile(noise.caps, (runs, 1))
    psi = np.empty((runs, horizon // every))
    for k in range(horizon):
        states = _meet(rule, owners, noise, states, left, met[:, k], unit[:, k])
        if (k + 1) % every == 0:
            for r, state in enumerate(states):
                psi[r, k // every] = relative_fitness(objective.fitness(joint, rule.model(state)), best)
    return Paths(psi, met, noise.caps - left, np.stack([rule.model(state) for state in states]))


def _owners_met(rule: PaperRule, horizon: int, trace: Trace | None, stream: np.random.Generator) -> IntArray:
    if trace is None:
        return draw_meetings(rule.owners, unequal_availability(rule), horizon, stream)
    return np.asarray([meeting.owner for meeting in trace.meetings[:horizon]], dtype=np.int64)


def _meet(
    rule: PaperRule,
    owners: RecordOwners,
    noise: Noise,
    states: list[PaperState],
    left: IntArray,
    met: npt.NDArray[np.int32],
    unit: FloatArray,
) -> list[PaperState]:
    """One meeting of every run; the runs that meet the same owner share a pass over its records."""
    after = list(states)
    for owner in np.unique(met):
        asking = [r for r in np.flatnonzero(met == owner) if left[r, owner] > 0]
        if not asking:
            continue
        thetas = np.stack([rule.question(states[r], int(owner)) for r in asking])
        answers = owners.answers(int(owner), thetas)
        for r, exact in zip(asking, answers, strict=True):
            left[r, owner] -= 1
            after[r] = rule.absorb(states[r], int(owner), exact + noise.noise_std[owner] * unit[r])
    return after
