"""How a learner trains with owners elsewhere: meeting by meeting, from and to the checkpoint.

Whoever is caught lying is expelled: the study goes on at once as if that owner had never been on the roster.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from copriv.errors import CoprivError
from copriv.learner.checkpoint import Checkpoint, Expelled
from copriv.learner.expulsion import rebuild, run_name, still_planned
from copriv.learner.learner import Iteration, Position, Session, train, train_live
from copriv.learner.receipt_store import ReceiptStore
from copriv.learner.roster import Roster, meetings_of, rule_of
from copriv.learner.scrutiny import demands_of
from copriv.losses.sample import Sample
from copriv.protocol.commitment import commitment_of
from copriv.protocol.meeting import Hello
from copriv.protocol.messages import Answer, Refusal
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.rules.registry import resolve
from copriv.rules.rule import AnyRule
from copriv.rules.setting import NoiseModel
from copriv.runtime.events import Answered, Met, Progress, Refused
from copriv.runtime.network_events import Began, Committed, Finished, TellNetwork
from copriv.runtime.network_events import Expelled as ExpelledNow
from copriv.runtime.oracle import Oracle
from copriv.schedule.trace import Trace
from copriv.transport.nats_learner import NatsLearner

_ENOUGH_TROUBLE = 3
_MOST_REFUSALS = 10
_MODELS_KEPT = 200
_SECONDS_BETWEEN_COUNTS = 5.0
_LONGEST_WORDS = 1000
_STAGE = "training, meeting by meeting"


@dataclass(frozen=True, slots=True)
class Trained:
    """What training has left: where it stands, with whom, and who is out."""

    learning: Session[Any]
    checkpoint: Checkpoint
    position: Position[Any]
    roster: Roster
    expelled: tuple[Expelled, ...]


@dataclass(frozen=True, slots=True)
class Trainer:
    """A run about to happen, or about to go on.

    Args:
        terms: of the study.
        company: the owners.
        tell: is told what happens.
        checkpoint: where the run is kept.
        roster: the owners with which it began.
        public: the public rows, if there are any.
        trace: the schedule along which owners are met, if it is known ahead.
        receipts: where receipts outlive the study.
    """

    terms: Terms
    company: NatsLearner
    tell: TellNetwork
    checkpoint: Checkpoint
    roster: Roster
    public: Sample | None
    trace: Trace | None
    receipts: ReceiptStore

    def run(self) -> Trained:
        """Meet owner after owner until the study ends."""
        log = self.checkpoint.log()
        self.tell(Began(self._left().names))
        for out in self.checkpoint.expelled():
            self.company.expel(out.owner, {})
            self.tell(ExpelledNow(out.number, out.owner, plain(out.why, _LONGEST_WORDS)))
        answered = Counter(entry.owner for entry in log if entry.outcome == "answer") if self.terms.shares else None
        self.company.begin(_by_name(self._left()), elapsed=log[-1].time if log else 0.0, answered=answered)
        trouble = Trouble(self.company, self.tell, self._left(), self._most_refusals())
        for entry in log:
            trouble.count(entry.owner, entry.outcome)
        while (learning := self._stretch(trouble)) is None:
            pass
        self.checkpoint.flush()
        position = self.checkpoint.position(learning.rule) or learning.start()
        return Trained(learning, self.checkpoint, position, self._left(), tuple(self.checkpoint.expelled()))

    def _stretch(self, trouble: Trouble) -> Session[Any] | None:
        """Train until the study ends, or (None) until somebody is caught lying."""
        left = self._left()
        learning, horizon = self._learning(left), self._horizon(left)
        oracle, counted = Oracle(learning.rule, self.tell, []), -math.inf
        for iteration in self._iterations(learning, horizon, trouble):
            refusal = iteration.refusal
            if refusal is not None and refusal.reason == "garbage":
                self._expel(iteration, refusal.text)
                trouble.forget(iteration.query.owner)
                return None
            _keep(self.checkpoint, learning.rule, iteration, horizon, live=self.trace is None)
            if isinstance(iteration.reply, Answer):
                keep_receipt(self.receipts, left, iteration.reply)
            self._tell_of(iteration)
            oracle.see(iteration.state)
            trouble.count(iteration.query.owner, "answer" if refusal is None else refusal.reason)
            self.tell(Progress(_STAGE, iteration.number, horizon))
            counted = self._count_commits(counted)
        oracle.end()
        self._count_commits(-math.inf)
        return learning

    def _count_commits(self, last: float) -> float:
        """Now and then, how long the disk was waited for; when that was told last."""
        now = time.monotonic()
        if now - last < _SECONDS_BETWEEN_COUNTS:
            return last
        self.tell(Committed(self.checkpoint.commits, round(self.checkpoint.commit_seconds, 6)))
        return now

    def _tell_of(self, iteration: Iteration[Any]) -> None:
        """Who was met, and what came of it."""
        number, owner, refusal = iteration.number, iteration.query.owner, iteration.refusal
        self.tell(Met(number, owner))
        if refusal is None:
            self.tell(Answered(number, owner))
        else:
            self.tell(refused(number, refusal))

    def _counts_meetings(self) -> bool:
        """Some rules count every meeting; the others end with the last answer, whoever refuses before."""
        return resolve(self.terms.rule).counts == "meetings"

    def _most_refusals(self) -> int:
        """A study that waits for everybody's answers does not wait long for one that gives none."""
        return _MOST_REFUSALS if self._counts_meetings() else _ENOUGH_TROUBLE

    def _horizon(self, left: Roster) -> int:
        """When the study ends: meetings with whoever is expelled do not count."""
        if self.trace is not None:
            return len(self.trace)
        wasted = sum(entry.owner not in left.names for entry in self.checkpoint.log())
        return wasted + meetings_of(self.terms, left)

    def _left(self) -> Roster:
        """Those that are not expelled."""
        out = {expelled.owner: expelled.why for expelled in self.checkpoint.expelled()}
        left = self.roster.without(out)
        if not left.owners:
            raise CoprivError(
                f"nobody is left: {'; '.join(out.values())}",
                remedy="begin a new study with other owners",
                value=len(out),
            )
        return left

    def _learning(self, left: Roster) -> Session[Any]:
        demands = {
            hello.owner: demands_of(
                commitment_of(hello, self.terms).parts,
                parameters=self.terms.parameters,
                records=hello.records,
                held_back=self.terms.held_back,
            )
            for hello in left.owners
        }
        run = run_name(self.checkpoint.run, len(self.roster.owners) - len(left.owners))
        known = {hello.owner: self.receipts.newest(hello.ledger) for hello in left.owners if hello.ledger}
        receipts = {owner: receipt for owner, receipt in known.items() if receipt is not None}
        return Session(self._rule(left), left.names, self.terms.digest(), run, demands, receipts, self.terms.fill)

    def _rule(self, left: Roster) -> AnyRule[Any]:
        """The rule, with what it may know of the owners' noise from what they said of themselves; and public rows."""
        commitments = [commitment_of(hello, self.terms) for hello in left.owners]
        return rule_of(self.terms, left, NoiseModel.of(commitments, self.public))

    def _iterations(self, learning: Session[Any], horizon: int, trouble: Trouble) -> Iterator[Iteration[Any]]:
        position = self.checkpoint.position(learning.rule)
        if self.trace is None:
            return train_live(
                learning,
                self.company,
                self.company,
                self.checkpoint,
                horizon=horizon,
                wasted=(lambda: 0) if self._counts_meetings() else trouble.refusals,
                finish=trouble.finish,
                position=position,
            )
        expelled = {out.owner: out.number for out in self.checkpoint.expelled()}
        planned = still_planned(self.trace.meetings, self.roster.names, expelled)
        return train(learning, planned, self.company, position)

    def _expel(self, iteration: Iteration[Any], why: str) -> None:
        """Go on as if an owner had never been there: on record first, then in memory."""
        owner = iteration.query.owner
        self.tell(ExpelledNow(iteration.number, owner, plain(why, _LONGEST_WORDS)))
        self.checkpoint.flush()
        left = self._left().without({owner})
        answers = self.checkpoint.answers()
        rule = self._rule(left) if left.owners else self._rule(self._left())
        self.checkpoint.expel(rule, iteration, rebuild(rule, left.names, answers), why)
        self.company.expel(owner, _by_name(left))


