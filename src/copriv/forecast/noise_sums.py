"""Draws of the noise in sums of owners' answers, by its known law, to see what it can do to a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from copriv.privacy.gaussian import Gaussian
from copriv.privacy.mechanism import Mechanism
from copriv.vectors import FloatArray


def draw_noise(mechanisms: Sequence[Mechanism], numbers: int, draws: int, generator: np.random.Generator) -> FloatArray:
    """Noise on each of so many numbers, added up over the owners, drawn so often (draws × numbers).

    A sum of k Laplace(b) is b times the difference of two Gamma(k); a sum of Gaussians is Gaussian.
    """
    total = np.zeros((draws, numbers))
    for mechanism, owners in Counter(mechanisms).items():
        if isinstance(mechanism, Gaussian):
            total += generator.normal(scale=mechanism.scale * np.sqrt(owners), size=total.shape)
        else:
            up, down = generator.standard_gamma(owners, total.shape), generator.standard_gamma(owners, total.shape)
            total += mechanism.scale * (up - down)
    return total
