"""Forecast against measured: ψ foretold from public rows alone, and ψ of trainings on records that nobody looked at.

Owners are blocks of rows of one population, and then owners that truly differ. Public Newton is measured on records
with real clipping; Algorithm 1 and averaged steps from second moments, with caps and box, at a clip that (almost) no
gradient exceeds. Public Newton's ψ depends most on which rows happen to be public, so it is averaged over many draws of
them, with the public model's own ψ, whose expectation is cheaply known, as a control variate.
"""

import tempfile
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.datasets import BANKS, OTHERS, REGULARIZATION, Source, cut, make_scene, read
from benchmarks.many_hands import share_out
from benchmarks.side_by_side import RESULTS, tell
from copriv.entropy import seeded
from copriv.forecast.newton import NewtonPrediction
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.optimum import minimise, minimise_freely
from copriv.losses.passes import gradient_norms
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.planning.newton_cost import menu_rule
from copriv.planning.outline import outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose
from copriv.planning.training_spec import TrainingSpec
from copriv.records import lending_like
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.rules.averaged import AveragedRule
from copriv.rules.evidence import Evidence, estimate_difference
from copriv.rules.paper import PaperRule
from copriv.rules.public_moments import PublicMoments
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.simulation.quadratic import Noise, simulate
from copriv.vectors import FloatArray, IntArray, Norm

RULES = ("newton", "averaged", "paper")
EPSILONS = (0.1, 1.0, 10.0)
BLOCKS = ((3, 250_000), (10, 10_000), (80, 10_000))
PUBLIC = 10_000
GENERATED = 880_000
# Deals of private rows, and how often the public rows are drawn from what is left of each.
DEALS = {3: (14, 3), 10: (5, 6), 80: (6, 3)}
# Rules that do not start from the public rows hardly depend on which these are: a few draws will do.
FEW_DRAWS = 3
RUNS, NEWTON_RUNS = 60, 4
SHUFFLES = 2
_PARTS = ("columns", "targets")
WIDE = {"generator": (0.9, 1.1), "loans": (0.8, 1.25)}


Cells = dict[tuple[str, str, float], dict[str, float]]


@dataclass(frozen=True)
class Reading:
    """One draw: what was foretold, what came of some runs, and ψ of the public model."""

    candidate: Candidate
    psi: FloatArray
    public: float


@dataclass(frozen=True)
class Pool:
    """All rows of one population, kept in a folder, and what a public model costs on them."""

    name: str
    folder: Path
    public: float

    def rows(self) -> Sample:
        """The rows, read when they are touched."""
        columns, targets = (np.load(self.folder / f"{self.name}.{part}.npy", mmap_mode="r") for part in _PARTS)
        return Sample(columns, targets)


def make_pool(name: str, folder: Path) -> Pool | None:
    """All rows of the generator or, if at hand, of the loans, through one dictionary each."""
    if name == "generator":
        table = lending_like.generate(GENERATED, seeded(0, "records")).lazy()
        order = np.asarray(seeded(0, "shuffle").permutation(GENERATED), dtype=np.int64)
        intake = load_consortium(table, LoadSpec(TargetChoice("int_rate"), Partition(owners=1)), order=order)
    else:
        intake = read(BANKS, 0)
    if intake is None:
        return None
    pool = Sample.join([intake.owners[0].sample, intake.public])
    for part in _PARTS:
        np.save(folder / f"{name}.{part}.npy", getattr(pool, part))
    return Pool(name, folder, cost_of_public_rows(pool))


@dataclass(frozen=True)
class Judge:
    """Every owner's second moments, and ψ by those of all records: a model is judged without reading them again."""

    parts: tuple[SufficientStatistics, ...]
    joint: SufficientStatistics
    best: float

    @classmethod
    def of(cls, scene: Scene) -> "Judge":
        """Of the owners of a scene."""
        parts = tuple(SufficientStatistics.of(sample) for sample in scene.samples)
        return cls(parts, SufficientStatistics.joint(parts), scene.best)

    def psi(self, theta: FloatArray) -> float:
        """ψ of a model on all records."""
        return self.joint.fitness(theta, REGULARIZATION) / self.best - 1


