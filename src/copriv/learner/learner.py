"""The learner's loop: for each meeting of a schedule, ask, absorb, tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from copriv.errors import ProtocolError
from copriv.protocol.messages import Answer, Query, Receipt, Refusal, Reply
from copriv.protocol.transport import Transport
from copriv.rules.rule import Rule
from copriv.schedule.trace import Meeting
from copriv.vectors import FloatArray

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Iteration(Generic[State]):
    """What one meeting led to; a refused meeting leaves the state as it was."""

    number: int
    meeting: Meeting
    state: State
    reply: Reply

    @property
    def refusal(self) -> Refusal | None:
        """The refusal, if it was one."""
        return self.reply if isinstance(self.reply, Refusal) else None


@dataclass(frozen=True, slots=True)
class Position(Generic[State]):
    """Where a run stands: the meetings done, the state after them, and the newest receipt of each owner."""

    number: int
    state: State
    receipts: Mapping[str, Receipt]


def train(
    rule: Rule[State],
    meetings: Sequence[Meeting],
    transport: Transport,
    *,
    owners: Sequence[str],
    terms: str,
    run: str,
    position: Position[State] | None = None,
) -> Iterator[Iteration[State]]:
    """Train along a schedule, yielding after every meeting.

    A query's id and model follow from the run and the state. So whoever was killed while a query was under way asks the
    same again under the same id, and the owner's ledger answers with the same bytes: nothing is lost, doubled or paid
    for twice.

    Args:
        rule: the learner's rule.
        meetings: who is reachable when.
        transport: carries the queries.
        owners: the owners' names, in the order of the rule and the schedule.
        terms: digest of the agreed terms.
        run: a name for this run, unique to it; query ids start with it.
        position: where to go on, instead of the beginning.
    """
    start = Position(0, rule.begin(), {}) if position is None else position
    state, receipts = start.state, dict(start.receipts)
    for number, meeting in enumerate(meetings[start.number :], start=start.number + 1):
        name = owners[meeting.owner]
        theta = rule.question(state, meeting.owner)
        query = Query(f"{run}:{number}", terms, name, tuple(theta.tolist()), receipts.get(name))
        reply = transport.ask(query)
        if isinstance(reply, Answer):
            state = rule.absorb(state, meeting.owner, _values(query, reply))
            receipts[name] = _newest(receipts.get(name), reply.receipt)
        yield Iteration(number, meeting, state, reply)


def _newest(held: Receipt | None, given: Receipt) -> Receipt:
    """A repeated answer carries its old receipt; the learner keeps the newest."""
    return given if held is None or given.sequence > held.sequence else held


def _values(query: Query, answer: Answer) -> FloatArray:
    """The numbers of an answer, if it is one to this query."""
    values = np.asarray(answer.values, dtype=np.float64)
    if answer.id != query.id or values.size != len(query.theta) or not np.all(np.isfinite(values)):
        raise ProtocolError(
            f"the answer of {answer.owner!r} to {query.id!r} is not {len(query.theta)} finite numbers for that query",
            remedy="check the owner's version and terms",
            value=answer.owner,
        )
    return values
