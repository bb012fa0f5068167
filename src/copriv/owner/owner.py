"""An owner: validate, reserve, compute and noise, store, send. In this order, always, whatever is asked for.

Each kind of question is paid for from an account of its own, so that none can use up what is set aside for another.
A refusal depends on the query and on the account, never on a record. A failure after the reservation keeps the charge.
Where an answer can be made finer, the finer levels that what is left can pay for are drawn together with it and stored,
sealed, beside it: a later question for one of them pays the difference and reads it from the ledger. Whatever is stored
at a level was charged the price of that level along the way, so nothing finer than what was paid for ever leaves,
whoever else uses the ledger.
If the ledger itself fails, nothing is said at all: `LedgerFailure` leaves through `handle`, and the process must end.
So does `RecordsChanged`: somebody has changed the files that the records are read from.
"""

from __future__ import annotations

import hashlib
import math
import threading

import msgspec
import numpy as np

from copriv.errors import LedgerRefusal, ProtocolError, QueryConflict, RecordsChanged
from copriv.owner.ledger import Ledger
from copriv.owner.payload import Payload, pack, unpack
from copriv.owner.responder import Responder
from copriv.privacy.release import Release, describe
from copriv.protocol.commitment import Commitment
from copriv.protocol.messages import Answer, Kind, Query, Reason, Refusal, Reply
from copriv.protocol.query_budget import QueryBudget
from copriv.protocol.terms import Terms
from copriv.protocol.wire import decode_query, encode, largest_query
from copriv.vectors import FloatArray

LONGEST_ID = 200