def deal(pool: Sample, owners: int, records: int, seed: int) -> list[Scene]:
    """Blocks of private rows, and public rows drawn several times from what is left."""
    order = seeded(seed, "deal").permutation(pool.records)
    private, rest = order[: owners * records], order[owners * records :]
    publics = [_take(pool, rest[k * PUBLIC : (k + 1) * PUBLIC]) for k in range(DEALS[owners][1])]
    first = make_scene(publics[0], cut(_take(pool, private), owners, records))
    return [replace(first, public=public) for public in publics]


def _take(pool: Sample, rows: IntArray) -> Sample:
    return Sample(np.ascontiguousarray(pool.columns[:, rows]), pool.targets[rows])


def run(scene: Scene, judge: Judge, candidate: Candidate, runs: int, seed: int) -> FloatArray:
    """ψ of some trainings at the setting of the forecast."""
    setting, p, limit = candidate.setting, scene.public.parameters, scene.objective.limit
    if candidate.rule == "newton":
        protection, start = promised(setting.guarantees[0], p), minimise(scene.objective, scene.public)
        rule = menu_rule(scene, protection, start, NewtonPrediction(candidate.clip, candidate.answers, 0.0))
        settings = {"clip": candidate.clip, "answers": candidate.answers, "runs": runs, "seed": seed}
        return np.asarray([judge.psi(rule.model(s)) for s in simulate_rule(rule, scene, protection, **settings)])
    horizon = candidate.horizon
    caps = setting.answers if candidate.rule == "paper" else (horizon,) * len(setting.records)
    noise = Noise("laplace", np.asarray(setting.noise_std), np.asarray(caps))
    if candidate.rule == "paper":
        paper = PaperRule(p, scene.records, setting.by_clock, setting.terms.step, REGULARIZATION, limit)
        return simulate(paper, judge.parts, noise, horizon=horizon, runs=runs, seed=seed).psi[:, -1]
    steps = AveragedRule(p, scene.records, setting.terms.step, horizon, REGULARIZATION, limit)
    return simulate_averaged(steps, judge.parts, noise, runs=runs, seed=seed).psi


def foretell(evidence: PublicEvidence, scenario: Scenario, rule: str) -> Candidate:
    """What the planner says of one rule; of steps at a clip that hardly any gradient exceeds, so that moments hold."""
    objective = evidence.objective
    places = (np.zeros_like(evidence.model), evidence.model)
    longest = max(float(np.max(gradient_norms(objective.loss, evidence.sample, at, Norm.L1))) for at in places)
    spec = TrainingSpec(
        guarantees=(),
        rule=rule,
        regularization=objective.regularization,
        limit=objective.limit,
        clip=None if rule == "newton" else float(f"{longest:.3g}"),
    )
    return choose(outline_of(scenario, evidence, spec))


def read_scene(
    scene: Scene, judge: Judge, seed: int, kappa: float, runs: int, *, all_rules: bool
) -> dict[tuple[str, float], Reading]:
    """Public Newton, or every rule, at every ε."""
    objective, found = scene.objective, {}
    model = minimise_freely(objective.loss, objective.regularization, scene.public)
    evidence, public = PublicEvidence(scene.public, objective, model), judge.psi(model)
    for epsilon in EPSILONS:
        scenario = Scenario(scene.records, epsilon, heterogeneity=kappa)
        for rule in RULES if all_rules else ("newton",):
            candidate = foretell(evidence, scenario, rule)
            psi = run(scene, judge, candidate, runs if rule == "newton" else RUNS, seed)
            found[rule, epsilon] = Reading(candidate, psi, public)
    return found


