"""How wrong the public Hessian may be for owners: it is an average over records, and records differ.

Over a way δ record x changes the gradient along u_j by u_jᵀ ℓ″xxᵀδ. The variance of that over records is δᵀM_jδ with
M_j = E[(u_jᵀ ℓ″x)² xxᵀ]. Of all directions together these are p³ numbers: for short models they are worked out once,
for long ones every δ goes through the records. Where a record is a person, the sum over its rows is bounded by that of
its rows' squares, times what each row counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, freeze

# Up to so many numbers in a model, p³ of them are kept.
_SHORT = 60


@dataclass(frozen=True, slots=True, eq=False)
class Unevenness:
    """The variance of a gradient's change over a way, in every direction.

    Args:
        columns: the records x (parameters × records).
        weights: (u_jᵀ ℓ″x)² over the number of records, a row for each direction; of short models, all M_j.
    """

    columns: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, sample: Sample, curvatures: FloatArray, basis: FloatArray) -> Unevenness:
        """From records, ℓ″ of each row (0 where the clip does not spare it) and directions u_j, one a column."""
        columns = sample.columns
        weights = sample.weights * (basis.T @ (columns * curvatures)) ** 2 / sample.records
        if columns.shape[0] <= _SHORT:
            weights = np.stack([(columns * weight) @ columns.T for weight in weights])
        return cls(columns, freeze(weights))

    def variances(self, ways: FloatArray) -> FloatArray:
        """δᵀM_jδ for every way δ (a row) and direction j (a column)."""
        if self.weights.ndim == 2:
            return np.asarray((ways @ self.columns) ** 2 @ self.weights.T)
        return np.asarray(np.einsum("ka,jab,kb->kj", ways, self.weights, ways))
