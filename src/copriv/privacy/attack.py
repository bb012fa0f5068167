"""What ε means for an attacker who knows everything but one record: how well it can tell which of two it was.

Under (ε, δ) the power of any test at a rate f of false alarms is at most min(e^ε f + δ, 1 − e^−ε(1 − δ − f)): Wasserman
and Zhou, A statistical framework for differential privacy, JASA 2010; Kairouz, Oh, Viswanath, ICML 2015. Someone who
held both records for equally likely guesses right with a probability of at most (e^ε + δ)/(1 + e^ε).
"""

from __future__ import annotations

import math

from copriv.errors import BadInput


def most_power(epsilon: float, delta: float, false_alarms: float) -> float:
    """The most that an attacker's rate of hits can be.

    >>> round(most_power(1.0, 0.0, 0.01), 6), most_power(0.0, 0.0, 0.05)
    (0.027183, 0.05)
    """
    if not (epsilon >= 0 and 0 <= delta < 1 and 0 <= false_alarms <= 1):
        raise BadInput(
            f"ε = {epsilon:g}, δ = {delta:g}, false alarms {false_alarms:g}",
            remedy="give ε of at least 0, and shares from 0 to 1",
            value=epsilon,
        )
    rising = math.exp(min(epsilon, 700.0)) * false_alarms + delta
    falling = 1 - math.exp(-epsilon) * (1 - delta - false_alarms)
    return min(rising, falling, 1.0)


def most_certain(epsilon: float, delta: float) -> float:
    """The most that a guess between two equally likely records can be right.

    >>> most_certain(0.0, 0.0), round(most_certain(1.0, 0.0), 4)
    (0.5, 0.7311)
    """
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
