"""How much of what owners differ by can be seen beside their noise, and what follows if it is little.

Owners of n records differ by sampling, if by nothing else. Where noise hides even that, an owner stands for the others
as well as for itself. Then nobody needs to be asked at two places: owners are asked in batches, each where the batches
before have led. No budget is split. Of a handful of owners nobody knows whether they are
alike, so they are not asked in batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copriv.vectors import FloatArray

BATCHES, _FEWEST = 5, 10
# Noise hides how samples differ if less than this can be seen of it.
_HALF = 0.5


def visible_share(records: Sequence[int], own: FloatArray, noise: FloatArray) -> float:
    """The share of owners' differences in the variance of their answers, averaged over directions and by records.

    Args:
        records: n_i of each owner.
        own: variance by which owners differ, in each direction.
        noise: variance of each owner's noise (rows) in each direction.

    >>> visible_share([100, 300], np.array([1.0, 3.0]), np.array([[1.0, 1.0], [3.0, 3.0]]))
    0.4375
    """
    sizes = np.asarray(records, dtype=np.float64)
    return float(sizes / sizes.sum() @ np.mean(own / (own + noise), axis=1))


def asks_in_batches(owners: int, visible: float) -> bool:
    """Whether owners are asked in batches: enough of them, of whose differences little can be seen.

    >>> asks_in_batches(10, 0.3), asks_in_batches(9, 0.3), asks_in_batches(10, 0.6)
    (True, False, False)
    """
    return owners >= _FEWEST and visible < _HALF
