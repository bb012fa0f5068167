"""An owner: validate, reserve, compute and noise, store, send. In this order, always.

A refusal depends on the query and on the account, never on a record. A failure after the reservation keeps the charge.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from copriv.errors import LedgerRefusal, QueryConflict
from copriv.owner.ledger import Ledger
from copriv.owner.promise import Promise
from copriv.owner.responder import Responder
from copriv.privacy.release import describe
from copriv.protocol.messages import Answer, Query, Reason, Refusal, Reply
from copriv.protocol.terms import Terms
from copriv.protocol.wire import decode_reply, encode
from copriv.vectors import FloatArray


class Owner:
    """Answers queries that match the terms, as long as the budget lasts.

    Args:
        name: how the consortium calls this owner.
        terms: the agreed terms.
        promise: the noise and its price.
        responder: where records (or, in a simulation, their stand-in) and noise meet.
        ledger: the account.
    """

    def __init__(self, name: str, terms: Terms, promise: Promise, responder: Responder, ledger: Ledger) -> None:
        self.name = name
        self.promise = promise
        self._terms = terms
        self._digest = terms.digest()
        self._responder = responder
        self._ledger = ledger

    def answer(self, query: Query) -> Reply:
        """The answer to a query, or the reason why there is none."""
        if refusal := self._refuse(query):
            return refusal
        theta = np.asarray(query.theta, dtype=np.float64)
        try:
            stored = self._ledger.reserve(query.id, _question(query, theta), self.promise.calibration.charge)
        except QueryConflict as problem:
            return self._say(query, "conflict", problem.problem)
        except LedgerRefusal as problem:
            return self._say(query, "exhausted", problem.problem)
        if stored is not None:
            return decode_reply(stored)
        return self._respond(query, theta)

    def _respond(self, query: Query, theta: FloatArray) -> Reply:
        try:
            values = self._responder.respond(theta)
        except Exception:  # noqa: BLE001 - whatever went wrong, its words may depend on a record
            return self._say(query, "failed", "the answer could not be computed; the charge stands")
        release = describe(query.id, self.promise.calibration, self.promise.sensitivity)
        answer = Answer(query.id, self.name, tuple(values.tolist()), release)
        self._ledger.store(query.id, encode(answer))
        return answer

    def _refuse(self, query: Query) -> Refusal | None:
        if query.terms != self._digest:
            return self._say(query, "terms", "these are not the agreed terms")
        if query.owner != self.name or not query.id or len(query.theta) != self._terms.parameters:
            return self._say(query, "malformed", f"a query names this owner and has {self._terms.parameters} numbers")
        if not all(math.isfinite(value) and abs(value) <= self._terms.limit for value in query.theta):
            return self._say(query, "outside", f"the model leaves the box of {self._terms.limit:g}")
        return None

    def _say(self, query: Query, reason: Reason, text: str) -> Refusal:
        return Refusal(query.id, self.name, reason, text)


def _question(query: Query, theta: FloatArray) -> bytes:
    return hashlib.sha256(query.terms.encode() + theta.tobytes()).digest()