def cost_of_public_rows(pool: Sample) -> float:
    """E ψ of the public model on the population, from many draws of public rows."""
    everything = SufficientStatistics.of(pool)
    best = everything.fitness(everything.minimiser(REGULARIZATION), REGULARIZATION)
    stream, costs = seeded(0, "public rows"), []
    for _ in range(400):
        part = SufficientStatistics.of(_take(pool, stream.integers(pool.records, size=PUBLIC)))
        costs.append(everything.fitness(part.minimiser(REGULARIZATION), REGULARIZATION) / best - 1)
    return float(np.mean(costs))


def summarise(readings: list[Reading], public: float | None) -> dict[str, float]:
    """Forecast, measured with its standard error over draws, their ratio, and how often ψ lay in the interval."""
    measured = np.asarray([reading.psi.mean() for reading in readings])
    if public is not None and len(readings) > 8 and readings[0].candidate.rule == "newton":
        control = np.asarray([reading.public for reading in readings])
        slope = np.cov(measured, control)[0, 1] / np.var(control, ddof=1)
        measured = measured - slope * (control - public)
    forecast = float(np.mean([reading.candidate.relative_fitness for reading in readings]))
    intervals = [reading.candidate.forecast.interval for reading in readings]
    inside = [np.mean((low < r.psi) & (r.psi < high)) for r, (low, high) in zip(readings, intervals, strict=True)]
    mean = float(measured.mean())
    return {
        "forecast": forecast,
        "measured": mean,
        "ratio": forecast / mean,
        "± ratio": float(measured.std(ddof=1)) / np.sqrt(len(readings)) / mean * forecast / mean,
        "inside": float(np.mean(inside)),
    }


def read_deal(pool: Pool, owners: int, records: int, number: int) -> list[dict[tuple[str, float], Reading]]:
    """One deal of private rows with all its draws of public rows."""
    scenes = deal(pool.rows(), owners, records, number)
    judge = Judge.of(scenes[0])
    return [
        read_scene(scene, judge, 100 * number + draw, 0.0, NEWTON_RUNS, all_rules=draw * DEALS[owners][0] < FEW_DRAWS)
        for draw, scene in enumerate(scenes)
    ]


def blocks(pools: list[Pool]) -> Cells:
    """Blocks of one population."""
    plans = [(pool, n, size, k) for pool in pools for n, size in reversed(BLOCKS) for k in range(DEALS[n][0])]
    results = share_out([partial(read_deal, *plan) for plan in plans], "blocks")
    cells: Cells = {}
    for pool in pools:
        for owners, records in BLOCKS:
            found: dict[tuple[str, float], list[Reading]] = {}
            for plan, draws in zip(plans, results, strict=True):
                for cell, reading in [entry for draw in draws for entry in draw.items()]:
                    if plan[:2] == (pool, owners):
                        found.setdefault(cell, []).append(reading)
            public = pool.public * (1 + PUBLIC / (owners * records))
            for (rule, epsilon), readings in found.items():
                cells[f"{pool.name}, {owners} × {records:,}", rule, epsilon] = summarise(readings, public)
    return cells


def true_difference(scene: Scene) -> float:
    """κ of owners whose records may be looked at, as public Newton would estimate it from answers without noise."""
    outlook = PublicMoments.of(scene.public, scene.objective, 1e9, Norm.L2)
    parts = [SufficientStatistics.of(sample) for sample in scene.samples]
    gradients = np.stack([part.curvature @ outlook.start - part.offset for part in parts]) @ outlook.basis
    silence = np.full_like(gradients, 1e-12) * outlook.spread
    evidence = Evidence(gradients, silence, np.asarray(scene.records, dtype=np.float64), np.empty(0))
    return estimate_difference(evidence, outlook.spread, scene.public.records)


