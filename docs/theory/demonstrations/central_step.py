"""The central step: the printed (N − 1)/N gives the regularizer the weight 3/2 − 1/N, the proof's 1/2 the weight 1."""
# ruff: noqa: INP001, T201

import numpy as np

from copriv.entropy import seeded
from copriv.losses.objective import relative_fitness
from copriv.losses.sample import Sample
from copriv.rules.paper import CentralStep, PaperRule
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate

REGULARIZATION, PARAMETERS, HORIZON, STEP = 0.05, 5, 60_000, 0.02


def statistics() -> SufficientStatistics:
    """Records with ‖x‖ ≤ 1 and |y| ≤ 1 that every owner has alike."""
    stream = seeded(1, "records")
    rows = stream.normal(size=(5000, PARAMETERS))
    rows *= stream.uniform(size=(5000, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    targets = np.clip(rows @ np.full(PARAMETERS, 0.5) + 0.1 * stream.normal(size=5000), -1, 1)
    return SufficientStatistics.of(Sample.of_rows(rows, targets))


def weight(owners: int, central: CentralStep, part: SufficientStatistics) -> float:
    """The w for which the trained model minimises w·g + loss: there 2λwθ = c − Hθ."""
    sizes, kinds = (part.records,) * owners, np.zeros(owners, dtype=np.int64)
    rule = PaperRule(PARAMETERS, sizes, (1 / owners,) * owners, STEP, REGULARIZATION, 10.0, central)
    noise = Noise.none(owners, HORIZON)
    theta = simulate(rule, [part], noise, horizon=HORIZON, runs=1, seed=1, statistic_of=kinds).models[0]
    return float(theta @ (part.offset - part.curvature @ theta) / (2 * REGULARIZATION * theta @ theta))


def demonstrate(owners: tuple[int, ...] = (1, 2, 3, 10, 30)) -> dict[int, tuple[float, float, float, float, float]]:
    """For each N: 3/2 − 1/N, the weight found with the printed and the proof's step, and ψ of w·g at λ and at 1e-5."""
    part, found = statistics(), {}
    for n in owners:
        due = 0.5 + CentralStep.PRINTED.factor(n)
        costs = [
            relative_fitness(part.fitness(part.minimiser(due * lam), lam), part.fitness(part.minimiser(lam), lam))
            for lam in (REGULARIZATION, 1e-5)
        ]
        found[n] = (due, weight(n, CentralStep.PRINTED, part), weight(n, CentralStep.PROOF, part), *costs)
    return found


def main() -> None:
    """Print the table."""
    print(f"weight of g at the end of training without noise, λ = {REGULARIZATION}, T = {HORIZON:,}")
    print(f"{'N':>3} {'3/2 - 1/N':>10} {'printed':>8} {'proof':>8} {'ψ printed':>10} {'at λ = 1e-5':>12}")
    for n, (due, printed, proof, cost, small) in demonstrate().items():
        print(f"{n:3} {due:10.4f} {printed:8.4f} {proof:8.4f} {cost:10.1e} {max(small, 0.0):12.1e}")
    print("The printed step solves another problem unless N = 2; with the paper's tiny λ the harm is small.")


if __name__ == "__main__":
    main()
