"""Large T: with ρ fixed, T steps of ρ/(T²σ) add up to ρ/(Tσ), so a longer horizon leaves the model nearer to 0."""
# ruff: noqa: INP001, T201

import numpy as np

from copriv.entropy import seeded
from copriv.losses.sample import Sample
from copriv.rules.paper import PaperRule, step_from_rho
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate

OWNERS, PARAMETERS, REGULARIZATION, RHO = 3, 10, 1e-5, 3.0


def statistics() -> list[SufficientStatistics]:
    """Three owners of records with ‖x‖ ≤ 1 and |y| ≤ 1."""
    stream, found = seeded(1, "records"), []
    for _ in range(OWNERS):
        rows = stream.normal(size=(5000, PARAMETERS))
        rows *= stream.uniform(size=(5000, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        targets = np.clip(rows @ np.full(PARAMETERS, 0.3) + 0.1 * stream.normal(size=5000), -1, 1)
        found.append(SufficientStatistics.of(Sample.of_rows(rows, targets)))
    return found


def end(parts: list[SufficientStatistics], rho: float, horizon: int) -> float:
    """ψ after T meetings without noise, averaged over five schedules."""
    step = step_from_rho(rho, horizon=horizon, strong_convexity=2 * REGULARIZATION)
    rule = PaperRule(PARAMETERS, (5000,) * OWNERS, (1 / OWNERS,) * OWNERS, step, REGULARIZATION, 10.0)
    return float(simulate(rule, parts, Noise.none(OWNERS, horizon), horizon=horizon, runs=5, seed=1).psi[:, -1].mean())


def demonstrate(horizons: tuple[int, ...] = (100, 1000, 10_000, 100_000)) -> dict:
    """ψ(0), and for each T: the transient factor of the proof, ψ with ρ = 3 and ψ with ρ = 0.03·T."""
    parts = statistics()
    joint = SufficientStatistics.joint(parts)
    start = joint.power / joint.fitness(joint.minimiser(REGULARIZATION), REGULARIZATION) - 1
    rows = {
        t: ((1 - RHO / t**2 / OWNERS) ** t, end(parts, RHO, t), end(parts, RHO * t / horizons[0], t)) for t in horizons
    }
    return {"start": start, "rows": rows}


def main() -> None:
    """Print the table."""
    found = demonstrate()
    print(f"no noise, N = {OWNERS}, σ = {2 * REGULARIZATION:g}; ψ(0) = {found['start']:.3f}")
    print(f"{'T':>8} {'(1 - α/N)^T':>12} {'ψ, ρ = 3':>10} {'ψ, ρ = 0.03 T':>14}")
    for horizon, (transient, fixed, growing) in found["rows"].items():
        print(f"{horizon:8,} {transient:12.6f} {fixed:10.6f} {growing:14.6f}")
    print("With ρ fixed a longer horizon ends nearer to the untrained model; with ρ growing like T it does not.")


if __name__ == "__main__":
    main()
