"""What owners gain by promising K answers instead of T: Algorithm 1, ten banks, the same guarantee."""

import numpy as np

from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.training_plan import design
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.load import Intake, LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.runtime.local import Watch, assemble, measure, run

OWNERS, RECORDS, PUBLIC, HORIZON, SEEDS = 10, 10_000, 10_000, 1000, 5


def banks() -> Intake:
    """Ten synthetic banks that lend side by side."""
    generator = seeded(0, "records")
    frame = lending_like.generate(OWNERS * RECORDS + PUBLIC, generator)
    plan = LoadSpec(TargetChoice("int_rate"), Partition(owners=OWNERS, records_per_owner=RECORDS), public_rows=PUBLIC)
    return load_consortium(frame.lazy(), plan, order=np.asarray(generator.permutation(frame.height), dtype=np.int64))


def train(intake: Intake, wishes: TrainingSpec) -> tuple[float, float]:
    """ψ of the joint model and of the median owner alone, with simulated noise."""
    study = design(intake, wishes)
    consortium = assemble(
        intake,
        study,
        noise="seeded",
        seed=wishes.seed,
        make_ledger=lambda owner, commitment: MemoryLedger(
            begin(owner.name, "simulated", commitment.calibration.guarantee, commitment.calibration.accountant)
        ),
    )
    watch = Watch(len(study.trace), most=1)
    model = study.rule.model(study.rule.begin())
    for iteration in run(consortium, study, "run"):
        model = study.rule.model(iteration.state)
    found = measure(study.terms.objective(), [owner.sample for owner in intake.owners], study, watch, model)
    return found.relative, found.alone_median


def main() -> None:
    """Print the table."""
    intake, table = banks(), []
    for epsilon in (0.1, 1, 10):
        for words, answers, delta in (
            ("ε/T as in the paper", HORIZON, 0.0),
            ("ε/K, K the 99 % quantile", None, 0.0),
            ("the same K, δ = 1e-6", None, 1e-6),
        ):
            guarantees = (Guarantee.of(epsilon, delta),) * OWNERS
            runs = [
                train(intake, TrainingSpec(guarantees=guarantees, seed=seed, horizon=HORIZON, answers=answers))
                for seed in range(SEEDS)
            ]
            joint, alone = np.median(np.asarray(runs), axis=0)
            table.append([f"{epsilon:g}", words, float(joint), float(alone)])
    tell(
        "caps",
        f"relative fitness ψ of Algorithm 1 after T = {HORIZON:,}, median of {SEEDS} simulated runs, {OWNERS} owners "
        f"of {RECORDS:,} synthetic loans, valid noise, clip and step chosen by the pilot in every cell; "
        "unit: one record, adjacency: replace-one",
        ["ε", "spent as", "ψ joint", "ψ alone (median)"],
        table,
    )
