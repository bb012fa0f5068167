"""Theorem 2: bounds on E‖θ_L − θ*‖², as printed and as its proof has them, with every constant.

With C = Ξ + Ξ_g, ν_i the length of owner i's noise as it enters (times n_i/n), S = 1 + N Σ (1 + ν_i/C)² and
λ = 1 − 1/(2N), the proof arrives at

    E‖θ_L − θ*‖² ≤ c₁αS + c₂α√S,    c₁ = NC²/σ²,   c₂ = 2N²C²√(N+1)/(σ²(1 − √λ)),   α = ρ/T² = σ·step.

It holds in the limit of many meetings with α fixed: before, what is left of the start has to be added, and it fades
like (1 − α/N)^k. The statement, eq. (8), puts α = ρ/T², exchanges the constants and drops a 1/T. docs/theory/bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from copriv.errors import BadInput


@dataclass(frozen=True, slots=True)
class Setting:
    """What the bounds depend on.

    Args:
        records: n, of all owners together.
        epsilons: ε_i of each owner.
        horizon: T.
        rho: ρ, with the step ρ/(T²σ).
        strong_convexity: σ of the regularizer.
        gradient_bound: Ξ, of any record's loss on the box.
        regularizer_bound: Ξ_g, of the regularizer on the box.
    """

    records: int
    epsilons: tuple[float, ...]
    horizon: int
    rho: float
    strong_convexity: float
    gradient_bound: float
    regularizer_bound: float

    def __post_init__(self) -> None:
        numbers = (self.records, self.horizon, self.rho, self.strong_convexity, self.gradient_bound, *self.epsilons)
        for number in numbers:
            if not (math.isfinite(number) and number > 0):
                raise BadInput(f"a bound for {number}", remedy="give finite numbers above 0", value=number)
        if not self.epsilons:
            raise BadInput("no owners", remedy="give the epsilon of at least one owner", value=0)

    @property
    def owners(self) -> int:
        """N."""
        return len(self.epsilons)

    @property
    def whole_bound(self) -> float:
        """C = Ξ + Ξ_g."""
        return self.gradient_bound + self.regularizer_bound

    @property
    def alpha(self) -> float:
        """α = ρ/T²."""
        return self.rho / self.horizon**2

    @property
    def noise_lengths(self) -> tuple[float, ...]:
        """ν_i = 2√2 ΞT/(nε_i), as the proof takes them from Theorem 1."""
        length = 2 * math.sqrt(2) * self.gradient_bound * self.horizon / self.records
        return tuple(length / epsilon for epsilon in self.epsilons)


def mixing(owners: int) -> float:
    """λ = 1 − 1/(2N), the second eigenvalue of E[W]; 0 for one owner, whose copy is all there is to mix with.

    >>> mixing(3) == 1 - 1 / 6, mixing(1)
    (True, 0.0)
    """
    return 1 - 1 / (2 * owners) if owners > 1 else 0.0


def first_constant(setting: Setting) -> float:
    """c₁ = NC²/σ²: of the term that is linear in S."""
    return setting.owners * setting.whole_bound**2 / setting.strong_convexity**2


def second_constant(setting: Setting) -> float:
    """c₂ = 2N²C²√(N + 1)/(σ²(1 − √λ)): of the root."""
    n = setting.owners
    return 2 * n * first_constant(setting) * math.sqrt(n + 1) / (1 - math.sqrt(mixing(n)))


def proof_bound(setting: Setting, noise_lengths: Sequence[float] | None = None) -> float:
    """α(c₁S + c₂√S), what the proof shows once the start has faded.

    `noise_lengths` are the true √E‖w_i‖²·n_i/n: the proof's own, which stand in for them, are √p too small.
    """
    lengths = setting.noise_lengths if noise_lengths is None else noise_lengths
    if len(lengths) != setting.owners:
        raise BadInput(
            f"{len(lengths)} lengths of noise for {setting.owners} owners",
            remedy="give one an owner",
            value=len(lengths),
        )
    total = 1 + setting.owners * math.fsum((1 + length / setting.whole_bound) ** 2 for length in lengths)
    return setting.alpha * (first_constant(setting) * total + second_constant(setting) * math.sqrt(total))


def what_is_left(setting: Setting, meetings: int) -> float:
    """(1 − α/N)^k, the share of the start that the proof still counts after k meetings."""
    return float(max(1 - setting.alpha / setting.owners, 0.0) ** meetings)


def printed_bound(setting: Setting) -> float:
    """Eq. (8) as printed: ρ(c₁√B + c₂B) with the proof's c₁ and c₂ in the places that the statement gives them."""
    inside = printed_inside(setting)
    return setting.rho * (first_constant(setting) * math.sqrt(inside) + second_constant(setting) * inside)


def printed_inside(setting: Setting) -> float:
    """B = 1/T² + N Σ (1/T + 2√2/(nε_i))²."""
    each = (1 / setting.horizon + 2 * math.sqrt(2) / (setting.records * epsilon) for epsilon in setting.epsilons)
    return 1 / setting.horizon**2 + setting.owners * math.fsum(term**2 for term in each)


def proof_bound_in_print(setting: Setting) -> float:
    """ρ(c₁B + (c₂/T)√B): the statement as its proof would have it. At least the proof's own, as Ξ ≤ C."""
    inside = printed_inside(setting)
    root = second_constant(setting) / setting.horizon * math.sqrt(inside)
    return setting.rho * (first_constant(setting) * inside + root)


def printed_limit(setting: Setting) -> float:
    """Eq. (10): (c̄₁/n)√(Σ 1/ε²) + (c̄₂/n²)Σ 1/ε² with c̄₁ = √(8N)c₁ and c̄₂ = 8Nc₂, for large T and ρ fixed."""
    budgets = math.fsum(1 / epsilon**2 for epsilon in setting.epsilons)
    root = math.sqrt(8 * setting.owners * budgets) / setting.records
    return setting.rho * (first_constant(setting) * root + second_constant(setting) * root**2)


def proof_limit(setting: Setting) -> float:
    """What remains of the proof's statement for large T and ρ fixed: 8Nc₁ρ(1/n²)Σ 1/ε², and no term in 1/n."""
    budgets = math.fsum(1 / epsilon**2 for epsilon in setting.epsilons)
    return setting.rho * first_constant(setting) * 8 * setting.owners * budgets / setting.records**2


def fitness_bound(distance: float, steepest: float) -> float:
    """E f(θ_L) − f(θ*) ≤ ½L E‖θ_L − θ*‖², with L the largest curvature of f and θ* inside the box.

    The paper refers eq. (9) to another proof and gives no constants; for a smooth fitness this is what eq. (8) implies.
    """
    return steepest / 2 * distance
