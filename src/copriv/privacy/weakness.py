"""A promise that means little, called that: what its ε and δ allow, in plain words.

ε = 10 lets the odds that anybody gives to a record change by a factor of e^10, about 22,000. A δ of 1/n lets one of n
records be published as it is. Such promises may be made; nobody should make or read one without being told.
"""

from __future__ import annotations

import math

from copriv.privacy.guarantee import Guarantee

MOST_EPSILON = 10.0
MOST_DELTA = 1e-3
_LARGEST_SHOWN = 100.0


def weakness(guarantee: Guarantee, records: int | None = None) -> str | None:
    """Why a guarantee means little; None if it does mean something.

    Args:
        guarantee: what is promised.
        records: how many records it is promised about, if that is known.

    >>> weakness(Guarantee.of(1, 1e-6), records=10_000) is None
    True
    >>> weakness(Guarantee.of(12))
    'ε = 12 means little: replacing one record can change any probability by a factor of e^12, about 160,000'
    """
    return weakness_of(guarantee.epsilon, guarantee.delta, records)


def weakness_of(epsilon: float, delta: float, records: int | None = None) -> str | None:
    """The same of an ε and a δ as they are shown.

    >>> weakness_of(1, 0.01, records=100)
    'δ = 0.01 means little: with 100 records it allows to publish one of them, picked at random, as it is'
    >>> weakness_of(1, 0.9)
    'δ = 0.9 means little: with this probability the promise need not hold at all'
    """
    reasons = [reason for reason in (_of_epsilon(epsilon), _of_delta(delta, records)) if reason]
    return "; ".join(reasons) or None


def _of_epsilon(epsilon: float) -> str | None:
    if epsilon <= MOST_EPSILON:
        return None
    power = f"e^{epsilon:.4g}"
    about = f", about {_two_digits(math.exp(epsilon))}" if epsilon <= _LARGEST_SHOWN else ", which is no limit"
    return (
        f"ε = {epsilon:.12g} means little: replacing one record can change any probability by a factor of "
        f"{power}{about}"
    )


def _of_delta(delta: float, records: int | None) -> str | None:
    if records and delta >= 1 / records:
        return (
            f"δ = {delta:g} means little: with {records:,} records it allows to publish one of them, picked at random, "
            "as it is"
        )
    if delta > MOST_DELTA:
        return f"δ = {delta:g} means little: with this probability the promise need not hold at all"
    return None


def _two_digits(value: float) -> str:
    """A large number as people say it.

    >>> _two_digits(162754.79), _two_digits(2.6881171e43)
    ('160,000', '2.7e+43')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded < 1e9 else f"{rounded:.2g}"
