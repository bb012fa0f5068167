"""How much noise K answers need so that together they keep a guarantee.

Pure ε: each answer gets ε/K. With δ: each answer gets ρ/K, where ρ is the most that the accountant allows at (ε, δ).
The scale is the smallest at which the price that OpenDP quotes for one answer, rounded up, fits into that share.

A calibration may have only a portion of what the guarantee allows, so that other answers can have the rest. Portions
are fractions and what they come to is rounded down to whole billionths: portions that add up to 1 never come to more
than the whole.

An answer may also be given a share of what a calibration has, in whole per cents (`calibrate_share`): shares that add
up to 100 per cent never cost more than the calibration's budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from copriv.errors import BadGuarantee, BadInput
from copriv.privacy.accounting import Accountant, allowed_rho, pld_epsilon, zcdp_epsilon
from copriv.privacy.gaussian import Gaussian
from copriv.privacy.guarantee import NANO, Amount, Guarantee
from copriv.privacy.laplace import Laplace
from copriv.privacy.mechanism import Mechanism
from copriv.privacy.sensitivity import Sensitivity
from copriv.vectors import Norm

WHOLE = Fraction(1)
_FIRST_STEP = 2.0**-40
# Noise is widened to at most so many times what a price without rounding would need.
_WIDEST = 2.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """The mechanism that keeps a guarantee over a fixed number of answers, and its price."""

    guarantee: Guarantee
    answers: int
    mechanism: Mechanism
    charge: Amount
    budget: Amount
    accountant: Accountant

    def epsilon_after(self, answers: int) -> float:
        """The ε (at the guarantee's δ) spent after some answers; never more than promised."""
        return spent_epsilon(self.charge * answers, self.guarantee, self.accountant)


def spent_epsilon(spent: Amount, guarantee: Guarantee, accountant: Accountant) -> float:
    """The ε that a spent amount stands for, at the guarantee's δ.

    >>> spent_epsilon(Amount(25 * 10**7, "epsilon"), Guarantee.of(1), "pure")
    0.25
    """
    if accountant == "pure":
        return spent.nano / NANO
    if accountant == "zcdp":
        return zcdp_epsilon(spent.nano, guarantee.delta)
    return pld_epsilon(spent.nano, guarantee.delta)


def calibrate(
    guarantee: Guarantee,
    *,
    answers: int,
    sensitivity: Sensitivity,
    parameters: int,
    accountant: Accountant = "pld",
    portion: Fraction = WHOLE,
) -> Calibration:
    """Noise for `answers` answers of `parameters` numbers: Laplace if the guarantee is pure, else Gaussian.

    The accountant matters only with δ > 0; a pure guarantee adds up ε. The answers get no more than their portion of
    what the guarantee allows.
    """
    if answers < 1:
        raise BadInput(f"{answers} answers", remedy="an owner promises at least one answer", value=answers)
    if not 0 < portion <= 1:
        raise BadInput(f"a portion of {portion}", remedy="give a fraction above 0, at most 1", value=portion)
    if guarantee.pure:
        return _laplace(guarantee, answers, sensitivity, parameters, portion)
    if accountant == "pure":
        raise BadGuarantee(
            f"a pure account of delta = {guarantee.delta}",
            remedy="use the accountant zcdp or pld",
            value=accountant,
        )
    return _gaussian(guarantee, answers, sensitivity, parameters, accountant, portion)


def calibrate_share(whole: Calibration, share: int, *, sensitivity: Sensitivity, parameters: int) -> Calibration:
    """Noise for one answer that costs at most so many per cents of a budget; its `answers` is how many such fit.

    The budget stays the whole one: all answers that have a share of it are charged to it.
    """
    part = Amount(whole.budget.nano * share // 100, whole.budget.measure)
    if not 0 < share <= 100 or part.nano == 0:
        raise BadGuarantee(
            f"{share} per cent of {whole.budget.words} leaves less than a billionth for an answer",
            remedy="raise epsilon, or take the smallest shares off the menu",
            value=share,
        )
    if whole.guarantee.pure:
        mechanism, charge = _fit(Laplace, _laplace_scale(sensitivity, part), part, sensitivity, parameters)
    else:
        mechanism, charge = _fit(Gaussian, _gaussian_scale(sensitivity, part), part, sensitivity, parameters)
    return Calibration(whole.guarantee, 100 // share, mechanism, charge, whole.budget, whole.accountant)


def expected_noise_std(
    guarantee: Guarantee,
    *,
    answers: int,
    sensitivity: Sensitivity,
    accountant: Accountant = "pld",
    portion: Fraction = WHOLE,
) -> float:
    """Of the noise that `calibrate` would give each answer, but for its last digits: for whoever only forecasts.

    >>> unit = Sensitivity(1.0, Norm.L1)
    >>> exact = calibrate(Guarantee.of(1), answers=7, sensitivity=unit, parameters=3).mechanism.noise_std
    >>> math.isclose(expected_noise_std(Guarantee.of(1), answers=7, sensitivity=unit), exact, rel_tol=1e-9)
    True
    """
    if guarantee.pure:
        share = _share(Amount(guarantee.nano_epsilon, "epsilon"), portion, answers, guarantee)
        return Laplace(_laplace_scale(sensitivity, share)).noise_std
    allowed = _allowed(guarantee, "zcdp" if accountant == "zcdp" else "pld")
    share = _share(Amount(allowed, "rho"), portion, answers, guarantee)
    return Gaussian(_gaussian_scale(sensitivity, share)).noise_std


@lru_cache(maxsize=4096)
def _allowed(guarantee: Guarantee, accountant: Literal["zcdp", "pld"]) -> int:
    return allowed_rho(guarantee, accountant)


def _laplace_scale(sensitivity: Sensitivity, share: Amount) -> float:
    return sensitivity.value * NANO / share.nano


def _gaussian_scale(sensitivity: Sensitivity, share: Amount) -> float:
    return sensitivity.value / math.sqrt(2 * share.nano / NANO)


def mechanism_norm(guarantee: Guarantee) -> Norm:
    """The norm in which gradients are clipped under a guarantee: its mechanism's own."""
    return Laplace.norm if guarantee.pure else Gaussian.norm


def _laplace(
    guarantee: Guarantee, answers: int, sensitivity: Sensitivity, parameters: int, portion: Fraction
) -> Calibration:
    share = _share(Amount(guarantee.nano_epsilon, "epsilon"), portion, answers, guarantee)
    mechanism, charge = _fit(Laplace, _laplace_scale(sensitivity, share), share, sensitivity, parameters)
    return Calibration(guarantee, answers, mechanism, charge, share * answers, "pure")


def _gaussian(
    guarantee: Guarantee,
    answers: int,
    sensitivity: Sensitivity,
    parameters: int,
    accountant: Literal["zcdp", "pld"],
    portion: Fraction,
) -> Calibration:
    allowed = _allowed(guarantee, accountant)
    share = _share(Amount(allowed, "rho"), portion, answers, guarantee)
    mechanism, charge = _fit(Gaussian, _gaussian_scale(sensitivity, share), share, sensitivity, parameters)
    return Calibration(guarantee, answers, mechanism, charge, share * answers, accountant)


def _share(budget: Amount, portion: Fraction, answers: int, guarantee: Guarantee) -> Amount:
    whole = budget.nano if portion is WHOLE else math.floor(budget.nano * portion)
    share = Amount(whole // answers, budget.measure)
    if share.nano == 0:
        part = "" if portion == WHOLE else f"{float(portion):g} of "
        raise BadGuarantee(
            f"{part}epsilon = {guarantee.epsilon:g} over {answers} answers leaves less than a billionth for each",
            remedy="raise epsilon or ask for fewer answers",
            value=answers,
        )
    return share


@lru_cache(maxsize=4096)
def _fit(
    kind: type[Laplace | Gaussian],
    scale: float,
    share: Amount,
    sensitivity: Sensitivity,
    parameters: int,
) -> tuple[Mechanism, Amount]:
    """Widen the noise, by as little as it takes, until its quoted price fits into the share.

    Rounding to the grid of the noise has a price that no scale changes. A share that hardly pays for more than that
    would need noise out of all proportion: it is refused.
    """
    widest, step = _WIDEST * scale, _FIRST_STEP
    while scale <= widest:
        mechanism = kind(scale)
        charge = mechanism.cost(sensitivity, parameters)
        if charge.nano <= share.nano:
            return mechanism, charge
        scale *= 1 + step
        step *= 2
    raise BadGuarantee(
        f"{share.words} for an answer of {parameters:,} numbers, whose rounding alone costs about as much",
        remedy="raise epsilon, ask for fewer answers, or take the smallest shares off the menu",
        value=share.nano,
    )
