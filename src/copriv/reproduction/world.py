"""What a study is about: the owners' records as sufficient statistics, the size of the noise, and the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from copriv.errors import BadInput
from copriv.losses.passes import gradient_norms
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.records.load import Intake
from copriv.reproduction.cell import Cell
from copriv.simulation.quadratic import SufficientStatistics
from copriv.vectors import FloatArray, Norm

NoiseScale = Literal["printed", "valid"]
REGULARIZATION = 1e-5
HORIZON = 1000
# One step serves every ε and n of a study: the best on the public rows at this ε, the largest that the paper shows.
STEP_EPSILON = 10.0
_STEP_TRIALS = 24
_STEP_RUNS = 8
# The paper's box is "large enough"; this one is too large to matter.
_WIDE = 1e6


@dataclass(frozen=True, slots=True)
class World:
    """Owners' records, the public rows and the noise of one data set.

    Args:
        name: of the data set.
        names: of the owners.
        samples: of the owners; loans are one sample to be cut into blocks.
        public: statistics of the public rows.
        bound: Ξ, the longest gradient of a public row: in L2 as the paper prints it, in L1 for a valid guarantee.
        scale: printed or valid.
        horizon: T, how many meetings a run has.
    """

    name: str
    names: tuple[str, ...]
    samples: tuple[Sample, ...]
    public: SufficientStatistics
    bound: float
    scale: NoiseScale
    horizon: int = HORIZON

    @classmethod
    def of(cls, name: str, intake: Intake, scale: NoiseScale, horizon: int = HORIZON) -> World:
        """From what was read."""
        public = SufficientStatistics.of(intake.require_public())
        owners = intake.owners
        return cls(
            name,
            tuple(owner.name for owner in owners),
            tuple(owner.sample for owner in owners),
            public,
            _longest_gradient(intake.require_public(), public, scale),
            scale,
            horizon,
        )

    @property
    def records(self) -> int:
        """Private records of all owners."""
        return sum(sample.records for sample in self.samples)

    def deviation(self, records: int, epsilon: float) -> float:
        """Of Laplace noise with scale 2ΞT/(nε): Theorem 1."""
        return math.sqrt(2) * 2 * self.bound * self.horizon / (records * epsilon)

    def blocks(self, owners: int, records: int) -> tuple[SufficientStatistics, ...]:
        """The first rows cut into blocks, as the paper gives loans to banks."""
        pool = self.samples[0]
        if owners * records > pool.records:
            raise BadInput(
                f"{owners} owners of {records} records from {pool.records}", remedy="ask for fewer", value=records
            )
        return tuple(SufficientStatistics.of(_slice(pool, i * records, (i + 1) * records)) for i in range(owners))

    def owners(self, share: float = 1.0) -> tuple[SufficientStatistics, ...]:
        """Every owner as it is, or with only the first share of its records."""
        return tuple(SufficientStatistics.of(_slice(s, 0, max(1, int(s.records * share)))) for s in self.samples)

    def step(self, sizes: Sequence[int]) -> float:
        """The step that does best on the public rows at ε = 10, if every owner looks like them."""
        alike = tuple(replace(self.public, records=size) for size in sizes)
        steepest = float(np.linalg.eigvalsh(self.public.curvature)[-1])
        largest = 1 / (steepest * max(sizes) * len(sizes) / sum(sizes))
        steps = [largest * 0.5 ** (k / 2) for k in range(_STEP_TRIALS)]
        costs = [_cell(self, alike, STEP_EPSILON, step, _STEP_RUNS, 0).run().mean for step in steps]
        return float(steps[int(np.nanargmin(costs))])

    def cell(
        self, owners: Sequence[SufficientStatistics], epsilon: float, step: float, *, runs: int, seed: int
    ) -> Cell:
        """Algorithm 1 for these owners, each with budget ε."""
        return _cell(self, owners, epsilon, step, runs, seed)


def alone(owners: Sequence[SufficientStatistics]) -> list[float]:
    """ψ(θ_i*) of each owner's own model, on all records together."""
    joint = SufficientStatistics.joint(list(owners))
    best = joint.fitness(joint.minimiser(REGULARIZATION), REGULARIZATION)
    return [joint.fitness(part.minimiser(REGULARIZATION), REGULARIZATION) / best - 1 for part in owners]


def _cell(
    world: World, owners: Sequence[SufficientStatistics], epsilon: float, step: float, runs: int, seed: int
) -> Cell:
    return Cell(
        statistics=tuple(owners),
        kinds=np.arange(len(owners)),
        deviations=np.asarray([world.deviation(part.records, epsilon) for part in owners]),
        step=step,
        regularization=REGULARIZATION,
        limit=_WIDE,
        horizon=world.horizon,
        runs=runs,
        seed=seed,
    )


def _longest_gradient(rows: Sample, public: SufficientStatistics, scale: NoiseScale) -> float:
    """At the beginning of training and at the public model."""
    norm = Norm.L2 if scale == "printed" else Norm.L1
    model = public.minimiser(REGULARIZATION)
    places: tuple[FloatArray, ...] = (np.zeros_like(model), model)
    return max(float(np.max(gradient_norms(SquaredLoss(), rows, theta, norm))) for theta in places)


def _slice(pool: Sample, first: int, last: int) -> Sample:
    return Sample(np.ascontiguousarray(pool.columns[:, first:last]), pool.targets[first:last])
