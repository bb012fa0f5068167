"""The low bits: does what leaves an owner betray, in its last digits, what the noise was added to?

A double near 0 is finer than one near x. Noise in floating point, added to an exact 0, keeps all its fine digits;
added to x it loses those below the last digit of x. So the exponent of the lowest set bit tells two neighbours apart
with certainty, however large the noise (Mironov: On significance of the least significant bits for differential
privacy, CCS 2012). Noise drawn exactly on a grid leaves the same grid whatever it is added to.

The guarantee is divided over as many answers as it takes for one of them to claim at most ε = 1, because a few
thousand draws cannot refute more. A certificate is wrong with probability at most 5 %.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.audit.certificate import Evidence, Happened
from copriv.audit.claim import Claim
from copriv.audit.gaussian_curve import largest_mu
from copriv.audit.pair import low_bits_pair
from copriv.audit.result import AuditResult
from copriv.audit.subject import Advance, Subject
from copriv.vectors import FloatArray, IntArray

_DIGITS = 53
# Events: the finest of an answer's lowest bits lies at or below one of these places, counted from the exponent of x.
_PLACES = np.arange(-64, -16)
_NO_BIT = 2000


def audit_low_bits(subject: Subject, draws: int, confidence: float, advance: Advance) -> list[AuditResult]:
    """Look at the lowest bits of `draws` answers from two neighbours whose exact answers are 0 and x."""
    claim = subject.claim
    pair = low_bits_pair(claim)
    first, second = (
        _events(subject.first_answers(sample, draws // 2, advance), pair.shift) for sample in (pair.first, pair.second)
    )
    return [_judge(claim, Evidence(first, second, claim.guarantee.delta, confidence))]


def split(claim: Claim, most: float = 1.0) -> Claim:
    """The guarantee over as many answers as it takes for one of them to claim at most some ε.

    >>> from copriv.privacy.guarantee import Guarantee
    >>> split(Claim(Guarantee.of(10), 1, 1.0, 100, 10)).answers
    10
    """
    epsilon, delta = claim.guarantee.epsilon, claim.guarantee.delta
    if claim.guarantee.pure:
        return claim.over(max(1, math.ceil(epsilon / most)))
    return claim.over(max(1, math.ceil((largest_mu(epsilon, delta) / largest_mu(most, delta)) ** 2)))


def lowest_bits(values: FloatArray) -> IntArray:
    """Exponent of the lowest set bit of each number; a 0 has none and counts as coarse.

    >>> lowest_bits(np.array([1.0, 0.75, -6.0, 0.0]))
    array([   0,   -2,    1, 2000])
    """
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(np.abs(fractions), _DIGITS).astype(np.int64)
    _, place = np.frexp((whole & -whole).astype(np.float64))
    return np.where(whole == 0, _NO_BIT, exponents - _DIGITS + place - 1).astype(np.int64)


def _events(answers: FloatArray, shift: FloatArray) -> Happened:
    finest = np.min(lowest_bits(answers) - np.frexp(shift)[1], axis=1)
    fine = finest[:, None] <= _PLACES
    return np.concatenate([fine, ~fine], axis=1)


def _judge(claim: Claim, evidence: Evidence) -> AuditResult:
    certified, claimed, betrayed = evidence.epsilon(), claim.one_answer(), evidence.betrayed()
    return AuditResult(
        name="low bits",
        certified=certified,
        claimed=claimed,
        statistic=certified,
        threshold=claimed,
        answers=len(evidence.first) + len(evidence.second),
        false_alarms=1 - evidence.confidence,
        passed=certified <= claimed,
        words=f"the lowest bit betrays the table of at least {betrayed:.1%} of the answers"
        + (f", each one of {claim.answers:,} under the claim" if claim.answers > 1 else ""),
    )
