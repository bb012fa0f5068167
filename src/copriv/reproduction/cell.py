"""A cell of a study: some runs of Algorithm 1 at one setting, self-contained, to be run anywhere and kept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec
import numpy as np

from copriv.rules.paper import CentralStep, PaperRule
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.vectors import FloatArray, IntArray


class Outcome(msgspec.Struct):
    """ψ over the runs of a cell: at the end, and its percentiles after every meeting."""

    mean: float
    deviation: float
    median: list[float]
    low: list[float]
    high: list[float]
    met: list[int]


@dataclass(frozen=True, slots=True)
class Cell:
    """Owners of a few kinds, one noise deviation each, a rule, and how often to run it."""

    statistics: tuple[SufficientStatistics, ...]
    kinds: IntArray
    deviations: FloatArray
    step: float
    regularization: float
    limit: float
    horizon: int
    runs: int
    seed: int

    def key(self) -> str:
        """A name for everything the outcome depends on."""
        found = hashlib.sha256(
            repr((self.step, self.regularization, self.limit, self.horizon, self.runs, self.seed)).encode()
        )
        for array in (self.kinds, self.deviations):
            found.update(np.ascontiguousarray(array).tobytes())
        for part in self.statistics:
            found.update(part.curvature.tobytes() + part.offset.tobytes() + repr((part.power, part.records)).encode())
        return found.hexdigest()

    def run(self) -> Outcome:
        """Simulate the cell."""
        records = tuple(self.statistics[kind].records for kind in self.kinds)
        owners = len(records)
        rule = PaperRule(
            parameters=self.statistics[0].offset.size,
            records=records,
            availability=(1 / owners,) * owners,
            step=self.step,
            regularization=self.regularization,
            limit=self.limit,
            central=CentralStep.PROOF,
        )
        noise = Noise("laplace", self.deviations, np.full(owners, self.horizon, dtype=np.int64))
        paths = simulate(
            rule,
            self.statistics,
            noise,
            horizon=self.horizon,
            runs=self.runs,
            seed=self.seed,
            statistic_of=self.kinds,
        )
        low, median, high = np.percentile(paths.psi, [25, 50, 75], axis=0)
        ends = paths.psi[:, -1]
        return Outcome(
            mean=float(ends.mean()),
            deviation=float(ends.std()),
            median=median.tolist(),
            low=low.tolist(),
            high=high.tolist(),
            met=paths.met[0].tolist(),
        )
