"""The learner's loop: meet an owner, ask, absorb, tell. Along a schedule, or with whoever comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from copriv.learner.agenda import Agenda
from copriv.learner.scrutiny import Demands, check, demand_of, garbage
from copriv.protocol.messages import Answer, Query, Refusal, Reply, Silence
from copriv.protocol.transport import Transport
from copriv.rules.rule import AnyRule, Ask, answer_size, learn_from, next_ask
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
        fill: how the terms fill gradients; 0 if they do not.
    """

    rule: AnyRule[State]
    owners: Sequence[str]
    terms: str
    run: str
    demands: Demands = field(default_factory=dict)
    receipts: Mapping[str, str] = field(default_factory=dict)
    fill: float = 0.0

    def start(self) -> Position[State]:
        """Before the first meeting."""
        return Position(0, self.rule.begin(), {})

    def question(self, position: Position[State], owner: int) -> Query | None:
        """What an owner is asked next: what it has not answered yet, or else a new question; None if there is none.

        A query's id and model follow from the run and the state. So whoever was killed while a query was under way asks
        the same again under the same id, and the owner's ledger answers with the same bytes: nothing is lost, doubled
        or paid for twice.
        """
        name = self.owners[owner]
        if name in position.unanswered:
            return position.unanswered[name]
        ask = next_ask(self.rule, position.state, owner)
        if ask is None:
            return None
        identity = f"{self.run}:{position.number + 1}"
        receipt = position.receipts.get(name, self.receipts.get(name))
        return Query(identity, self.terms, name, tuple(ask.theta.tolist()), receipt, ask.kind, ask.share, ask.before)

    def take(self, position: Position[State], owner: int, query: Query, reply: Reply) -> tuple[Position[State], Reply]:
        """The position after a reply, and the reply as it counts: one that cannot be used is refused as garbage."""
        demand = demand_of(self.demands.get(query.owner, {}), query)
        checked = check(query, reply, answer_size(query.kind, len(query.theta), self.fill), demand)
        with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
            after = self.absorb(position, owner, query, checked)
            if after.state is position.state or self._is_sound(after.state, owner):
                return after, checked
        refused = garbage(query, "leads to a model that is not finite")
        return self.absorb(position, owner, query, refused), refused

    def _is_sound(self, state: State, owner: int) -> bool:
        """Whether the model, and what the owner would be asked next, are finite."""
        ask = next_ask(self.rule, state, owner)
        numbers = [self.rule.model(state), *([] if ask is None else [ask.theta])]
        return all(all(map(math.isfinite, each.tolist())) for each in numbers)

    def absorb(self, position: Position[State], owner: int, query: Query, reply: Reply) -> Position[State]:
        """The position after a reply."""
        unanswered = {name: open_query for name, open_query in position.unanswered.items() if name != query.owner}
        if not isinstance(reply, Answer):
            return Position(position.number + 1, position.state, position.receipts, unanswered)
        state = learn_from(self.rule, position.state, owner, np.asarray(reply.values, dtype=np.float64), ask_of(query))
        receipts = {**position.receipts, query.owner: reply.receipt}
        return Position(position.number + 1, state, receipts, unanswered)


def ask_of(query: Query) -> Ask:
    """What a query of training asks for, as rules know it."""
    kind = query.kind if query.kind in ("moments", "second_moments", "positives") else "gradient"
    return Ask(np.asarray(query.theta, dtype=np.float64), kind, query.share, query.before)


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
    session: Session[State],
    meetings: Sequence[Meeting],
    transport: Transport,
    position: Position[State] | None = None,
) -> Iterator[Iteration[State]]:
    """Train along a schedule that is known ahead, yielding after every meeting; a silent owner is waited for.

    A meeting at which nothing is left to ask passes: it counts, and nothing is asked, charged or yielded.
    """
    here = session.start() if position is None else position
    for meeting in meetings[here.number :]:
        query = session.question(here, meeting.owner)
        if query is None:
            here = replace(here, number=here.number + 1)
            continue
        while isinstance(reply := transport.ask(query), Silence):
            pass
        here, checked = session.take(here, meeting.owner, query, reply)
        yield Iteration(here.number, meeting, here.state, query, checked)


