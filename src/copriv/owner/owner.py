"""An owner: validate, reserve, compute and noise, store, send. In this order, always, whatever is asked for.

Each kind of question is paid for from an account of its own, so that none can use up what is set aside for another.
A refusal depends on the query and on the account, never on a record. A failure after the reservation keeps the charge.
If the ledger itself fails, nothing is said at all: `LedgerFailure` leaves through `handle`, and the process must end.
So does `RecordsChanged`: somebody has changed the files that the records are read from.
"""

from __future__ import annotations

import hashlib
import math
import threading
from typing import NamedTuple

import msgspec
import numpy as np

from copriv.errors import LedgerRefusal, ProtocolError, QueryConflict, RecordsChanged
from copriv.owner.ledger import Ledger
from copriv.owner.responder import Responder
from copriv.privacy.release import Release, describe
from copriv.protocol.commitment import Commitment, QueryBudget
from copriv.protocol.messages import Answer, Kind, Query, Reason, Refusal, Reply
from copriv.protocol.terms import Terms
from copriv.protocol.wire import decode_query, encode, largest_query
from copriv.vectors import FloatArray

LONGEST_ID = 200


class _Payload(msgspec.Struct, frozen=True, array_like=True):
    """What is stored of an answer; with the id, the name and the receipt it is the answer again, byte for byte.

    Kind and share say what was asked; they are not part of the answer, and older ledgers do not have them.
    """

    values: tuple[float, ...]
    release: Release
    kind: str = ""
    share: int = 0


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
        if refusal := self._refuse(query):
            return refusal
        theta = np.asarray(query.theta, dtype=np.float64)
        part = self.commitment.part(query.kind, query.share)
        charge, allowance = part.calibration.charge, part.allowance
        account = account_of(self._digest, part.kind)
        try:
            stored = self._ledger.reserve(query.id, _question(query, theta), charge, account, allowance)
        except QueryConflict:
            return self._say(query, "conflict", f"the id {query.id!r} was used before for another question")
        except LedgerRefusal:
            return self._say(query, "exhausted", _SPENT)
        if stored is not None:
            return self._compose(query, msgspec.msgpack.decode(stored.payload, type=_Payload), stored.receipt)
        return self._respond(query, theta, part)

    def _respond(self, query: Query, theta: FloatArray, part: QueryBudget) -> Reply:
        try:
            values = self._responder.respond(theta, part.kind, part.share)
        except RecordsChanged:
            self._ledger.settle()
            raise
        except Exception:  # noqa: BLE001 - whatever went wrong, its words may depend on a record
            self._ledger.settle()
            return self._say(query, "failed", "the answer could not be computed; the charge stands")
        release = describe(query.id, part.calibration, part.sensitivity)
        payload = _Payload(tuple(values.tolist()), release, part.kind, part.share)
        try:
            receipt = self._ledger.store(query.id, msgspec.msgpack.encode(payload))
        except QueryConflict:  # another process over the same ledger was faster: its answer is the one that leaves
            return self._answer(query)
        return self._compose(query, payload, receipt)

    def _compose(self, query: Query, payload: _Payload, receipt: str) -> Answer:
        return Answer(query.id, self.name, payload.values, payload.release, receipt)

    def _refuse(self, query: Query) -> Refusal | None:
        if not 0 < len(query.id) <= LONGEST_ID or query.owner != self.name:
            return self._say(query, "malformed", f"a query has an id and is for {self.name!r}")
        if query.terms != self._digest:
            return self._say(query, "terms", "these are not the agreed terms")
        if not self.commitment.allows(query.kind, query.share):
            of_share = f" and share {query.share} %" if query.share else ""
            words = f"the agreed terms set no budget aside for a query of kind {query.kind!r}{of_share}"
            return self._say(query, "terms", words)
        if len(query.theta) != self._terms.parameters:
            return self._say(query, "malformed", f"a model has {self._terms.parameters} numbers")
        if not all(math.isfinite(value) and abs(value) <= self._terms.limit for value in query.theta):
            return self._say(query, "outside", f"the model leaves the box of {self._terms.limit:g}")
        if query.kind == "second_moments" and any(query.theta):
            return self._say(query, "outside", "second moments do not depend on a model: they are asked for at 0")
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


def account_of(digest: str, kind: Kind) -> str:
    """Where a ledger counts what a study spends on one kind of question: under its digest, and beside it.

    >>> account_of("ab12", "gradient"), account_of("ab12", "loss")
    ('ab12', 'ab12:loss')
    """
    return f"{digest}:{kind}" if kind == "loss" else digest


class Left(NamedTuple):
    """What left with an answer: its numbers, the record of their release, and what was asked (as far as was kept)."""

    values: tuple[float, ...]
    release: Release
    kind: str
    share: int


def read_stored(payload: bytes) -> Left | None:
    """What left with an answer; None if this is no answer of an owner."""
    try:
        stored = msgspec.msgpack.decode(payload, type=_Payload)
    except msgspec.DecodeError:
        return None
    return Left(stored.values, stored.release, stored.kind, stored.share)


def study_of(account: str) -> str:
    """The digest of the study that an account belongs to.

    >>> study_of("ab12:loss")
    'ab12'
    """
    return account.removesuffix(":loss")


def _question(query: Query, theta: FloatArray) -> str:
    """What is asked, as a hash: under a menu, kind and share are part of it."""
    chosen = f":{query.kind}:{query.share}" if query.share else ""
    account = account_of(query.terms, query.kind)
    return hashlib.sha256(f"{account}{chosen}".encode() + theta.tobytes()).hexdigest()
