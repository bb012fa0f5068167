"""From public rows to a target: how it is read, its unit and its bound."""

from __future__ import annotations

import math
import re

import msgspec
import numpy as np
import polars as pl

from copriv.errors import BadInput, BadTable
from copriv.records.column import COMMA_NUMBER, number, text
from copriv.records.exposure import fit_exposure
from copriv.records.target import Rate, Target, TargetChoice
from copriv.vectors import FloatArray

_BOUND_QUANTILE = 0.995


def fit_target(public: pl.DataFrame, choice: TargetChoice) -> Target:
    """Read the target of the public rows and fix its unit."""
    _require_use(choice)
    dtype = public[choice.name].dtype
    texts = public.select(text(choice.name, dtype).alias(choice.name))[choice.name].drop_nulls()
    draft = Target(choice.name, "label" if choice.labels else "number", 0.0, 1.0, _categories(public, choice, texts))
    if choice.rate is not None:
        return _as_rate(public, draft, choice, choice.rate)
    found = public.select(draft.raw(dtype))[choice.name]
    values = found.filter(found.is_finite()).to_numpy().astype(np.float64)
    if values.size == 0:
        raise BadTable(
            f"the target {choice.name!r} is missing in every public row",
            remedy="choose another target or other public rows",
            value=choice.name,
        )
    return _as_label(draft, values, choice) if choice.labels else _as_number(draft, values)


def _require_use(choice: TargetChoice) -> None:
    if choice.positive is not None and not choice.labels:
        raise BadInput(
            "--positive names a label of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=choice.positive,
        )
    if choice.columns[1:] and choice.rate is None:
        raise BadInput(
            f"--{'exposure' if choice.exposure else 'offset'} {choice.columns[1]} is for counts and amounts",
            remedy="add --loss poisson or --loss gamma, or leave it out",
            value=choice.columns[1],
        )
    if len(choice.columns) != len(set(choice.columns)) or len(choice.columns) > 2:
        raise BadInput(
            f"the target and its exposure are in {', '.join(choice.columns)}",
            remedy="give --exposure or --offset, not both, and a column of its own",
            value=choice.columns[1],
        )
    if choice.positive is not None and (choice.ordinal or choice.positive_above is not None):
        raise BadInput(
            "--positive says what is positive, and so does --ordinal or --positive-above",
            remedy="give one of them",
            value=choice.positive,
        )


def _categories(public: pl.DataFrame, choice: TargetChoice, texts: pl.Series) -> tuple[str, ...]:
    """Of a text, the categories in the order in which they stand for numbers."""
    numbers = int(public.select(number(choice.name, public[choice.name].dtype).is_not_null().sum()).item())
    if numbers == texts.len():
        return ()
    found = tuple(sorted(texts.unique().to_list()))
    if choice.ordinal:
        return found
    if choice.positive is not None:
        return _with_last(found, choice.positive)
    if choice.labels and choice.positive_above is None and len(found) == 2:
        return found
    raise _not_numeric(choice, found)


def _with_last(categories: tuple[str, ...], positive: str) -> tuple[str, ...]:
    if positive.strip() not in categories:
        raise BadInput(
            f"--positive {positive} is no category of the target in the public rows",
            remedy=f"name one of {_list(categories)}",
            value=positive,
        )
    return (*(name for name in categories if name != positive.strip()), positive.strip())


def _not_numeric(choice: TargetChoice, categories: tuple[str, ...]) -> BadTable:
    count = f"{len(categories)} classes " if len(categories) > 2 else ""
    problem = f"the target {choice.name!r} is not numeric: {count}{_list(categories)}"
    if all(re.search(COMMA_NUMBER, each) for each in categories):
        return BadTable(problem, remedy="if these are numbers with a decimal comma, say --decimal ,", value=choice.name)
    if choice.labels:
        remedy = f"a model tells two classes apart: {_one_study_each('--positive VALUE', len(categories))}"
    else:
        two = (
            " for one of two labels" if len(categories) == 2 else " --positive VALUE for one of them against all others"
        )
        remedy = (
            "name a numeric column, or pass --ordinal to number its sorted categories 1, 2, 3 …, or predict the "
            f"probability of a label: --loss logistic{two}"
        )
    return BadTable(problem, remedy=remedy, value=choice.name)


