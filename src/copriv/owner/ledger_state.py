"""The state of a ledger: what its entries add up to. Pure, and written once for every kind of ledger.

A ledger is an append-only list of entries. Folding them gives the state: budgets, what is spent, by which study, for
which queries. Whether something may be appended is asked of the state; the answer is an entry, or a refusal. `append`
leaves the state before as it was.

A ledger has an account in ε for answers with Laplace noise, one in ρ for answers with Gaussian noise, or both. The loss
of all answers together is (ε_pure + ε(ρ, δ), δ).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict

from copriv.owner import ledger_refusals as refusals
from copriv.owner.block_accounts import (
    FIRST,
    Account,
    BlockAccount,
    Blocks,
    missing_budget,
    require_arrival,
    require_block,
    require_counted,
    require_epoch,
    require_in_use,
    require_policy,
    require_unnamed,
    with_change,
    worst_accounts,
)
from copriv.owner.entries import (
    START,
    Answered,
    Block,
    Body,
    Charge,
    Enrolled,
    Entry,
    Epoch,
    Expired,
    Opening,
    Renewed,
    Version,
)
from copriv.owner.persistent_map import PersistentMap
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import UNIT, UNITS, Amount, Guarantee, Measure


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a query: the question and the price it was charged; receipt and entry of its answer, if any."""

    question: str
    price: Amount
    answer: str | None = None
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The state of a ledger after some entries; it never changes.

    `queries` has what became of every query, by its id; `answers` the id of the newest query that was answered from
    these very records, by the question; `stale` the queries that were charged before the newest version of the records
    and not answered then. `blocks` has every block of arrival, in order, with what it has spent; `budgets` what each
    may spend. `accounts` has the most that any block has spent, which is what any one record has lost at most, with the
    least that any block has left.
    """

    id: str
    salt: str
    owner: str
    dataset: str
    guarantee: Guarantee
    accountant: Accountant
    accounts: Mapping[Measure, Account]
    sequence: int
    head: str
    queries: PersistentMap[str, Asked]
    answers: PersistentMap[str, str]
    studies: PersistentMap[str, Amount]
    enrolled: PersistentMap[str, Enrolled]
    receipts: PersistentMap[str, None]
    budgets: Mapping[Measure, int]
    blocks: Blocks
    stale: frozenset[str] = frozenset()

    @property
    def budget(self) -> Amount:
        """Of the only account; a ledger with two has to be asked for one of them."""
        return self._only_account().budget

    @property
    def spent(self) -> int:
        """From the only account; a ledger with two has to be asked for one of them."""
        return self._only_account().spent

    @property
    def newest_receipt(self) -> str | None:
        """The receipt of the newest answer, if there is one."""
        return next(reversed(self.receipts), None)

    def account(self, measure: Measure) -> Account:
        """The account in one currency; without one, nothing in it can be paid for."""
        if measure not in self.accounts:
            raise refusals.other_currency(measure, tuple(self.accounts))
        return self.accounts[measure]

    @property
    def unit(self) -> str | None:
        """What everything that was charged is counted for: a record or a person; None if nothing was charged."""
        charged = next(iter(self.studies), None)
        return None if charged is None else self.unit_of(charged)

    @property
    def unit_words(self) -> str:
        """The same in words; before anything is charged, as studies say that are enrolled."""
        enrolled = next(iter(self.enrolled.values()), None)
        return UNITS[self.unit or (UNIT if enrolled is None else enrolled.unit)]

    def unit_of(self, account: str) -> str:
        """What a study protects as one, by the name under which it is charged."""
        enrolled = self._study(account)
        return UNIT if enrolled is None else enrolled.unit

    @property
    def person(self) -> str:
        """The column that says who the people are that were charged; empty if there are none, or nobody noted it."""
        charged = map(self._study, self.studies) if self.unit == "person" else ()
        return next((study.person for study in charged if study is not None and study.person), "")

    def require_unit(self, unit: str, person: str = "") -> None:
        """Refuse a study that counts for something else, or for people by another column, if it is said by which."""
        if self.unit not in (None, unit):
            raise refusals.other_unit(self.owner, str(self.unit), unit)
        if person and self.person not in ("", person):
            raise refusals.other_unit(self.owner, f"person by {self.person!r}", f"person by {person!r}")

    def spent_by(self, study: str) -> int:
        """Billionths that a study has spent, in the currency of its answers."""
        return self.studies[study].nano if study in self.studies else 0

    def account_for(self, study: str, measure: Measure) -> Account:
        """What the blocks that a study reads can still pay: that of the block which has the least left."""
        if measure not in self.budgets or not self.reads(study):
            return self.account(measure)
        chosen = (self.blocks[name].account(measure, self.budgets) for name in self.reads(study))
        return min(chosen, key=lambda account: account.left)

    def reads(self, study: str) -> tuple[str, ...]:
        """The blocks that a study reads, as they were approved; none if it reads all that there are."""
        enrolled = self._study(study)
        return () if enrolled is None else enrolled.blocks

    def _study(self, account: str) -> Enrolled | None:
        """The study that an account is of, whatever kind of question it pays for."""
        return self.enrolled.get(account) or self.enrolled.get(account.partition(":")[0])

    def next_entry(self, body: Body, at: str = "") -> Entry:
        """The entry that would follow."""
        return Entry(self.sequence + 1, self.head, body, at)

    def enroll(self, enrolled: Enrolled, at: str = "") -> Entry | None:
        """The entry that names a study, or None if it says nothing new."""
        for name in enrolled.blocks:
            require_block(self.blocks, name)
        return None if self.enrolled.get(enrolled.study) == enrolled else self.next_entry(enrolled, at)

    def charge(
        self, query: str, question: str, amount: Amount, study: str, allowance: Amount, at: str = ""
    ) -> Entry | None:
        """The entry that pays for a query, or None if it is paid for already.

        A query that was charged and not answered pays for an answer at that price, and for none that is dearer: the
        owner may have promised more since, or another kind of noise.

        Args:
            query: the id of the query.
            question: a hash of what is asked.
            amount: the price of the answer.
            study: the digest of the terms.
            allowance: the most that this owner spends on this study.
            at: when.
        """
        known = self.queries.get(query)
        if known is not None:
            if known.question != question or not (known.answer is not None or _covers(known.price, amount)):
                raise refusals.conflict(query)
            return None
        for other in (allowance, self.studies.get(study, amount)):
            if other.measure != amount.measure:
                raise refusals.other_currency(amount.measure, (other.measure,))
        unit = self.unit_of(study), getattr(self._study(study), "person", "")
        self.require_unit(*unit)
        require_counted(self.blocks, self.owner, *unit)
        account, blocks = self.account_for(study, amount.measure), self._paying(study)
        if amount.nano < 1 or amount.nano > account.left:
            raise refusals.exhausted("budget", account.spent, account.budget, amount)
        if self.spent_by(study) + amount.nano > allowance.nano:
            raise refusals.exhausted("share of this study", self.spent_by(study), allowance, amount)
        return self.next_entry(Charge(query, question, amount.nano, amount.measure, study, blocks), at)

    def _paying(self, study: str) -> tuple[str, ...]:
        """The blocks that pay for an answer to a study; none are named where there is only one, without a name."""
        paying = self.reads(study) or tuple(self.blocks)
        require_in_use(self.blocks, paying)
        return () if paying == (FIRST,) and self.blocks[FIRST].arrival is None else paying

    def answer(self, query: str, payload: bytes, receipt: str, at: str = "") -> Entry:
        """The entry that records the answer to a charged query."""
        known = self.queries.get(query)
        if known is None:
            raise refusals.uncharged(query)
        if known.answer is not None:
            raise refusals.answered(query)
        return self.next_entry(Answered(query, hashlib.sha256(payload).hexdigest(), receipt), at)

    def open_epoch(
        self, guarantee: Guarantee, budgets: Mapping[Measure, int], signed_off_by: str, at: str = ""
    ) -> Entry:
        """The entry that changes the guarantee; no account falls below what it has spent, and none is lost."""
        refusals.require_signature(signed_off_by)
        require_epoch(self.blocks, budgets, guarantee)
        return self.next_entry(Epoch(guarantee.nano_epsilon, guarantee.delta, dict(budgets), signed_off_by), at)

    def open_version(self, dataset: str, signed_off_by: str, at: str = "") -> Entry:
        """The entry that takes over a changed dataset with everything that was spent on the old one.

        Args:
            dataset: SHA-256 of the records, as `ledger_opening.fingerprint_of_file` gives it.
            signed_off_by: who is responsible.
            at: when.
        """
        refusals.require_signature(signed_off_by)
        require_unnamed(self.blocks)
        return self.next_entry(Version(keyed(self.salt, dataset), signed_off_by), at)

    def open_block(self, block: Block, at: str = "") -> Entry | None:
        """The entry that adds a block, which starts unspent; None if it is there, with its file at this place."""
        refusals.require_signature(block.signed_off_by)
        require_arrival(self.blocks, block, self.dataset)
        known = self.blocks.get(block.name)
        if known is not None and known.arrival is not None and known.arrival.path == block.path:
            return None
        return self.next_entry(block, at)

    def change_block(self, policy: Renewed | Expired, at: str = "") -> Entry:
        """The entry that gives a block a larger budget, or has it read no more; a person signs it with a reason."""
        refusals.require_signature(policy.signed_off_by)
        require_policy(self.blocks, self.budgets, policy)
        return self.next_entry(policy, at)

    def is_for(self, dataset: str) -> bool:
        """Whether records with this SHA-256 are those of this ledger, or a block of them."""
        found = keyed(self.salt, dataset)
        arrivals = (block.arrival.dataset for block in self.blocks.values() if block.arrival is not None)
        return any(hmac.compare_digest(found, known) for known in (self.dataset, *arrivals))

    def require_dataset(self, dataset: str) -> None:
        """Refuse to answer from records that this ledger was not made for."""
        if not self.is_for(dataset):
            raise refusals.other_records(self.owner)

    def _only_account(self) -> Account:
        if len(self.accounts) != 1:
            raise refusals.two_accounts(self.id)
        return next(iter(self.accounts.values()))


def keyed(salt: str, fingerprint: str) -> str:
    """A fingerprint that nobody without the salt can recompute.

    >>> keyed("aa", "f") == keyed("bb", "f")
    False
    """
    return hmac.new(bytes.fromhex(salt), fingerprint.encode(), hashlib.sha256).hexdigest()


def open_state(opening: Opening, at: str = "") -> tuple[LedgerState, Entry]:
    """The state of a new ledger and the entry it starts from."""
    entry = Entry(1, START, opening, at)
    return _begin(entry, opening), entry


def fold_entries(entries: Iterable[Entry]) -> LedgerState:
    """Fold all entries of a ledger; a break in the chain is a failure."""
    found = iter(entries)
    first = next(found, None)
    if first is None or not isinstance(first.body, Opening) or (first.sequence, first.previous) != (1, START):
        raise refusals.broken("it does not begin with its first entry")
    state = _begin(first, first.body)
    for entry in found:
        state = append(state, entry)
    return state


def append(state: LedgerState, entry: Entry) -> LedgerState:
    """The state after one more entry, if that follows and keeps within the budgets; the given one stays as it was."""
    if (entry.sequence, entry.previous) != (state.sequence + 1, state.head):
        raise refusals.broken(f"entry {entry.sequence} does not follow entry {state.sequence}")
    changes = _changes(state, entry.body, entry.sequence)
    if entry.was:
        changes["receipts"] = changes.get("receipts", state.receipts).adding(entry.was, None)
    after = replace(state, sequence=entry.sequence, head=entry.head, **changes)
    if any(account.left < 0 for account in after.accounts.values()):
        raise refusals.broken(f"entry {entry.sequence} spends more than the budget")
    return after


def _begin(entry: Entry, opening: Opening) -> LedgerState:
    return LedgerState(
        id=opening.id,
        salt=opening.salt,
        owner=opening.owner,
        dataset=opening.dataset,
        guarantee=Guarantee(opening.nano_epsilon, opening.delta),
        accountant=opening.accountant,
        accounts={measure: Account(Amount(nano, measure)) for measure, nano in opening.budgets.items()},
        sequence=entry.sequence,
        head=entry.head,
        budgets=dict(opening.budgets),
        blocks={FIRST: BlockAccount()},
        queries=PersistentMap(),
        answers=PersistentMap(),
        studies=PersistentMap(),
        enrolled=PersistentMap(),
        receipts=PersistentMap({entry.was: None} if entry.was else {}),
    )


class _Changes(TypedDict, total=False):
    """What an entry changes of a state, apart from its end."""

    dataset: str
    guarantee: Guarantee
    accounts: Mapping[Measure, Account]
    budgets: Mapping[Measure, int]
    blocks: Blocks
    queries: PersistentMap[str, Asked]
    answers: PersistentMap[str, str]
    studies: PersistentMap[str, Amount]
    enrolled: PersistentMap[str, Enrolled]
    receipts: PersistentMap[str, None]
    stale: frozenset[str]


def _changes(state: LedgerState, body: Body, sequence: int) -> _Changes:
    if isinstance(body, Charge):
        return _spend(state, body)
    if isinstance(body, Answered):
        known = state.queries.get(body.query)
        if known is None or known.answer is not None:
            raise refusals.broken(f"the query {body.query!r} is answered without a charge, or twice")
        queries = state.queries.adding(body.query, Asked(known.question, known.price, body.receipt, sequence))
        told: _Changes = {"queries": queries, "receipts": state.receipts.adding(body.receipt, None)}
        if body.query not in state.stale:
            told["answers"] = state.answers.adding(known.question, body.query)
        return told
    if isinstance(body, Enrolled):
        return {"enrolled": state.enrolled.adding(body.study, body)}
    if isinstance(body, Epoch):
        if missing_budget(state.blocks, body.budgets) is not None:
            raise refusals.broken("an epoch forgets what an account has spent")
        guarantee = Guarantee(body.nano_epsilon, body.delta)
        return {"guarantee": guarantee, **_accounts(state.blocks, body.budgets), "budgets": body.budgets}
    if isinstance(body, Block | Renewed | Expired):
        return _accounts(with_change(state.blocks, body), state.budgets)
    if isinstance(body, Version):
        stale = frozenset(query for query in state.queries if state.queries[query].answer is None)
        return {"dataset": body.dataset, "answers": PersistentMap(), "stale": stale}
    raise refusals.broken("there is a second beginning")


def _spend(state: LedgerState, charge: Charge) -> _Changes:
    if charge.query in state.queries:
        raise refusals.broken(f"the query {charge.query!r} is charged twice")
    paying, price = charge.blocks or tuple(state.blocks), Amount(charge.nano, charge.measure)
    if charge.measure not in state.budgets or not {*paying} <= {*state.blocks}:
        raise refusals.broken(f"a charge in {charge.measure}, for which there is no account")
    by_study = Amount(state.spent_by(charge.study) + charge.nano, charge.measure)
    return {
        **_accounts({**state.blocks, **{name: state.blocks[name].paying(price) for name in paying}}, state.budgets),
        "queries": state.queries.adding(charge.query, Asked(charge.question, price)),
        "studies": state.studies.adding(charge.study, by_study),
    }


def _accounts(blocks: Blocks, budgets: Mapping[Measure, int]) -> _Changes:
    return {"blocks": blocks, "accounts": worst_accounts(blocks, budgets)}


def _covers(paid: Amount, amount: Amount) -> bool:
    """Whether what was paid is enough for an answer of this price."""
    return paid.measure == amount.measure and paid.nano >= amount.nano
