"""The canary: can one answer tell two neighbouring tables apart better than the claim allows?

The most powerful test between two tables is a threshold on the likelihood ratio (Neyman, Pearson). It is taken under
the claimed noise; should the owner's noise be another, the test only loses power, and its certificate stays true.
Thresholds are quantiles under the claimed noise, simulated before the first answer is asked for.

A certificate is wrong with probability at most 5 %. No more than log(draws) or so can be certified: at ε = 10 this
test is nearly blind, and the transcript is not.
"""

from __future__ import annotations

import numpy as np

from copriv.audit.certificate import Evidence, Happened
from copriv.audit.claim import Claim
from copriv.audit.pair import Pair
from copriv.audit.result import AuditResult
from copriv.audit.subject import Advance, Subject
from copriv.vectors import FloatArray

_REHEARSALS = 4000
_FIRST_QUANTILES = (0.9, 0.97, 0.99, 0.997)
_SECOND_QUANTILES = (0.5,)
# Where likelihood ratios have atoms, a threshold lies just below them.
_BELOW = 1 - 1e-9


def audit_canary(
    subject: Subject,
    pair: Pair,
    draws: int,
    confidence: float,
    generator: np.random.Generator,
    advance: Advance,
) -> list[AuditResult]:
    """Ask `draws` owners, with one of two neighbouring tables each, for their one answer, and count."""
    claim = subject.claim
    thresholds = place_thresholds(claim, pair.shift, generator)
    first, second = (
        _events(
            log_ratios(claim, pair.shift, subject.first_answers(sample, draws // 2, advance) - pair.origin), thresholds
        )
        for sample in (pair.first, pair.second)
    )
    return _judge(claim, f"canary {pair.name}", Evidence(first, second, claim.guarantee.delta, confidence))


def log_ratios(claim: Claim, shift: FloatArray, answers: FloatArray) -> FloatArray:
    """How much likelier an answer is around `shift` than around 0, under the claimed noise."""
    scale = claim.needed_scale()
    if claim.guarantee.pure:
        return np.asarray((np.abs(answers) - np.abs(answers - shift)).sum(axis=1) / scale)
    return np.asarray((answers - shift / 2) @ shift / scale**2)


def place_thresholds(claim: Claim, shift: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Quantiles of the log ratio under both tables; its law under one is the mirror image of that under the other."""
    around_zero = log_ratios(claim, shift, claim.draw_noise(_REHEARSALS, generator))
    around_shift = log_ratios(claim, shift, claim.draw_noise(_REHEARSALS, generator) + shift)
    found = (np.quantile(around_zero, _FIRST_QUANTILES), np.quantile(around_shift, _SECOND_QUANTILES))
    return np.concatenate(found) * _BELOW


def _events(ratios: FloatArray, thresholds: FloatArray) -> Happened:
    """Above a threshold, which speaks for the second table, or below its mirror image, which speaks for the first."""
    column = ratios[:, None]
    return np.concatenate([column >= thresholds, column <= -thresholds], axis=1)


def _judge(claim: Claim, name: str, evidence: Evidence) -> list[AuditResult]:
    """Certified against claimed; with δ once more as if the noise were Gaussian, which sees further."""
    found = {name: evidence.epsilon()}
    if not claim.guarantee.pure:
        found[f"{name}, as Gaussian"] = evidence.epsilon_if_gaussian()
    return [_verdict(claim, name, certified, evidence) for name, certified in found.items()]


def _verdict(claim: Claim, name: str, certified: float, evidence: Evidence) -> AuditResult:
    answers, claimed = len(evidence.first) + len(evidence.second), claim.guarantee.epsilon
    passed = certified <= claimed
    return AuditResult(
        name=name,
        certified=certified,
        claimed=claimed,
        statistic=certified,
        threshold=claimed,
        answers=answers,
        false_alarms=1 - evidence.confidence,
        passed=passed,
        words=f"{answers:,} single answers tell two neighbouring tables apart "
        + ("no better than claimed" if passed else "too well: too little noise, or a record that counts too much"),
    )
