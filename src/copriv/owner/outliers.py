"""Records that every candidate misses by far count less when candidates are weighed.

A few long stays or late flights can decide which of two models has the smaller squared loss on a hundred records, and
decide otherwise on the next hundred. So the loss of a record that the candidates miss by more than three deviations is
counted by three deviations over the miss, as in Huber's estimate (1964). A deviation is 1.4826 times the median miss,
by the median of the candidates, so that outliers do not say what is far. Only weights are chosen like this: models are
fitted to, and judged on, what records have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from copriv.losses.sample import Sample
from copriv.vectors import read_only

_FAR, _NORMAL = 3.0, 1.4826


def tempered(judged: Sample) -> Sample:
    """The same records, whose squared loss at any weights of the candidates counts as said above.

    >>> many = [[1.0], [2.0], [3.0], [4.0]]
    >>> tempered(Sample.of_rows(many, [1.5, 1.5, 3.5, 3.5])).targets.tolist()
    [1.5, 1.5, 3.5, 3.5]
    >>> float(tempered(Sample.of_rows(many, [1.5, 1.5, 3.5, 104.0])).targets[3].round(2))
    15.51
    """
    middle = replace(judged, columns=np.median(judged.columns, axis=0)[None, :]).margins(np.ones(1))
    misses = np.abs(judged.targets - middle)
    far = _FAR * _NORMAL * float(np.median(misses))
    if far == 0:
        return judged
    counts = np.sqrt(far / np.maximum(misses, far))
    offsets = judged.offsets * counts if judged.offsets.size else judged.offsets
    return replace(
        judged,
        columns=read_only(judged.columns * counts),
        targets=read_only(judged.targets * counts),
        offsets=read_only(offsets),
    )
