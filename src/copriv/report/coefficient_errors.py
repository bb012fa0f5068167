"""How far off each coefficient may be: part of a model's file, in the units of its columns.

It follows from owners' answers, from the noise that they have promised, and from public rows. So it may be passed on.
"""

from __future__ import annotations

import msgspec
import numpy as np

from copriv.forecast.model_errors import Errors
from copriv.records.dictionary import Dictionary
from copriv.vectors import FloatArray

_NOT_SAID = "the model's file does not say how far off it may be"
OF_A_PERSON = "a personal model is fitted to one owner's records, with a strength that was chosen on them"
OF_TREES = (
    "scores and leaves come from trees that were fitted to the public rows, which fit those rows better than any others"
)


class CoefficientErrors(msgspec.Struct, frozen=True):
    """Standard errors of what one unit of each cell adds to a margin.

    Args:
        total: by owners' noise and by sampling; one for each entry of `Dictionary.cell_weights`, and a last one for
            the margin where all columns are at their public means.
        noise: the part of owners' noise alone.
        none: why there are none; empty if there are.
    """

    total: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    none: str = _NOT_SAID


def coefficient_errors(dictionary: Dictionary, errors: Errors) -> CoefficientErrors:
    """Of a model's numbers, turned into those of its columns and categories."""
    if dictionary.score_trees is not None or dictionary.leaf_trees is not None:
        return CoefficientErrors(none=OF_TREES)
    if isinstance(errors, str):
        return CoefficientErrors(none=errors)
    effects = effects_of(dictionary)
    total = _deviations(effects, errors.noise + errors.private + search_factor(dictionary) * errors.public)
    return CoefficientErrors(total, _deviations(effects, errors.noise), none="")


def effects_of(dictionary: Dictionary) -> FloatArray:
    """What models are multiplied by to become coefficients: a row for each, a last one for the margin at the means."""
    return np.array([_effects(dictionary, one) for one in np.eye(dictionary.parameters)]).T


def search_factor(dictionary: Dictionary) -> float:
    """By how much the public rows' variance counts more, because they may have chosen the components among many.

    Supervised components go where public rows happen to go with the target. Of r cells, what holds for every direction
    at once holds for the chosen ones, too (Scheffé): a 95 % quantile of χ² with r degrees of freedom stands in for
    that of one. Principal components are not told apart from supervised ones, and counted the same; those of integer
    codes are never supervised.
    """
    from scipy.special import chdtri

    plain = all(isinstance(column.encoding, msgspec.UnsetType) for column in dictionary.columns)
    if plain or not dictionary.components:
        return 1.0
    cells = int(np.count_nonzero(np.any(np.asarray(dictionary.components) != 0, axis=0)))
    return float(chdtri(cells, 0.05) / chdtri(1, 0.05))


def _deviations(effects: FloatArray, covariance: FloatArray) -> tuple[float, ...]:
    """Of each effect of numbers with this covariance."""
    variances = np.einsum("ij,ij->i", effects @ covariance, effects)
    return tuple(np.sqrt(np.maximum(variances, 0.0)).tolist())


def _effects(dictionary: Dictionary, theta: FloatArray) -> list[float]:
    """The entries of `cell_weights`, and the margin at the columns' means."""
    *weights, intercept = dictionary.cell_weights(theta.tolist())
    origins = (each.weight * each.cell.origin for each in weights if each.cell and each.cell.part == "value")
    return [*(each.weight for each in weights), intercept.weight, intercept.weight + sum(origins)]
