"""Record and replay: does replacing one record ever move the exact answer further than declared?

The noise hides a change of the declared sensitivity and no more. Both exact answers are computed by the owner's own
code, rounding included, from synthetic records: nobody ever sees the exact answer of a real one. A search proves
nothing, but a clip that is missing, in the wrong norm or taken after the average is found at once. Moments have no
clip; they are bounded because an owner refuses longer records, so only tables that it accepts count. Filled gradients
are searched for by an adversary of their own. Where gradients are told along axes, records are sought there. There is
no chance in the verdict, and so no false alarm.
"""

from __future__ import annotations

import math
from heapq import nlargest
from itertools import islice

import numpy as np

from copriv.audit import adversary, filled_adversary, moments_adversary
from copriv.audit.adversary import Neighbours
from copriv.audit.claim import Claim
from copriv.audit.people import as_people
from copriv.audit.result import AuditResult
from copriv.audit.subject import Subject, on_one_core
from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.protocol.commitment import Commitment

TRIES = 1000
_RESTARTS = 10
_STEPS = 60
_PROPOSE = {
    "gradient": adversary.propose,
    "filled": filled_adversary.propose,
    "moments": moments_adversary.propose,
}
_PERTURB = {"gradient": adversary.perturb, "filled": adversary.perturb, "moments": moments_adversary.perturb}


@on_one_core()
def audit_neighbours(subject: Subject, generator: np.random.Generator, tries: int = TRIES) -> AuditResult:
    """Try many neighbours, climb from the best of them, and compare the largest change with the declared one."""
    largest, tested = _search(subject, generator, tries)
    claim, declared = subject.claim, subject.part.sensitivity
    # A change in the claim's own norm; a promise in another norm gets no allowance for it.
    passed = declared.norm is claim.norm and largest <= declared.value
    ratio = largest / declared.value
    return AuditResult(
        name="neighbours",
        certified=claim.epsilon_of(claim.needed_scale(), claim.change * ratio),
        claimed=claim.guarantee.epsilon,
        statistic=largest,
        threshold=declared.value,
        answers=0,
        false_alarms=0.0,
        passed=passed,
        words=f"the furthest of {tested:,} neighbours moved the exact answer by {ratio:.12g} of what is declared",
    )


def _search(subject: Subject, generator: np.random.Generator, tries: int) -> tuple[float, int]:
    proposed = islice(_PROPOSE[_about(subject.claim)](subject.claim, generator), tries)
    starts = nlargest(_RESTARTS, proposed, key=lambda found: change(subject, found))
    return max(_climb(subject, start, generator) for start in starts), tries + len(starts) * _STEPS


def _climb(subject: Subject, start: Neighbours, generator: np.random.Generator) -> float:
    best, height, perturb = start, change(subject, start), _PERTURB[_about(subject.claim)]
    for _ in range(_STEPS):
        candidate = perturb(subject.claim, best, generator)
        reached = change(subject, candidate)
        if reached > height:
            best, height = candidate, reached
    return height


def change(subject: Subject, neighbours: Neighbours) -> float:
    """How far apart the exact answers are, in the norm of the claim; an answer that is no number is infinitely far."""
    tables = [as_people(subject.claim, table, unlike=True) for table in neighbours.tables()]
    if subject.claim.asks == "moments" and not all(_accepts(subject.commitment, table) for table in tables):
        return 0.0
    exact = subject.part.exact
    first, second = (exact(table, neighbours.theta) for table in tables)
    with np.errstate(over="ignore", invalid="ignore"):
        length = subject.claim.norm.of(second - first)
    return length if math.isfinite(length) else math.inf


def _about(claim: Claim) -> str:
    return "filled" if claim.fill else claim.asks


def _accepts(commitment: Commitment, table: Sample) -> bool:
    try:
        commitment.require_bounded(table)
    except BadInput:
        return False
    return True
