"""Which ledger pays for a file: the one that its records have already, or a new one.

Where a file only looks like a known one, a person decides: it is a version of these records and inherits what was spent
on them, or it has nothing to do with them. Nothing is decided by default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from copriv.errors import BadInput, LedgerFailure, LedgerRefusal
from copriv.owner.entries import Genesis
from copriv.owner.genesis import fingerprint_of_file
from copriv.owner.kinship import Kin, KnownFile
from copriv.owner.registry import Dataset, Found, Registry
from copriv.owner.split import Split, require_no_conflict, require_same_split
from copriv.owner.sqlite_ledger import SqliteLedger


@dataclass(frozen=True, slots=True)
class Word:
    """What a person says about a file that looks like a known one.

    Args:
        signed_off_by: who says it.
        version_of: the ledger of the records that it is a version or a part of.
        unrelated: it has no record in common with (other) known ones.
        ask: puts a question to somebody who is there; None if nobody is.
    """

    signed_off_by: str
    version_of: Path | None = None
    unrelated: bool = False
    ask: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """Whose ledger pays for a file, decided and not yet written down.

    Args:
        found: the file.
        dataset: the records that it belongs to; None if it is a new dataset.
        unrelated: a person has said that it has nothing to do with those it looks like.
        signed_off_by: who has said what there was to say.
    """

    found: Found
    dataset: Dataset | None
    unrelated: bool
    signed_off_by: str

    @property
    def new_version(self) -> bool:
        """Whether the file is a version of known records that was not seen before."""
        return self.dataset is not None and self.found.dataset is None


def settle(registry: Registry, found: Found, word: Word) -> Settled:
    """Decide whose ledger pays for a file; nothing is written.

    Raises:
        BadInput: the file is public, or looks like a known one and nobody has said what it is.
    """
    if found.public:
        raise _declared_public(found.path)
    chosen = None if word.version_of is None else _dataset_at(registry, word.version_of)
    if found.dataset is not None:
        if chosen is not None and chosen.id != found.dataset.id:
            raise _has_a_ledger(found, found.dataset)
        return Settled(found, found.dataset, unrelated=False, signed_off_by=word.signed_off_by)
    nearest = _nearest_by_dataset(found)
    if chosen is None and not word.unrelated and nearest:
        return _ask(registry, found, nearest, word)
    _require_nothing_else(found, nearest, chosen, word)
    return Settled(found, chosen, word.unrelated, word.signed_off_by)


def open_settled(registry: Registry, settled: Settled, new: Path, begin: Callable[[], Genesis]) -> SqliteLedger:
    """The ledger that pays for a file, and the file on record as its dataset's.

    Args:
        registry: the registry.
        settled: what was decided.
        new: where a new ledger is made if the records have none; if there is one already, it is taken over.
        begin: the first entry of a new ledger.
    """
    with registry.exclusive():
        now = registry.look_again(settled.found)
        if now.dataset is not None and (settled.dataset is None or settled.dataset.id != now.dataset.id):
            raise _has_a_ledger(settled.found, now.dataset)
        if settled.unrelated:
            registry.note_unrelated(settled.found, settled.signed_off_by)
        if settled.dataset is not None:
            ledger = open_registered(registry, registry.dataset(settled.dataset.id))
            registry.add_version(settled.dataset, now, settled.signed_off_by)
            return ledger
        ledger = SqliteLedger(new) if new.exists() else SqliteLedger.create(new, begin())
        registry.register(settled.found, new, ledger.book().id)
        ledger.keep_mark(registry.mark(ledger.book().id))
        return ledger


def open_registered(registry: Registry, dataset: Dataset, at: Path | None = None) -> SqliteLedger:
    """The ledger of a dataset, where it was last seen or where somebody says that it is now.

    Raises:
        LedgerFailure: it is not there, or another one is.
    """
    place = at or dataset.ledger
    if not place.is_file():
        raise LedgerFailure(
            f"the ledger of {dataset.name!r} is missing: {place}",
            remedy="restore it, or say where it is now (--ledger); another one would forget what was spent",
            value=str(place),
        )
    ledger = SqliteLedger(place)
    if ledger.book().id != dataset.ledger_id:
        ledger.close()
        raise LedgerRefusal(
            f"{place} is not the ledger of these records: theirs is {dataset.ledger}",
            remedy="leave --ledger out, or give the one that they have: one set of records has one budget",
            value=str(place),
        )
    ledger.keep_mark(registry.mark(dataset.ledger_id))
    if place.absolute() != dataset.ledger:
        registry.note_ledger(dataset, place)
    return ledger


def require_unknown(found: Found) -> None:
    """Refuse to make another ledger for a file that has one."""
    if found.dataset is not None:
        raise _has_a_ledger(found, found.dataset)


def take_version(registry: Registry, ledger: SqliteLedger, place: Path, data: Path, signed_off_by: str) -> None:
    """A changed file of a ledger's records, on record in the ledger and in the registry."""
    found, dataset = registry.lookup(data), registry.dataset_of_ledger(ledger.book().id)
    if found.public:
        raise _declared_public(found.path)
    if found.dataset is not None and (dataset is None or found.dataset.id != dataset.id):
        raise _has_a_ledger(found, found.dataset)
    ledger.open_version(fingerprint_of_file(data), signed_off_by)
    with registry.exclusive():
        if dataset is None:
            registry.register(found, place, ledger.book().id)
        else:
            registry.add_version(dataset, found, signed_off_by)
    ledger.keep_mark(registry.mark(ledger.book().id))


