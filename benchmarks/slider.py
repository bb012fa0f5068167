"""Fast enough to drag a slider: what one forecast takes after warm-up, against simulating the same on the public rows.

A forecast is complete: rule, clip, step and answers are chosen, E ψ, its deviation, its standard error, and what would
bind. `best of all` is what `copriv forecast` does; a rule by name is tuned by simulated runs, also if it cannot win. ε
moves a little from one forecast to the next, as it does under a slider, so that nothing is merely remembered. The
simulation kernel does the same training, at the setting that the forecast has found, in as many runs as give E ψ to
about a tenth. Beside what a clock shows stands the work of this process, which a busy machine does not change.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.forecast.newton import NewtonPrediction
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.planning.newton_cost import menu_rule
from copriv.planning.outline import outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose as choose_candidate
from copriv.planning.training_spec import TrainingSpec
from copriv.rules.averaged import AveragedRule
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.simulation.quadratic import Noise, simulate

OWNERS, FEATURES, HORIZON, PUBLIC = 100, 10, 1000, 10_000
RECORDS, EPSILON, RUNS, ROUNDS = 10_000, 100.0, 100, 15
REGULARIZATION, LIMIT = 1e-5, 5.0
FEW_ROUNDS = 3
RULES, BEST = ("newton", "averaged", "paper"), "best of all"


def make_public() -> Sample:
    """Rows of ten features within the unit ball."""
    stream = seeded(0, "public rows")
    rows = stream.normal(size=(PUBLIC, FEATURES)) / 4 * np.geomspace(1, 0.3, FEATURES)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    targets = rows @ np.linspace(-0.6, 0.7, FEATURES) + 0.1 * stream.normal(size=PUBLIC)
    return Sample.of_rows(rows, np.clip(targets, -1, 1))


def equal(epsilon: float) -> Scenario:
    """A hundred owners of one size and one promise."""
    return Scenario((RECORDS,) * OWNERS, round(epsilon, 6))


def different(epsilon: float) -> Scenario:
    """A hundred owners of a hundred sizes and promises."""
    stream = seeded(0, "owners")
    sizes = stream.integers(RECORDS // 2, 2 * RECORDS, size=OWNERS)
    factors = stream.uniform(0.5, 2, size=OWNERS)
    return Scenario(sizes.tolist(), [round(epsilon * factor, 6) for factor in factors.tolist()])


def foretell(evidence: PublicEvidence, scenario: Scenario, rule: str) -> Candidate:
    """What the planner takes, or says of one rule."""
    spec = TrainingSpec(guarantees=(), rule=rule, regularization=REGULARIZATION, limit=LIMIT, horizon=HORIZON)
    return choose_candidate(outline_of(scenario, evidence, spec))


def train(evidence: PublicEvidence, candidate: Candidate) -> None:
    """The same by simulation: many runs of the rule at the setting of the forecast."""
    sample, objective, setting = evidence.sample, evidence.objective, candidate.setting
    if candidate.rule == "newton":
        _train_newton(evidence, candidate)
        return
    noise = Noise("laplace", np.asarray(setting.noise_std), np.asarray(setting.answers))
    parts, kinds = [SufficientStatistics.of(sample)], np.zeros(OWNERS, dtype=np.int64)
    if candidate.rule == "paper":
        simulate(setting.paper(), parts, noise, horizon=candidate.horizon, runs=RUNS, seed=0, statistic_of=kinds)
        return
    steps = AveragedRule(
        FEATURES, setting.records, setting.terms.step, candidate.horizon, REGULARIZATION, objective.limit
    )
    simulate_averaged(steps, [replace(parts[0], records=n) for n in setting.records], noise, runs=RUNS, seed=0)


def _train_newton(evidence: PublicEvidence, candidate: Candidate) -> None:
    """Every owner is played by the public rows; its noise is that of the first owner."""
    sample, objective = evidence.sample, evidence.objective
    protection = promised(candidate.setting.guarantees[0], FEATURES)
    scene = Scene.of(objective, [sample] * OWNERS, sample)
    rule = menu_rule(scene, protection, evidence.start, NewtonPrediction(candidate.clip, candidate.answers, 0.0))
    simulate_rule(rule, scene, protection, clip=candidate.clip, answers=candidate.answers, runs=4, seed=0)


def spent(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median milliseconds by the clock and of this process's own work, after two rounds to warm up."""
    times = []
    for _ in range(rounds + 2):
        started, before = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - started, time.process_time() - before))
    by_clock, of_work = (1000 * statistics.median(column) for column in zip(*times[2:], strict=True))
    return by_clock, of_work


def measure(evidence: PublicEvidence, name: str, ask: Callable[[float], Scenario], rule: str) -> list[object]:
    """One row: a rule, or the best of all, for equal or different owners."""
    turns = count()

    def forecast() -> Candidate:
        return foretell(evidence, ask(EPSILON * (1 + 0.01 * next(turns))), "auto" if rule == BEST else rule)

    found = forecast()
    by_clock, of_work = spent(forecast, ROUNDS if rule in (BEST, "newton") else FEW_ROUNDS)
    if rule == BEST:
        return [name, rule, by_clock, of_work, "–", "–"]
    _, simulated = spent(lambda: train(evidence, found), 3)
    return [name, rule, by_clock, of_work, simulated, simulated / of_work]


def main() -> None:
    """Print the table."""
    public, objective = make_public(), Objective(choose("squared"), REGULARIZATION, LIMIT)
    evidence = PublicEvidence(public, objective, minimise_freely(objective.loss, REGULARIZATION, public))
    tell(
        "slider",
        f"one complete forecast for N = {OWNERS}, p = {FEATURES}, T = {HORIZON:,} (averaged: 30 answers each) after "
        f"warm-up against {RUNS} simulated runs (newton: 4) of one setting on {PUBLIC:,} public rows",
        ["owners", "rule", "forecast, ms", "its work, ms", "simulation's work, ms", "times less"],
        [
            measure(evidence, name, ask, rule)
            for name, ask in (("equal", equal), ("all different", different))
            for rule in (*RULES, BEST)
        ],
        width=110,
    )