def _list(categories: tuple[str, ...]) -> str:
    return ", ".join(map(repr, categories[:3])) + (" …" if len(categories) > 3 else "")


def _as_number(draft: Target, values: FloatArray) -> Target:
    center = float(values.mean())
    distances = np.abs(values - center)
    scale = float(np.quantile(distances, _BOUND_QUANTILE)) or float(distances.max())
    if scale <= 1e-12 * max(1.0, abs(center)):
        raise BadTable(
            f"the target {draft.name!r} is {center:g} in every public row",
            remedy="choose a target that varies",
            value=draft.name,
        )
    return msgspec.structs.replace(draft, center=center, scale=scale)


def _as_rate(public: pl.DataFrame, draft: Target, choice: TargetChoice, kind: Rate) -> Target:
    """A count or an amount: its largest value that counts, and its mean for an exposure of 1."""
    exposure = None
    if choice.columns[1:]:
        exposure = fit_exposure(public, choice.columns[1], logarithm=choice.offset is not None)
    raw = public.select(draft.raw(public.schema[draft.name]).fill_null(math.nan)).to_series().to_numpy()
    values = raw.astype(np.float64)
    logs = np.zeros(values.size) if exposure is None else exposure.held(exposure.logarithms(public))
    known = np.isfinite(values) & np.isfinite(logs) & (values >= 0 if kind == "count" else values > 0)
    if not np.any(values[known] > 0):
        raise BadTable(
            f"the target {draft.name!r} is above 0 in no public row that can be used",
            remedy="a count is from 0 and an amount above 0: choose another target, loss or other public rows",
            value=draft.name,
        )
    scale = float(np.quantile(values[known], _BOUND_QUANTILE)) or float(values[known].max())
    mean = float(np.minimum(values[known], scale).sum() / np.exp(logs[known]).sum())
    given = msgspec.UNSET if exposure is None else exposure
    return msgspec.structs.replace(draft, kind=kind, center=mean, scale=scale, exposure=given)


def _as_label(draft: Target, values: FloatArray, choice: TargetChoice) -> Target:
    levels = np.unique(values)
    if draft.categories and choice.positive is not None and levels.size > 1:
        return msgspec.structs.replace(draft, center=len(draft.categories) - 0.5)
    if choice.positive_above is not None:
        if not levels[0] <= choice.positive_above < levels[-1]:
            raise BadInput(
                f"--positive-above {choice.positive_above:g} puts every public row on one side",
                remedy=f"give a value from {levels[0]:g} up to just below {levels[-1]:g}",
                value=choice.positive_above,
            )
        return msgspec.structs.replace(draft, center=float(choice.positive_above))
    if levels.size != 2:
        raise BadInput(
            f"the logistic loss needs a target with two values, and {choice.name!r} has {levels.size}",
            remedy=_two_of(int(levels.size)),
            value=int(levels.size),
        )
    _require_larger(choice, levels)
    return msgspec.structs.replace(draft, center=float(levels.mean()), levels=tuple(levels.tolist()))


def _two_of(values: int) -> str:
    """What to do about a number of values that is not two."""
    if values < 2:
        return "choose another target"
    more = _one_study_each("the classes written as text and --positive VALUE", values)
    return f"pass --positive-above X to make two of them; of unordered classes, {more}"


def _one_study_each(how: str, classes: int) -> str:
    """There is no model of many classes: what one of each against all others costs."""
    return (
        f"train one study a class, with {how}; what owners promise adds up, so that {classes} studies of ε = 1 promise "
        f"ε = {classes} for one record (replace-one), or give each ε/{classes}"
    )


def _require_larger(choice: TargetChoice, levels: FloatArray) -> None:
    """Of two numbers the larger is positive; refuse a choice that says otherwise."""
    if choice.positive is None or _number_of(choice.positive) == levels[1]:
        return
    raise BadInput(
        f"--positive {choice.positive}: of the two values {levels[0]:g} and {levels[1]:g}, the larger is positive",
        remedy=f"leave it out, or say --positive {levels[1]:g}",
        value=choice.positive,
    )


def _number_of(given: str) -> object:
    """What a text is as a number, read as a cell is; None if it is none."""
    return pl.DataFrame({"given": [given]}).select(number("given", pl.String())).item()