def check_split(registry: Registry, settled: Settled, wanted: Split) -> None:
    """Refuse to take rows for public that were private before, or the other way round; nothing is written."""
    found = settled.found
    known = registry.known_file(found.fingerprint)
    if known is not None and known.split is not None:
        require_same_split(known.split, wanted)
        return
    if settled.unrelated:
        return
    sketches = registry.sketches_of(found)
    apart = registry.unrelated_to(found) | {found.fingerprint}
    for other in registry.known_files():
        if other.fingerprint not in apart:
            require_no_conflict(sketches, wanted, other)


def this_file(settled: Settled, split: Split, registry: Registry) -> KnownFile:
    """The file at hand as if it were known already, to compare others with it."""
    known = registry.known_file(settled.found.fingerprint)
    if known is not None:
        return KnownFile(known.fingerprint, known.dataset, known.path, known.rows, known.sketches, split)
    seen = settled.found.recognised
    rows, sketches = (0, ()) if seen is None else (seen.rows, seen.sketches)
    return KnownFile(settled.found.fingerprint, "this", settled.found.path, rows, sketches, split)


def _nearest_by_dataset(found: Found) -> dict[str, Kin]:
    """For each known dataset that a file looks like, the file that it is nearest to; public files do not count."""
    nearest: dict[str, Kin] = {}
    for kin in found.kin:
        if kin.file.dataset is not None:
            nearest.setdefault(kin.file.dataset, kin)
    return nearest


def _ask(registry: Registry, found: Found, nearest: dict[str, Kin], word: Word) -> Settled:
    """Put the question to whoever is there; without an answer, refuse."""
    key, kin = next(iter(nearest.items()))
    dataset = registry.dataset(key)
    if word.ask is not None and len(nearest) == 1:
        first = f"{found.path.name}: {kin.describe()}. Are these the same records? Then the file pays from their ledger"
        if word.ask(f"{first}, {dataset.ledger}"):
            return Settled(found, dataset, unrelated=False, signed_off_by=word.signed_off_by)
        if word.ask("Do you sign off that no record of it is among those?"):
            return Settled(found, None, unrelated=True, signed_off_by=word.signed_off_by)
    raise _undecided(found, kin, dataset)


def _require_nothing_else(found: Found, nearest: dict[str, Kin], chosen: Dataset | None, word: Word) -> None:
    """A file that looks like several datasets cannot pay from one of them, unless a person says that it may."""
    others = [kin for key, kin in nearest.items() if chosen is not None and key != chosen.id]
    if others and not word.unrelated:
        raise BadInput(
            f"{found.path} looks like records of another ledger, too: {others[0].describe()}",
            remedy="give the records of each ledger in a file of their own, or add --unrelated for the others",
            value=str(found.path),
        )


def _dataset_at(registry: Registry, path: Path) -> Dataset:
    ledger = SqliteLedger(path)
    try:
        dataset = registry.dataset_of_ledger(ledger.book().id)
    finally:
        ledger.close()
    if dataset is None:
        raise BadInput(
            f"the registry does not know the ledger {path}",
            remedy="take the file over with `copriv ledger version`, which makes the ledger known",
            value=str(path),
        )
    return dataset


def _undecided(found: Found, kin: Kin, dataset: Dataset) -> BadInput:
    return BadInput(
        f"{found.path}: {kin.describe()}",
        remedy=f"if these are the same records, they share a budget: --version-of {dataset.ledger}, or `copriv ledger "
        "version`; if no record is in both, --unrelated",
        value=str(kin.file.path),
    )


def _declared_public(path: Path) -> BadInput:
    return BadInput(
        f"{path} was declared public before, and cannot be protected any more",
        remedy="rows once public stay public: give private records that were never declared public",
        value=str(path),
    )


def _has_a_ledger(found: Found, dataset: Dataset) -> LedgerRefusal:
    return LedgerRefusal(
        f"{found.path} has a ledger already: {dataset.ledger}",
        remedy="use this one: one set of records has one budget; `copriv ledger epoch` changes it",
        value=str(dataset.ledger),
    )
