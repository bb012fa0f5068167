"""Wasted budget: an owner that is met T/N times and spends ε/T on each answer uses about 1/N of its budget."""
# ruff: noqa: INP001, T201

import numpy as np

from copriv.privacy.calibration import Calibration, calibrate
from copriv.privacy.guarantee import Guarantee
from copriv.privacy.sensitivity import of_average_gradient
from copriv.rules.paper import PaperRule
from copriv.schedule.poisson import likely_answers
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.vectors import Norm

SHARE, HORIZON, PARAMETERS, CLIP, STEPS = 10_000, 1000, 10, 2.0, (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Every owner alike: x of any direction with E‖x‖² = 1/3, y = 0.3·Σx and an error of deviation 0.1.
PART = SufficientStatistics(np.eye(PARAMETERS) / 15, np.full(PARAMETERS, 0.02), 0.04, SHARE)


def promise(answers: int) -> Calibration:
    """Laplace noise for this many answers under the one guarantee."""
    moved = of_average_gradient(clip=CLIP, records=SHARE, parameters=PARAMETERS, norm=Norm.L1)
    return calibrate(Guarantee.of(10), answers=answers, sensitivity=moved, parameters=PARAMETERS)


def run(owners: int, kept: Calibration) -> tuple[float, float]:
    """The ε that an owner has spent on average at the end, and E ψ, at the best step of the grid."""
    noise = Noise("laplace", np.full(owners, kept.mechanism.noise_std), np.full(owners, kept.answers))
    kinds, found = np.zeros(owners, dtype=np.int64), []
    for step in STEPS:
        rule = PaperRule(PARAMETERS, (SHARE,) * owners, (1 / owners,) * owners, step, 1e-5, 1.0)
        paths = simulate(rule, [PART], noise, horizon=HORIZON, runs=20, seed=1, statistic_of=kinds)
        found.append((float(paths.answers.mean()) * kept.epsilon_after(1), float(paths.psi[:, -1].mean())))
    return min(found, key=lambda pair: pair[1])


def demonstrate(owners: tuple[int, ...] = (3, 10, 100)) -> dict[int, dict[str, tuple[float, ...]]]:
    """For each N and each of ε/T and ε/K: answers, noise deviation, ε spent on average, ψ."""
    found = {}
    for n in owners:
        kept = {"T": promise(HORIZON), "K": promise(likely_answers(1 / n, HORIZON))}
        found[n] = {k: (c.answers, c.mechanism.noise_std, *run(n, c)) for k, c in kept.items()}
    return found


def main() -> None:
    """Print the table."""
    print(f"ε = 10, T = {HORIZON:,}, {SHARE:,} records each; ψ at the best step")
    print(f"{'N':>4} {'share':>6} {'answers':>8} {'deviation':>10} {'ε spent':>8} {'ψ':>10}")
    for n, ways in demonstrate().items():
        for name, row in ways.items():
            print(f"{n:4} {'ε/' + name:>6} " + "{:8} {:10.4f} {:8.4f} {:10.4f}".format(*row))
    print("The same promise with a cap on answers needs T/K times less noise: N, less a margin for chance.")


if __name__ == "__main__":
    main()
