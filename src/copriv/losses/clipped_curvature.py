"""How the clipped average gradient changes with the model: its derivative, which public rows tell.

A record whose gradient is clipped keeps its direction C·g/‖g‖ as the model moves, if it is one row: then it adds
nothing. The gradient of a person with several rows turns, as its rows answer differently:

    d(C·g/‖g‖) = (C/‖g‖)(I − g sᵀ/‖g‖) dg,    s = sign(g) in L1, g/‖g‖ in L2.
"""

from __future__ import annotations

import numpy as np

from copriv.losses.loss import Loss
from copriv.losses.passes import gradient_lengths, record_curvatures, record_slopes
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray, Norm


def clipped_curvature(loss: Loss, sample: Sample, theta: FloatArray, clip: float, norm: Norm) -> FloatArray:
    """d/dθ of `clipped_average_gradient`; without a clip it is the Hessian. For people in L1 it is not symmetric."""
    slopes = record_slopes(loss, sample, theta)
    lengths, columns = gradient_lengths(sample, slopes, norm), sample.columns
    weights = sample.weights * record_curvatures(loss, sample, theta)
    if sample.people is None:
        return np.asarray((columns * (weights * (lengths <= clip))) @ columns.T / sample.records)
    beyond, longest = lengths > clip, np.maximum(lengths, clip)
    gradients = sample.by_record(columns * slopes)
    turned = (np.sign(gradients) if norm is Norm.L1 else gradients / longest) * beyond / longest
    who = sample.by_row(np.arange(sample.records))
    moved = columns - gradients[:, who] * np.sum(turned[:, who] * columns, axis=0)
    return np.asarray((moved * (weights * (clip / longest)[who])) @ columns.T / sample.records)
