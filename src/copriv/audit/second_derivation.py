"""The exact answer, derived a second time: does an owner compute what the terms say?

Noise of the right size hides a gradient that was turned too early, clipped along the wrong axes or not turned at all.
Such an answer can keep its promise by luck, and it is still not what people approved. So exact answers of synthetic
records are held against their definition. There is no chance in the verdict but for the records.
"""

from __future__ import annotations

import math

import numpy as np

from copriv.audit.claim import Claim
from copriv.audit.reference import reference_answer, reference_filled
from copriv.audit.result import AuditResult
from copriv.audit.subject import LIMIT, REACH, Subject, on_one_core
from copriv.audit.transcript import draw_records
from copriv.losses.sample import Sample
from copriv.vectors import FloatArray

TRIES = 60
# In clips: beyond rounding, which leaves a gradient at the clip a room of some 10⁻⁸, and far below any mistake.
_ALIKE = 1e-7
# How far targets reach, in clips: gradients are within the clip, about on it, or far beyond.
_REACHES = (0.1, 1.0, 10.0, REACH)


def reference_gradient(claim: Claim, sample: Sample, theta: FloatArray) -> FloatArray:
    """What a gradient of this claim should be: along its axes, and filled if it is."""
    if claim.fill:
        return reference_filled(sample, theta, (claim.clip, claim.fill), claim.norm, claim.axes)
    return reference_answer(sample, theta, claim.clip, claim.norm, claim.axes)


@on_one_core()
def audit_exact(subject: Subject, generator: np.random.Generator, tries: int = TRIES) -> AuditResult:
    """Compare exact answers of random records at random models with what they should be."""
    furthest = max(_distance(subject, generator, _REACHES[place % len(_REACHES)]) for place in range(tries))
    return AuditResult(
        name="exact answers",
        certified=0.0,
        claimed=subject.claim.guarantee.epsilon,
        statistic=furthest,
        threshold=_ALIKE,
        answers=0,
        false_alarms=0.0,
        passed=furthest <= _ALIKE,
        words=f"{tries:,} exact answers are off by at most {furthest:.3g} of the clip"
        + ("" if furthest <= _ALIKE else ": they are not what the terms say"),
    )


def _distance(subject: Subject, generator: np.random.Generator, reach: float) -> float:
    """How far an exact answer is from what it should be, in clips."""
    claim, drawn = subject.claim, draw_records(subject.claim, generator)
    sample = Sample(drawn.columns, drawn.targets * reach)
    theta = generator.uniform(-LIMIT, LIMIT, size=claim.parameters)
    with np.errstate(over="ignore", invalid="ignore"):
        length = claim.norm.of(subject.part.exact(sample, theta) - reference_gradient(claim, sample, theta))
    return length / claim.clip if math.isfinite(length) else math.inf
