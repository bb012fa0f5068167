"""How far one record can move an owner's answer.

The answer is the average of n gradients, each clipped to norm C, so replacing one record moves the exact average by at
most 2C/n. The computed average differs a little from the exact one, differently for neighbouring tables, and a
guarantee must hold for what is computed. With unit roundoff u every term of the blocked sum passes through at most
m = block + ⌈n/block⌉ + 2 roundings, so the error in the mechanism's norm is at most γC with γ = mu/(1 − mu), and a
record clipped in floating point may exceed C by a factor 1 + 4(p + 8)u. Hence

    Δ = 2C(1 + 4(p + 8)u) (1/n + γ),

which is 2C/n to about seven digits for a quarter of a million records. An average of losses, each held within [0, B],
needs no overshoot, because a comparison does not round: Δ = B(1/n + 2γ). The average of xxᵀ has a length in its norm
that rows of bounded length cannot exceed. docs/theory/sensitivity.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from copriv.errors import BadInput
from copriv.vectors import BLOCK, Norm

_UNIT_ROUNDOFF = 2.0**-53
_UNDERFLOW = 2.0**-1000
# A product of two numbers, its weight, and the rounding of the weight itself.
_ROUNDINGS_OF_A_PRODUCT = 3
# Owners let records in whose lengths exceed their bounds by a billionth (`protocol.commitment`).
RECORD_ROUNDING = 1 + 1e-9
# What turning an exact sum over 2⁴⁰ records into a double adds, as a share of one record: 2 · 2⁻⁵³ · 2⁴⁰.
_CONVERSION = 1 + 2.0**-12


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change of an answer when one record is replaced, in one norm."""

    value: float
    norm: Norm


def of_average_gradient(*, clip: float, records: int, parameters: int, norm: Norm) -> Sensitivity:
    """Sensitivity of the clipped average gradient under replace-one.

    >>> of_average_gradient(clip=1.0, records=1000, parameters=10, norm=Norm.L1).value
    0.002000000000114593
    """
    if not (math.isfinite(clip) and clip > 0):
        raise BadInput(f"the clip is {clip}", remedy="give a finite number greater than 0", value=clip)
    gamma = _summation_error(records)
    overshoot = 1 + 4 * (parameters + 8) * _UNIT_ROUNDOFF
    exact = 2 * clip * overshoot * (1 / records + gamma)
    return Sensitivity(exact * (1 + 8 * _UNIT_ROUNDOFF) + _UNDERFLOW, norm)


def of_filled_gradient(*, clip: float, records: int, parameters: int, norm: Norm) -> Sensitivity:
    """Sensitivity of a clipped average gradient with second moments in its room (`losses.filled`): 2C/n, and rounding.

    What a record tells is no longer than C as a whole. It has p(p + 3)/2 numbers, each a product of up to four.

    >>> of_filled_gradient(clip=1.0, records=1000, parameters=10, norm=Norm.L1).value
    0.002000000000115308
    """
    if not (math.isfinite(clip) and clip > 0):
        raise BadInput(f"the clip is {clip}", remedy="give a finite number greater than 0", value=clip)
    gamma = _summation_error(records, further=_ROUNDINGS_OF_A_PRODUCT)
    overshoot = 1 + 4 * (parameters * (parameters + 3) / 2 + 8) * _UNIT_ROUNDOFF
    exact = 2 * clip * overshoot * (1 / records + gamma)
    return Sensitivity(exact * (1 + 8 * _UNIT_ROUNDOFF) + _UNDERFLOW, norm)


def of_average_value(*, bound: float, records: int, norm: Norm) -> Sensitivity:
    """Sensitivity of an average of losses, each held within [0, bound], under replace-one; one number, in any norm.

    The exact averages of neighbours differ by at most B/n, and each computed one is within γB of its exact one.

    >>> of_average_value(bound=1.0, records=1000, norm=Norm.L1).value
    0.001000000000114576
    """
    if not (math.isfinite(bound) and bound > 0):
        raise BadInput(f"the loss bound is {bound}", remedy="give a finite number greater than 0", value=bound)
    gamma = _summation_error(records)
    if not math.isfinite(2 * bound * records):
        raise BadInput(
            f"a loss bound of {bound:g} over {records} records: their sum overflows",
            remedy="give a smaller loss bound",
            value=bound,
        )
    exact = bound * (1 / records + 2 * gamma)
    return Sensitivity(exact * (1 + 8 * _UNIT_ROUNDOFF) + _UNDERFLOW, norm)


def of_counts(norm: Norm) -> Sensitivity:
    """Sensitivity of a histogram under replace-one: one count falls by 1 and another rises by 1. Counts are exact.

    >>> of_counts(Norm.L1).value, round(of_counts(Norm.L2).value, 6)
    (2.0, 1.414214)
    """
    return Sensitivity(2.0 if norm is Norm.L1 else math.sqrt(2) * (1 + 8 * _UNIT_ROUNDOFF), norm)


def of_square_sums(*, light: float, norm: Norm) -> Sensitivity:
    """Sensitivity of the sums of `losses.validation.NumberGrid` under replace-one.

    Two numbers are within [0, 1], one within ±l, one is 0 or l; all four are 0 of a record without a usable target. In
    L1 two usable records differ by at most 1 + 1 + 2l, and one that is not usable from one that is by no more. In L2
    that is √(2 + 4l²), against √(2 + 2l²). Sums are exact up to 2⁴⁰ records, but for one conversion to a double.

    >>> [round(of_square_sums(light=0.25, norm=norm).value, 2) for norm in Norm]
    [2.5, 1.5]
    """
    exact = 2 + 2 * light if norm is Norm.L1 else math.sqrt(2 + 4 * light * light)
    return Sensitivity(exact * _CONVERSION, norm)


