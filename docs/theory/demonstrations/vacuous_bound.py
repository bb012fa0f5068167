"""Vacuous bound: with σ = 2e-5 the bound of the proof is far above what the box alone implies."""
# ruff: noqa: INP001, T201

import math

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.squared import SquaredLoss
from copriv.rules.paper import PaperRule, step_from_rho
from copriv.simulation.quadratic import Noise, SufficientStatistics, simulate
from copriv.vectors import Norm

OWNERS, SHARE, EPSILON, HORIZON, PARAMETERS = 3, 250_000, 10.0, 1000, 10
OBJECTIVE = Objective(SquaredLoss(), regularization=1e-5, limit=1.0)
BOUND = OBJECTIVE.gradient_bound(row_norm=1.0, target=1.0, parameters=PARAMETERS, norm=Norm.L2)
# Every owner alike: x of any direction with E‖x‖² = 1/3, y = 0.3·Σx and an error of deviation 0.1.
PART = SufficientStatistics(np.eye(PARAMETERS) / 15, np.full(PARAMETERS, 0.02), 0.04, SHARE)


def proof_bound(rho: float, bound: float = BOUND) -> float:
    """The last display of the proof: c₁αS + c₂α√S with α = ρ/T² and λ = 1 − 1/(2N)."""
    sigma, whole = 2e-5, bound + 2e-5 * OBJECTIVE.limit * math.sqrt(PARAMETERS)
    spread = 1 + OWNERS**2 * (1 + 8**0.5 * bound * HORIZON / (OWNERS * SHARE * EPSILON) / whole) ** 2
    first = OWNERS * (whole / sigma) ** 2
    second = 2 * OWNERS * first * math.sqrt(OWNERS + 1) / (1 - math.sqrt(1 - 1 / (2 * OWNERS)))
    return rho / HORIZON**2 * (first * spread + second * math.sqrt(spread))


def trained(rho: float) -> tuple[float, float, float]:
    """E|θ_L − θ*|², E ψ with the printed noise, and ψ(0), for three such owners."""
    step = step_from_rho(rho, horizon=HORIZON, strong_convexity=OBJECTIVE.strong_convexity)
    rule = PaperRule(PARAMETERS, (SHARE,) * OWNERS, (1 / OWNERS,) * OWNERS, step, 1e-5, OBJECTIVE.limit)
    noise = Noise("laplace", np.full(OWNERS, 8**0.5 * BOUND * HORIZON / (SHARE * EPSILON)), np.full(OWNERS, HORIZON))
    paths = simulate(rule, [PART] * OWNERS, noise, horizon=HORIZON, runs=50, seed=1)
    best = PART.minimiser(1e-5)
    away, start = np.sum((paths.models - best) ** 2, axis=1), PART.power / PART.fitness(best, 1e-5) - 1
    return float(away.mean()), float(paths.psi[:, -1].mean()), start


def demonstrate() -> dict:
    """The squared diameter of the box, the bound at ρ = 3 if Ξ were 0.01, and bound and simulation for each ρ."""
    box, useful = 4.0 * PARAMETERS, 3 * 4.0 * PARAMETERS / proof_bound(3)
    rows = [(rho, proof_bound(rho), *trained(rho)) for rho in (useful / 100, useful, 0.3, 3.0)]
    return {"box": box, "short": proof_bound(3.0, bound=0.01), "rows": rows}


def main() -> None:
    """Print the table."""
    found = demonstrate()
    print(f"Ξ = {BOUND:.2f}; always |θ - θ*|² ≤ {found['box']:g}; bound at ρ = 3 if Ξ were 0.01: {found['short']:.0f}")
    print(f"{'ρ':>8} {'bound':>9} {'|θ - θ*|²':>10} {'ψ':>7} {'ψ(0)':>7}")
    for row in found["rows"]:
        print("{:8.1e} {:9.2e} {:10.4f} {:7.4f} {:7.4f}".format(*row))
    print("Where the rule learns, the bound says less than the box; made small by a small ρ, it is not even true.")


if __name__ == "__main__":
    main()
