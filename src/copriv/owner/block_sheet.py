"""How the blocks of a ledger stand, for whoever shows it; nothing of it was computed from what is in a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from copriv.owner.block_accounts import BlockAccount
from copriv.owner.entries import Block
from copriv.owner.ledger_opening import total_epsilon
from copriv.owner.ledger_state import LedgerState
from copriv.owner.reading import narrowed
from copriv.privacy.guarantee import NANO
from copriv.protocol.text import plain


class BlockShown(msgspec.Struct):
    """One block of arrival.

    Args:
        block: its name.
        units: how many records or people arrived in it; public.
        unit: what is counted.
        epsilon: what any one of them may lose in all; None if no budget is declared.
        spent: what any one of them has lost, at the ledger's δ.
        renewed: who has signed a budget of its own, and why; empty if nobody has.
        expired: why no study reads it any more; empty as long as studies do.
    """

    block: str
    units: int
    unit: str
    epsilon: float | None
    spent: float
    renewed: str = ""
    expired: str = ""


def show_blocks(state: LedgerState) -> list[BlockShown]:
    """All blocks in the order of arrival; none where records never arrived in blocks."""
    return [_shown(state, block, block.arrival) for block in state.blocks.values() if block.arrival is not None]


def block_lines(blocks: Sequence[BlockShown]) -> Iterator[str]:
    """The same for a terminal, one a line."""
    for each in blocks:
        limit = "no limit" if each.epsilon is None else f"{each.epsilon:g}"
        counted = f"{each.units:,} {'people' if each.unit == 'person' else 'records'}"
        signed = f"; renewed by {each.renewed}" if each.renewed else ""
        ended = f"; EXPIRED: {each.expired}" if each.expired else ""
        yield f"{each.block}: {counted}, ε = {each.spent:.6g} of {limit}{signed}{ended}"


def _shown(state: LedgerState, block: BlockAccount, arrival: Block) -> BlockShown:
    spent = total_epsilon(narrowed(state, (arrival.name,)))
    declared = not any(account.open for account in state.accounts.values())
    unit = "person" if arrival.person else "record"
    return BlockShown(
        block=plain(arrival.name),
        units=arrival.units,
        unit=unit,
        epsilon=_promised(state, block) if declared else None,
        spent=spent,
        renewed="" if block.renewed is None else f"{plain(block.renewed.signed_off_by)}: {plain(block.renewed.why)}",
        expired=plain(block.expired),
    )


def _promised(state: LedgerState, block: BlockAccount) -> float:
    renewal = block.renewal(state.budgets)
    return (state.guarantee.nano_epsilon if renewal is None else renewal.nano_epsilon) / NANO
