"""Do paid validations hold what their intervals say, and does the forecast of their cost?

A table is cut into public rows, rows that a model is fitted to, and the rest: the population. A validation draws
records from it, with replacement, for ten owners of 2,000 or forty of 500 that are all held back; counts them by the
owners' own code; adds noise of the owners' law; and reads figures with intervals. Two truths are compared: the figure
of the drawn records, all at hand, and that of the population. Bins were chosen on the generator alone.
"""

import time
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import polars as pl

from benchmarks.datasets import REGULARIZATION, data_folder
from benchmarks.many_hands import share_out
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.forecast.calibration_slope import Ends
from copriv.forecast.validation import Figure, Ruler, Told, read_figures
from copriv.forecast.validation_cost import ExpectedAnswers, draw_grid, epsilon_for, noise_at
from copriv.losses.choose import choose
from copriv.losses.metrics import label_metrics, number_metrics
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.losses.validation import LabelGrid, grid_of, shape_for
from copriv.records import lending_like
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.vectors import FloatArray

EPSILONS, SHAPES = (0.1, 0.3, 1.0), ((10, 2000), (40, 500))
VALIDATIONS, PUBLIC, FITTED = 1000, 10_000, 20_000
# Draws of noise for an interval: fewer than in a study, for speed.
DRAWS = 1000
CHANCE = partial(seeded, 0, "intervals of a validation")
# What is wanted of ± 0.02 AUC: at which owners and rows the forecast is compared with what was measured.
WANTED = 0.02


@dataclass(frozen=True)
class Source:
    """A table, the column to predict, and above what it is a positive label; None for a number."""

    name: str
    file: str
    target: str
    above: float | None = None


SOURCES = (
    Source("generator, labels", "", "int_rate", 16.0),
    Source("flights, labels", "flights_2013", "arr_delay", 30.0),
    Source("generator, numbers", "", "int_rate"),
    Source("flights, numbers", "flights_2013", "arr_delay"),
)


@dataclass(frozen=True, eq=False)
class World:
    """A population at a model: what public rows say of it, and what each record would count."""

    name: str
    ruler: Ruler
    public: Sample
    start: FloatArray
    margins: FloatArray
    targets: FloatArray
    rows: FloatArray
    records: Sample
    theta: FloatArray

    @property
    def labels(self) -> bool:
        """Whether its target is one of two labels."""
        return isinstance(self.ruler.grid, LabelGrid)


@cache
def read(source: Source) -> World | None:
    """The population; None if its table is not at hand."""
    folder = data_folder()
    if source.file and folder is None:
        return None
    made = lending_like.generate(230_000, seeded(11, "records")).lazy()
    table = pl.scan_parquet(folder / f"{source.file}.parquet") if source.file and folder else made
    rows = int(table.select(pl.len()).collect().item())
    order = np.asarray(seeded(11, "shuffle").permutation(rows), dtype=np.int64)
    choice = TargetChoice(source.target, labels=source.above is not None, positive_above=source.above)
    intake = load_consortium(table, LoadSpec(choice, Partition(owners=1), features=10, public_rows=PUBLIC), order=order)
    loss, public = choose("squared" if source.above is None else "logistic"), intake.require_public()
    pool = intake.owners[0].sample.usable()
    fitted = Sample(np.ascontiguousarray(pool.columns[:, :FITTED]), pool.targets[:FITTED].copy())
    rest = Sample(np.ascontiguousarray(pool.columns[:, FITTED:]), pool.targets[FITTED:].copy())
    start, theta = (minimise_freely(loss, REGULARIZATION, each) for each in (public, fitted))
    grid = grid_of(shape_for(loss.name), draw_grid(shape_for(loss.name), public, start))
    margins = theta @ rest.columns
    counted = _cells(grid, margins, rest.targets) if isinstance(grid, LabelGrid) else grid.rows(rest, theta)
    return World(source.name, Ruler.of(grid, public, theta), public, start, margins, rest.targets, counted, rest, theta)


def _cells(grid: LabelGrid, margins: FloatArray, targets: FloatArray) -> FloatArray:
    return np.searchsorted(np.asarray(grid.edges), margins, side="right") + grid.bins * (targets > 0.0)


def truths(margins: FloatArray, targets: FloatArray, labels: bool) -> dict[str, float]:
    """Figures of records that are all at hand."""
    if not labels:
        found = number_metrics(margins, targets)
        return {"r2": float(found.r2 or 0.0), "rmse": float(found.rmse or 0.0)}
    positive, chance = targets > 0, 1 / (1 + np.exp(-margins))
    told = label_metrics(chance, positive)
    return {
        "auc": float(told.auc or 0.0),
        "log_loss": float(told.log_loss or 0.0),
        "calibration_slope": _slope(margins, positive.astype(float)),
        "observed_expected": float(positive.sum() / chance.sum()),
    }


