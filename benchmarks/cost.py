"""What privacy costs: ψ at equal guarantee for public Newton, for Algorithm 1 and for what users would pick instead."""

import itertools
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from benchmarks import libraries, losses, peers
from benchmarks.datasets import BANKS, BLOCKS, OTHERS, Source, cut, make_scene, read, scenes_of
from benchmarks.many_hands import share_out
from benchmarks.side_by_side import RESULTS, tell
from copriv.entropy import seeded
from copriv.losses.optimum import minimise
from copriv.planning.newton_cost import newton_costs
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, promised, radial

EPSILONS = (0.1, 1.0, 10.0)
DRAWS, RUNS = 4, 25
# Of the libraries, which train for real.
LIBRARY_DRAWS, LIBRARY_RUNS = 2, 1
BANK_RECORDS = 10_000
LADDER = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CROWDS = (3, 10, 30, 85)
GROWING = (1, 2, 3, 5, 10, 20, 30, 50, 85)
# Joining pays if it saves at least this share of the cost of staying alone and of the public model.
WORTHWHILE = 0.95

COLUMNS = (
    "ours",
    "ours δ",
    "K-norm",
    "foreseen",
    "Alg. 1",
    "synchronous",
    "moments",
    "moments δ",
    "AdaSSP δ",
    "pooled δ",
    *libraries.COLUMNS,
    "alone",
    "least alone",
    "public",
)


Cell = dict[str, libraries.Cost]
Cells = dict[tuple[str, float], Cell]
Rows = list[list[object]]


def measure(table: peers.Table, epsilon: float, seed: int) -> Cell:
    """One cell of one draw: ψ of every contestant but the libraries, averaged over runs."""
    scene, generator = table.scene, seeded(seed, f"peers {epsilon}")
    p = scene.public.parameters
    pure, plan = newton_costs(scene, promised(Guarantee.of(epsilon), p), runs=RUNS, seed=seed)
    gaussian, _ = newton_costs(scene, promised(Guarantee.of(epsilon, peers.DELTA), p), runs=RUNS, seed=seed)
    ball, _ = newton_costs(scene, radial(epsilon, p), runs=RUNS, seed=seed)
    own = peers.alone(table)
    return {
        "ours": float(pure.mean()),
        "ours δ": float(gaussian.mean()),
        "K-norm": float(ball.mean()),
        "predicted": plan.cost,
        "Alg. 1": peers.algorithm_1(table, epsilon, runs=RUNS, seed=seed),
        "synchronous": peers.synchronous(table, epsilon, runs=RUNS, generator=generator),
        "moments": peers.moments(table, epsilon, 0.0, runs=RUNS, generator=generator),
        "moments δ": peers.moments(table, epsilon, peers.DELTA, runs=RUNS, generator=generator),
        "AdaSSP δ": peers.adassp(table, table.parts, epsilon, runs=RUNS, generator=generator),
        "pooled δ": peers.adassp(table, [table.joint], epsilon, runs=RUNS, generator=generator),
        "alone": float(np.median(own)),
        "least alone": float(np.min(own)),
        "public": scene.psi(minimise(scene.objective, scene.public)),
    }


def compare(source: Source, draw: int) -> Cells:
    """Every cell of one source, with one draw of the public rows."""
    found: Cells = {}
    for name, scene in scenes_of(source, draw):
        table = peers.Table.of(scene)
        bought = libraries.costs([scene], EPSILONS, runs=LIBRARY_RUNS, seed=draw) if draw < LIBRARY_DRAWS else {}
        for epsilon in EPSILONS:
            found[name, epsilon] = {**measure(table, epsilon, draw), **bought.get((0, epsilon), {})}
    return found


def average(draws: Sequence[Cells]) -> Cells:
    """Every cell, averaged over draws of the public rows."""
    found: dict[tuple[str, float], list[Cell]] = {}
    for cells in draws:
        for place, cell in cells.items():
            found.setdefault(place, []).append(cell)
    return {
        place: {column: libraries.average([d[column] for d in each if column in d]) for column in COLUMNS}
        for place, each in found.items()
    }


def logistic() -> Rows:
    """The same libraries on the logistic loss: ten banks."""
    found: dict[float, list[list[libraries.Cost]]] = {epsilon: [] for epsilon in EPSILONS}
    for draw in range(losses.DRAWS):
        intake = read(BANKS, draw)
        if intake is None:
            return []
        records = cut(intake.owners[0].sample, losses.OWNERS, losses.RECORDS)
        scene = losses.make_scene("logistic", intake.public, records)
        bought = libraries.costs([scene], EPSILONS, runs=losses.LIBRARY_RUNS, seed=draw)
        for epsilon in EPSILONS:
            ours, gaussian, _, alone, public = losses.measure(scene, epsilon, draw)
            others = [bought[0, epsilon][column] for column in libraries.COLUMNS]
            found[epsilon].append([ours, gaussian, *others, alone, public])
    return [
        [f"{epsilon:g}", *(libraries.average(column) for column in zip(*rows, strict=True))]
        for epsilon, rows in found.items()
    ]


def pays(draws: Sequence[Scene], epsilon: float) -> tuple[bool, float]:
    """Whether joining beats staying alone and the public model, and the ψ of joining."""
    ours, alone, public = [], [], []
    for seed, scene in enumerate(draws):
        protection = promised(Guarantee.of(epsilon), scene.public.parameters)
        ours.append(newton_costs(scene, protection, runs=RUNS, seed=seed)[0].mean())
        alone.append(np.median(peers.alone(peers.Table.of(scene))))
        public.append(scene.psi(minimise(scene.objective, scene.public)))
    joint = float(np.mean(ours))
    return joint < WORTHWHILE * min(float(np.mean(alone)), float(np.mean(public))), joint


