"""An owner's hot path: the clipped average gradient of 250,000 records, against the obvious NumPy expression."""

import numpy as np
from numba import njit, prange

from benchmarks.side_by_side import take_turns, tell
from copriv.losses.choose import choose
from copriv.losses.passes import clipped_average_gradient
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm

RECORDS, PARAMETERS, CLIP, ROUNDS = 250_000, 10, 0.5, 20
STREAM = 50_000_000


def obvious(rows: FloatArray, targets: FloatArray, theta: FloatArray, norm: Norm) -> FloatArray:
    """Every record's gradient, its length, the clipped mean: three lines and several records × parameters arrays."""
    gradients = 2 * (rows @ theta - targets)[:, None] * rows
    lengths = np.linalg.norm(gradients, ord=norm.value, axis=1)
    return (gradients * np.minimum(1, CLIP / lengths)[:, None]).mean(axis=0)


@njit(parallel=True, fastmath=True)
def stream(values: FloatArray) -> float:  # pragma: no cover - compiled
    """Read an array once with all cores: what the memory can do."""
    total = 0.0
    for i in prange(values.size):
        total += values[i]
    return total


def main() -> None:
    """Print the table."""
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(RECORDS, PARAMETERS)) / 4
    targets, theta = generator.normal(size=RECORDS), generator.normal(size=PARAMETERS)
    sample, squared, ones = Sample.of_rows(rows, targets), choose("squared"), np.ones(STREAM)
    table = []
    for norm in Norm:
        times = take_turns(
            {
                "numpy": lambda norm=norm: obvious(rows, targets, theta, norm),
                "copriv": lambda norm=norm: clipped_average_gradient(squared, sample, theta, CLIP, norm),
                "memory": lambda: stream(ones),
            },
            ROUNDS,
        )
        ours = clipped_average_gradient(squared, sample, theta, CLIP, norm)
        difference = float(np.max(np.abs(ours - obvious(rows, targets, theta, norm))))
        bandwidth = STREAM * 8 / times["memory"]
        read = (sample.columns.nbytes + sample.targets.nbytes) / times["copriv"]
        table.append(
            [
                norm.name,
                times["numpy"] * 1e3,
                times["copriv"] * 1e3,
                times["numpy"] / times["copriv"],
                difference,
                bandwidth / 1e9,
                f"{read / bandwidth:.0%}",
            ]
        )
    tell(
        "gradient",
        f"clipped average gradient of the squared loss, {RECORDS:,} × {PARAMETERS} records, medians of {ROUNDS} rounds "
        "taken in turns; share = bytes of records read per second over the measured streaming bandwidth of all cores "
        "(above 100 % when records stay in the cache)",
        ["norm", "numpy ms", "copriv ms", "times faster", "largest difference", "memory GB/s", "share of bandwidth"],
        table,
    )
