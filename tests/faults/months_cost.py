"""What months of retrainings cost: ψ of the last one beside a one-off study over the same records, on real panels.

`make months` lives 24 months of each panel (`months.py`), and trains again with simulated noise on what they read.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from months import Life, Setup, arrivals, live

from copriv.api.plan import Plan, plan
from copriv.losses.objective import relative_fitness
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records.load import Intake, OwnerSample
from copriv.runtime.local import assemble, run
from copriv.runtime.local_ledgers import MemoryLedger

DATA = Path(os.environ.get("COPRIV_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def psi(samples, objective, model) -> float:
    """How far a model is from the best one for these records."""
    pooled = Sample.join([each.sample for each in samples])
    best = objective.fitness(pooled, minimise(objective, pooled))
    return relative_fitness(objective.fitness(pooled, model), best)


def simulated(samples, found: Plan, terms, times: int, seed: int) -> list[np.ndarray]:
    """Models of so many trainings with seeded noise over the same records."""
    guarantee = Guarantee.of(f"{terms.epsilon:.9f}", terms.delta)
    spec = TrainingSpec((guarantee,) * len(samples), rule=terms.rule)
    intake = Intake(found.dictionary, found.public, tuple(samples), ())
    ready, models = plan_from_terms(terms, intake, spec), []
    for time in range(times):
        made = assemble(
            intake,
            ready,
            noise="seeded",
            seed=seed + time,
            make_ledger=lambda owner, commitment: MemoryLedger(
                begin(owner.name, "s", commitment.calibration.guarantee)
            ),
        )
        state = ready.rule.begin()
        for iteration in run(made, ready, f"{time}"):
            state = iteration.state
        models.append(np.asarray(ready.rule.model(state)))
    return models


@dataclass(frozen=True)
class Measured:
    """Mean ψ over simulated noise: on the records that the last month reads, and on everybody's."""

    last: float
    one_off: float
    last_on_all: float
    combined_on_all: float
    public_on_all: float
    one_off_on_all: float

    @property
    def ratio(self) -> float:
        """Of the last month to a one-off study over the same records, at the lifetime ε."""
        return self.last / self.one_off


def measure(setup: Setup, life: Life, found: Plan, times: int) -> Measured:
    """ψ on the records that the last month reads, and on the first records of everybody."""
    months = [simulated(samples, found, found.terms, times, 100 * k) for k, samples in enumerate(life.read)]
    start, mixed = found_start(found), found.lifetime.combination(len(months))
    objective, last = found.terms.objective(), life.read[-1]
    combined = [
        sum(w * model for w, model in zip(mixed.weights, each, strict=True)) for each in zip(*months, strict=True)
    ]
    everybody = newest_rows(life)
    return Measured(
        last=mean_psi(last, objective, months[-1]),
        one_off=mean_psi(last, objective, one_off(setup, last, found, times)),
        last_on_all=mean_psi(everybody, objective, months[-1]),
        combined_on_all=mean_psi(everybody, objective, combined),
        public_on_all=mean_psi(everybody, objective, [objective.project(start)]),
        one_off_on_all=mean_psi(everybody, objective, one_off(setup, everybody, found, times)),
    )


def found_start(found: Plan) -> np.ndarray:
    """The model of public rows alone."""
    terms = found.terms
    return minimise_freely(terms.objective().loss, terms.regularization, found.public)


def mean_psi(samples, objective, models) -> float:
    """Over several models."""
    return float(np.mean([psi(samples, objective, model) for model in models]))


def newest_rows(life: Life) -> list[OwnerSample]:
    """The people of every block, as the month of its arrival had them."""
    return [
        OwnerSample(name, Sample.join([samples[k].sample for samples in life.read]))
        for k, name in enumerate(each.name for each in life.read[-1])
    ]


def one_off(setup: Setup, samples, found: Plan, times: int) -> list[np.ndarray]:
    """Models of a study of its own over these records, for the lifetime ε, planned as any other."""
    sizes = [each.sample.records for each in samples]
    who = Scenario(sizes, setup.epsilon)
    known = plan(
        arrivals(setup)[0], who, target=setup.target, person="person", features=setup.features, skip=["person"]
    )
    return simulated(samples, found, known.terms, times, 9000)


def main() -> None:
    """24 months on real panels, where they are at hand."""
    rows = []
    for name, target in (("doctor_visits", "docvis"), ("health_insurance", "mdvis"), ("school_star", "math")):
        if not (DATA / f"{name}.parquet").is_file():
            continue
        panel = pl.read_parquet(DATA / f"{name}.parquet").drop_nulls([target])
        setup = Setup(panel, target, kills=0.2)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["COPRIV_REGISTRY"] = f"{folder}/registry"
            life, found = live(setup, Path(folder))
            measured = measure(setup, life, found, 20)
        most = max(life.losses.values()) / 10**9
        rows.append(
            (
                name,
                len(life.losses),
                life.returned,
                f"{life.killed}+{life.interrupted}",
                f"{life.noticed}/{life.restored}",
                found.lifetime.window.months,
                most,
                measured.last,
                measured.one_off,
                measured.ratio,
                measured.public_on_all,
                measured.last_on_all,
                measured.combined_on_all,
                measured.one_off_on_all,
            )
        )
    columns = ("panel", "people", "returns", "kills", "old copies noticed", "window", "most ε lost", "ψ last")
    columns += ("ψ one-off", "ratio", "all: public", "all: last", "all: combined", "all: one-off")
    compared = (
        "24 months, 4 owners, lifetime ε = 1 for any one person (replace-one), δ = 0; mean of 20 simulated noises"
    )
    from benchmarks.side_by_side import tell

    tell("months", compared, columns, rows, width=170)


if __name__ == "__main__":
    main()
