"""Who may take part: what an owner says of itself has to fit the terms and its invitation.

An owner's size decides how much its answers count, and its promise how much noise they are taken to have. Both are its
own word, so the invitation limits the first, and a promise is worked out only where that is known to end.
"""

from __future__ import annotations

from collections.abc import Callable

from copriv.errors import CoprivError
from copriv.privacy.guarantee import NANO
from copriv.protocol.meeting import Hello
from copriv.protocol.terms import Terms

# An owner may have this many times the records that the study was drafted for, unless its invitation says otherwise.
GENEROUS = 10
# Ticks a second of a clock: once in eleven days, and as often as nobody can meet; within them no share vanishes.
SLOWEST, FASTEST = 1e-6, 1e6
_LARGEST_EPSILON = 10**6


def most_records(terms: Terms) -> int:
    """How many records an owner may claim where its invitation does not say; 0 if the terms do not say either."""
    return GENEROUS * terms.records


def objection(hello: Hello, terms: Terms, most: int, work_out: Callable[[Hello], object]) -> str | None:
    """Why an owner has no place in a study, or None.

    Args:
        hello: what it says of itself.
        terms: of the study.
        most: the most records that it may claim; 0 for any number.
        work_out: works out what it promises, or says why that cannot be.
    """
    if most and hello.records > most:
        return f"it claims {hello.records:,} records, and its invitation is for at most {most:,}"
    if 0 < terms.answers < hello.answers:
        return f"it promises {hello.answers:,} answers, and the terms allow {terms.answers:,}"
    if not terms.suits(hello.delta):
        return "its delta is not of the kind that the study's rule asks for"
    if terms.clock == "poisson" and not SLOWEST <= hello.rate <= FASTEST:
        return f"its clock ticks {hello.rate:g} times a second, and the study allows {SLOWEST:g} to {FASTEST:g}"
    epsilon = hello.nano_epsilon / NANO
    if epsilon > _LARGEST_EPSILON or hello.delta > min(epsilon, 0.5):
        return f"epsilon = {epsilon:g} and delta = {hello.delta:g} promise nothing"
    try:
        work_out(hello)
    except CoprivError as problem:
        return f"what it promises cannot be worked out: {problem.problem}"
    except (ArithmeticError, MemoryError, ValueError) as problem:
        return f"what it promises cannot be worked out: {type(problem).__name__}"
    return None
