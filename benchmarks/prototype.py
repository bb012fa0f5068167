"""Ours beside the prototype that set the goal, on the same records: what the rule gains, and what the reading does.

Of the prototype its ψ is known, but not which columns it read. Two figures of it identify a reading: the ψ of the
public model and of staying alone, in which no privacy takes part.
"""

import itertools
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.datasets import OTHERS, Source, whole
from benchmarks.many_hands import share_out
from benchmarks.prototype_rule import prototype_cost
from benchmarks.side_by_side import tell
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import promised

EPSILONS = (0.1, 1.0, 10.0)
DRAWS, RUNS = 4, 25
COLUMNS = ("ours", "prototype", "public", "least alone", "alone", "who gains")

# What nearly tells the interest rate: the grade made from it, and what was paid because of it.
TELLING = (
    *("grade", "sub_grade", "installment", "loan_status", "issue_d", "issue_year", "zip_code", "debt_settlement_flag"),
    *("total_pymnt", "total_pymnt_inv", "total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries"),
    *("collection_recovery_fee", "last_pymnt_d", "last_pymnt_amnt", "last_credit_pull_d"),
)


@dataclass(frozen=True)
class Reading:
    """A source, and what the prototype reached on such records, at each ε and for the public model."""

    source: Source
    published: tuple[float, float, float]
    public: float


HOSPITALS, STATES, AIRLINES = OTHERS[:3]
GOALS = {
    HOSPITALS.name: ((9.0e-3, 4.7e-3, 2.8e-4), 9.2e-3),
    STATES.name: ((1.3e-3, 3.1e-4, 2.1e-5), 1.35e-3),
    AIRLINES.name: ((4.5e-4, 2.0e-4, 1.4e-2), 1.7e-3),
}
VARIED = (
    HOSPITALS,
    replace(HOSPITALS, name="hospitals, 8 features", features=8),
    replace(HOSPITALS, name="hospitals, 8, stays capped", features=8, kept=0.95),
    STATES,
    replace(STATES, name="states, 8 features", features=8, without=TELLING),
    AIRLINES,
)
READINGS = tuple(Reading(source, *GOALS[source.name.split(",")[0]]) for source in VARIED)


def measure(reading: Reading, seed: int) -> list[list[float]]:
    """The columns at every ε, on one draw of the public rows; nothing if the table is not at hand."""
    scene = whole(reading.source, seed)
    if scene is None:
        return []
    own = peers.alone(peers.Table.of(scene))
    public = scene.psi(minimise(scene.objective, scene.public))
    found = []
    for epsilon in EPSILONS:
        protection = promised(Guarantee.of(epsilon), scene.public.parameters)
        ours = float(newton_costs(scene, protection, runs=RUNS, seed=seed)[0].mean())
        theirs = prototype_cost(scene, protection, runs=RUNS, seed=seed)
        gaining = float(np.mean(ours < own))
        found.append([ours, theirs, public, float(np.min(own)), float(np.median(own)), gaining])
    return found


def main() -> None:
    """Print the table."""
    tasks = [partial(measure, reading, seed) for reading, seed in itertools.product(READINGS, range(DRAWS))]
    found = share_out(tasks, "readings × draws")
    rows: list[list[object]] = []
    for place, reading in enumerate(READINGS):
        draws = found[place * DRAWS : (place + 1) * DRAWS]
        if all(draws):
            means = np.mean(draws, axis=0).tolist()
            rows += [
                [reading.source.name, f"{epsilon:g}", *costs, costs[0] / costs[1], goal, reading.public]
                for epsilon, costs, goal in zip(EPSILONS, means, reading.published, strict=True)
            ]
    tell(
        "prototype",
        f"ψ at a pure ε, mean of {DRAWS} draws of public rows × {RUNS} runs; prototype = measured here, with the clip, "
        "K and place to ask that do best on the very private records; ours is planned on public rows; who gains = "
        "share of owners whose own model costs more than ours; goal = the prototype's own figures, on its own reading",
        ["data", "ε", *COLUMNS, "ours / prototype", "goal", "goal's public"],
        rows,
        width=150,
    )