def train_live(
    session: Session[State],
    pool: OwnerPool,
    transport: Transport,
    journal: Journal,
    *,
    horizon: int,
    wasted: Callable[[], int] = lambda: 0,
    finish: Callable[[str], None] = lambda _owner: None,
    position: Position[State] | None = None,
) -> Iterator[Iteration[State]]:
    """Train with whoever comes, one at a time, yielding after every meeting.

    The run has `horizon` meetings, and as many more as are `wasted` until then. An owner whom nothing is left to ask is
    named to `finish`, which sees to it that it is met no more; such a meeting does not count, so that ids of queries
    follow from what is on record.

    Whom the learner meets cannot be drawn again after a crash, so it is put on record before the owner is asked: with
    the query before, where that can be, so that nobody waits for the disk. An owner that stays silent is passed over;
    it is asked the same again when it is back.
    """
    run = LiveRun.begin(session, pool, journal, position)
    while run.position.number < horizon + wasted():
        meeting = run.meet()
        if meeting is None:
            return
        query = run.intend(meeting)
        if query is None:
            finish(session.owners[meeting.owner])
            continue
        reply = transport.ask(query)
        if isinstance(reply, Silence):
            run.pass_over(meeting, query)
        else:
            yield run.absorb(meeting, query, reply)


@dataclass(slots=True)
class LiveRun(Generic[State]):
    """A live run as it goes on: `meet`, `intend`, then `absorb` the reply, or `pass_over` an owner that is silent.

    Args:
        session: what stays the same.
        pool: whoever is reachable.
        journal: where the run is kept.
        position: where it stands.
        agenda: who is met next, as far as that is known.
        announced: whether the owner of this meeting stands in the journal already.
    """

    session: Session[State]
    pool: OwnerPool
    journal: Journal
    position: Position[State]
    agenda: Agenda
    announced: bool = False

    @classmethod
    def begin(
        cls, session: Session[State], pool: OwnerPool, journal: Journal, position: Position[State] | None
    ) -> LiveRun[State]:
        """A new run, or one that goes on; then it starts with the owners that it had announced."""
        here = session.start() if position is None else position
        owners = tuple(session.owners.index(name) for name in here.pledged)
        return cls(session, pool, journal, here, Agenda(owners, pledged=len(owners)))

    def meet(self) -> Meeting | None:
        """The next meeting: with the owner announced before if it may still be met, or else with whoever comes."""
        self.announced = bool(self.agenda.owners)
        if self.announced:
            owner, pledged = self.agenda.owners[0], self.agenda.pledged > 0
            meeting = self.pool.visit(owner, absent=pledged)
            if meeting is not None:
                self.agenda = self.agenda.met()
                return meeting
            self.agenda, self.announced = Agenda(), False
        return self._whoever_comes(self.position.number + 1)

    def intend(self, meeting: Meeting) -> Query | None:
        """The query of this meeting, put on record together with who follows; None if nothing is left to ask."""
        query = self.session.question(self.position, meeting.owner)
        if query is None:
            self.agenda = self.agenda.answered()
            return None
        if not self.agenda.owners and (sequel := self.pool.ahead(self.position.number + 2)) is not None:
            self.agenda = self.agenda.announcing(sequel.owner)
        sequel_name = self.session.owners[self.agenda.owners[0]] if self.agenda.owners else None
        self.journal.intend(query, sequel=sequel_name, announced=self.announced)
        return query

    def pass_over(self, meeting: Meeting, query: Query) -> None:
        """The owner stayed silent: its query stays open, and nothing else has changed."""
        here = self.position
        self.position = Position(here.number, here.state, here.receipts, {**here.unanswered, query.owner: query})
        self.agenda = self.agenda.silent(meeting.owner)

    def absorb(self, meeting: Meeting, query: Query, reply: Reply) -> Iteration[State]:
        """The owner replied: the run stands one meeting further."""
        self.agenda = self.agenda.answered()
        self.position, checked = self.session.take(self.position, meeting.owner, query, reply)
        return Iteration(self.position.number, meeting, self.position.state, query, checked)

    def _whoever_comes(self, number: int) -> Meeting | None:
        """The next meeting; what has been absorbed is put on record before a wait."""
        meeting = self.pool.ready(number)
        if meeting is None:
            self.journal.flush()
            meeting = self.pool.wait(number)
        return meeting
