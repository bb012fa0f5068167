"""Do 95 % intervals hold what they say? Trainings of public Newton inside its forecast's interval, family by family.

- blocks of one population, owners by name, and 200 public rows: the interval for public rows that fit;
- pairs whose public rows are of another population, those kept out of every choice of constants: the interval for
  public rows from elsewhere, and what owners would have been told: who is told to join, and loses by it?

A cell is one draw of public rows and owners at one ε. Its trainings share the public rows, so confidence limits count
cells and not trainings. What is needed is the interval that would have held 95 % of a family's trainings around their
forecasts; widths are compared on a logarithmic scale.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.stats import beta

from benchmarks.datasets import BANKS, OTHERS, Source, cut, data_folder, make_scene, read, whole
from benchmarks.many_hands import share_out
from benchmarks.shift_pairs import load, specs
from benchmarks.side_by_side import tell
from copriv.forecast.forecast import Forecast
from copriv.losses.optimum import minimise
from copriv.planning.advice import Advice, Adviser, Decision
from copriv.planning.newton_cost import newton_costs
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.simulation.cost import Scene, promised
from copriv.vectors import FloatArray

EPSILONS = (0.1, 1.0, 10.0)
# Draws that no constant was chosen on.
SEEDS, RUNS, FEW = (20, 21, 22, 23), 3, 200
SHAPES = ((10, 10_000), (85, 10_000))
MOST_OWNERS = 12
WANTED, CONFIDENCE, WIDEST, MOST_WRONG = 0.9, 0.95, 3.0, 0.02
BLOCKS, NAMED, ROWS, SHIFTS = "blocks", "named owners", f"{FEW} public rows", "pairs kept out"
# As forecasts were before they had doubts.
TWIN = "without doubts"


@dataclass(frozen=True)
class Told:
    """What one owner was told, what a twin without doubts would have told it, and ψ of its own model."""

    decision: Decision
    twin: Decision
    alone: float

    @classmethod
    def of(cls, advice: Advice, alone: float) -> "Told":
        """From the advice."""
        believing = replace(advice, joint=without_doubt(advice.joint), shifts=None)
        return cls(advice.advice, believing.advice, alone)


@dataclass(frozen=True)
class Cell:
    """One draw at one ε: the forecast, whether public rows are from elsewhere, ψ of each training, and the owners."""

    family: str
    name: str
    epsilon: float
    forecast: Forecast
    psi: FloatArray
    owners: tuple[Told, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """That is to hold."""
        elsewhere = self.forecast.elsewhere if self.family == SHIFTS else None
        return elsewhere or self.forecast.interval

    def inside(self, interval: tuple[float, float]) -> float:
        """The share of trainings in an interval."""
        low, high = interval
        return float(np.mean((low < self.psi) & (self.psi < high)))

    def wrong(self, *, twin: bool = False) -> list[bool]:
        """For every owner and training, whether it was told to join and loses by it."""
        said = [((told.twin if twin else told.decision), told.alone) for told in self.owners]
        return [decision == "join" and psi > alone for decision, alone in said for psi in self.psi]


def without_doubt(forecast: Forecast) -> Forecast:
    """A twin that takes closed forms at their word, and every public row for one of the owners' population."""
    return replace(forecast, doubt=0.0, shifts=None)


def scenes(source: Source, family: str, seed: int) -> Iterator[tuple[str, Scene]]:
    """The scenes of a source: blocks of the loans, or its owners."""
    if source != BANKS and source.name != BANKS.name:
        scene = whole(source, seed)
        if scene is not None:
            yield source.name, scene
        return
    intake = read(source, seed)
    for owners, records in SHAPES if intake is not None else ():
        yield (
            f"{family}, {owners} × {records:,}",
            make_scene(intake.public, cut(intake.owners[0].sample, owners, records)),
        )


def cells_of(family: str, name: str, scene: Scene, seed: int, *, judged: bool = False) -> list[Cell]:
    """At every ε."""
    objective = scene.objective
    spec = TrainingSpec(
        guarantees=(),
        rule="newton",
        loss=objective.loss.name,
        threshold=objective.loss.threshold,
        regularization=objective.regularization,
        limit=objective.limit,
    )
    adviser, found = Adviser.of(scene.public, spec), []
    every = max(1, math.ceil(len(scene.samples) / MOST_OWNERS))
    asked = scene.samples[::every] if judged else ()
    own = [(adviser.yardstick.look_at(sample), scene.psi(minimise(objective, sample))) for sample in asked]
    for epsilon in EPSILONS:
        scenario = Scenario(scene.records, epsilon)
        protection = promised(scenario.guarantees[0], scene.public.parameters)
        psi = newton_costs(scene, protection, runs=RUNS, seed=seed)[0]
        told = tuple(Told.of(adviser.judge(model, scenario), alone) for model, alone in own)
        found.append(Cell(family, name, epsilon, adviser.joint(scenario).forecast, psi, told))
    return found


