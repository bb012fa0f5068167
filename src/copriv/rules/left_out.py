"""Public rows judged by the model of the other public rows: what a row that did not shape the model would say.

A model of few rows fits them better than any others: at the model of 20 rows with 11 numbers, their gradients are less
than half as long as those of other records. Without row i the model is, to first order, θ + A⁻¹∇ℓ_i/(n(1 − h_i)) with
its leverage h_i = ℓ″xᵀA⁻¹x/n. So its margin moves by xᵀA⁻¹∇ℓ_i/(n(1 − h_i)). With many rows this is nothing. A person
is left out with all of its rows: ∇ℓ_i is its gradient, and its leverage the sum of theirs, times what each row counts.
"""

from __future__ import annotations

import numpy as np

from copriv.losses.objective import Objective
from copriv.losses.passes import gradient_lengths, record_curvatures, record_slopes
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm

# A row that alone decides over a direction is taken to decide over this share of it.
_MOST_LEVERAGE = 0.9


def left_out_offsets(objective: Objective, public: Sample, theta: FloatArray, curvature: FloatArray) -> FloatArray:
    """By how much each row's margin moves if it is left out; θ is the public model, `curvature` its Hessian A."""
    columns, records = public.columns, public.records
    inverse = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
    reach = quadratic_forms(inverse, columns) / records
    slopes, bends = (pass_over(objective.loss, public, theta) for pass_over in (record_slopes, record_curvatures))
    leverage = np.minimum(public.by_record(bends * reach), _MOST_LEVERAGE)
    if public.people is None:
        return np.asarray(slopes * reach / (1 - leverage))
    moved = inverse @ (public.by_record(columns * slopes) / (records * (1 - leverage)))
    return np.asarray(np.einsum("jr,jr->r", columns, np.repeat(moved, public.people.sizes, axis=1)))


def quadratic_forms(matrix: FloatArray, columns: FloatArray) -> FloatArray:
    """xᵀMx of every row."""
    return np.asarray(np.einsum("jr,jr->r", columns, matrix @ columns))


def offset_slopes(objective: Objective, public: Sample, theta: FloatArray, offsets: FloatArray) -> FloatArray:
    """∂ℓ/∂z of every row at margins that are moved by so much."""
    moved = public.with_columns(np.vstack([public.columns, offsets]))
    return record_slopes(objective.loss, moved, np.append(theta, 1.0))


def left_out_slopes(objective: Objective, public: Sample, theta: FloatArray, curvature: FloatArray) -> FloatArray:
    """∂ℓ/∂z of every row at the model of the others."""
    return offset_slopes(objective, public, theta, left_out_offsets(objective, public, theta, curvature))


def left_out_lengths(
    objective: Objective, public: Sample, theta: FloatArray, norm: Norm, curvature: FloatArray | None = None
) -> FloatArray:
    """‖∇ℓ‖ of every row at the model of the others: what a clip is chosen by."""
    bend = objective.curvature(public, theta) if curvature is None else curvature
    slopes = left_out_slopes(objective, public, theta, bend)
    return gradient_lengths(public, slopes, norm)


def clipped_gradients(
    public: Sample, objective: Objective, model: tuple[FloatArray, FloatArray], clip: float, norm: Norm
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """∇ℓ of every record, the same clipped (both parameters × records), and ℓ″ of every row that the clip spares.

    `model` is θ_0 and A; each record is judged by the model of the others.
    """
    theta, curvature = model
    slopes = left_out_slopes(objective, public, theta, curvature)
    lengths = gradient_lengths(public, slopes, norm)
    full = public.by_record(public.columns * slopes)
    spared = record_curvatures(objective.loss, public, theta) * public.by_row(lengths <= clip)
    return full, full * (clip / np.maximum(lengths, clip)), spared


def covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Of two sets of columns, one a record."""
    centred = left - left.mean(axis=1, keepdims=True)
    return np.asarray(centred @ right.T / left.shape[1], dtype=np.float64)
