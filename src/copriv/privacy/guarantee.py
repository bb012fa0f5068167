"""A guarantee: what an owner promises about any one of its records.

Unit: one record. Adjacency: replace one record by another, so the number of records is public. Amounts of budget are
whole billionths (nano-ε or nano-ρ), because a budget that is added up in floating point is not a budget: promises
round down, charges round up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation, localcontext
from typing import Literal

from copriv.errors import BadGuarantee

UNIT = "record"
# What may be protected as one, and the words for it.
UNITS: Mapping[str, str] = {"record": UNIT, "person": "person (all of its rows at this owner)"}
ADJACENCY = "replace-one"
NANO = 10**9

Measure = Literal["epsilon", "rho"]


@dataclass(frozen=True, slots=True, order=True)
class Guarantee:
    """(ε, δ)-differential privacy for everything an owner ever says; δ = 0 is pure ε-DP.

    >>> Guarantee.of(0.1)
    Guarantee(nano_epsilon=100000000, delta=0.0)
    >>> Guarantee.of("2.5", delta=1e-6).epsilon
    2.5
    """

    nano_epsilon: int
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.nano_epsilon <= 0:
            raise BadGuarantee(
                f"epsilon is {self.nano_epsilon / NANO:g}",
                remedy="give a number greater than 0, of at least one billionth",
                value=self.nano_epsilon,
            )
        if not 0 <= self.delta < 1:
            raise BadGuarantee(
                f"delta is {self.delta}",
                remedy="give 0 for pure epsilon, or a small probability below 1 such as 1e-6",
                value=self.delta,
            )

    @classmethod
    def of(cls, epsilon: float | str, delta: float = 0.0) -> Guarantee:
        """Read ε as people write it (0.1 means one tenth exactly), rounding down to a billionth."""
        return cls(floor_nano(_decimal(epsilon)), float(delta))

    @property
    def epsilon(self) -> float:
        """ε as a number to show."""
        return self.nano_epsilon / NANO

    @property
    def pure(self) -> bool:
        """Whether no failure probability is allowed."""
        return self.delta == 0

    @property
    def words(self) -> str:
        """The guarantee to the last billionth, with its unit and adjacency.

        >>> Guarantee.of("5.0000049", 1e-6).words
        'ε = 5.0000049, δ = 1e-06 for any one record (replace-one)'
        """
        return self.words_for("record")

    def words_for(self, unit: str) -> str:
        """The same for a record or a person.

        >>> Guarantee.of(1).words_for("person")
        'ε = 1, δ = 0 for any one person (all of its rows at this owner) (replace-one)'
        """
        return self.words_about(UNITS[unit])

    def words_about(self, unit: str) -> str:
        """The same for a unit that is told in words."""
        delta = f"{self.delta:g}" if float(f"{self.delta:g}") == self.delta else repr(self.delta)
        return f"ε = {written(self.nano_epsilon)}, δ = {delta} for any one {unit} ({ADJACENCY})"

    def describe(self, unit: str = "record") -> dict[str, object]:
        """The guarantee with its unit and adjacency, as it is shown everywhere."""
        return {"epsilon": self.epsilon, "delta": self.delta, "unit": UNITS[unit], "adjacency": ADJACENCY}


@dataclass(frozen=True, slots=True)
class Amount:
    """A whole number of billionths of ε (pure) or of ρ (zero-concentrated), the currency of a ledger."""

    nano: int
    measure: Measure

    def __post_init__(self) -> None:
        if self.nano < 0:
            raise BadGuarantee(
                f"an amount of {self.nano} nano-{self.measure}",
                remedy="budgets are never negative",
                value=self.nano,
            )

    @property
    def words(self) -> str:
        """As people read it, and not in billionths.

        >>> Amount(250_000_000, "epsilon").words, Amount(0, "rho").words
        ('ε = 0.25', 'ρ = 0')
        """
        return f"{'ε' if self.measure == 'epsilon' else 'ρ'} = {written(self.nano)}"

    def __mul__(self, times: int) -> Amount:
        return Amount(self.nano * times, self.measure)


def written(nano: int) -> str:
    """Billionths as a decimal number, to the last digit.

    >>> written(5_000_004_900), written(10_000_000_000), written(1), written(0)
    ('5.0000049', '10', '0.000000001', '0')
    """
    whole, rest = divmod(nano, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def read_nano(epsilon: str) -> int:
    """Billionths of an ε as people write it, which may be 0, rounded down.

    >>> read_nano("0.3"), read_nano("0")
    (300000000, 0)
    """
    return floor_nano(_decimal(epsilon))


def floor_nano(value: float | Decimal) -> int:
    """Billionths in `value`, rounded down: what may be promised.

    >>> floor_nano(0.3)  # the double just below 3/10
    299999999
    """
    return _to_nano(value, ROUND_FLOOR)


def ceil_nano(value: float | Decimal) -> int:
    """Billionths in `value`, rounded up: what must be charged.

    >>> ceil_nano(0.1)  # the double just above 1/10
    100000001
    """
    return _to_nano(value, ROUND_CEILING)


def _to_nano(value: float | Decimal, rounding: str) -> int:
    if not math.isfinite(value):
        raise BadGuarantee(f"an amount of {value}", remedy="give a finite number", value=value)
    with localcontext(prec=1200):
        return int((Decimal(value) * NANO).to_integral_value(rounding=rounding))


def _decimal(epsilon: float | str) -> Decimal:
    try:
        value = Decimal(str(epsilon).strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise BadGuarantee(f"epsilon is {epsilon}", remedy="give a number greater than 0, such as 1", value=epsilon)
    return value
