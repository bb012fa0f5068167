"""Long models: planning, training and measuring with 50 to 800 features, each in a process of its own.

Records are made as they leave a dictionary: rows of length at most 1 with an intercept, features of unequal variance
that go together in pairs. Reading and encoding a table is measured elsewhere. What counts is how seconds of a core grow
with p, and the most memory that the process ever held, records included.
"""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.many_hands import one_thread_each
from benchmarks.side_by_side import tell
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder
from copriv.planning.outline import gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose
from copriv.planning.training_plan import TrainingPlan, plan_candidate
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records.load import default_public_rows
from copriv.runtime.local import Consortium, Watch, measure, run
from copriv.transport.in_process import InProcessTransport
from copriv.vectors import FloatArray

FEATURES = (50, 100, 200, 400, 800)
ROWS, OWNERS, EPSILON = 60_000, 5, 1.0
# Aims: memory in GiB; beyond so many features time grows no faster than p², each row against the first of them.
MOST_MEMORY, FROM = 2.0, 100
COLUMNS = ["features", "rule", "seconds", "of a core", "planning", "training", "GiB", "time/p²", "ψ", "ψ public"]


@dataclass(frozen=True)
class Figures:
    """What one process tells: the columns of a row, but for the comparison with other rows."""

    features: int
    rule: str
    seconds: float
    core: float
    planning: float
    training: float
    memory: float
    psi: float
    public: float


def make_records(features: int, records: int, seed: int) -> Sample:
    """Records of one population, drawn feature by feature."""
    chance, shape = np.random.default_rng([seed, features]), np.random.default_rng(features)
    scales = 0.7 * np.sqrt(np.arange(1, features + 1) ** -0.5 / np.sum(np.arange(1, features + 1) ** -0.5))
    columns = chance.normal(size=(features + 1, records))
    columns[1:-1:2] = 0.6 * columns[:-2:2] + 0.8 * columns[1:-1:2]
    columns[:-1] *= scales[:, None]
    columns[-1] = 0.7
    columns /= np.maximum(np.linalg.norm(columns, axis=0), 1.0)
    truth = np.append(shape.normal(size=features) / np.sqrt(np.arange(1, features + 1)), 0.1)
    targets = np.clip(truth @ columns + 0.2 * chance.normal(size=records), -1, 1)
    return Sample(columns, targets)


def plan(public: Sample, sizes: list[int]) -> TrainingPlan:
    """As `copriv train` plans: the rule with the least predicted ψ, everything else chosen on the public rows."""
    scenario = Scenario(sizes, EPSILON)
    spec = TrainingSpec(guarantees=(Guarantee.of(EPSILON),), rule="auto")
    outline = outline_of(scenario, gather_evidence(public, spec), spec)
    return plan_candidate(outline, choose(outline))


def gather(study: TrainingPlan, samples: list[Sample]) -> Consortium:
    """Owners that answer from their records with secure noise."""
    names = tuple(f"owner-{place}" for place in range(1, len(samples) + 1))
    ledgers = tuple(
        MemoryLedger(begin(name, "generated", commitment.calibration.guarantee, commitment.calibration.accountant))
        for name, commitment in zip(names, study.commitments, strict=True)
    )
    owners = [
        Owner(name, study.terms, commitment, PrivateResponder(sample, commitment), ledger)
        for name, commitment, sample, ledger in zip(names, study.commitments, samples, ledgers, strict=True)
    ]
    return Consortium(names, ledgers, InProcessTransport(owners))


def train(study: TrainingPlan, samples: list[Sample]) -> tuple[Watch, FloatArray]:
    """Every meeting of the schedule; what was seen on the way, and the model at the end."""
    watch, model = Watch(len(study.trace)), study.rule.model(study.rule.begin())
    for iteration in run(gather(study, samples), study, "wide"):
        model = study.rule.model(iteration.state)
        watch.see(iteration, model)
    return watch, model


def work_through(features: int) -> Figures:
    """Everything once, in this process; compiled code is loaded before, on few features."""
    _train_all(5, 2_000)
    return _train_all(features, ROWS)


def _train_all(features: int, rows: int) -> Figures:
    public_rows = default_public_rows(rows)
    public = make_records(features, public_rows, OWNERS)
    samples = [make_records(features, (rows - public_rows) // OWNERS, owner) for owner in range(OWNERS)]
    started, core = time.perf_counter(), time.process_time()
    study = plan(public, [sample.records for sample in samples])
    planned = time.perf_counter()
    watch, model = train(study, samples)
    trained = time.perf_counter()
    found = measure(study.terms.objective(), samples, study, watch, model)
    return Figures(
        features,
        study.terms.rule,
        time.perf_counter() - started,
        time.process_time() - core,
        planned - started,
        trained - planned,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        found.relative,
        found.public or float("nan"),
    )


def ask_process(features: int) -> Figures:
    """The figures of a process of its own, with one thread."""
    with one_thread_each():
        command = [sys.executable, "-m", "benchmarks.wide", str(features)]
        done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"{features} features: ended with code {done.returncode}\n{done.stderr[-2000:]}")
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Print the table, and name what grows faster than it should."""
    found = [ask_process(features) for features in FEATURES]
    base = next(each for each in found if each.features == FROM)
    rows: list[list[object]] = []
    for each in found:
        growth = each.core / base.core / (each.features / FROM) ** 2
        times = each.seconds, each.core, each.planning, each.training
        rows.append([each.features, each.rule, *times, each.memory, growth, each.psi, each.public])
        if each.memory > MOST_MEMORY or (each.features > FROM and growth > 1):
            print(f"{each.features} features: {each.memory:.2f} GiB, {growth:.2f} × what p² allows")
    compared = (
        f"{ROWS:,} generated records, {default_public_rows(ROWS):,} of them public, {OWNERS} owners, squared loss, "
        f"ε = {EPSILON:g}, δ = 0 (unit: one record, adjacency: replace-one), rule auto; planning, training with secure "
        f"noise and measuring, one thread, a process for every row; time/p²: seconds of a core over those at {FROM} "
        f"features, over (p/{FROM})², at most 1 is wanted; GiB: most memory ever held, below {MOST_MEMORY:g} is wanted"
    )
    tell("wide", compared, COLUMNS, rows)


# The process of one row.
if __name__ == "__main__":
    from dataclasses import asdict

    print(json.dumps(asdict(work_through(int(sys.argv[1])))))