class Crowd(Protocol):
    """Who is met, and who is not."""

    def dismiss(self, owner: str) -> None:
        """Never meet this owner again."""

    def send_away(self, owner: str) -> None:
        """Do not meet this owner again until another process of it says hello."""


class Trouble:
    """What owners refuse: who is spent is left in peace, who cannot answer is not asked until it was started again.

    Whoever refuses again and again, however often it is started, is not asked any more: after `most` refusals.
    """

    def __init__(self, company: Crowd, tell: TellNetwork, roster: Roster, most: int = _MOST_REFUSALS) -> None:
        self._company, self._tell, self._most = company, tell, most
        self._caps = {hello.owner: hello.answers for hello in roster.owners}
        self._answers: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    def refusals(self) -> int:
        """How many meetings have come to nothing."""
        return self._counts.total()

    def forget(self, owner: str) -> None:
        """An owner was never on the roster."""
        self._counts.pop(owner, None)
        self._caps.pop(owner, None)

    def count(self, owner: str, outcome: str) -> None:
        """Take note of what a meeting came to."""
        if owner not in self._caps:
            return
        if outcome == "answer":
            self._answers[owner] += 1
            if self._answers[owner] >= self._caps[owner]:
                self.finish(owner)
            return
        self._counts[owner] += 1
        if outcome == "exhausted" or self._counts[owner] >= self._most:
            self.finish(owner)
        elif outcome != "failed" or self._counts[owner] % _ENOUGH_TROUBLE == 0:
            self._company.send_away(owner)

    def finish(self, owner: str) -> None:
        """Leave an owner in peace: it is spent, or nothing is left to ask it."""
        self._company.dismiss(owner)
        self._tell(Finished(owner))


def refused(number: int, refusal: Refusal) -> Refused:
    """A refusal as it is told: the words are an owner's, and made plain."""
    return Refused(number, refusal.owner, refusal.reason, plain(refusal.text, _LONGEST_WORDS))


def keep_receipt(receipts: ReceiptStore, roster: Roster, answer: Answer) -> None:
    """Remember the receipt of an answer beyond the study, for the ledger that gave it."""
    ledger = next((hello.ledger for hello in roster.owners if hello.owner == answer.owner), "")
    if ledger:
        receipts.keep(ledger, answer.receipt)


def _by_name(roster: Roster) -> Mapping[str, Hello]:
    return {hello.owner: hello for hello in roster.owners}


def _keep(checkpoint: Checkpoint, rule: AnyRule[Any], iteration: Iteration[Any], horizon: int, *, live: bool) -> None:
    keep = iteration.number % max(1, horizon // _MODELS_KEPT) == 0
    (checkpoint.hold if live else checkpoint.save)(rule, iteration, keep_model=keep)