def read_source(source: Source, shuffle: int) -> dict[tuple[str, str, float], Reading]:
    """Owners that truly differ, with the heterogeneity off and on."""
    intake = read(source, shuffle)
    if intake is None:
        return {}
    scene = make_scene(intake.public, [owner.sample for owner in intake.owners])
    judge, found = Judge.of(scene), {}
    for setting, kappa in (("off", 0.0), ("on", true_difference(scene))):
        for (rule, epsilon), reading in read_scene(scene, judge, shuffle, kappa, 5, all_rules=True).items():
            found[f"{source.name}, {setting}", rule, epsilon] = reading
    return found


def different() -> Cells:
    """Hospitals and states as owners."""
    wanted: list[Source] = [source for source in OTHERS if source.name in {"hospitals", "states"}]
    jobs = [partial(read_source, source, shuffle) for source in wanted for shuffle in range(SHUFFLES)]
    found: dict[tuple[str, str, float], list[Reading]] = {}
    for readings in share_out(jobs, "owners that differ"):
        for cell, reading in readings.items():
            found.setdefault(cell, []).append(reading)
    return {cell: summarise(readings, None) for cell, readings in found.items()}


def all_cells() -> Cells:
    """Everything, with as many processes as there are cores."""
    with tempfile.TemporaryDirectory() as folder:
        made = share_out([partial(make_pool, name, Path(folder)) for name in ("generator", "loans")], "reading")
        return blocks([pool for pool in made if pool is not None]) | different()


def draw_picture(cells: Cells) -> None:
    """Forecast against measured on logarithmic axes, one colour a rule, as benchmarks/results/calibration.svg."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    colours = {"newton": "#0072B2", "averaged": "#D55E00", "paper": "#009E73"}
    groups = {
        "generator": "o",
        "loans": "s",
        "hospitals, off": "v",
        "hospitals, on": "^",
        "states, off": "<",
        "states, on": ">",
    }
    figure, panel = plt.subplots(figsize=(7.5, 6.5), layout="constrained")
    values = [value for cell in cells.values() for value in (cell["forecast"], cell["measured"])]
    span = np.asarray([min(values) / 2, max(values) * 2])
    panel.fill_between(span, span / 1.25, span * 1.25, color="0.9", label="within 25 %")
    panel.plot(span, span, color="0.4", linewidth=0.8)
    for group, marker in groups.items():
        for rule, colour in colours.items():
            shown = [c for (name, r, _), c in cells.items() if r == rule and name.startswith(group)]
            if shown:
                x, y = ([c[axis] for c in shown] for axis in ("measured", "forecast"))
                panel.plot(x, y, marker, color=colour, markersize=5, label=f"{group}: {rule}", alpha=0.8)
    panel.set(xscale="log", yscale="log", xlabel="ψ measured on private records", ylabel="ψ forecast from public rows")
    panel.legend(fontsize=7, frameon=False, ncols=2)
    figure.savefig(RESULTS / "calibration.svg", metadata={"Date": None})


def main() -> None:
    """Print the table and draw the picture."""
    started = time.perf_counter()
    cells = all_cells()
    columns = ("forecast", "measured", "ratio", "± ratio", "inside")
    tell(
        "calibration",
        f"ψ forecast from {PUBLIC:,} public rows against ψ measured on private ones, pure ε; newton: 18 to 42 draws of "
        f"public rows × {NEWTON_RUNS} runs, others: 5 to 14 draws × {RUNS} runs; off and on: heterogeneity 0 and as "
        f"estimated; inside: share of trainings in the 95 % interval; {time.perf_counter() - started:.0f} s",
        ["owners", "rule", "ε", *columns],
        [[name, rule, f"{epsilon:g}", *(cell[c] for c in columns)] for (name, rule, epsilon), cell in cells.items()],
        width=130,
    )
    draw_picture(cells)
    for (name, rule, epsilon), cell in cells.items():
        low, high = WIDE.get(name.split(",")[0], (0.0, np.inf))
        if not low <= cell["ratio"] <= high:
            print(f"outside [{low}, {high}]: {name}, {rule}, ε = {epsilon:g}: {cell['ratio']:.3f}")
