"""Mixing: λ as printed is 1 for every W_k when N ≥ 2; the second eigenvalue of E[W_k] is 1 − 1/(2N)."""
# ruff: noqa: INP001, T201

import numpy as np

from copriv.vectors import FloatArray


def exchange(owner: int, owners: int) -> FloatArray:
    """W_k: the learner (last) and one owner replace their models by the mean."""
    difference = np.zeros(owners + 1)
    difference[owner], difference[owners] = 1.0, -1.0
    return np.eye(owners + 1) - np.outer(difference, difference) / 2


def printed_mean(owners: int) -> FloatArray:
    """The paper's matrix for E[W_k], with its sign at (N, N + 1)."""
    mean = np.mean([exchange(i, owners) for i in range(owners)], axis=0)
    mean[owners - 1, owners] *= -1
    return np.asarray(mean)


def examine(owners: int) -> dict[str, float]:
    """Eigenvalues, norms and defects for one N."""
    steps = [exchange(i, owners) for i in range(owners)]
    level, mean, printed = np.full_like(steps[0], 1 / (owners + 1)), np.mean(steps, axis=0), printed_mean(owners)
    return {
        "second": float(np.linalg.eigvalsh(mean)[-2]),
        "closed": 1 - 1 / (2 * owners),
        "contraction": float(np.linalg.norm(np.mean([w.T @ w for w in steps], axis=0) - level, ord=2)),
        "projection_error": max(float(np.abs(w @ w - w).max()) for w in steps),
        "as_printed": min(float(np.linalg.norm(w - level @ w, ord=2) ** 2) for w in steps),
        "row_sum": float(printed.sum(axis=1).min()),
        "asymmetry": float(np.abs(printed - printed.T).max()),
        "mean_asymmetry": float(np.abs(mean - mean.T).max()),
        "mean_row_error": float(np.abs(mean.sum(axis=1) - 1).max()),
    }


def demonstrate(owners: tuple[int, ...] = (2, 3, 10, 100)) -> dict[int, dict[str, float]]:
    """What `examine` finds for each N."""
    return {n: examine(n) for n in owners}


def main() -> None:
    """Print the table."""
    print(
        f"{'N':>4} {'λ₂(E[W])':>9} {'1 - 1/2N':>9} {'|WW - W|':>9} {'λ printed':>10} {'row sum':>8} {'asymmetry':>10}"
    )
    for n, found in demonstrate().items():
        row = [found[name] for name in ("second", "closed", "projection_error", "as_printed", "row_sum", "asymmetry")]
        print(f"{n:4} " + "{:9.6f} {:9.6f} {:9.1e} {:10.6f} {:8.4f} {:10.4f}".format(*row))
    print(
        "The closed form is exact; λ as printed is 1, which makes the bound infinite, and W̄ as printed is no average."
    )


if __name__ == "__main__":
    main()
