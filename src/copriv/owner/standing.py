"""How records stand before a promise is made about them: whether they are known, and what they have lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from copriv.owner.declaration import lost_in_all, spent_in
from copriv.owner.entries import Charge, Enrolled, Entry, Version
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import study_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee


@dataclass(frozen=True, slots=True)
class Standing:
    """What a person has to know of its records before it approves.

    Args:
        ledger: which pays.
        known: whether the records had a ledger before.
        new_version: whether this version of them was not answered from before.
        lost: what they have lost before; None if nothing.
        unit: what that is counted for.
    """

    ledger: Path
    known: bool
    new_version: bool
    lost: Guarantee | None
    unit: str = "record"

    def notices(self) -> tuple[str, ...]:
        """The same in words."""
        told = []
        if self.known:
            known = "a new version of known records" if self.new_version else "known records"
            told.append(f"these are {known}, and their ledger pays: {self.ledger}")
        if self.lost is not None:
            told.append(f"these records have spent {self.lost.words_for(self.unit)} in all before")
        return tuple(told)


def lost_before(state: LedgerState) -> Guarantee | None:
    """What the records of a ledger have lost; None if nothing."""
    return lost_in_all(state) if spent_in(state, "epsilon") or spent_in(state, "rho") else None


def standing_of(ledger: SqliteLedger, place: Path, folder: Path, study: str) -> Standing:
    """How the records of a folder stand that has joined a study already.

    Args:
        ledger: theirs.
        place: where it is.
        folder: the owner's; a ledger that was made for it lies in it and holds nothing else.
        study: the digest of the study's terms.
    """
    state = ledger.state()
    known = state.sequence > 1 or place.absolute().parent != folder.absolute()
    return Standing(place, known, is_new_version(ledger.entries(), study), lost_before(state), state.unit or "record")


def is_new_version(entries: Iterable[Entry], study: str) -> bool:
    """Whether no other study has used the records since their newest version was put on record."""
    new = False
    for entry in entries:
        if isinstance(entry.body, Version):
            new = True
        elif isinstance(entry.body, Charge | Enrolled) and study_of(entry.body.study) != study:
            new = False
    return new
