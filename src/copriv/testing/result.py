"""What came of a check, and how a list of checks is gone through."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

Bench = TypeVar("Bench")


class ContractBroken(AssertionError):
    """What was checked does not do what the contract says."""


class CheckResult(msgspec.Struct, frozen=True):
    """One check: its name, what it looks at, whether it passed, and what is wrong if it did not."""

    name: str
    promise: str
    passed: bool
    problem: str = ""

    def line(self) -> str:
        """One line for people.

        >>> CheckResult("pure", "a state is never changed", False, "absorb changed it").line()
        'FAILED  pure: absorb changed it'
        """
        return f"passed  {self.name}: {self.promise}" if self.passed else f"FAILED  {self.name}: {self.problem}"


def require(condition: object, problem: str) -> None:
    """Go on only if something holds."""
    if not condition:
        raise ContractBroken(problem)


def go_through(checks: Mapping[str, Callable[[Bench], None]], make: Callable[[], Bench]) -> tuple[CheckResult, ...]:
    """Every check, each on a bench of its own, so that a failure spoils no other; a warning of arithmetic is one."""
    return tuple(_go_through_one(name, check, make) for name, check in checks.items())


def _go_through_one(name: str, check: Callable[[Bench], None], make: Callable[[], Bench]) -> CheckResult:
    promise = (check.__doc__ or "").strip().splitlines()[0].rstrip(".")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            check(make())
    except ContractBroken as problem:
        return CheckResult(name, promise, passed=False, problem=str(problem))
    except Exception as problem:  # noqa: BLE001
        return CheckResult(name, promise, passed=False, problem=f"{type(problem).__name__}: {problem}")
    return CheckResult(name, promise, passed=True)


def raise_if_broken(what: str, results: Sequence[CheckResult]) -> None:
    """Say everything that is wrong at once."""
    failed = [result for result in results if not result.passed]
    if failed:
        told = "\n".join(f"  {result.name}: {result.problem}" for result in failed)
        raise ContractBroken(f"{what} breaks {len(failed)} of {len(results)} promises\n{told}")
