"""The transcript: is the noise in everything that one owner says as large as its guarantee needs?

Where the exact gradients g are known, y − g is the noise itself. For Laplace noise of scale b, 2Σ|y − g|/b over m
numbers is χ²(2m); for Gaussian noise of deviation s, Σ((y − g)/s)² is χ²(m). Below the lower quantile the noise is
too small. This sees a few per cent where a black box sees nothing, but it takes the shape of the noise for granted;
the canary does not.

A first transcript is judged at 5 %. Only where it raises a doubt are four fresh ones drawn, which must reject as
well, at such a level that a correct owner fails once in 10,000 audits (or as often as asked for). A thousand answers
of ten numbers raise a doubt about Laplace noise 3 % too small in 92 of 100 audits (Gaussian: 99), and four thousand
then confirm it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaincinv

from copriv.audit.claim import Claim
from copriv.audit.reference import reference_answer, reference_moments
from copriv.audit.result import AuditResult
from copriv.audit.subject import LIMIT, ROW_NORM, Advance, Subject
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

LEVEL = 1e-4
FIRST_LEVEL = 0.05
CONFIRMING = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """The size of some noise, against the least that its claim allows.

    Args:
        statistic: what is χ² distributed if the noise is just large enough.
        threshold: its lower quantile.
        ratio: how large the noise is, in units of what is needed.
        certified: a lower bound of ε, from an upper bound of the scale.
    """

    statistic: float
    threshold: float
    ratio: float
    certified: float

    @property
    def passed(self) -> bool:
        """Whether the noise may be large enough."""
        return self.statistic >= self.threshold

    def margin(self) -> float:
        """How far above its threshold the statistic is; below 1 the noise is too small."""
        return self.statistic / self.threshold


def audit_transcript(
    subject: Subject, level: float, generator: np.random.Generator, advance: Advance, owners: int = 1
) -> AuditResult:
    """Measure the noise of a whole transcript, and of four more if the first raises a doubt.

    Where an owner says too little to be measured by, as with moments, a transcript is what many owners say.
    """
    if not 0 < level <= FIRST_LEVEL:
        raise BadInput(f"a level of {level}", remedy=f"give a number above 0, up to {FIRST_LEVEL}", value=level)
    measure = partial(_MEASURES[subject.claim.asks], subject, owners, generator, advance)
    reading, lives = read(subject.claim, measure(), FIRST_LEVEL), 1
    if not reading.passed:
        again = [measure() for _ in range(CONFIRMING)]
        reading, lives = read(subject.claim, np.concatenate(again), level / FIRST_LEVEL), 1 + CONFIRMING
    return _verdict(subject.claim, reading, lives, level, owners)


def read(claim: Claim, noise: FloatArray, level: float) -> Reading:
    """The χ² test at a level, and the certificate of the same confidence."""
    scale = claim.needed_scale()
    if claim.guarantee.pure:
        statistic, freedom, power = 2 * float(np.abs(noise).sum()) / scale, 2 * noise.size, 1.0
    else:
        statistic, freedom, power = float(np.sum((noise / scale) ** 2)), noise.size, 0.5
    threshold = 2 * float(gammaincinv(freedom / 2, level))
    largest = scale * (statistic / threshold) ** power if math.isfinite(threshold) else 0.0
    return Reading(statistic, threshold, (statistic / freedom) ** power, claim.epsilon_of(largest))


def _gradient_noise(subject: Subject, owners: int, generator: np.random.Generator, advance: Advance) -> FloatArray:
    """What owners' answers differ by from the gradients of their records."""
    return np.concatenate([_one_owner(subject, generator, advance) for _ in range(owners)])


def _moments_noise(subject: Subject, owners: int, generator: np.random.Generator, advance: Advance) -> FloatArray:
    """What the first answers of owners with the same records differ by from the moments of these."""
    sample = draw_records(subject.claim, generator)
    return subject.first_answers(sample, owners, advance) - reference_moments(sample, subject.claim.norm)


_MEASURES = {"gradient": _gradient_noise, "moments": _moments_noise}


def _one_owner(subject: Subject, generator: np.random.Generator, advance: Advance) -> FloatArray:
    claim = subject.claim
    sample = draw_records(claim, generator)
    thetas = generator.uniform(-LIMIT, LIMIT, size=(claim.answers, claim.parameters))
    exact = [reference_answer(sample, theta, claim.clip, claim.norm) for theta in thetas]
    return np.asarray(subject.transcript(sample, thetas, advance) - np.array(exact))


def draw_records(claim: Claim, generator: np.random.Generator) -> Sample:
    """Some records within the terms; the gradients of some are clipped and those of others are not."""
    rows = generator.normal(size=(claim.records, claim.parameters))
    rows *= ROW_NORM / np.linalg.norm(rows, axis=1, keepdims=True)
    reach = 1.0 if claim.asks == "moments" else claim.clip
    return Sample.of_rows(rows, generator.uniform(-1, 1, size=claim.records) * reach)


def _verdict(claim: Claim, reading: Reading, lives: int, level: float, owners: int) -> AuditResult:
    answers = owners if claim.asks == "moments" else owners * claim.answers
    return AuditResult(
        name="transcript",
        certified=reading.certified,
        claimed=claim.guarantee.epsilon,
        statistic=reading.statistic,
        threshold=reading.threshold,
        answers=lives * answers,
        false_alarms=level,
        passed=reading.passed,
        words=f"the noise of {answers:,} answers is {reading.ratio:.3f} times what the guarantee needs"
        + ("" if reading.passed else "; the statistic lies below its threshold"),
    )
