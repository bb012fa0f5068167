"""Theorem 2: in the proof c₂ multiplies the square root and c₁ the rest, and the root carries 1/T."""
# ruff: noqa: INP001, T201

import math

from copriv.privacy.laplace import Laplace

OWNERS, RECORDS, EPSILON, RHO, SIGMA = 3, 750_000, 10.0, 3.0, 2e-5
BOUND, BOUND_G, MIXING = 1.0, 1e-4, 1 - 1 / (2 * OWNERS)
WHOLE = BOUND + BOUND_G


def deviation(horizon: int) -> float:
    """ν_i of the proof: 2√2 Ξ T/(nε)."""
    return 2 * math.sqrt(2) * BOUND * horizon / (RECORDS * EPSILON)


def ingredients(horizon: int) -> tuple[float, float]:
    """ε/(1 − q) and 2α_max C ε_net/(1 − q), from eqs. (12) to (14) with η = 1/(2N), before anything is simplified."""
    eta, learner = 1 / (2 * OWNERS), RHO / horizon**2 / SIGMA
    owner = OWNERS * learner
    spread = learner**2 + owner**2 * (1 + deviation(horizon) / WHOLE) ** 2
    network = WHOLE * math.sqrt(OWNERS + 1) / (1 - math.sqrt(MIXING)) * math.sqrt(spread)
    fade = 2 / OWNERS * min(learner * (1 - eta * OWNERS) * SIGMA, owner * eta * SIGMA)
    return WHOLE**2 * spread / fade, 2 * owner * WHOLE * network / fade


def demonstrate(horizons: tuple[int, ...] = (100, 1000, 10_000, 10**9)) -> dict:
    """c₁, c₂, what ν leaves out, and for each T the two terms over ρB and ρ√B, and three readings of the bound."""
    first = OWNERS * WHOLE**2 / SIGMA**2
    second = 2 * OWNERS**2 * WHOLE**2 * math.sqrt(OWNERS + 1) / (SIGMA**2 * (1 - math.sqrt(MIXING)))
    rows = {}
    for t in horizons:
        rest, root = ingredients(t)
        inside = 1 / t**2 + OWNERS**2 * (1 / t + deviation(t) / WHOLE / t) ** 2
        relabelled = RHO * (second * math.sqrt(inside) + first * inside)
        printed = RHO * (first * math.sqrt(inside) + second * inside)
        rows[t] = (rest / (RHO * inside), root / (RHO * math.sqrt(inside)), rest + root, relabelled, printed)
    share = RECORDS / OWNERS
    length = math.sqrt(10) * Laplace(2 * BOUND * 1000 / (share * EPSILON)).noise_std * share / RECORDS
    return {"first": first, "second": second, "noise": length / deviation(1000), "rows": rows}


def main() -> None:
    """Print the table."""
    found = demonstrate()
    print(f"c1 = {found['first']:.3e}, c2 = {found['second']:.3e}; bounds on E|θ_L - θ*|², ρ = 3, N = 3")
    print(f"{'T':>13} {'rest/ρB':>10} {'root/ρ√B':>10} {'proof':>10} {'c2√B + c1B':>11} {'c1√B + c2B':>11}")
    for horizon, values in found["rows"].items():
        print(f"{horizon:13,} " + "{:10.3e} {:10.3e} {:10.3e} {:11.3e} {:11.3e}".format(*values))
    print(f"length of the noise over the proof's ν, p = 10: {found['noise']:.3f}")
    print("The root's multiplier is c2/T: the printed form exchanges the constants and forgets the 1/T.")


if __name__ == "__main__":
    main()
