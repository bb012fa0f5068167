"""A model by original column and category, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

from copriv.errors import BadInput
from copriv.records.target import Target
from copriv.report.model_file import ModelFile

LEVEL = 0.95


def coefficients_by_column(model: ModelFile, level: float = LEVEL) -> pl.DataFrame:
    """What one more unit of each cell adds to the prediction, in the target's unit, or to the log-odds.

    Of counts and amounts it is what is added to the logarithm; `ratio`, its exponential, is what one more unit
    multiplies the expectation by, and of the intercept the expectation for an exposure of 1.

    `low` and `high` are the ends of the coefficient's interval, `noise_share` is the part of its variance that owners'
    noise adds. They are null where there is no interval, and for a category that others are compared with.

    Raises:
        BadInput: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise BadInput(f"an interval of level {level}", remedy="give a number between 0 and 1", value=level)
    dictionary = model.dictionary
    scale, center = target_map(dictionary.target)
    *weights, intercept = dictionary.cell_weights(model.theta)
    units = [1.0 if each.cell is None else each.cell.unit for each in weights]
    origins = [each.cell.origin if each.cell and each.cell.part == "value" else 0.0 for each in weights]
    at_means = intercept.weight + sum(each.weight * at for each, at in zip(weights, origins, strict=True))
    kinds = {column.name: column.kind for column in dictionary.columns}
    found = [*(scale * each.weight for each in weights), center + scale * intercept.weight]
    per_deviation = [scale * each.weight * unit for each, unit in zip(weights, units, strict=True)]
    table = pl.DataFrame(
        {
            "column": [*(each.label for each in weights), "intercept"],
            "kind": [*(kinds.get(each.cell.column, "") if each.cell else "" for each in weights), ""],
            "coefficient": found,
            "per_deviation": [*per_deviation, center + scale * at_means],
        }
    )
    ratios = [pl.col("coefficient").exp().alias("ratio")] if dictionary.target.is_rate else []
    return table.with_columns(*ratios).with_columns(_intervals(model, found, scale, level))


def target_map(target: Target) -> tuple[float, float]:
    """From margins to the target's unit: scale and centre; margins are log-odds of labels, logarithms of rates."""
    if target.is_rate:
        return 1.0, math.log(target.center)
    return (1.0, 0.0) if target.kind == "label" else (target.scale, target.center)


def _intervals(model: ModelFile, found: Sequence[float], scale: float, level: float) -> list[pl.Series]:
    """The ends of each interval, and the share of noise; nulls where there is none."""
    errors, wide = model.errors, NormalDist().inv_cdf((1 + level) / 2)
    shown: list[tuple[float | None, float | None, float | None]] = [(None, None, None)] * len(found)
    if errors.total:
        pairs = zip(found, errors.total, errors.noise, strict=False)
        shown = [_interval(value, wide * scale * total, noise, total) for value, total, noise in pairs]
    names = ("low", "high", "noise_share")
    return [pl.Series(name, [each[place] for each in shown], pl.Float64) for place, name in enumerate(names)]


def _interval(
    value: float, reach: float, noise: float, total: float
) -> tuple[float | None, float | None, float | None]:
    return (value - reach, value + reach, (noise / total) ** 2) if total > 0 else (None, None, None)
