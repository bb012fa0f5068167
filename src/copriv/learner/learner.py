"""The learner's loop: for each meeting of a schedule, ask, absorb, tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from copriv.errors import ProtocolError
from copriv.protocol.messages import Answer, Query, Refusal, Reply
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


def train(
    rule: Rule[State], meetings: Iterable[Meeting], transport: Transport, *, owners: Sequence[str], terms: str, run: str
) -> Iterator[Iteration[State]]:
    """Train along a schedule, yielding after every meeting.

    Args:
        rule: the learner's rule.
        meetings: who is reachable when.
        transport: carries the queries.
        owners: the owners' names, in the order of the rule and the schedule.
        terms: digest of the agreed terms.
        run: a name for this run, unique to it; query ids start with it.
    """
    state = rule.begin()
    for number, meeting in enumerate(meetings, start=1):
        theta = rule.question(state, meeting.owner)
        query = Query(f"{run}:{number}", terms, owners[meeting.owner], tuple(theta.tolist()))
        reply = transport.ask(query)
        if isinstance(reply, Answer):
            state = rule.absorb(state, meeting.owner, _values(query, reply))
        yield Iteration(number, meeting, state, reply)


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
