"""What is audited: owners as they are, with synthetic records in the place of real ones.

Every answer comes from `Owner.answer`, through its checks, ledger, clipped gradient or moments, and noise. An owner
says only as much as its budget allows; where a test needs more, it asks the next owner with the same records and a
ledger of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numba
import numpy as np

from copriv.audit.claim import Claim
from copriv.audit.people import as_people
from copriv.errors import ProtocolError
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin, fingerprint_of_sample
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.owner import Owner
from copriv.owner.responder import PrivateResponder, Responder
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.messages import Query, Refusal
from copriv.protocol.query_budget import QueryBudget
from copriv.protocol.terms import Terms
from copriv.protocol.unit import PersonUnit
from copriv.vectors import FloatArray

MakeResponder: TypeAlias = Callable[[Sample, Commitment], Responder]
Advance: TypeAlias = Callable[[int], None]

LIMIT = 1.0
ROW_NORM = 1.0
# Targets reach so far beyond the clip that an owner who forgets to clip is off by about this factor.
REACH = 100.0
NAME = "audited"


@contextmanager
def on_one_core() -> Iterator[None]:
    """A few records are one core's work; on a busy machine a second thread keeps the first waiting for milliseconds."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@dataclass(frozen=True, slots=True)
class Subject:
    """Owners that make one claim, all alike but for their records."""

    claim: Claim
    terms: Terms
    commitment: Commitment
    make_responder: MakeResponder

    @property
    def part(self) -> QueryBudget:
        """What is promised for the question that the claim is about."""
        return self.commitment.part(self.claim.asks, self.claim.share)

    @on_one_core()
    def transcript(self, sample: Sample, thetas: FloatArray, advance: Advance) -> FloatArray:
        """All that one owner says to a learner that asks at these models."""
        owner, digest = _opener(self, sample)(), self.terms.digest()
        answers = np.empty((len(thetas), self.claim.numbers))
        for number, theta in enumerate(thetas):
            answers[number] = _ask(owner, self.claim, digest, number, theta)
            advance(1)
        return answers

    @on_one_core()
    def first_answers(self, sample: Sample, draws: int, advance: Advance) -> FloatArray:
        """The first answer of many owners with the same records, each asked at θ = 0."""
        open_owner, digest, theta = _opener(self, sample), self.terms.digest(), np.zeros(self.claim.parameters)
        answers = np.empty((draws, self.claim.numbers))
        for number in range(draws):
            answers[number] = _ask(open_owner(), self.claim, digest, number, theta)
            advance(1)
        return answers


def build_subject(
    claim: Claim, commitment: Commitment | None = None, make_responder: MakeResponder = PrivateResponder
) -> Subject:
    """Owners of a claim; a promise or a responder of one's own makes owners that break it."""
    terms = make_terms(claim)
    return Subject(claim, terms, honest_promise(claim) if commitment is None else commitment, make_responder)


def honest_promise(claim: Claim) -> Commitment:
    """What an owner promises for a claim, worked out by the owner's own code."""
    return make_commitment(make_terms(claim), claim.guarantee, records=claim.records, answers=claim.answers)


def make_terms(claim: Claim) -> Terms:
    """A study of squared losses: gradients of records can be far beyond the clip, moments have bounded records.

    A claim with a share is about gradients from a menu that has this share only.
    """
    moments = claim.asks == "moments"
    return Terms(
        loss="squared",
        threshold=0.0,
        parameters=claim.parameters,
        regularization=1e-5,
        limit=LIMIT,
        clip=claim.clip,
        row_norm=ROW_NORM,
        target_bound=1.0 if moments else REACH * claim.clip,
        rule="statistics" if moments else "paper",
        horizon=claim.answers,
        step=1.0,
        central="proof",
        dictionary="none",
        shares=(claim.share,) if claim.share else (),
        kinds=("gradient",) if claim.share else (),
        fill=claim.fill,
        axes=claim.axes,
        **(PersonUnit("person", claim.rows, "person").in_terms() if claim.rows else {}),
    )


def _opener(subject: Subject, sample: Sample) -> Callable[[], Owner]:
    """The one place where owners are made: each call gives one with its whole budget left."""
    opening = begin(NAME, fingerprint_of_sample(sample), subject.claim.guarantee)
    responder = subject.make_responder(as_people(subject.claim, sample), subject.commitment)
    return lambda: Owner(NAME, subject.terms, subject.commitment, responder, MemoryLedger(opening))


def _ask(owner: Owner, claim: Claim, digest: str, number: int, theta: FloatArray) -> FloatArray:
    name, model = f"audit-{number}", tuple(theta.tolist())
    reply = owner.answer(Query(name, digest, NAME, model, kind=claim.asks, share=claim.share))
    if isinstance(reply, Refusal):
        raise ProtocolError(
            f"the audited owner refused an answer that it had promised: {reply.text}",
            remedy="an audit asks for no more than the claim; correct the owner, or the claim",
            value=reply.reason,
        )
    return np.asarray(reply.values)
