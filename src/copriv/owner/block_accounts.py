"""The accounts of a ledger's blocks: each block of arrival pays for itself, within the lifetime budget. Pure.

A record lies in one block. A study charges every block that it reads the whole price of an answer, so what a record has
lost is what its block has paid. A ledger in which no block was ever named has one: all its records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from copriv.errors import LedgerRefusal
from copriv.owner.entries import OPEN, Block, Expired, Renewed
from copriv.owner.ledger_refusals import other_unit
from copriv.privacy.guarantee import Amount, Guarantee, Measure

FIRST = "first"


@dataclass(frozen=True, slots=True)
class Account:
    """One currency of a ledger: what may be spent, and what is."""

    budget: Amount
    spent: int = 0

    @property
    def left(self) -> int:
        """Billionths that may still be spent."""
        return self.budget.nano - self.spent

    @property
    def open(self) -> bool:
        """Whether nobody has declared a budget, so that spending is only noted."""
        return self.budget.nano >= OPEN


@dataclass(frozen=True, slots=True)
class BlockAccount:
    """One block: the records that arrived in it, and what they have spent.

    Args:
        arrival: how it arrived; None if the block was never named.
        spent: billionths, by currency.
        renewed: the budget of this block alone, if a person has signed one.
        expired: why no study reads it any more; empty as long as studies do.
    """

    arrival: Block | None = None
    spent: Mapping[Measure, int] = field(default_factory=dict)
    renewed: Renewed | None = None
    expired: str = ""

    def account(self, measure: Measure, budgets: Mapping[Measure, int]) -> Account:
        """What it has spent in one currency of what it may; `budgets` are those of the ledger."""
        renewal = self.renewal(budgets)
        allowed = budgets[measure] if renewal is None else renewal.budgets.get(measure, 0)
        return Account(Amount(allowed, measure), self.spent.get(measure, 0))

    def renewal(self, budgets: Mapping[Measure, int]) -> Renewed | None:
        """The renewal that counts instead of the ledger's budgets; None if these are at least as large in everything.

        Budgets of several currencies are one promise: the larger of each would be more than anybody has signed.

        >>> mine = BlockAccount(renewed=Renewed("first", 3, 0.0, {"epsilon": 2, "rho": 5}, "me", "new consent"))
        >>> [mine.account(each, {"epsilon": 4, "rho": 1}).budget.nano for each in ("epsilon", "rho")]
        [2, 5]
        >>> [mine.account(each, {"epsilon": 4, "rho": 5}).budget.nano for each in ("epsilon", "rho")]
        [4, 5]
        """
        mine = self.renewed
        if mine is None or all(budgets.get(measure, 0) >= allowed for measure, allowed in mine.budgets.items()):
            return None
        return mine

    def paying(self, price: Amount) -> BlockAccount:
        """After one more charge."""
        return replace(self, spent={**self.spent, price.measure: self.spent.get(price.measure, 0) + price.nano})


Blocks = Mapping[str, BlockAccount]


def worst_accounts(blocks: Blocks, budgets: Mapping[Measure, int]) -> dict[Measure, Account]:
    """For every currency, the most that any block has spent and the least that any block has left.

    Without renewals that is one block. Otherwise the budget is the sum of both, so that neither is told too small.
    """
    found: dict[Measure, Account] = {}
    for measure in budgets:
        accounts = [block.account(measure, budgets) for block in blocks.values()]
        spent = max(account.spent for account in accounts)
        found[measure] = Account(Amount(spent + min(account.left for account in accounts), measure), spent)
    return found


def payable(blocks: Blocks, budgets: Mapping[Measure, int], price: Amount) -> tuple[str, ...]:
    """The blocks that can pay a price, in the order of arrival; none of those that have expired.

    >>> old = BlockAccount(spent={"epsilon": 8})
    >>> payable({"2026-01": old, "2026-02": BlockAccount()}, {"epsilon": 10}, Amount(5, "epsilon"))
    ('2026-02',)
    """
    if price.measure not in budgets:
        return ()
    return tuple(
        name
        for name, block in blocks.items()
        if not block.expired and block.account(price.measure, budgets).left >= price.nano
    )


def with_change(blocks: Blocks, change: Block | Renewed | Expired) -> Blocks:
    """After a block has arrived, or a person has signed that one has a larger budget or is read no more."""
    if isinstance(change, Block):
        return _with_arrival(blocks, change)
    block = blocks[change.block]
    if isinstance(change, Renewed):
        return {**blocks, change.block: replace(block, renewed=change)}
    return {**blocks, change.block: replace(block, expired=change.why)}


def _with_arrival(blocks: Blocks, arrival: Block) -> Blocks:
    """The first arrival names what is there, and a known block lies elsewhere now."""
    if is_known(blocks, arrival.name):
        return {**blocks, arrival.name: replace(blocks[arrival.name], arrival=arrival)}
    if not named(blocks):
        return {arrival.name: replace(blocks[FIRST], arrival=arrival)}
    return {**blocks, arrival.name: BlockAccount(arrival)}


def require_block(blocks: Blocks, name: str) -> BlockAccount:
    """A block by its name; refused if there is none."""
    if not is_known(blocks, name):
        raise LedgerRefusal(
            f"the ledger has no block {name!r}",
            remedy=f"its blocks are {', '.join(blocks)}" if named(blocks) else "append one: copriv owner append",
            value=name,
        )
    return blocks[name]


def named(blocks: Blocks) -> bool:
    """Whether any block was ever named."""
    return any(block.arrival is not None for block in blocks.values())


def is_known(blocks: Blocks, name: str) -> bool:
    """Whether a block of this name has arrived."""
    return name in blocks and blocks[name].arrival is not None


def require_arrival(blocks: Blocks, arrival: Block, opened_for: str) -> None:
    """Refuse a block that contradicts what is there: a name or a file twice, or another column of people.

    Args:
        blocks: as they are.
        arrival: what would be added.
        opened_for: keyed fingerprint of the records that the ledger was opened for.
    """
    arrivals = [block.arrival for block in blocks.values() if block.arrival is not None]
    if not arrivals:
        if arrival.dataset != opened_for:
            raise _contradiction("the first block is not what the ledger was opened for", arrival.name)
        return
    for known in arrivals:
        if (known.name == arrival.name) != (known.dataset == arrival.dataset):
            what = (
                f"{arrival.name!r} is there with another file"
                if known.name == arrival.name
                else (f"the file is the block {known.name!r} already")
            )
            raise _contradiction(what, arrival.name)
        if known.person != arrival.person:
            column = f"the column {known.person!r}" if known.person else "no column of people"
            raise _contradiction(f"blocks of this ledger have {column}, and {arrival.name!r} another", arrival.name)
        if known.name == arrival.name and (known.units, known.index) != (arrival.units, arrival.index):
            raise _contradiction(f"{arrival.name!r} is there with other people", arrival.name)


def index_of(people: Iterable[bytes]) -> str:
    """What an entry keeps of the keyed ids of its block's people."""
    return hashlib.sha256(b"".join(sorted(people))).hexdigest()


