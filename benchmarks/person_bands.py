"""People within the bands that records are held to: what they cost, what is forecast of it, and what owners are told.

Panels of `person` and generated ones with other numbers of rows a person; both ways to weigh, draws of public people
and owners, and ε. The rule is the one that `train` takes. No constant was chosen on any of these tables.

- inside: trainings within the forecast's 95 % interval, and the lower 95 % confidence limit of that share, in which all
  trainings of one draw at one ε count as one; width: of intervals over the one that would have held 95 % of a table's
  trainings around their forecasts, on a logarithmic scale;
- over public, over forecast: mean ψ over that of the public model, and over the mean forecast, at the ε where it is
  most; ±: the standard error of the latter, by draws, up to which the band is held; record unit: over forecast for the
  same owners and rows where every row is a record, at the largest ε;
- joins: owners told to join, by ψ on everybody's records, and by `copriv verdict`, at home; wrong: of owners and
  trainings, those that were told to join and whose model is the worse for it, on everybody's records.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.coverage import MOST_WRONG, WANTED, WIDEST, limit
from benchmarks.person import PANELS, ROWS, Panel, Ruler, Trained, as_rows, generate_panel, load, train
from benchmarks.side_by_side import tell
from benchmarks.yardstick import told_before
from copriv.losses.optimum import minimise
from copriv.losses.sample import Sample
from copriv.owner.comparison import cross_validate
from copriv.owner.own_models import Centres
from copriv.planning.advice import Adviser, Decision
from copriv.planning.at_home import HomeAdvice
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.records.load import Intake
from copriv.vectors import FloatArray, IntArray

EPSILONS, SEEDS, RUNS = (0.1, 1.0, 10.0), (11, 12, 13, 14), 3
MOST_OVER_PUBLIC, MOST_OVER_FORECAST = 1.0, 1.3
COLUMNS = (
    "table", "weigh", "cells", "inside", "limit", "width", "over public", "over forecast", "±", "record unit",
    "joins", "wrong", "joins at home", "wrong at home", "held",
)  # fmt: skip


def _rows_of(draw_sizes: Callable[[np.random.Generator], IntArray]) -> Callable[[], pl.DataFrame]:
    return lambda: generate_panel(draw_sizes)


# Both weights are the same there.
ONE_ROW = Panel("generated, 1 row", "int_rate", make=_rows_of(lambda _: np.ones(ROWS // 4, dtype=np.int64)))
GENERATED = (
    ONE_ROW,
    Panel("generated, 1 to 5 rows", "int_rate", make=_rows_of(lambda chance: chance.integers(1, 6, size=ROWS // 4))),
    Panel(
        "generated, 40 or 1", "int_rate", make=_rows_of(lambda chance: chance.choice([1, 40], size=ROWS, p=[0.9, 0.1]))
    ),
)


@dataclass(frozen=True)
class Told:
    """What one owner was told by ψ and at home, and ψ of its own model."""

    decision: Decision
    alone: float
    at_home: HomeAdvice
    sample: Sample


@dataclass(frozen=True)
class Cell:
    """One draw at one ε: its trainings, and for every owner and training whether it was told to join, and is worse."""

    epsilon: float
    trained: Trained
    joins: tuple[bool, ...]
    wrong: tuple[bool, ...]
    joins_at_home: tuple[bool, ...]
    wrong_at_home: tuple[bool, ...]
    rows: Trained | None

    @property
    def strayed(self) -> FloatArray:
        """How far trainings are from the forecast, as logarithms."""
        return np.log(np.asarray(self.trained.found) / self.trained.predicted)

    @property
    def width(self) -> float:
        """Of the interval, as a logarithm."""
        low, high = self.trained.interval
        return float(np.log(high / low))


def measure(intake: Intake, epsilon: float, *, rows: bool) -> Cell:
    """Train, and judge every owner before and after; if asked for, train with every row as a record, too."""
    spec = TrainingSpec(guarantees=(), rule="auto", person=intake.person)
    adviser = Adviser.of(intake.require_public(), spec)
    scenario = Scenario(tuple(owner.sample.records for owner in intake.owners), epsilon)
    trained = train(intake, epsilon, RUNS)
    ruler = Ruler.of(intake, adviser.yardstick.objective)
    told = [_tell(adviser, intake, owner.sample, scenario, ruler) for owner in intake.owners]
    return Cell(
        epsilon,
        trained,
        tuple(each.decision == "join" for each in told),
        tuple(each.decision == "join" and psi > each.alone for each in told for psi in trained.found),
        tuple(each.at_home.advice == "join" for each in told),
        tuple(_is_worse(each, theta, ruler, adviser.yardstick.model) for each in told for theta in trained.models),
        train(as_rows(intake), epsilon, RUNS) if rows else None,
    )


def _tell(adviser: Adviser, intake: Intake, sample: Sample, scenario: Scenario, ruler: Ruler) -> Told:
    own = adviser.yardstick.look_at(sample)
    alone = ruler.psi(minimise(ruler.objective, sample))
    at_home = told_before(adviser, sample, scenario, intake.dictionary)
    return Told(adviser.judge(own, scenario).advice, alone, at_home, sample)


def _is_worse(told: Told, theta: FloatArray, ruler: Ruler, public: FloatArray) -> bool:
    """Whether an owner was told at home to join, and its model is then worse than the best that needs nobody."""
    if told.at_home.advice != "join":
        return False
    models = cross_validate(told.sample, ruler.objective, Centres(public=public, joint=theta)).models
    return ruler.psi(models[told.at_home.together]) > ruler.psi(models[told.at_home.known.without])


def summary(name: str, weigh: str, cells: Sequence[Cell]) -> list[object]:
    """One row of the table."""
    inside = [cell.trained.inside for cell in cells]
    strayed = np.concatenate([cell.strayed for cell in cells])
    low, high = np.quantile(strayed, [0.025, 0.975])
    width = float(np.mean([cell.width for cell in cells]) / (high - low))
    people = [[cell.trained for cell in cells if cell.epsilon == epsilon] for epsilon in EPSILONS]
    over_public = max(_ratio(found, lambda each: each.public)[0] for found in people)
    over_forecast, error = max(_ratio(found, lambda each: each.predicted) for found in people)
    rows = [cell.rows for cell in cells if cell.rows]
    of_rows = _ratio(rows, lambda each: each.predicted)[0] if rows else "–"
    joins, wrong, at_home, wrong_at_home = (
        float(np.mean([told for cell in cells for told in getattr(cell, kind)]))
        for kind in ("joins", "wrong", "joins_at_home", "wrong_at_home")
    )
    held = (
        np.mean(inside) >= WANTED,
        width <= WIDEST,
        over_public <= MOST_OVER_PUBLIC,
        over_forecast - error <= MOST_OVER_FORECAST,
        max(wrong, wrong_at_home) <= MOST_WRONG,
    )
    cost = (width, over_public, over_forecast, error, of_rows)
    told = (joins, wrong, at_home, wrong_at_home)
    return [name, weigh, len(cells), float(np.mean(inside)), limit(inside), *cost, *told, "yes" if all(held) else "no"]


def _ratio(found: Sequence[Trained], other: Callable[[Trained], float]) -> tuple[float, float]:
    """Mean ψ over the mean of something else, and its standard error by draws."""
    psi, base = np.array([each.mean for each in found]), np.array([other(each) for each in found])
    ratio = float(psi.mean() / base.mean())
    return ratio, float((psi - ratio * base).std(ddof=1) / np.sqrt(len(found)) / base.mean())


def cells_of(panel: Panel, weigh: str) -> Iterator[Cell]:
    """Every draw of a panel at every ε."""
    table = panel.read()
    for seed in SEEDS if table is not None else ():
        intake = load(panel, table, weigh, seed)
        for epsilon in EPSILONS:
            yield measure(intake, epsilon, rows=weigh == "person" and epsilon == EPSILONS[-1])


def main() -> None:
    """Print the table."""
    started, rows = time.perf_counter(), []
    families: dict[str, list[Cell]] = {"all real": [], "all generated": []}
    for panel in (*PANELS, *GENERATED):
        for weigh in ("person", "row")[: 1 if panel is ONE_ROW else 2]:
            cells = list(cells_of(panel, weigh))
            if cells:
                rows.append(summary(panel.name, weigh, cells))
                families["all real" if panel.make is None else "all generated"] += cells
    rows += [summary(name, "both", cells) for name, cells in families.items() if cells]
    asked = ", ".join(f"{each:g}" for each in EPSILONS)
    tell(
        "person-bands",
        f"people, {len(SEEDS)} draws × {RUNS} trainings at ε = {asked}, δ = 0 (replace one); "
        f"asked: inside ≥ {WANTED:.0%}, width ≤ {WIDEST:g}, over public ≤ {MOST_OVER_PUBLIC:g}, over forecast ≤ "
        f"{MOST_OVER_FORECAST:g}, wrong ≤ {MOST_WRONG:.0%}; {time.perf_counter() - started:.0f} s",
        COLUMNS,
        rows,
        width=190,
    )