def thresholds() -> tuple[Rows, Rows]:
    """The smallest ε at which some banks gain, and the smallest number of banks that gain at some ε."""
    taken = [intake for seed in range(DRAWS) if (intake := read(BANKS, seed)) is not None]
    if not taken:
        return [], []

    def crowd(owners: int) -> list[Scene]:
        return [make_scene(i.public, cut(i.owners[0].sample, owners, BANK_RECORDS)) for i in taken]

    budgets: Rows = []
    for owners in CROWDS:
        draws = crowd(owners)
        least = next(((epsilon, psi) for epsilon in LADDER for ok, psi in [pays(draws, epsilon)] if ok), ("none", 0.0))
        budgets.append([f"{owners} banks", *least])
    crowds: Rows = []
    for epsilon in EPSILONS:
        fewest = next(((n, psi) for n in GROWING for ok, psi in [pays(crowd(n), epsilon)] if ok), ("none", 0.0))
        crowds.append([f"{epsilon:g}", *fewest])
    return budgets, crowds


def without_public_rows() -> Rows:
    """Rules that need no public rows against Algorithm 1, at a pure ε of 1."""
    intake = read(BANKS, 0)
    rows: Rows = []
    for owners, records in BLOCKS if intake is not None else ():
        table = peers.Table.of(make_scene(intake.public, cut(intake.owners[0].sample, owners, records)))
        generator = seeded(0, "without public rows")
        paper = peers.algorithm_1(table, 1.0, runs=RUNS * DRAWS, seed=0)
        steps = peers.averaged(table, 1.0, runs=RUNS * DRAWS, seed=0)
        told = peers.moments(table, 1.0, 0.0, runs=RUNS * DRAWS, generator=generator)
        rows.append([f"loans, {owners} × {records:,}", paper, steps, told, paper / min(steps, told)])
    return rows


def draw_picture(cells: Cells) -> None:
    """ψ against ε, one panel a data set, as benchmarks/results/cost.svg."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(name for name, _ in cells))
    shown = [column for column in COLUMNS if column not in {"foreseen", "least alone"}]
    figure, axes = plt.subplots(2, (len(names) + 1) // 2, figsize=(15, 8), sharex=True, squeeze=False)
    for panel in axes.flat[len(names) :]:
        panel.axis("off")
    for name, panel in zip(names, axes.flat, strict=False):
        for column in shown:
            values = [psi if isinstance(psi := cells[name, epsilon][column], float) else np.nan for epsilon in EPSILONS]
            style = {"linewidth": 2.5} if column.startswith("ours") else {"linewidth": 1, "alpha": 0.8}
            flat = column in {"alone", "public"}
            panel.plot(EPSILONS, values, marker="" if flat else "o", ls=":" if flat else "-", label=column, **style)
        panel.set(title=name, xscale="log", yscale="log", xlabel="ε", ylabel="ψ")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="lower center", ncols=len(shown))
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(RESULTS / "cost.svg", metadata={"Date": None})


def main() -> None:
    """Print the tables."""
    print(f"installing the libraries took {libraries.installed()}", file=sys.stderr)
    cells_of = [partial(compare, source, draw) for source, draw in itertools.product((BANKS, *OTHERS), range(DRAWS))]
    tasks = [thresholds, *cells_of[:DRAWS], without_public_rows, logistic, *cells_of[DRAWS:]]
    (budgets, crowds), *found = share_out(tasks, "sources × draws, and who gains")
    bare, signs = found[DRAWS : DRAWS + 2]
    cells = average([*found[:DRAWS], *found[DRAWS + 2 :]])
    tell(
        "cost",
        f"ψ, mean of {DRAWS} draws of public rows × {RUNS} runs, real clipping for ours; unit: one record, adjacency: "
        f"replace-one; pure ε, or δ = {peers.DELTA:g} where marked; pooled = a trusted curator with all records; "
        "moments = one-shot statistics without public rows; K-norm in simulation only; alone = the median owner's; "
        f"{libraries.CAPTION}: {LIBRARY_RUNS} run a draw, {LIBRARY_DRAWS} draws",
        ["data", "ε", *COLUMNS],
        [[name, f"{epsilon:g}", *(cell[column] for column in COLUMNS)] for (name, epsilon), cell in cells.items()],
        width=220,
    )
    draw_picture(cells)
    tell_the_rest(bare, signs, budgets, crowds)


def tell_the_rest(bare: Rows, signs: Rows, budgets: Rows, crowds: Rows) -> None:
    """The smaller tables, where their records are at hand."""
    if bare:
        tell(
            "cost-without-public-rows",
            f"ψ at a pure ε of 1, mean of {RUNS * DRAWS} runs; steps at their best, real clipping for averaged",
            ["data", "Algorithm 1", "averaged", "moments", "times less"],
            bare,
        )
    if signs:
        tell(
            "cost-logistic",
            f"ψ of the logistic loss, {losses.OWNERS} banks of {losses.RECORDS:,} loans, mean of {losses.DRAWS} draws "
            f"of public rows × {losses.RUNS} runs; {libraries.CAPTION}: {losses.LIBRARY_RUNS} runs a draw",
            ["ε", "ours", "ours δ", *libraries.COLUMNS, "alone", "public"],
            signs,
        )
    if budgets:
        tell(
            "cost-who-gains",
            f"the smallest pure ε of {LADDER} at which banks of {BANK_RECORDS:,} loans gain 5 % over both the median "
            "bank alone and the public model",
            ["consortium", "smallest ε", "ψ there"],
            budgets,
        )
        tell(
            "cost-how-many",
            f"the smallest number of {GROWING} banks of {BANK_RECORDS:,} loans that gain 5 % over both",
            ["ε", "smallest N", "ψ there"],
            crowds,
        )