def _summation_error(records: int, *, further: int = 0) -> float:
    """γ: the relative error of a blocked sum of so many records, of its division by their number, and what is said."""
    if records < 1:
        raise BadInput(f"{records} records", remedy="an owner needs at least one record", value=records)
    roundings = BLOCK + math.ceil(records / BLOCK) + 2 + further
    return roundings * _UNIT_ROUNDOFF / (1 - roundings * _UNIT_ROUNDOFF)


def of_moments(*, records: int, parameters: int, norm: Norm, rows: int = 1) -> Sensitivity:
    """Sensitivity of packed second moments (`losses.moments`) under replace-one, for ‖x‖₂ ≤ 1 and |y| ≤ 1.

    A person's moments are a mean of those of at most so many rows, or less: so they are as far apart as a row's are.

    Moments have degree 2 in a record, so a record that is let in although it exceeds 1 by some rounding moves them
    further by the square of that. Sums are computed in blocks, so they are off by γ times the sum of lengths.
    docs/theory/rules.md has the proofs.

    >>> round(of_moments(records=1000, parameters=9, norm=Norm.L2).value ** 2, 6)
    4.5
    >>> round(of_moments(records=1000, parameters=9, norm=Norm.L1).value, 3)
    11.859
    """
    if records < 1 or parameters < 1:
        raise BadInput(
            f"{records} records of {parameters} features",
            remedy="give at least one of each",
            value=(records, parameters),
        )
    exact, length = _change_of_moments(parameters, norm)
    gamma = _summation_error(records, further=_roundings(rows))
    overshoot = RECORD_ROUNDING**2 * (1 + 4 * (parameters + 8) * _UNIT_ROUNDOFF)
    return Sensitivity((exact + 2 * length * records * gamma) * overshoot * (1 + 16 * _UNIT_ROUNDOFF), norm)


def of_second_moments(*, row_norm: float, records: int, parameters: int, norm: Norm, rows: int = 1) -> Sensitivity:
    """Sensitivity of the packed average of xxᵀ (`losses.moments`) under replace-one, for ‖x‖₂ ≤ r; as `of_moments`.

    Exactly it is r²√2/n in L2, and r²√(p(p + 3)/2)/n in L1. The average is computed in blocks, so each computed one is
    within γ times the longest contribution of one record. docs/theory/sensitivity.md has the proof.

    >>> round(of_second_moments(row_norm=1.0, records=1000, parameters=9, norm=Norm.L2).value * 1000, 6)
    1.414214
    >>> round(of_second_moments(row_norm=2.0, records=1000, parameters=9, norm=Norm.L1).value * 1000, 6)
    29.393877
    """
    if not (math.isfinite(row_norm) and row_norm > 0):
        raise BadInput(f"rows up to {row_norm}", remedy="give a finite length greater than 0", value=row_norm)
    if parameters < 1:
        raise BadInput(f"{parameters} features", remedy="give at least one", value=parameters)
    gamma = _summation_error(records, further=_roundings(rows))
    length = 1.0 if norm is Norm.L2 else math.sqrt(parameters * (parameters + 3)) / 2
    exact = row_norm**2 * length * (math.sqrt(2) / records + 2 * gamma)
    overshoot = RECORD_ROUNDING**2 * (1 + 4 * (parameters + 8) * _UNIT_ROUNDOFF)
    return Sensitivity(exact * overshoot * (1 + 16 * _UNIT_ROUNDOFF) + _UNDERFLOW, norm)


def of_positives(*, records: int, norm: Norm, rows: int = 1) -> Sensitivity:
    """Sensitivity of the share of records with a target above 0, under replace-one: 1/n, and rounding.

    It is one number, so that it is the same in every norm. Of a person, rows count a part each that adds up to at most
    1; a sum of whole numbers is exact, one of parts is off by γ. docs/theory/sensitivity.md has the proof.

    >>> round(of_positives(records=1000, norm=Norm.L1).value * 1000, 6)
    1.0
    """
    gamma = _summation_error(records, further=_roundings(rows))
    return Sensitivity((1 / records + 2 * gamma) * RECORD_ROUNDING * (1 + 16 * _UNIT_ROUNDOFF) + _UNDERFLOW, norm)


def _roundings(rows: int) -> int:
    """Beside those of a block of records: of a product, and of further rows of a block of people, each weighted."""
    return _ROUNDINGS_OF_A_PRODUCT + (BLOCK * (rows - 1) + 2 if rows > 1 else 0)


def _change_of_moments(parameters: int, norm: Norm) -> tuple[float, float]:
    """How far apart the moments of two records can be, and how long those of one.

    In L2 that is √4.5 and √2. In L1 the changes of Σ xxᵀ and of Σ xy, for unit vectors at an angle 2t, are at most
    2a sin t cos t and b cos t with a = √((p² + 3p)/2) and b = 2√p; the sum is largest at 4a sin²t + b sin t = 2a.
    """
    if norm is Norm.L2:
        return math.sqrt(4.5), math.sqrt(2)
    a, b = math.sqrt((parameters + 3) * parameters / 2), 2 * math.sqrt(parameters)
    sine = (math.sqrt(b * b + 32 * a * a) - b) / (8 * a)
    return math.sqrt(1 - sine * sine) * (2 * a * sine + b), a / math.sqrt(2) + math.sqrt(parameters)