def draw(family: str, source: Source, seed: int) -> list[Cell]:
    """All cells of one source and seed."""
    made = scenes(source, family, seed)
    return [cell for name, scene in made for cell in cells_of(family, name, scene, seed)]


def shifted(name: str) -> list[Cell]:
    """All cells of one pair."""
    return cells_of(SHIFTS, name, load(name).scene, SEEDS[0], judged=True)


def limit(cells: Sequence[float]) -> float:
    """The lower confidence limit of a share, by Clopper and Pearson; each cell counts as one.

    >>> round(limit([1.0] * 59), 2)
    0.95
    """
    held = math.floor(sum(cells))
    return float(beta.ppf(1 - CONFIDENCE, held, len(cells) - held + 1)) if held else 0.0


def width_over_need(cells: Sequence[Cell]) -> float:
    """The mean width of intervals over that of the one that would have held 95 % of the trainings."""
    strayed = np.concatenate([np.log(cell.psi / cell.forecast.relative_fitness) for cell in cells])
    low, high = np.quantile(strayed, [0.025, 0.975])
    return float(np.mean([np.log(cell.interval[1] / cell.interval[0]) for cell in cells])) / float(high - low)


def summary(family: str, cells: Sequence[Cell]) -> list[object]:
    """One row of the table."""
    inside = [cell.inside(cell.interval) for cell in cells]
    twin = float(np.mean([cell.inside(without_doubt(cell.forecast).interval) for cell in cells]))
    share, width = float(np.mean(inside)), width_over_need(cells)
    holds = share >= WANTED and (family == SHIFTS or width <= WIDEST)
    trainings = sum(cell.psi.size for cell in cells)
    return [family, len(cells), trainings, share, limit(inside), width, twin, "yes" if holds else "no"]


def main() -> None:
    """Print the tables."""
    started = time.perf_counter()
    if data_folder() is None:
        print("coverage: no data; set COPRIV_DATA")
        return
    generator, named = [source for source in OTHERS if not source.file], [source for source in OTHERS if source.file]
    jobs = [partial(shifted, name) for name, *_ in specs(held_out=True)]
    for seed in SEEDS:
        jobs += [partial(draw, BLOCKS, source, seed) for source in (BANKS, *generator)]
        jobs += [partial(draw, NAMED, source, seed) for source in named]
    few = [replace(source, public_rows=FEW) for source in (BANKS, *OTHERS)]
    jobs += [partial(draw, ROWS, source, seed) for seed in SEEDS[:2] for source in few]
    cells = [cell for found in share_out(jobs, "cells") for cell in found]
    by_family = {name: [cell for cell in cells if cell.family == name] for name in (BLOCKS, NAMED, ROWS, SHIFTS)}
    tell(
        "coverage",
        f"trainings of public Newton inside its 95 % interval, pure ε = {', '.join(map(str, EPSILONS))}; limit: lower "
        f"{CONFIDENCE:.0%} confidence limit, a cell counts as one; width: over that of what was needed; {TWIN}: the "
        f"same forecasts as if nothing were left out of them; {time.perf_counter() - started:.0f} s",
        ["family", "cells", "trainings", "inside", "limit", "width", TWIN, "held"],
        [summary(name, found) for name, found in by_family.items()],
    )
    tell_verdicts(by_family[SHIFTS])


def tell_verdicts(cells: Sequence[Cell]) -> None:
    """Of owners and trainings, those that were told to join and lost by it."""
    told = [owner.decision for cell in cells for owner in cell.owners]
    wrong, twin = ([bad for cell in cells for bad in cell.wrong(twin=each)] for each in (False, True))
    share = float(np.mean(wrong))
    tell(
        "coverage-verdicts",
        f"owners of the pairs kept out, at most {MOST_OWNERS} of each, and every training: told to join and worse off",
        ["owners × ε", "told to join", "told to stay", "wrongly joined", TWIN, "at most", "held"],
        [
            [
                len(told),
                float(np.mean([each == "join" for each in told])),
                float(np.mean([each == "stay" for each in told])),
                share,
                float(np.mean(twin)),
                MOST_WRONG,
                "yes" if share <= MOST_WRONG else "no",
            ]
        ],
    )
