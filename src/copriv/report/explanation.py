"""The sentence of a prediction: which columns move it away from that of the average public row, and how far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from copriv.errors import BadInput
from copriv.protocol.text import plain
from copriv.records.contributions import Contributions, contributions_of
from copriv.report.coefficients import target_map
from copriv.report.model_file import ModelFile
from copriv.vectors import FloatArray

REASONS = 3
OTHERS = "all others"
_LONGEST_VALUE = 60
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Reason:
    """What a column adds, in the target's unit, in log-odds or in logarithms, and its value as the table has it."""

    column: str
    value: str | None
    adds: float


def explain_rows(model: ModelFile, table: pl.DataFrame, most: int = REASONS) -> pl.DataFrame:
    """A row for every row: prediction, that of the average public row, the largest reasons, and a sentence (`why`).

    The reasons of a row add up: the last one is what all other columns add together.

    Raises:
        BadInput: fewer than one reason is asked for, or the model does not know the average public row.
    """
    if most < 1:
        raise BadInput(f"{most} reasons for a prediction", remedy="ask for at least 1", value=most)
    found = contributions_of(model.dictionary, model.theta, table)
    target = model.dictionary.target
    scale = target_map(target)[0]
    offsets = target.prediction_offsets(table) if target.is_rate else np.zeros(table.height)
    average = float(target.restore(np.array([found.average + target.base]))[0])
    times = {"label": "the odds", "count": "it", "amount": "it"}.get(target.kind)
    reasons = [_reasons(found, scale * found.values[row], table, row, most) for row in range(table.height)]
    return pl.DataFrame(
        {
            "prediction": target.restore(found.margins + offsets),
            "average": [average] * table.height,
            "why": [_sentence(each, average, times=times) for each in reasons],
            "reasons": [
                [{"column": one.column, "value": one.value, "adds": one.adds} for one in each] for each in reasons
            ],
        },
        schema_overrides={"average": pl.Float64, "why": pl.String, "reasons": _REASONS},
    )


_REASONS = pl.List(pl.Struct({"column": pl.String, "value": pl.String, "adds": pl.Float64}))


def _reasons(found: Contributions, adds: FloatArray, table: pl.DataFrame, row: int, most: int) -> list[Reason]:
    """The largest ones, and the sum of the others."""
    order = np.argsort(-np.abs(adds), kind="stable")[:most]
    named = [found.names[place] for place in order]
    shown = [
        Reason(name, _value(table, name, row), float(adds[place]))
        for name, place in zip(named, order.tolist(), strict=True)
        if abs(adds[place]) > _NOTHING
    ]
    return [*shown, Reason(OTHERS, None, float(adds.sum() - sum(one.adds for one in shown)))]


def _value(table: pl.DataFrame, name: str, row: int) -> str | None:
    """The cell as the table has it; of what is no column, nothing."""
    if name not in table.columns:
        return None
    value = table[name][row]
    return "missing" if value is None else plain(str(value), _LONGEST_VALUE)


def _sentence(reasons: Sequence[Reason], average: float, *, times: str | None) -> str:
    """The reasons in words.

    >>> _sentence([Reason("grade", "F", 6.2), Reason(OTHERS, None, -0.25)], 11.9, times=None)
    'grade = F adds 6.2, all others take away 0.25; the average public row has 11.9'
    """
    about = ", ".join(f"{_name(one)} {_effect(one, times=times)}" for one in reasons)
    return f"{about}; the average public row has {average:.4g}"


def _name(reason: Reason) -> str:
    if reason.value is None:
        return reason.column
    return f"{reason.column} is missing" if reason.value == "missing" else f"{reason.column} = {reason.value}"


def _effect(reason: Reason, *, times: str | None) -> str:
    many = reason.column == OTHERS
    if times is not None:
        return f"multipl{'y' if many else 'ies'} {times} by {math.exp(reason.adds):.3g}"
    verb = ("add" if many else "adds") if reason.adds >= 0 else ("take away" if many else "takes away")
    return f"{verb} {abs(reason.adds):.3g}"
