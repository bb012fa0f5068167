"""Simulation from sufficient statistics against one pass over the records an iteration; and how it scales."""

import resource
import time

import numpy as np

from benchmarks.side_by_side import take_turns, tell
from copriv.losses.sample import Sample
from copriv.rules.paper import PaperRule
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.vectors import FloatArray

PARAMETERS, RUNS, HORIZON = 10, 100, 1000
SLICE = 20


def make_sample(records: int, seed: int) -> Sample:
    """Records of one population."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, PARAMETERS)) / 4
    return Sample.of_rows(rows, np.clip(rows @ np.linspace(-1, 1, PARAMETERS), -1, 1))


def straightforward(samples: list[tuple[FloatArray, FloatArray]], iterations: int) -> FloatArray:
    """Algorithm 1 as one would write it: a pass over the owner's records in NumPy for every answer."""
    generator = np.random.default_rng(0)
    copies, central = np.zeros((len(samples), PARAMETERS)), np.zeros(PARAMETERS)
    for _ in range(iterations):
        owner = generator.integers(len(samples))
        rows, targets = samples[owner]
        middle = (central + copies[owner]) / 2
        answer = 2 * rows.T @ (rows @ middle - targets) / targets.size + generator.laplace(size=PARAMETERS)
        copies[owner] = np.clip(middle - 0.3 * (1e-5 * middle / 3 + answer / 3), -5, 5)
        central = np.clip(middle - 1e-6 * middle, -5, 5)
    return central


def equal_rule(owners: int, records: int) -> PaperRule:
    """Owners of one size and rate."""
    return PaperRule(PARAMETERS, (records,) * owners, (1 / owners,) * owners, 0.3, 1e-5, 5.0)


def laplace(owners: int, cap: int) -> Noise:
    """The same noise for every owner."""
    return Noise("laplace", np.full(owners, 0.05), np.full(owners, cap, dtype=np.int64))


def compare_speed() -> list[list[object]]:
    """The paper's Fig. a0 for one ε: 100 runs of 1,000 iterations, three owners of 250,000 records."""
    samples = [make_sample(250_000, seed) for seed in range(3)]
    plain = [(np.ascontiguousarray(sample.columns.T), sample.targets) for sample in samples]
    statistics = [SufficientStatistics.of(sample) for sample in samples]
    rule, noise = equal_rule(3, 250_000), laplace(3, HORIZON)
    times = take_turns(
        {
            "numpy": lambda: straightforward(plain, SLICE),
            "copriv": lambda: simulate(rule, statistics, noise, horizon=HORIZON, runs=RUNS, seed=0),
        },
        7,
    )
    whole = times["numpy"] / SLICE * RUNS * HORIZON
    return [
        [f"NumPy, a pass an iteration ({SLICE} iterations timed, scaled)", whole, 1.0],
        ["copriv, statistics, all k recorded", times["copriv"], whole / times["copriv"]],
    ]


def time_iterations(owners: int, records: int) -> float:
    """Nanoseconds an iteration, without what is set up once: the slope between two horizons."""
    statistics = [SufficientStatistics.of(make_sample(records, 0))]
    rule, noise = equal_rule(owners, records), laplace(owners, 10**9)
    kinds = np.zeros(owners, dtype=np.int64)

    def run(horizon: int) -> None:
        simulate(rule, statistics, noise, horizon=horizon, runs=2, seed=0, statistic_of=kinds)

    short, long = 100_000, 600_000
    times = take_turns({"short": lambda: run(short), "long": lambda: run(long)}, 3)
    return (times["long"] - times["short"]) / (long - short) * 1e9


def million_owners() -> list[object]:
    """One million owners, ten answers each on average."""
    owners, answers = 1_000_000, 10
    statistics, rule = [SufficientStatistics.of(make_sample(1000, 0))], equal_rule(owners, 1000)
    started = time.perf_counter()
    paths = simulate(
        rule,
        statistics,
        laplace(owners, 10**9),
        horizon=owners * answers,
        runs=1,
        seed=0,
        statistic_of=np.zeros(owners, dtype=np.int64),
    )
    seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [f"{owners:,} owners, {int(paths.answers.sum()):,} answers", seconds, memory]


def main() -> None:
    """Print the tables."""
    tell(
        "simulation",
        f"{RUNS} runs × {HORIZON:,} iterations, 3 owners of 250,000 × {PARAMETERS} records, squared loss, Laplace",
        ["program", "seconds", "times faster"],
        compare_speed(),
    )
    rows = [[f"{n:,} owners of 1,000 records", time_iterations(n, 1000)] for n in (3, 100, 10_000, 1_000_000)]
    rows += [[f"3 owners of {n:,} records", time_iterations(3, n)] for n in (1000, 10_000, 100_000, 1_000_000)]
    tell(
        "simulation-scale",
        "time of one iteration of two parallel runs: it depends on neither the number of records nor, but for cache "
        "misses on the copies of a million owners, the number of owners",
        ["consortium", "ns an iteration"],
        rows,
    )
    tell(
        "simulation-million",
        "one run in one process; memory is the process's peak",
        ["consortium", "seconds", "GiB"],
        [million_owners()],
    )
