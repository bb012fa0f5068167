"""Counts and costs: ψ of public Newton with the Poisson and the Gamma loss, beside the public model and models alone.

Bounds and links were chosen on the visits of `doctor_visits`; the other tables were only reported on.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.datasets import REGULARIZATION, data_folder
from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise, minimise_freely
from copriv.planning.newton_cost import newton_costs
from copriv.planning.tuning import choose_limit
from copriv.privacy.guarantee import Guarantee
from copriv.records.hospital import HOSPITAL
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.simulation.cost import Scene, promised

EPSILONS = (0.1, 1.0, 10.0)
OWNERS, PUBLIC, DRAWS, RUNS = 10, 500, 4, 10
_SPENDING = (
    "outpdol", "drugdol", "suppdol", "mentdol", "inpdol", "meddol", "totadm", "inpmis", "mentvis", "mdvis", "notmdvis",
    "lnmeddol", "binexp", "fmde", "pioff", "mdeoff",
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A table, what is counted, by which loss and for which exposure, and what gives it away."""

    name: str
    file: str
    target: str
    loss: str
    exposure: str | None = None
    without: tuple[str, ...] = ()


SOURCES = (
    Source("visits", "doctor_visits", "docvis", "poisson", without=("person", "hospvis")),
    Source("insured", "health_insurance", "mdvis", "poisson", "time", ("person", *_SPENDING)),
    Source("spending", "health_insurance", "meddol", "gamma", "time", ("person", *_SPENDING)),
    Source("stays", "hospital_heart_failure_2024", "los", "gamma", without=HOSPITAL.irrelevant),
)


def scene_of(source: Source, seed: int, rows: int | None = None) -> Scene | None:
    """Owners of equal size and public rows, drawn anew; None if the table is not at hand."""
    folder = data_folder()
    if folder is None or not (folder / f"{source.file}.parquet").is_file():
        return None
    table = pl.scan_parquet(folder / f"{source.file}.parquet")
    gone = [name for name in source.without if name in table.collect_schema().names() and name != source.target]
    table = table.drop(gone).collect()
    order = np.asarray(seeded(seed, "shuffle").permutation(table.height), dtype=np.int64)[:rows]
    choice = TargetChoice.for_loss(source.loss, source.target, exposure=source.exposure)
    plan = LoadSpec(choice, Partition(owners=OWNERS), features="pls:10", public_rows=PUBLIC)
    intake = load_consortium(table[order].lazy(), plan)
    public, loss = intake.require_public(), choose(source.loss)
    limit = choose_limit(minimise_freely(loss, REGULARIZATION, public))
    return Scene.of(Objective(loss, REGULARIZATION, limit), [owner.sample for owner in intake.owners], public)


def measure(scene: Scene, seed: int, runs: int = RUNS) -> list[float]:
    """Mean ψ of ours at each pure ε, of the median owner alone, and of the public model."""
    p = scene.public.parameters
    ours = [
        float(newton_costs(scene, promised(Guarantee.of(epsilon), p), runs=runs, seed=seed)[0].mean())
        for epsilon in EPSILONS
    ]
    alone = float(np.median([scene.psi(minimise(scene.objective, sample)) for sample in scene.samples]))
    return [*ours, alone, scene.psi(minimise(scene.objective, scene.public))]


def main() -> None:
    """Print the table."""
    rows: list[list[object]] = []
    for source in SOURCES:
        scenes = [scene for seed in range(DRAWS) if (scene := scene_of(source, seed)) is not None]
        if not scenes:
            print(f"counts: no {source.file}; set COPRIV_DATA")
            continue
        found = np.mean([measure(scene, seed) for seed, scene in enumerate(scenes)], axis=0)
        size = scenes[0].samples[0].records
        rows.append([source.name, source.loss, f"{OWNERS} × {size:,}", *found.tolist()])
    tell(
        "counts",
        f"ψ of public Newton on counts and costs, {PUBLIC} public rows, mean of {DRAWS} draws of rows × {RUNS} runs, "
        "pure ε per record (replace-one); constants chosen on visits",
        ["table", "loss", "owners", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "alone", "public"],
        rows,
    )
