"""Who would train together: how many records each owner has, and what each promises about any one of them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copriv.errors import BadInput
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import ADJACENCY, NANO, UNIT, Guarantee, written
from copriv.schedule.poisson import availability

# Owners of which nothing is said.
_OWNERS = 10


@dataclass(frozen=True)
class Scenario:
    """Owners by their sizes and promises; nothing else is known of them.

    Args:
        records: how many records each owner has.
        epsilon: what each promises about any one record (replace-one): one number for all, or one an owner.
        delta: 0 for pure ε; above 0, owners may also give (ε, δ) with Gaussian noise.
        rates: of the owners' clocks; None if they are equal.
        heterogeneity: κ, how much owners truly differ: 0.001 is as if by samples of 1,000.
        accountant: adds up answers under δ > 0.

    Raises:
        BadInput: if a number makes no sense, or there is not one an owner.

    >>> who = Scenario(records=[7000, 827, 30], epsilon=[1, 0.5, 0.5])
    >>> who.owners, who.total, who.epsilons
    (3, 7857, (1.0, 0.5, 0.5))
    >>> Scenario([5, 5], epsilon=0)
    Traceback (most recent call last):
    ...
    copriv.errors.BadGuarantee: epsilon is 0 (give a number greater than 0, of at least one billionth)
    """

    records: Sequence[int]
    epsilon: float | str | Sequence[float | str] = 1.0
    delta: float = 0.0
    rates: Sequence[float] | None = None
    heterogeneity: float = 0.0
    accountant: Accountant = "pld"

    def __post_init__(self) -> None:
        given = (self.records,) if isinstance(self.records, int) else self.records
        sizes = tuple(require_size(size) for size in _listed(given, "records"))
        if not sizes:
            raise BadInput("no owners", remedy="give the records of at least one owner", value=0)
        object.__setattr__(self, "records", sizes)
        if isinstance(self.epsilon, str | int | float):
            object.__setattr__(self, "epsilon", _known(self.epsilon))
        else:
            object.__setattr__(self, "epsilon", _one_each(_listed(self.epsilon, "epsilon"), len(sizes), "epsilon"))
        if self.rates is not None:
            object.__setattr__(self, "rates", _one_each(_listed(self.rates, "rates"), len(sizes), "rates"))
            availability(tuple(self.rates))
        if not (math.isfinite(self.heterogeneity) and self.heterogeneity >= 0):
            raise BadInput(
                f"a heterogeneity of {self.heterogeneity}", remedy="give a number from 0", value=self.heterogeneity
            )
        if self.accountant not in {"pld", "zcdp"}:
            raise BadInput(f"the accountant {self.accountant!r}", remedy="use pld or zcdp", value=self.accountant)
        _ = self.guarantees

    @classmethod
    def parse(
        cls, owners: int | None, records: str, epsilon: str, delta: float, heterogeneity: float = 0.0
    ) -> Scenario:
        """From text as people type it: one number for all owners, or one an owner, separated by commas.

        >>> Scenario.parse(None, "7000,827,30", "1", 0.0).owners
        3
        >>> Scenario.parse(2, "7_000", "1,0.5", 0.0).records
        (7000, 7000)
        """
        sizes, epsilons = _split(records, "records"), _split(epsilon, "epsilon")
        count = owners if owners is not None else max(len(sizes), len(epsilons))
        if owners is None and count == 1:
            count = _OWNERS
        if count < 1:
            raise BadInput(f"{count} owners", remedy="give at least 1: --owners N", value=count)
        each = _one_each(tuple(sizes * count if len(sizes) == 1 else sizes), count, "records")
        given = epsilons[0] if len(epsilons) == 1 else tuple(epsilons)
        return cls(each, given, delta, heterogeneity=heterogeneity)

    def purely(self) -> Scenario:
        """The same with the stronger promise: without δ."""
        return replace(self, delta=0.0)

    @property
    def owners(self) -> int:
        """How many there are (N)."""
        return len(self.records)

    @property
    def total(self) -> int:
        """Records of all owners together (n)."""
        return sum(self.records)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What each owner promises."""
        if isinstance(self.epsilon, str | int | float):
            return (Guarantee.of(self.epsilon, self.delta),) * len(self.records)
        return tuple(Guarantee.of(epsilon, self.delta) for epsilon in self.epsilon)

    @property
    def epsilons(self) -> tuple[float, ...]:
        """ε of each owner."""
        return tuple(guarantee.epsilon for guarantee in self.guarantees)

    @property
    def epsilon_range(self) -> tuple[float, float]:
        """The smallest and the largest ε."""
        return min(self.epsilons), max(self.epsilons)

    @property
    def any_epsilon(self) -> float | tuple[float, float]:
        """The ε that all owners have, or else the smallest and the largest."""
        low, high = self.epsilon_range
        return low if low == high else (low, high)

    @property
    def promise(self) -> str:
        """What is promised, in words.

        >>> Scenario([10, 20], epsilon=[1, 0.5]).promise
        'ε = 0.5 to 1, δ = 0 for any one record (replace-one)'
        """
        return self.promise_to(UNIT)

    def promise_to(self, unit: str) -> str:
        """The same for any one of these."""
        low, high = self.epsilon_range
        epsilon = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        return f"ε = {epsilon}, δ = {self.delta:g} for any one {unit} ({ADJACENCY})"

    def with_largest_epsilon(self, epsilon: float) -> Scenario:
        """The same with all budgets scaled, so that the largest is this one; owners alike all have it.

        >>> Scenario([10, 20], epsilon=[1, 0.5]).with_largest_epsilon(4).epsilons
        (4.0, 2.0)
        """
        guarantees = self.guarantees
        largest = max(guarantee.nano_epsilon for guarantee in guarantees)
        if all(guarantee.nano_epsilon == largest for guarantee in guarantees):
            return replace(self, epsilon=epsilon)
        scaled = [max(1, int(epsilon * NANO * (each.nano_epsilon / largest))) for each in guarantees]
        return replace(self, epsilon=tuple(written(nano) for nano in scaled))

    def with_owners(self, owners: int) -> Scenario:
        """The same pattern of owners, repeated or cut short until there are so many.

        >>> Scenario([10, 20], epsilon=[1, 0.5]).with_owners(3).records
        (10, 20, 10)
        """

        def repeat(values: Any) -> Any:  # noqa: ANN401
            return tuple(values[k % len(values)] for k in range(owners))

        epsilon = self.epsilon if isinstance(self.epsilon, str | int | float) else repeat(self.epsilon)
        rates = None if self.rates is None else repeat(self.rates)
        return replace(self, records=repeat(self.records), epsilon=epsilon, rates=rates)

    def with_median_records(self, records: int) -> Scenario:
        """The same with all sizes scaled, so that the median owner has so many.

        >>> Scenario([10, 20, 60]).with_median_records(40).records
        (20, 40, 120)
        """
        median = float(np.median(self.records))
        return replace(self, records=tuple(max(1, round(size * records / median)) for size in self.records))

    def to_dict(self) -> dict[str, Any]:
        """Sizes and promises, with unit and adjacency."""
        return {
            "owners": self.owners,
            "records": list(self.records),
            "epsilon": list(self.epsilons),
            "delta": self.delta,
            "rates": None if self.rates is None else list(self.rates),
            "heterogeneity": self.heterogeneity,
            "accountant": self.accountant,
            "unit": UNIT,
            "adjacency": ADJACENCY,
        }

    def _repr_html_(self) -> str:
        low, high = min(self.records), max(self.records)
        sizes = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return html.escape(
            f"{self.owners} owner{'' if self.owners == 1 else 's'} of {sizes} records each; {self.promise}"
        )


