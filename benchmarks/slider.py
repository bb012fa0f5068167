"""Fast enough to drag a slider: what one forecast takes after warm-up, against simulating the same on the public rows.

A forecast is complete: the best step (of averaged steps also the best horizon, of public Newton the best clip), E ψ,
its deviation, the doubt that public rows leave, and what would bind. ε moves a little from one forecast to the next, as
it does under a slider, so that nothing is merely remembered. The simulation kernel does the same training, at the
setting that the forecast has found, in as many runs as give E ψ to about a tenth. Beside what a clock shows stands the
work of this process, which a busy machine does not change; the two are compared by it.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from benchmarks.side_by_side import tell
from copriv.entropy import seeded
from copriv.forecast.forecast import Forecast
from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.quadratic import SufficientStatistics
from copriv.losses.sample import Sample
from copriv.planning.forecaster import RULES, Forecaster, Scenario
from copriv.privacy.guarantee import Guarantee
from copriv.rules.averaged import AveragedRule
from copriv.rules.newton import NewtonRule
from copriv.rules.paper import PaperRule
from copriv.simulation.averaged import simulate_averaged
from copriv.simulation.cost import Scene, promised, simulate_rule
from copriv.simulation.quadratic import Noise, simulate

OWNERS, FEATURES, HORIZON, PUBLIC = 100, 10, 1000, 10_000
RECORDS, EPSILON, RUNS, ROUNDS = 10_000, 100.0, 100, 15
REGULARIZATION, LIMIT = 1e-5, 5.0


def make_public() -> Sample:
    """Rows of ten features within the unit ball."""
    stream = seeded(0, "public rows")
    rows = stream.normal(size=(PUBLIC, FEATURES)) / 4 * np.geomspace(1, 0.3, FEATURES)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    targets = rows @ np.linspace(-0.6, 0.7, FEATURES) + 0.1 * stream.normal(size=PUBLIC)
    return Sample.of_rows(rows, np.clip(targets, -1, 1))


def equal(epsilon: float) -> Scenario:
    """A hundred owners of one size and one promise."""
    return Scenario((RECORDS,) * OWNERS, (Guarantee.of(epsilon),) * OWNERS)


def different(epsilon: float) -> Scenario:
    """A hundred owners of a hundred sizes and promises."""
    stream = seeded(0, "owners")
    sizes = stream.integers(RECORDS // 2, 2 * RECORDS, size=OWNERS)
    factors = stream.uniform(0.5, 2, size=OWNERS)
    commitments = [Guarantee.of(round(epsilon * factor, 6)) for factor in factors.tolist()]
    return Scenario(tuple(sizes.tolist()), tuple(commitments))


def train(oracle: Forecaster, question: Scenario, found: Forecast) -> None:
    """The same by simulation: many runs of the rule at the setting of the forecast."""
    sample, objective, p = oracle.view.sample, oracle.objective, FEATURES
    if found.rule == "newton":
        _train_newton(oracle, question, found)
        return
    owners = question.owners(p)
    caps = owners.caps(found.horizon)
    noise = Noise("laplace", found.clip * np.asarray(owners.promised(caps)), np.asarray(caps))
    parts, kinds = [SufficientStatistics.of(sample)], np.zeros(OWNERS, dtype=np.int64)
    if found.rule == "paper":
        rule = PaperRule(p, question.records, owners.gammas, found.step, REGULARIZATION, objective.limit)
        simulate(rule, parts, noise, horizon=found.horizon, runs=RUNS, seed=0, statistic_of=kinds)
        return
    steps = AveragedRule(p, question.records, found.step, found.horizon, REGULARIZATION, objective.limit)
    simulate_averaged(steps, [replace(parts[0], records=n) for n in question.records], noise, runs=RUNS, seed=0)


def _train_newton(oracle: Forecaster, question: Scenario, found: Forecast) -> None:
    """Every owner is played by the public rows; its noise is that of the first owner."""
    sample, objective = oracle.view.sample, oracle.objective
    protection = promised(question.guarantees[0], FEATURES)
    scene = Scene.of(objective, [sample] * OWNERS, sample)
    noise = protection.of(scene.records, found.clip, found.answers)
    rule = NewtonRule.of(
        sample,
        objective,
        records=scene.records,
        deviations=[each.noise_std for each in noise],
        clip=found.clip,
        norm=question.norm,
    )
    simulate_rule(rule, scene, protection, clip=found.clip, answers=found.answers, runs=4, seed=0)


def spent(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median milliseconds by the clock and of this process's own work, after two rounds to warm up."""
    times = []
    for _ in range(rounds + 2):
        started, before = time.perf_counter(), time.process_time()
        work()
        times.append((time.perf_counter() - started, time.process_time() - before))
    by_clock, of_work = (1000 * statistics.median(column) for column in zip(*times[2:], strict=True))
    return by_clock, of_work


def measure(oracle: Forecaster, name: str, ask: Callable[[float], Scenario], rule: str) -> list[object]:
    """One row: a rule, or the best of all, for equal or different owners."""
    turns = count()

    def forecast() -> Forecast:
        question = ask(EPSILON * (1 + 0.01 * next(turns)))
        return oracle.best(question) if rule == "best of all" else oracle.forecast(question, rule)

    found = forecast()
    by_clock, of_work = spent(forecast, ROUNDS)
    if rule == "best of all":
        return [name, rule, by_clock, of_work, "–", "–"]
    _, simulated = spent(lambda: train(oracle, ask(EPSILON), found), 3)
    return [name, rule, by_clock, of_work, simulated, simulated / of_work]


def main() -> None:
    """Print the table."""
    oracle = Forecaster.of(make_public(), Objective(choose("squared"), REGULARIZATION, LIMIT))
    tell(
        "slider",
        f"one complete forecast for N = {OWNERS}, p = {FEATURES}, T = {HORIZON:,} (averaged: the best T) after warm-up "
        f"against {RUNS} simulated runs (newton: 4) of one setting on {PUBLIC:,} public rows",
        ["owners", "rule", "forecast, ms", "its work, ms", "simulation's work, ms", "times less"],
        [
            measure(oracle, name, ask, rule)
            for name, ask in (("equal", equal), ("all different", different))
            for rule in (*RULES, "best of all")
        ],
        width=110,
    )