def _slope(margins: FloatArray, positive: FloatArray) -> float:
    """By plain Newton on all records."""
    design, model = np.vstack([np.ones(margins.size), margins]), np.array([0.0, 1.0])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-(model @ design)))
        step = np.linalg.solve((design * chance * (1 - chance)) @ design.T, design @ (positive - chance))
        model = model + step
        if np.abs(step).max() < 1e-9:
            break
    return float(model[1])


def validate(
    world: World, owners: int, records: int, epsilon: float, seed: int
) -> tuple[dict[str, Figure], dict[str, float]]:
    """One simulated validation: what was read, and the truth of its records."""
    generator = seeded(seed, f"validation {world.name} {owners}")
    drawn = generator.integers(world.targets.size, size=owners * records)
    numbers = world.ruler.grid.numbers
    if world.labels:
        exact = np.bincount(world.rows[drawn].astype(np.int64), minlength=numbers).astype(float)
    else:
        exact = world.rows[:, drawn].sum(axis=1)
    mechanism = noise_at(world.ruler.grid, epsilon)
    noise = generator.laplace(scale=mechanism.scale, size=(owners, numbers)).sum(axis=0)
    told = Told(exact + noise, (mechanism,) * owners, owners * records)
    return read_figures(world.ruler, told, CHANCE, draws=DRAWS), truths(
        world.margins[drawn], world.targets[drawn], world.labels
    )


def holds(interval: Ends, truth: float) -> bool:
    """Whether a truth is within."""
    low, high = interval
    return (low is None or low <= truth) and (high is None or truth <= high)


def cell(source: Source, owners: int, records: int, epsilon: float, validations: int) -> list[list[object]]:
    """Coverage of every figure at one shape and ε."""
    world = read(source)
    if world is None:
        return []
    there = truths(world.margins, world.targets, world.labels)
    kept = {name: np.zeros(2) for name in there}
    widths: dict[str, list[float]] = {name: [] for name in there}
    for seed in range(validations):
        figures, here = validate(world, owners, records, epsilon, seed)
        for name, figure in figures.items():
            kept[name] += (holds(figure.of_records, here[name]), holds(figure.interval, there[name]))
            widths[name].append(figure.half_width)
    shown = (source.name, f"{owners} × {records:,}", epsilon)
    shares = {name: np.round(100 * held / validations, 1).tolist() for name, held in kept.items()}
    return [[*shown, name, *shares[name], _finite(np.median(widths[name]))] for name in there]


def _finite(width: np.floating) -> float | None:
    """A width, if most intervals have two ends."""
    return float(width) if np.isfinite(width) else None


def at_cost(source: Source, owners: int, records: int) -> list[object]:
    """What the forecast says ± 0.02 AUC costs, from public rows alone, and what it took on the records."""
    world = read(source)
    if world is None or not world.labels:
        return []
    expected = ExpectedAnswers.of(world.ruler.grid, world.public, world.start, (records,) * owners, 1.0, CHANCE)
    said = epsilon_for(expected, "auc", WANTED)
    measured = _measured(world, owners, records)
    return [source.name, f"{owners} × {records:,}", said, measured, None if said is None else said / measured]


def _measured(world: World, owners: int, records: int) -> float:
    """The ε at which the median width of simulated validations is what was wanted, by bisection."""
    low, high = np.log(0.02), np.log(20.0)
    for _ in range(9):
        middle = float((low + high) / 2)
        found = [validate(world, owners, records, float(np.exp(middle)), 5000 + seed)[0]["auc"] for seed in range(100)]
        wide = float(np.median([figure.half_width for figure in found])) > WANTED
        low, high = (middle, high) if wide else (low, middle)
    return float(np.exp(high))


def main() -> None:
    """Every table, shape and ε."""
    started = time.perf_counter()
    jobs = [
        partial(cell, source, owners, records, epsilon, VALIDATIONS)
        for source in SOURCES
        for owners, records in SHAPES
        for epsilon in EPSILONS
    ]
    rows = [row for found in share_out(jobs, "validations") for row in found]
    tell(
        "validation",
        f"share of {VALIDATIONS:,} simulated validations whose 95 % interval holds the truth, in %; 93 to 97 is "
        f"wanted; {time.perf_counter() - started:.0f} s",
        ("table", "owners", "epsilon", "figure", "records", "population", "half width"),
        rows,
    )
    tell_costs()


def tell_costs() -> None:
    """The forecast of ± 0.02 AUC beside what it took."""
    costs = [partial(at_cost, source, *shape) for source in SOURCES for shape in SHAPES if source.above is not None]
    tell(
        "validation-cost",
        f"ε of each owner for AUC ± {WANTED}: as forecast from public rows, and as it took; within 20 % is wanted",
        ("table", "owners", "forecast", "measured", "ratio"),
        [row for row in share_out(costs, "costs") if row],
    )
