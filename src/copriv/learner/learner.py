"""The learner's loop: meet an owner, ask, absorb, tell. Along a schedule, or with whoever comes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from copriv.learner.scrutiny import Demands, check, garbage
from copriv.protocol.messages import Answer, Query, Refusal, Reply, Silence
from copriv.protocol.transport import Transport
from copriv.rules.rule import Rule
from copriv.schedule.trace import Meeting

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Iteration(Generic[State]):
    """What one meeting led to; a refused meeting leaves the state as it was."""

    number: int
    meeting: Meeting
    state: State
    query: Query
    reply: Reply

    @property
    def refusal(self) -> Refusal | None:
        """The refusal, if it was one."""
        return self.reply if isinstance(self.reply, Refusal) else None


@dataclass(frozen=True, slots=True)
class Position(Generic[State]):
    """Where a run stands.

    Args:
        number: the meetings done.
        state: the state after them.
        receipts: the newest receipt of each owner.
        unanswered: the query of each owner that was asked and has not replied.
        pledged: whom to meet first, in this order: the owner that was asked last, and the one announced to follow it,
            who may have been asked already.
    """

    number: int
    state: State
    receipts: Mapping[str, str]
    unanswered: Mapping[str, Query] = field(default_factory=dict)
    pledged: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Session(Generic[State]):
    """What stays the same during a run.

    Args:
        rule: the learner's rule.
        owners: the owners' names, in the order of the rule and the schedule.
        terms: digest of the agreed terms.
        run: a name for this run, unique to it; query ids start with it.
        demands: what the answers of each owner must be; without, only their form counts.
        receipts: what earlier studies have left of each owner's ledger.
    """

    rule: Rule[State]
    owners: Sequence[str]
    terms: str
    run: str
    demands: Demands = field(default_factory=dict)
    receipts: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> Position[State]:
        """Before the first meeting."""
        return Position(0, self.rule.begin(), {})

    def question(self, position: Position[State], owner: int) -> Query:
        """What an owner is asked next: what it has not answered yet, or else a new question.

        A query's id and model follow from the run and the state. So whoever was killed while a query was under way asks
        the same again under the same id, and the owner's ledger answers with the same bytes: nothing is lost, doubled
        or paid for twice.
        """
        name = self.owners[owner]
        if name in position.unanswered:
            return position.unanswered[name]
        theta = self.rule.question(position.state, owner)
        identity = f"{self.run}:{position.number + 1}"
        receipt = position.receipts.get(name, self.receipts.get(name))
        return Query(identity, self.terms, name, tuple(theta.tolist()), receipt, self.rule.asks)

    def take(self, position: Position[State], owner: int, query: Query, reply: Reply) -> tuple[Position[State], Reply]:
        """The position after a reply, and the reply as it counts: one that cannot be used is refused as garbage."""
        demand = self.demands.get(query.owner, {}).get(query.kind)
        checked = check(query, reply, self.rule.answer_size, demand)
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            after = self.absorb(position, owner, query, checked)
            if after.state is position.state or self._is_sound(after.state, owner):
                return after, checked
        refused = garbage(query, "leads to a model that is not finite")
        return self.absorb(position, owner, query, refused), refused

    def _is_sound(self, state: State, owner: int) -> bool:
        """Whether the model, and what the owner would be asked next, are finite."""
        numbers = (self.rule.model(state), self.rule.question(state, owner))
        return all(all(map(math.isfinite, each.tolist())) for each in numbers)

    def absorb(self, position: Position[State], owner: int, query: Query, reply: Reply) -> Position[State]:
        """The position after a reply."""
        unanswered = {name: open_query for name, open_query in position.unanswered.items() if name != query.owner}
        if not isinstance(reply, Answer):
            return Position(position.number + 1, position.state, position.receipts, unanswered)
        values, asked = np.asarray(reply.values, dtype=np.float64), np.asarray(query.theta, dtype=np.float64)
        state = self.rule.absorb(position.state, owner, values, asked)
        receipts = {**position.receipts, query.owner: reply.receipt}
        return Position(position.number + 1, state, receipts, unanswered)


class OwnerPool(Protocol):
    """Whoever is reachable, as time goes by."""

    def ready(self, number: int) -> Meeting | None:
        """The owner to be met next, if one is there already."""

    def wait(self, number: int) -> Meeting | None:
        """Wait for the owner to be met next; None if nobody will come any more."""

    def ahead(self, number: int) -> Meeting | None:
        """The owner to be met at a later number, if that can be said already."""

    def visit(self, owner: int, *, absent: bool) -> Meeting | None:
        """A meeting with this very owner, there or (if so wished) absent; None if it is to be met no more."""


class Journal(Protocol):
    """Where a live run is kept, so that it goes on where it stood."""

    def intend(self, query: Query, *, sequel: str | None, announced: bool) -> None:
        """Put on record, before it is asked, that this is asked next.

        Args:
            query: what is asked.
            sequel: who is met when it is answered, if that is known.
            announced: the record before this one names the owner as its sequel, so that the query can be found again
                from there; then it may be asked while it is still being written.
        """

    def flush(self) -> None:
        """Put on record what has been absorbed."""


def train(
    learning: Session[State],
    meetings: Sequence[Meeting],
    transport: Transport,
    position: Position[State] | None = None,
) -> Iterator[Iteration[State]]:
    """Train along a schedule that is known ahead, yielding after every meeting; a silent owner is waited for."""
    here = learning.start() if position is None else position
    for meeting in meetings[here.number :]:
        query = learning.question(here, meeting.owner)
        while isinstance(reply := transport.ask(query), Silence):
            pass
        here, checked = learning.take(here, meeting.owner, query, reply)
        yield Iteration(here.number, meeting, here.state, query, checked)


def train_live(
    learning: Session[State],
    company: OwnerPool,
    transport: Transport,
    journal: Journal,
    *,
    horizon: int,
    wasted: Callable[[], int] = lambda: 0,
    position: Position[State] | None = None,
) -> Iterator[Iteration[State]]:
    """Train with whoever comes, one at a time, yielding after every meeting.

    The run has `horizon` meetings, and as many more as are `wasted` until then.

    Whom the learner meets cannot be drawn again after a crash, so it is put on record before the owner is asked: with
    the query before, where that can be, so that nobody waits for the disk. An owner that stays silent is passed over;
    it is asked the same again when it is back.
    """
    here = learning.start() if position is None else position
    agenda = deque(learning.owners.index(name) for name in here.pledged)
    pledged = len(agenda)
    while here.number < horizon + wasted():
        announced = bool(agenda)
        meeting = company.visit(agenda.popleft(), absent=pledged > 0) if announced else None
        if announced and meeting is None:
            agenda.clear()
            pledged, announced = 0, False
        meeting = meeting or _whoever_comes(company, journal, here.number + 1)
        if meeting is None:
            return
        query = learning.question(here, meeting.owner)
        if not agenda and (sequel := company.ahead(here.number + 2)) is not None:
            agenda.append(sequel.owner)
        journal.intend(query, sequel=learning.owners[agenda[0]] if agenda else None, announced=announced)
        reply = transport.ask(query)
        if isinstance(reply, Silence):
            unanswered = {**here.unanswered, query.owner: query}
            here = Position(here.number, here.state, here.receipts, unanswered)
            if pledged > 1:  # the sequel may have been asked already, at the model that only this reply leads to
                agenda.appendleft(meeting.owner)
            else:
                agenda.clear()
                pledged = 0
            continue
        pledged = max(pledged - 1, 0)
        here, checked = learning.take(here, meeting.owner, query, reply)
        yield Iteration(here.number, meeting, here.state, query, checked)


def _whoever_comes(company: OwnerPool, journal: Journal, number: int) -> Meeting | None:
    """The next meeting; what has been absorbed is put on record before a wait."""
    meeting = company.ready(number)
    if meeting is None:
        journal.flush()
        meeting = company.wait(number)
    return meeting
