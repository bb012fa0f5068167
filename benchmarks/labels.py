"""Labels under a shift: newton that makes the public rows like the records, beside the same rule without it.

It moves them by second moments (`rules.transported`), and gives them other labels by the share of positive ones
(`rules.relabelled`). Three rules: with neither, with the former, and ours with both.

The tables are those of `benchmarks.shift_pairs`, with a label in place of the target: delayed or not, long stay or not.
Constants of both were chosen on the tasks that are not held out; on the others nothing was.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import numpy as np
import polars as pl

from benchmarks.datasets import REGULARIZATION, data_folder
from benchmarks.many_hands import share_out
from benchmarks.shift_pairs import PUBLIC_ROWS, TEN
from benchmarks.side_by_side import tell
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.planning.newton_cost import newton_costs
from copriv.planning.tuning import choose_limit
from copriv.privacy.guarantee import Guarantee
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.target import TargetChoice
from copriv.rules.adaptive_newton import KINDS
from copriv.simulation.cost import Scene, promised
from copriv.vectors import FloatArray

EPSILONS = (0.1, 1.0, 10.0)
RUNS, SEED, MOST_ROWS = 10, 64, 100_000
LABEL = "label"
# So many times the public model is too much.
TOO_MUCH = 1.5
_THERMOMETERS, _LOANS = ("therm_gop", "therm_bmp", "mpti"), ("issue_d", "grade", "sub_grade")
_FLIGHTS = ("dep_delay", "dep_time", "arr_time", "time_hour")
_SPENDING = (
    *("outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "lnmeddol", "binexp"),
    *("totadm", "inpmis", "mentvis", "notmdvis", "person"),
)


@dataclass(frozen=True)
class Task:
    """A label (a column above a number), the column that divides the table, and its values of public rows."""

    name: str
    file: str
    target: str
    above: float
    column: str
    public: tuple[str, ...]
    without: tuple[str, ...] = ()
    held_out: bool = False


TASKS = (
    Task("flights, January", "flights_2013", "arr_delay", 15, "month", ("1",), _FLIGHTS),
    Task("flights, July", "flights_2013", "arr_delay", 15, "month", ("7",), _FLIGHTS, held_out=True),
    Task("flights, United", "flights_2013", "arr_delay", 15, "carrier", ("UA",), _FLIGHTS),
    Task("flights, JetBlue", "flights_2013", "arr_delay", 15, "carrier", ("B6",), _FLIGHTS),
    Task("hospitals, Long Island", "hospital_heart_failure_2024", "los", 5, "health_service_area", ("Long Island",)),
    Task(
        "hospitals, Western NY", "hospital_heart_failure_2024", "los", 5, "health_service_area", ("Western NY",),
        held_out=True,
    ),
    Task("schools, K", "school_star", "math", 530, "gr", ("K",), ("person", "read")),
    Task("schools, 3", "school_star", "math", 530, "gr", ("3",), ("person", "read"), held_out=True),
    Task("elections, 1978 and 1980", "party_feelings", "therm_dem", 60, "year", ("1978", "1980"), _THERMOMETERS),
    Task("elections, 2012", "party_feelings", "therm_dem", 60, "year", ("2012",), _THERMOMETERS, held_out=True),
    Task("loans, 2008", "lending_2007_2011", "int_rate", 0.12, "issue_year", ("2008",), _LOANS),
    Task("loans, 2010", "lending_2007_2011", "int_rate", 0.12, "issue_year", ("2010",), _LOANS, held_out=True),
    Task("insurance, two sites", "health_insurance", "mdvis", 2, "site", ("1", "2"), _SPENDING),
    Task("insurance, year 5", "health_insurance", "mdvis", 2, "year", ("5",), _SPENDING, held_out=True),
    Task("visits, women", "doctor_visits", "docvis", 0, "female", ("1",), ("person",)),
    Task("deliveries, Sunday", "deliveries", "time_to_delivery", 25, "day", ("Sun",), held_out=True),
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """ψ of the public model, and in every run with rows as they are, with rows moved, and of ours."""

    task: Task
    epsilon: float
    rates: tuple[float, float]
    public: float
    still: FloatArray
    moved: FloatArray
    ours: FloatArray


def read(task: Task) -> Scene:
    """Ten owners of the private rows, shuffled, as `copriv train --public` would read them."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data; set COPRIV_DATA")
    table = pl.read_parquet(folder / f"{task.file}.parquet").drop_nulls(task.target)
    label = pl.when(pl.col(task.target) > task.above).then(pl.lit("yes")).otherwise(pl.lit("no"))
    table = table.with_columns(label.alias(LABEL)).drop(task.target)
    value = table[task.column].cast(pl.String)
    public = value.is_in(list(task.public))
    shown, kept = (
        table.filter(rows).sample(fraction=1.0, shuffle=True, seed=SEED)
        for rows in (public, ~public & value.is_not_null())
    )
    skip = tuple(name for name in (*task.without, task.column) if name in table.columns)
    spec = LoadSpec(TargetChoice(LABEL, labels=True), TEN, skip=skip)
    intake = load_consortium(kept.head(MOST_ROWS).lazy(), spec, public=shown.head(PUBLIC_ROWS).lazy())
    loss, rows = choose("logistic"), intake.require_public()
    objective = Objective(loss, REGULARIZATION, choose_limit(minimise_freely(loss, REGULARIZATION, rows)))
    return Scene.of(objective, [owner.sample for owner in intake.owners], rows)


