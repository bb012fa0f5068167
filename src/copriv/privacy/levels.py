"""One answer at several levels of noise, each finer one worth what it costs alone (gradual release).

Laplace noise of a larger scale is Laplace noise of a smaller one plus an independent increment. So whoever draws the
finest answer first, and adds increments, may tell the coarse answer today and the fine one tomorrow: the coarse one is
made from the fine one and from chance, and both together cost what the fine one costs. The increment from scale b to
a larger scale c is 0 with probability (b/c)², else Laplace(c): its characteristic function is that of Laplace(c) over
that of Laplace(b),

    (1 + b²t²)/(1 + c²t²) = (b/c)² + (1 − (b/c)²)/(1 + c²t²).

Koufogiannis, Han, Pappas: Gradual release of sensitive data under differential privacy, JPC 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from copriv.errors import BadInput
from copriv.vectors import FloatArray


def simulate_levels(exact: FloatArray, scales: Sequence[float], generator: np.random.Generator) -> FloatArray:
    """The exact numbers with Laplace noise of every scale, from a seeded stream: never for records.

    Args:
        exact: any array of numbers.
        scales: the finest first, each larger than the one before.
        generator: of the simulation.

    Returns:
        One more axis in front: entry i has noise of `scales[i]`, and is entry i − 1 plus an independent increment.

    >>> from copriv.entropy import seeded
    >>> told = simulate_levels(np.zeros(3), [1.0, 2.0], seeded(1, "levels"))
    >>> told.shape
    (2, 3)
    """
    if not scales or scales[0] <= 0 or any(coarse <= fine for fine, coarse in pairwise(scales)):
        raise BadInput(
            f"levels of noise at the scales {list(scales)}",
            remedy="give numbers above 0, the smallest first",
            value=tuple(scales),
        )
    told = [exact + generator.laplace(scale=scales[0], size=exact.shape)]
    for fine, coarse in pairwise(scales):
        told.append(told[-1] + simulate_increment(fine, coarse, exact.shape, generator))
    return np.stack(told)


def simulate_increment(
    fine: float | FloatArray, coarse: float | FloatArray, shape: tuple[int, ...], generator: np.random.Generator
) -> FloatArray:
    """What makes Laplace noise of a fine scale noise of a coarse one, from a seeded stream.

    Scales may be arrays that broadcast to the shape; equal scales need no increment.
    """
    stays = generator.random(shape) < np.square(np.divide(fine, coarse))
    return np.where(stays, 0.0, generator.laplace(scale=coarse, size=shape))
