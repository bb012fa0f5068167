"""Sums over public gradients under one clip after another, each record added up once.

A clip spares short gradients and shortens long ones to its own length. So Σ cc is Σ gg over those that it spares, and
clip² Σ gg/‖g‖² over the others; Σ gc likewise. From one clip to the next only the records between them change
sides. Sums over what is spared grow from the shortest clip on, those over what is shortened from the longest: nothing
is subtracted that long gradients dominate, so no digits are lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from copriv.losses.passes import weighted_outer
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class ClippedSums:
    """What a clip leaves, and what it shortens.

    Args:
        clip: how long a gradient may be.
        within: Σ_cc, the covariance of clipped gradients.
        across: Σ_gc, that of full and clipped ones.
        strayed: the mean of stray · xxᵀ over all records, of those that are shortened.
        hidden: the mean of ℓ″xxᵀ over all records, of those that are shortened.
    """

    clip: float
    within: FloatArray
    across: FloatArray
    strayed: FloatArray
    hidden: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class GradientsToClip:
    """Records, their gradients g (parameters × records) and how long these are.

    `strays` and `curvatures` are those of rows, times what each row counts.
    """

    public: Sample
    gradients: FloatArray
    lengths: FloatArray
    strays: FloatArray
    curvatures: FloatArray

    def under(self, clips: Sequence[float]) -> Iterator[ClippedSums]:
        """From the longest of these clips to the shortest."""
        ascending = sorted(clips)
        # The first clip that spares a record; one more than there are clips if none does.
        bands = np.searchsorted(ascending, self.lengths, side="left")
        spared = list(self._spared(bands, len(ascending)))
        shortened = _Shortened.none(self.gradients.shape[0])
        for place in range(len(ascending) - 1, -1, -1):
            shortened = shortened.and_of(self, np.flatnonzero(bands == place + 1))
            yield self._sums(ascending[place], *spared.pop(), shortened)

    def _spared(self, bands: IntArray, clips: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Σ gg and Σ g over what each clip spares."""
        size = self.gradients.shape[0]
        second, first = np.zeros((size, size)), np.zeros(size)
        for place in range(clips):
            short = self.gradients[:, bands == place]
            second, first = second + short @ short.T, first + short.sum(axis=1)
            yield second, first

    def _sums(self, clip: float, second: FloatArray, first: FloatArray, shortened: _Shortened) -> ClippedSums:
        records = self.lengths.size
        mean, full = (first + clip * shortened.directions) / records, (first + shortened.first) / records
        within = (second + clip**2 * shortened.squares) / records - np.outer(mean, mean)
        across = (second + clip * shortened.products) / records - np.outer(full, mean)
        return ClippedSums(clip, within, across, shortened.strayed / records, shortened.hidden / records)


@dataclass(frozen=True, slots=True, eq=False)
class _Shortened:
    """Of the records beyond a clip: Σ gg/‖g‖², Σ gg/‖g‖, Σ g, Σ g/‖g‖, Σ stray · xx and Σ ℓ″xx."""

    squares: FloatArray
    products: FloatArray
    first: FloatArray
    directions: FloatArray
    strayed: FloatArray
    hidden: FloatArray

    @classmethod
    def none(cls, size: int) -> _Shortened:
        square, line = np.zeros((size, size)), np.zeros(size)
        return cls(square, square, line, line, square, square)

    def and_of(self, known: GradientsToClip, records: IntArray) -> _Shortened:
        """With some records more."""
        rows, long, lengths = known.public.rows_of(records), known.gradients[:, records], known.lengths[records]
        columns = known.public.columns[:, rows]
        directions = long / lengths
        return _Shortened(
            self.squares + directions @ directions.T,
            self.products + weighted_outer(long, 1 / lengths),
            self.first + long.sum(axis=1),
            self.directions + directions.sum(axis=1),
            self.strayed + weighted_outer(columns, known.strays[rows]),
            self.hidden + weighted_outer(columns, known.curvatures[rows]),
        )
