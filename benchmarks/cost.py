"""What privacy costs: ψ at equal guarantee for public Newton, for Algorithm 1 and for what users would pick instead."""

import itertools

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import libraries, losses, peers
from benchmarks.scenes import BANKS, BLOCKS, cut, make_scene, read, scenes
from benchmarks.side_by_side import RESULTS, tell
from copriv.entropy import seeded
from copriv.losses.optimum import minimise
from copriv.privacy.guarantee import Guarantee
from copriv.simulation.cost import Scene, newton_costs, promised, radial

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


def measure(scene: Scene, epsilon: float, seed: int) -> Cell:
    """One cell of one draw: ψ of every contestant but the libraries, averaged over runs."""
    table, generator = peers.Table.of(scene), seeded(seed, f"peers {epsilon}")
    p = scene.public.parameters
    pure, plan = newton_costs(scene, promised(Guarantee.of(epsilon), p), runs=RUNS, seed=seed)
    gaussian, _ = newton_costs(scene, promised(Guarantee.of(epsilon, peers.DELTA), p), runs=RUNS, seed=seed)
    ball, _ = newton_costs(scene, radial(epsilon, p), runs=RUNS, seed=seed)
    own = peers.alone(table)
    return {
        "ours": float(pure.mean()),
        "ours δ": float(gaussian.mean()),
        "K-norm": float(ball.mean()),
        "foreseen": plan.cost,
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


def compare(progress: Progress) -> dict[tuple[str, float], Cell]:
    """Every cell, averaged over draws of the public rows."""
    found: dict[tuple[str, float], list[Cell]] = {}
    task = progress.add_task("cells", total=None)
    for draw in range(DRAWS):
        names, present = zip(*scenes(draw), strict=True)
        bought: dict[tuple[int, float], Cell] = {}
        if draw < LIBRARY_DRAWS:
            progress.update(task, description=f"draw {draw + 1}/{DRAWS}: libraries")
            bought = libraries.costs(present, EPSILONS, runs=LIBRARY_RUNS, seed=draw)
        for place, epsilon in itertools.product(range(len(present)), EPSILONS):
            progress.update(task, description=f"draw {draw + 1}/{DRAWS}: {names[place]}, ε = {epsilon:g}")
            whole = {**measure(present[place], epsilon, draw), **bought.get((place, epsilon), {})}
            found.setdefault((names[place], epsilon), []).append(whole)
            progress.advance(task)
    return {
        cell: {column: libraries.average([d[column] for d in draws if column in d]) for column in COLUMNS}
        for cell, draws in found.items()
    }


def logistic(progress: Progress) -> list[list[object]]:
    """The same libraries on the logistic loss: ten banks."""
    taken = [intake for seed in range(losses.DRAWS) if (intake := read(BANKS, seed)) is not None]
    task = progress.add_task("logistic", total=len(taken))
    found: dict[float, list[list[libraries.Cost]]] = {epsilon: [] for epsilon in EPSILONS}
    for draw, intake in enumerate(taken):
        records = cut(intake.owners[0].sample, losses.OWNERS, losses.RECORDS)
        scene = losses.make_scene("logistic", intake.public, records)
        bought = libraries.costs([scene], EPSILONS, runs=losses.LIBRARY_RUNS, seed=draw)
        for epsilon in EPSILONS:
            ours, gaussian, _, alone, public = losses.measure(scene, epsilon, draw)
            others = [bought[0, epsilon][column] for column in libraries.COLUMNS]
            found[epsilon].append([ours, gaussian, *others, alone, public])
        progress.advance(task)
    return [
        [f"{epsilon:g}", *(libraries.average(column) for column in zip(*rows, strict=True))]
        for epsilon, rows in found.items()
        if rows
    ]


def pays(draws: list[Scene], epsilon: float) -> tuple[bool, float]:
    """Whether joining beats staying alone and the public model, and the ψ of joining."""
    ours, alone, public = [], [], []
    for seed, scene in enumerate(draws):
        protection = promised(Guarantee.of(epsilon), scene.public.parameters)
        ours.append(newton_costs(scene, protection, runs=RUNS, seed=seed)[0].mean())
        alone.append(np.median(peers.alone(peers.Table.of(scene))))
        public.append(scene.psi(minimise(scene.objective, scene.public)))
    joint = float(np.mean(ours))
    return joint < WORTHWHILE * min(float(np.mean(alone)), float(np.mean(public))), joint


def thresholds(progress: Progress) -> tuple[list[list[object]], list[list[object]]]:
    """The smallest ε at which some banks gain, and the smallest number of banks that gain at some ε."""
    taken = [intake for seed in range(DRAWS) if (intake := read(BANKS, seed)) is not None]
    if not taken:
        return [], []
    task = progress.add_task("who gains", total=len(CROWDS) + len(EPSILONS))

    def crowd(owners: int) -> list[Scene]:
        return [make_scene(i.public, cut(i.owners[0].sample, owners, BANK_RECORDS)) for i in taken]

    budgets: list[list[object]] = []
    for owners in CROWDS:
        draws = crowd(owners)
        least = next(((epsilon, psi) for epsilon in LADDER for ok, psi in [pays(draws, epsilon)] if ok), ("none", 0.0))
        budgets.append([f"{owners} banks", *least])
        progress.advance(task)
    crowds: list[list[object]] = []
    for epsilon in EPSILONS:
        fewest = next(((n, psi) for n in GROWING for ok, psi in [pays(crowd(n), epsilon)] if ok), ("none", 0.0))
        crowds.append([f"{epsilon:g}", *fewest])
        progress.advance(task)
    return budgets, crowds


def without_public_rows(progress: Progress) -> list[list[object]]:
    """Rules that need no public rows against Algorithm 1, at a pure ε of 1."""
    intake = read(BANKS, 0)
    task = progress.add_task("without public rows", total=len(BLOCKS))
    rows: list[list[object]] = []
    for owners, records in BLOCKS if intake is not None else ():
        table = peers.Table.of(make_scene(intake.public, cut(intake.owners[0].sample, owners, records)))
        generator = seeded(0, "without public rows")
        paper = peers.algorithm_1(table, 1.0, runs=RUNS * DRAWS, seed=0)
        steps = peers.averaged(table, 1.0, runs=RUNS * DRAWS, seed=0)
        told = peers.moments(table, 1.0, 0.0, runs=RUNS * DRAWS, generator=generator)
        rows.append([f"loans, {owners} × {records:,}", paper, steps, told, paper / min(steps, told)])
        progress.advance(task)
    return rows


def draw_picture(cells: dict[tuple[str, float], Cell]) -> None:
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
    bars = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*bars, console=Console(stderr=True)) as progress:
        cells = compare(progress)
        budgets, crowds = thresholds(progress)
        bare = without_public_rows(progress)
        progress.console.print(f"installing the libraries took {libraries.installed()}")
        signs = logistic(progress)
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
