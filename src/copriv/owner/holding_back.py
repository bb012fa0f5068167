"""Which records an owner holds back: the key that decides is drawn once for each user, from that of the registry."""

from __future__ import annotations

import hashlib
from pathlib import Path

from copriv.errors import BadInput
from copriv.losses.records import Records
from copriv.losses.sample import Sample
from copriv.owner.block_accounts import FIRST
from copriv.owner.reading import Reading, units_by_block
from copriv.owner.registry_store import Store
from copriv.protocol.terms import Terms
from copriv.records.held_back import divide


def held_back_key() -> bytes:
    """The same in every study and every folder of this user, so that a record that validates never trains."""
    store = Store(None)
    try:
        return hashlib.blake2b(digest_size=32, key=store.key, person=b"copriv held").digest()
    finally:
        store.close()


def hold_back(
    records: Records, terms: Terms, ledger: Path, reading: Reading | None = None
) -> tuple[Records, Sample | None]:
    """The records that train, and those that the terms hold back, by their places and the key of this user.

    Args:
        records: what the study reads.
        terms: of the study.
        ledger: of the records.
        reading: the blocks that they arrived in, if they did. Each has its own places, so that a record is on the same
            side whatever else is read; what was there first has the places that it had before.
    """
    if not terms.held_back:
        return records, None
    if not isinstance(records, Sample):
        raise BadInput(
            "the study holds records back to validate on, and these do not fit in memory",
            remedy="serve from a machine with more memory, or ask the learner for a study without validation",
            value=terms.held_back,
        )
    named = {"" if name == FIRST else f"block {name}": units for name, units in units_by_block(ledger, reading).items()}
    return divide(records, terms.held_back, held_back_key(), named)
