"""inference.json: coefficients that are not drawn towards the public rows, with standard errors by what causes them.

All of it follows from owners' answers, which have their noise in them, and from public rows. So it may be passed on,
and costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.forecast.one_step import OneStep
from copriv.forecast.random_effects import (
    MetaAnalysis,
    between_owners,
    meta_analysis,
    tell_differences,
    width_of_mean,
)
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target
from copriv.report.coefficient_errors import OF_TREES, effects_of
from copriv.report.coefficients import target_map
from copriv.report.sentence import many
from copriv.vectors import FloatArray

INFERENCE = "inference.json"
FORMAT = 1
LEVEL = 0.95
# What the study's ridge moves, in standard errors: beyond this owners were asked too far from where the estimate lies.
_MOST_PULLED = 2.0
OF_COMPONENTS = (
    "features are components, which mix columns and may have been chosen by the public rows: train with --features all"
)
PULLED = (
    "columns are nearly collinear: the study's ridge has moved the model too far from one without it. Leave columns "
    "out, or train with a smaller --regularization, such as 1e-9"
)
CAUTION = (
    "A p-value is of one question that was asked before the answers were seen: of twenty columns that mean nothing, "
    "one is below 0.05. A coefficient is no cause."
)


class Coefficient(msgspec.Struct, frozen=True):
    """One coefficient of all owners together, in the target's unit, of log-odds, or of the logarithm of a rate.

    Args:
        name: the column, or the column and the category.
        estimate: not drawn towards the public rows.
        standard_error: of it; its parts follow, and their squares add up to its square. The interval rests on how
            much owners' own estimates scatter, so it is not always as many of these.
        sampling: by private records being a sample.
        privacy: by owners' noise.
        between: by differences between owners (τ²); 0 where too few owners, or one too large, do not tell.
        public: by public rows being a sample.
        low: of the interval; None where there is none.
        high: of the interval.
        p_value: of a coefficient of 0; None where there is no interval.
    """

    name: str
    estimate: float
    standard_error: float
    sampling: float
    privacy: float
    between: float
    public: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None


class MetaRow(msgspec.Struct, frozen=True):
    """One coefficient as a meta-analysis has it: estimate, low and high by fixed and by random effects."""

    name: str
    fixed: tuple[float, float, float]
    random: tuple[float, float, float]
    tau_squared: float
    i_squared: float
    heterogeneity_p: float


class OwnerEstimates(msgspec.Struct, frozen=True):
    """One owner's own estimates by one Newton step, and their standard errors by sampling and noise."""

    owner: str
    records: int
    estimates: tuple[float, ...]
    standard_errors: tuple[float, ...]


class Inference(msgspec.Struct, frozen=True):
    """What answers say of coefficients.

    Args:
        coefficients: of all owners together.
        owners: each on its own.
        meta: the same as a meta-analysis; nothing if fewer than two owners have answered.
        log_odds: whether coefficients add to log-odds, so that exp(coefficient) is an odds ratio.
        log_rates: whether they add to the logarithm of an expectation, so that it is a rate ratio.
        population: of what the coefficients are.
        none: why there are no intervals; empty if there are.
        noise: secure, or that of a simulation.
        level: of the intervals.
    """

    coefficients: tuple[Coefficient, ...] = ()
    owners: tuple[OwnerEstimates, ...] = ()
    meta: tuple[MetaRow, ...] = ()
    log_odds: bool = False
    log_rates: bool = False
    population: str = ""
    none: str = ""
    noise: str = "secure"
    level: float = LEVEL
    format: int = FORMAT

    @property
    def ratio(self) -> str:
        """What exp(coefficient) is called; empty if nothing."""
        return "odds ratio" if self.log_odds else "rate ratio" if self.log_rates else ""

    def place(self, name: str) -> int:
        """Where a coefficient stands.

        Raises:
            BadInput: there is none of this name.
        """
        names = [each.name for each in self.coefficients]
        if name not in names:
            raise BadInput(f"there is no coefficient {name!r}", remedy=f"use one of {', '.join(names)}", value=name)
        return names.index(name)


NOTHING_INFERRED = Inference(none="this run was not asked")


def write_inference(inference: Inference, folder: Path) -> None:
    """Beside the model; of a run that was killed before its figures were written, it is replaced."""
    (folder / INFERENCE).write_bytes(msgspec.json.format(msgspec.json.encode(inference)) + b"\n")


def read_inference(path: Path) -> Inference:
    """Read it again.

    Raises:
        BadInput: there is none, or it is damaged.
    """
    if not path.is_file():
        raise BadInput(
            f"there is no {path}",
            remedy="give a finished run of this version: earlier ones have kept no such coefficients",
            value=str(path),
        )
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Inference)
    except msgspec.DecodeError as problem:
        raise BadInput(
            f"{path} holds no coefficients: {problem}", remedy="use the file as it was written", value=str(path)
        ) from problem
    if found.format != FORMAT:
        raise BadInput(f"{path} is of format {found.format}", remedy=f"use one of format {FORMAT}", value=found.format)
    return found