def _split(text: str, what: str) -> list[str]:
    values = [value.strip() for value in text.split(",")]
    if not all(values):
        raise BadInput(
            f"{what} {text!r} has nothing between two commas, or at an end",
            remedy="give one for all, or one an owner, separated by single commas",
            value=text,
        )
    return values


def require_size(given: object) -> int:
    """A number of records, from 1.

    >>> require_size("7_000")
    7000
    """
    try:
        size = int(str(given).strip())
    except ValueError as problem:
        raise BadInput(f"{given!r} records", remedy="give whole numbers from 1", value=str(given)) from problem
    if size < 1:
        raise BadInput(f"{size} records", remedy="give whole numbers from 1", value=size)
    return size


def _listed(given: object, what: str) -> tuple[Any, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadInput(f"{what} of {given!r}", remedy=f"give a sequence of {what}, one an owner", value=str(given))
    return tuple(_known(value) for value in given)


def _known(value: Any) -> Any:  # noqa: ANN401
    """A number as Python has it, also if it came from NumPy."""
    return value.item() if hasattr(value, "item") else value


def _one_each(values: tuple[Any, ...], owners: int, what: str) -> tuple[Any, ...]:
    if len(values) != owners:
        raise BadInput(
            f"{len(values)} values of {what} for {owners} owners",
            remedy=f"give one for all, or {owners}, one an owner",
            value=len(values),
        )
    return values