def altered_people(people: Mapping[bytes, str], blocks: Blocks) -> str | None:
    """A block whose people are not those that arrived in it, if there is one."""
    known: dict[str, list[bytes]] = {name: [] for name in blocks}
    for person, name in people.items():
        known.setdefault(name, []).append(person)
    kept = {name: block.arrival.index for name, block in blocks.items() if block.arrival is not None}
    return next((name for name, index in kept.items() if index and index != index_of(known[name])), None)


def missing_budget(blocks: Blocks, budgets: Mapping[Measure, int]) -> tuple[str, Measure] | None:
    """A block that has spent more than these budgets allow, if there is one."""
    for name, block in blocks.items():
        renewal = block.renewal(budgets)
        allowed = budgets if renewal is None else renewal.budgets
        for measure, spent in block.spent.items():
            if spent > allowed.get(measure, 0):
                return name, measure
    return None


def require_epoch(blocks: Blocks, budgets: Mapping[Measure, int], guarantee: Guarantee) -> None:
    """Refuse budgets below what a block has spent, and another δ than that of a renewed budget that still counts."""
    found = missing_budget(blocks, budgets)
    if found is not None:
        name, measure = found
        spent = Amount(blocks[name].spent[measure], measure).words
        raise LedgerRefusal(
            f"epsilon = {guarantee.epsilon:g} is less than what is spent: {spent}",
            remedy="what has been said cannot be taken back; choose a larger epsilon",
            value=guarantee.epsilon,
        )
    for name, block in blocks.items():
        renewal = block.renewal(budgets)
        if renewal is not None and renewal.delta != guarantee.delta:
            raise LedgerRefusal(
                f"the block {name!r} was renewed to more, with delta = {renewal.delta:g} and not {guarantee.delta:g}",
                remedy=f"keep delta = {renewal.delta:g}, or choose an epsilon that covers what was renewed",
                value=guarantee.delta,
            )


def require_counted(blocks: Blocks, owner: str, unit: str, person: str) -> None:
    """Refuse a study that counts otherwise than the blocks do: somebody in several would lose in each of them.

    A single block of rows may be read as people's: whoever has several rows has them there.

    Args:
        blocks: as they are.
        owner: whose they are.
        unit: what the study protects as one.
        person: the column of people; empty if it has none, or nobody has said it.
    """
    columns = [block.arrival.person for block in blocks.values() if block.arrival is not None]
    if not columns or (len(columns) == 1 and not columns[0]):
        return
    mine, theirs = (f"person by {each!r}" if each else "" for each in (columns[0], person))
    if unit != ("person" if mine else "record") or theirs not in ("", mine):
        raise other_unit(owner, mine or "record", theirs or unit)


def require_in_use(blocks: Blocks, names: Iterable[str]) -> None:
    """Refuse to charge blocks that no study reads any more."""
    for name in names:
        if blocks[name].expired:
            raise LedgerRefusal(
                f"the block {name!r} has expired: {blocks[name].expired}",
                remedy="join again, without it; no study reads an expired block",
                value=name,
            )


def require_unnamed(blocks: Blocks) -> None:
    """Refuse to replace records that arrived in blocks."""
    if named(blocks):
        raise LedgerRefusal(
            "these records arrived in blocks, and a version would replace them all",
            remedy="append what is new as a block: copriv owner append; a block that has arrived stays as it is",
            value=len(blocks),
        )


def require_policy(blocks: Blocks, budgets: Mapping[Measure, int], policy: Renewed | Expired) -> None:
    """Refuse a policy for no block, without a reason, or one that would make a budget smaller."""
    block = require_block(blocks, policy.block)
    if not policy.why.strip():
        raise LedgerRefusal("there is no reason", remedy="say why: --why TEXT", value=policy.why)
    if isinstance(policy, Expired):
        return
    for measure in budgets:
        before = block.account(measure, budgets).budget.nano
        if policy.budgets.get(measure, 0) < before:
            raise LedgerRefusal(
                f"the block {policy.block!r} may spend {Amount(before, measure).words} already",
                remedy="a renewal makes a budget larger; to stop spending: copriv ledger expire",
                value=policy.budgets.get(measure, 0),
            )


def _contradiction(what: str, name: str) -> LedgerRefusal:
    return LedgerRefusal(
        what, remedy="a block is a file of new records under a new name, of the same kind as those before", value=name
    )