@contextmanager
def labels_stay() -> Iterator[None]:
    """The rule without a question for the share of positive labels."""
    with patch("copriv.planning.newton_cost.KINDS_OF_LABELS", KINDS):
        yield


@contextmanager
def rows_stay() -> Iterator[None]:
    """The rule without moved rows."""
    with (
        labels_stay(),
        patch("copriv.rules.adaptive_newton.moved", lambda setting, _: setting),
        patch("copriv.rules.adaptive_questions._moments_would_move", lambda *_, **__: False),
    ):
        yield


def measure(task: Task) -> list[Result]:
    """One task at every ε."""
    scene, found = read(task), []
    public = scene.psi(minimise(scene.objective, scene.public))
    rates = (float(np.mean(scene.public.targets > 0)), float(np.mean(scene.joint.targets > 0)))
    for epsilon in EPSILONS:
        protection = promised(Guarantee.of(epsilon), scene.public.parameters)
        ours, _ = newton_costs(scene, protection, runs=RUNS, seed=SEED)
        with labels_stay():
            moved, _ = newton_costs(scene, protection, runs=RUNS, seed=SEED)
        with rows_stay():
            still, _ = newton_costs(scene, protection, runs=RUNS, seed=SEED)
        found.append(Result(task, epsilon, rates, public, still, moved, ours))
    return found


def main() -> None:
    """Print the table, and what it comes to."""
    if data_folder() is None:
        print("labels: no data; set COPRIV_DATA")
        return
    results = [each for found in share_out([partial(measure, task) for task in TASKS], "tasks") for each in found]
    tell(
        "labels",
        f"ψ of labels where public rows are of another population, pure ε; unit: one record, adjacency: replace-one; "
        f"ten owners, means of {RUNS} runs; the same rule with public rows as they are, and moved, and ours, with "
        "other labels besides; held out: of every choice of constants",
        ["public rows", "held out", "ε", "rate", "owners'", "public", "stay", "moved", "ours", "ratio", "worst/public"],
        [
            [
                each.task.name,
                "yes" if each.task.held_out else "no",
                f"{each.epsilon:g}",
                f"{each.rates[0]:.2f}",
                f"{each.rates[1]:.2f}",
                each.public,
                float(each.still.mean()),
                float(each.moved.mean()),
                float(each.ours.mean()),
                float(each.ours.mean() / each.moved.mean()),
                float(each.ours.max() / each.public),
            ]
            for each in results
        ],
        width=160,
    )  # fmt: skip
    for epsilon in EPSILONS:
        for name, chosen in (("all", (False, True)), ("held out", (True,))):
            there = [each for each in results if each.epsilon == epsilon and each.task.held_out in chosen]
            ratios = np.asarray([each.ours.mean() / each.moved.mean() for each in there])
            bad = np.concatenate([each.ours > TOO_MUCH * each.public for each in there])
            print(
                f"ε = {epsilon:g}, {name}: ours over moved rows, geometric mean {np.exp(np.mean(np.log(ratios))):.2f} "
                f"({ratios.min():.2g} to {ratios.max():.2g}) over {len(there)} tasks; {np.mean(bad):.1%} of runs above "
                f"{TOO_MUCH} times the public model"
            )