class Owner:
    """Answers queries that match the terms, as long as the budget lasts.

    Args:
        name: how the consortium calls this owner.
        terms: the agreed terms.
        commitment: the noise and its price.
        responder: where records (or, in a simulation, their stand-in) and noise meet.
        ledger: the account.
    """

    def __init__(self, name: str, terms: Terms, commitment: Commitment, responder: Responder, ledger: Ledger) -> None:
        self.name = name
        self.commitment = commitment
        self._terms = terms
        self._digest = terms.digest()
        self._responder = responder
        self._ledger = ledger
        self._records = self._records_now()
        self._one_at_a_time = threading.Lock()

    def handle(self, data: bytes) -> bytes:
        """The whole of an owner: bytes in, bytes out. What is too large is not even parsed."""
        if len(data) > largest_query(self._terms.parameters):
            return encode(Refusal("", self.name, "oversized", "a query of these terms is not that long"))
        try:
            query = decode_query(data)
        except ProtocolError as problem:
            return encode(Refusal("", self.name, "malformed", problem.problem))
        return encode(self.answer(query))

    def answer(self, query: Query) -> Reply:
        """The answer to a query, or the reason why there is none; one query after another, whoever asks."""
        with self._one_at_a_time:
            return self._answer(query)

    def _answer(self, query: Query) -> Reply:
        self._require_same_records()
        if refusal := self._refuse(query):
            return refusal
        theta = np.asarray(query.theta, dtype=np.float64)
        part = self.commitment.part(query.kind, query.share, query.before)
        former = self._former(query, theta, part) if query.before else None
        charge, allowance = part.calibration.charge, part.allowance
        account = account_of(self._digest, part.kind)
        if query.before and former is None and query.id not in self._ledger.state().queries:
            if charge.nano > self._left(part):
                return self._say(query, "exhausted", _SPENT)
            return self._say(query, "unfounded", f"no answer to this question at {query.before} % is on record here")
        try:
            stored = self._ledger.reserve(query.id, self._question(query, theta), charge, account, allowance)
        except QueryConflict:
            return self._say(query, "conflict", f"the id {query.id!r} was used before for another question")
        except LedgerRefusal:
            return self._say(query, "exhausted", _SPENT)
        if stored is not None:
            return self._compose(query, unpack(stored.payload), stored.receipt)
        self._require_same_records()
        return self._respond(query, theta, part, former)

    def _require_same_records(self) -> None:
        """Say nothing any more once a new version of the records is on record, or the study reads other blocks."""
        if self._records_now() != self._records:
            self._ledger.settle()
            raise RecordsChanged(
                f"the ledger of {self.name!r} is for a new version of the records, or other blocks of them, and these "
                "are the former ones",
                remedy="start again with the records of the new version",
            )

    def _records_now(self) -> tuple[str, tuple[str, ...]]:
        """Which records the study reads and charges, as the ledger has it."""
        state = self._ledger.state()
        return state.dataset, state.reads(self._digest)

    def _question(self, query: Query, theta: FloatArray) -> str:
        """What is asked, and of which blocks: what some have paid for is no answer about others."""
        _, blocks = self._records
        return _question(query, theta, blocks)

    def _former(self, query: Query, theta: FloatArray, part: QueryBudget) -> Payload | None:
        """The stored answer that is to be made finer: to this very question, at the level before, with its stack."""
        coarse = self.commitment.part(part.kind, query.before)
        for before in (0, *(share for share in self.commitment.shares if share < query.before)):
            asked = msgspec.structs.replace(query, share=query.before - before, before=before)
            stored = self._ledger.stored_answer(self._question(asked, theta))
            if stored is not None and (found := unpack(stored)).leads_to(part, coarse):
                return found
        return None

    def _respond(self, query: Query, theta: FloatArray, part: QueryBudget, former: Payload | None) -> Reply:
        release = describe(query.id, part.calibration, part.sensitivity)
        try:
            payload = self._payload(theta, part, release, former)
        except RecordsChanged:
            self._ledger.settle()
            raise
        except Exception:  # noqa: BLE001 - whatever went wrong, its words may depend on a record
            self._ledger.settle()
            return self._say(query, "failed", "the answer could not be computed; the charge stands")
        try:
            receipt = self._ledger.store(query.id, pack(payload))
        except QueryConflict:  # another process over the same ledger was faster: its answer is the one that leaves
            return self._answer(query)
        return self._compose(query, payload, receipt)

    def _payload(self, theta: FloatArray, part: QueryBudget, release: Release, former: Payload | None) -> Payload:
        """The answer: read from the stack of the former one, or drawn anew, with its finer levels if it has any."""
        if former is not None:
            return former.refined(part, release)
        if part.before:
            raise LookupError("the answer that was to be made finer is gone")
        levels = self._levels(part)
        if not levels:
            return Payload.of(self._responder.respond(theta, part.kind, part.share), part, release)
        drawn = self._responder.respond_levels(theta, levels)
        *finer, (_, asked) = zip(levels, drawn, strict=True)
        return Payload.of(asked, part, release, finer)

    def _levels(self, part: QueryBudget) -> tuple[QueryBudget, ...]:
        """The levels of an answer that was charged: those that what is left can still pay for, and its own."""
        levels = self.commitment.levels(part.kind, part.share)
        most = self._left(part) + part.calibration.charge.nano if len(levels) > 1 else 0
        return tuple(level for level in levels if level.share == part.share or level.calibration.charge.nano <= most)

    def _left(self, part: QueryBudget) -> int:
        """Billionths that are not spent of what was promised for such questions, or of the records' budget."""
        state, allowance = self._ledger.state(), part.allowance
        account = account_of(self._digest, part.kind)
        return min(allowance.nano - state.spent_by(account), state.account_for(account, allowance.measure).left)

    def _compose(self, query: Query, payload: Payload, receipt: str) -> Answer:
        return Answer(query.id, self.name, payload.values, payload.release, receipt)

    def _refuse(self, query: Query) -> Refusal | None:
        if not 0 < len(query.id) <= LONGEST_ID or query.owner != self.name:
            return self._say(query, "malformed", f"a query has an id and is for {self.name!r}")
        if query.terms != self._digest:
            return self._say(query, "terms", "these are not the agreed terms")
        if not self.commitment.allows(query.kind, query.share, query.before):
            of_share = f" and share {query.share} %" if query.share else ""
            of_share += f" after {query.before} %" if query.before else ""
            words = f"the agreed terms set no budget aside for a query of kind {query.kind!r}{of_share}"
            return self._say(query, "terms", words)
        if len(query.theta) != self._terms.parameters:
            return self._say(query, "malformed", f"a model has {self._terms.parameters} numbers")
        if not all(math.isfinite(value) and abs(value) <= self._terms.limit for value in query.theta):
            return self._say(query, "outside", f"the model leaves the box of {self._terms.limit:g}")
        if query.kind in _OF_NO_MODEL and any(query.theta):
            return self._say(
                query, "outside", f"{_OF_NO_MODEL[query.kind]} do not depend on a model: ask for them at 0"
            )
        if query.receipt is not None and not self._ledger.witnesses(query.receipt):
            return self._say(query, "rollback", _ROLLED_BACK)
        return None

    def _say(self, query: Query, reason: Reason, text: str) -> Refusal:
        return Refusal(query.id[:LONGEST_ID], self.name, reason, text)


_SPENT = "what was promised to this study, or the budget of these records, is spent"
_ROLLED_BACK = (
    "this ledger does not know a receipt it once gave: an old copy was restored, or another ledger is in its place; "
    "nothing is answered until the right one is back"
)


# Kinds of questions whose answer is the same at any model.
_OF_NO_MODEL: dict[Kind, str] = {"second_moments": "second moments", "positives": "positives"}
# Kinds of questions that have an account of their own.
_BESIDE = ("loss", "validation")


def account_of(digest: str, kind: Kind) -> str:
    """Where a ledger counts what a study spends on one kind of question: under its digest, and beside it.

    >>> account_of("ab12", "gradient"), account_of("ab12", "loss")
    ('ab12', 'ab12:loss')
    """
    return f"{digest}:{kind}" if kind in _BESIDE else digest


def study_of(account: str) -> str:
    """The digest of the study that an account belongs to.

    >>> study_of("ab12:loss")
    'ab12'
    """
    return account.split(":", 1)[0]


def _question(query: Query, theta: FloatArray, blocks: tuple[str, ...] = ()) -> str:
    """What is asked, as a hash: under a menu, kind and share are part of it, and the level before."""
    chosen = f":{query.kind}:{query.share}" if query.share else ""
    chosen += f":{query.before}" if query.before else ""
    chosen += f" of {','.join(blocks)}:" if blocks else ""
    account = account_of(query.terms, query.kind)
    return hashlib.sha256(f"{account}{chosen}".encode() + theta.tobytes()).hexdigest()