def infer_coefficients(dictionary: Dictionary, found: OneStep | str, names: Sequence[str], noise: str) -> Inference:
    """Turn an estimate of a model's numbers into one of its columns and categories.

    Args:
        dictionary: the study's.
        found: the estimate, or why there is none.
        names: of all owners, in the order of the study.
        noise: secure, or that of a simulation.
    """
    if dictionary.score_trees is not None or dictionary.leaf_trees is not None:
        found = OF_TREES
    elif dictionary.components:
        found = OF_COMPONENTS
    if isinstance(found, str):
        return Inference(none=found, noise=noise)
    shifts, effects, labels = in_units(dictionary)
    found = without_ridge(found, effects)
    own, each = _own_variances(found, effects), found.each @ effects.T + shifts
    coefficients = pooled_coefficients(found, effects, shifts, labels)
    common = found.public_of(effects)
    meta = tuple(
        _meta_row(label, meta_analysis(each[:, place], own[:, place], float(common[place]), LEVEL))
        for place, label in enumerate(labels)
        if found.heard.size > 1
    )
    owners = tuple(
        OwnerEstimates(names[owner], int(records), tuple(row.tolist()), tuple(np.sqrt(variances).tolist()))
        for owner, records, row, variances in zip(found.heard.tolist(), found.records, each, own, strict=True)
    )
    return Inference(
        coefficients,
        owners,
        meta,
        log_odds=dictionary.target.kind == "label",
        log_rates=dictionary.target.is_rate,
        population=_population(found, dictionary.target),
        none=found.none,
        noise=noise,
    )


def pooled_coefficients(
    found: OneStep, effects: FloatArray, shifts: FloatArray, labels: Sequence[str]
) -> tuple[Coefficient, ...]:
    """Of all owners together: each a row of `effects` that models are multiplied by, and what is added to that."""
    own, each = _own_variances(found, effects), found.each @ effects.T + shifts
    return tuple(
        _coefficient(label, found, effects[place : place + 1], each[:, place], own[:, place])
        for place, label in enumerate(labels)
    )


def without_ridge(found: OneStep, effects: FloatArray) -> OneStep:
    """The same; without intervals if the study's ridge moves some coefficient too far from where there is none."""
    own = _own_variances(found, effects)
    return replace(found, none=PULLED) if not found.none and _is_pulled(found, effects, own) else found


def in_units(dictionary: Dictionary) -> tuple[FloatArray, FloatArray, list[str]]:
    """What is added to each coefficient, the rows that models are multiplied by, and names, in the target's unit.

    Coefficients of labels add to log-odds, those of counts and amounts to the logarithm of the expectation.
    Cells that a model cannot move, such as the category that others are compared with, are left out.
    """
    scale, center = target_map(dictionary.target)
    effects = scale * effects_of(dictionary)[:-1]
    labels = [weight.label for weight in dictionary.cell_weights([0.0] * dictionary.parameters)]
    moved = np.flatnonzero(np.any(effects != 0, axis=1))
    shifts = np.zeros(moved.size)
    shifts[-1] = center
    return shifts, effects[moved], [labels[place] for place in moved]


def _own_variances(found: OneStep, effects: FloatArray) -> FloatArray:
    """Of each owner's own estimates, by sampling and noise (owners × coefficients)."""
    sampling = np.outer(1 / found.records, found.sampling_of(effects))
    return np.asarray(sampling + np.outer(found.noise, found.noise_of(effects)))


def _is_pulled(found: OneStep, effects: FloatArray, own: FloatArray) -> bool:
    """Whether the study's ridge moves some coefficient too far."""
    variances = found.weights**2 @ own + found.public_of(effects)
    return bool(np.any(np.abs(effects @ found.pulled) > _MOST_PULLED * np.sqrt(variances)))


def _coefficient(name: str, found: OneStep, effect: FloatArray, each: FloatArray, own: FloatArray) -> Coefficient:
    weights = found.weights
    sampling = float(found.sampling_of(effect)[0] / found.records.sum())
    privacy = float(found.noise_of(effect)[0] * (weights**2 @ found.noise))
    public = float(found.public_of(effect)[0])
    between = between_owners(each, own)[0] * float(weights @ weights) if tell_differences(weights) else 0.0
    total = sampling + privacy + public + between
    estimate = float(weights @ each)
    parts = [math.sqrt(part) for part in (total, sampling, privacy, between, public)]
    bare = Coefficient(name, estimate, *parts)
    if found.none or total == 0:
        return bare
    width = width_of_mean(each, own, weights, public)
    reach = width.reach(LEVEL)
    return msgspec.structs.replace(bare, low=estimate - reach, high=estimate + reach, p_value=width.p_value(estimate))


def _meta_row(name: str, found: MetaAnalysis) -> MetaRow:
    shown = [(pooled.estimate, *pooled.interval) for pooled in (found.fixed, found.random)]
    return MetaRow(name, shown[0], shown[1], found.tau_squared, found.i_squared, found.heterogeneity_p)


def _population(found: OneStep, target: Target) -> str:
    owners = found.heard.size
    rate = "logarithm of the expectation"
    model = {"label": "log-odds", "count": rate, "amount": rate}.get(target.kind, "target")
    few = (
        "Intervals count differences between owners (τ²), as if these owners were drawn from others like them."
        if tell_differences(found.weights)
        else "So few owners, or one so large, do not tell how much owners differ: intervals are of these owners alone."
    )
    return (
        f"Coefficients are of the best linear model of the {model}, in these features and without a ridge, of the "
        f"populations that the {int(found.records.sum()):,} records of {many(owners, 'owner')} were drawn from, owners "
        f"weighed by their records. {few}"
    )
