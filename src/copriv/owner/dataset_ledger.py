"""Which ledger pays for a file: the one that its records have already, or a new one.

Where a file only looks like a known one, a person decides: it is a version of these records and inherits what was spent
on them, or it has nothing to do with them. Nothing is decided by default.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from copriv.errors import BadInput, LedgerFailure, LedgerRefusal
from copriv.owner.block_accounts import require_unnamed
from copriv.owner.entries import Opening
from copriv.owner.kinship import Kin, KnownFile
from copriv.owner.known_people import PEOPLE, with_known_people
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.owner.ledger_state import LedgerState
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
        person: the column of people, if a study has one.
    """

    found: Found
    dataset: Dataset | None
    unrelated: bool
    signed_off_by: str
    person: str = ""

    @property
    def new_version(self) -> bool:
        """Whether the file is a version of known records that was not seen before."""
        return self.dataset is not None and self.found.dataset is None


def settle(registry: Registry, found: Found, word: Word, person: str = "") -> Settled:
    """Decide whose ledger pays for a file; nothing is written.

    Args:
        registry: the user's registry.
        found: the file.
        word: what a person says about it.
        person: the column of people, if a study has one.

    Raises:
        BadInput: the file is public, or looks like a known one or has its people, and nobody has said what it is.
    """
    if found.public:
        raise _declared_public(found.path)
    found = with_known_people(registry, found, person, signed=word.unrelated)
    chosen = None if word.version_of is None else dataset_at(registry, word.version_of)
    if found.dataset is not None:
        if chosen is not None and chosen.id != found.dataset.id:
            raise _has_a_ledger(found, found.dataset)
        chosen = chosen or found.dataset
    nearest = _nearest_by_dataset(found)
    if chosen is None and not word.unrelated and nearest:
        return replace(_ask(registry, found, nearest, word), person=person)
    if not word.unrelated:
        require_apart(found, chosen, "add --unrelated for the others")
    return Settled(found, chosen, word.unrelated, word.signed_off_by, person)


def open_settled(registry: Registry, settled: Settled, new: Path, begin: Callable[[], Opening]) -> SqliteLedger:
    """The ledger that pays for a file, and the file on record as its dataset's.

    Args:
        registry: the registry.
        settled: what was decided.
        new: where a new ledger is made if the records have none; if there is one already, it is taken over.
        begin: the first entry of a new ledger.
    """
    with registry.exclusive():
        now = registry.look_again(settled.found)
        now = with_known_people(registry, now, settled.person, signed=settled.unrelated)
        _require_still_true(registry, settled, now)
        chosen = None if settled.dataset is None else registry.dataset(settled.dataset.id)
        ledger = _take_or_make(registry, now, new, begin) if chosen is None else open_registered(registry, chosen)
        try:
            if chosen is not None and now.dataset is None:
                require_unnamed(ledger.state().blocks)
            if settled.unrelated:
                registry.note_unrelated(others(settled.found, chosen), settled.signed_off_by)
            if chosen is None:
                registry.register(now, new, ledger.state().id)
                ledger.keep_mark(registry.mark(ledger.state().id))
            else:
                registry.add_version(chosen, now, settled.signed_off_by)
        except BaseException:
            ledger.close()
            raise
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
            remedy="restore it, or say where it is now: copriv ledger moved LEDGER; another one would forget what was "
            "spent",
            value=str(place),
        )
    ledger = SqliteLedger(place)
    if ledger.state().id != dataset.ledger_id:
        ledger.close()
        raise LedgerRefusal(
            f"{place} is not the ledger of these records: theirs is {dataset.ledger}",
            remedy="give the one that they have, and if it was moved, say so: copriv ledger moved LEDGER; one set of "
            "records has one budget",
            value=str(place),
        )
    ledger.keep_mark(registry.mark(dataset.ledger_id))
    registry.note_ledger(dataset, place)
    return ledger


def require_unknown(found: Found) -> None:
    """Refuse to make another ledger for a file that has one."""
    if found.dataset is not None:
        raise _has_a_ledger(found, found.dataset)


def take_version(registry: Registry, ledger: SqliteLedger, place: Path, data: Path, word: Word) -> None:
    """A changed file of a ledger's records, on record in the ledger and in the registry."""
    adopt(registry, ledger, place, registry.lookup(data), fingerprint_of_file(data), word)


def adopt(registry: Registry, ledger: SqliteLedger, place: Path, seen: Found, fingerprint: str, word: Word) -> None:
    """Records that a person says are a ledger's, on record in the ledger and in the registry.

    Args:
        registry: the registry.
        ledger: the ledger.
        place: where it lies.
        seen: the records.
        fingerprint: SHA-256 of them.
        word: what a person says about them.
    """
    with registry.exclusive():
        found, dataset = registry.look_again(seen), registry.dataset_of_ledger(ledger.state().id)
        found = with_known_people(registry, found, signed=word.unrelated)
        if found.public:
            raise _declared_public(found.path)
        if found.dataset is not None and (dataset is None or found.dataset.id != dataset.id):
            raise _has_a_ledger(found, found.dataset)
        if not word.unrelated:
            require_apart(found, dataset, "add --unrelated if no record is in both")
        ledger.open_version(fingerprint, word.signed_off_by)
        if word.unrelated:
            registry.note_unrelated(others(found, dataset), word.signed_off_by)
        if dataset is None:
            registry.register(found, place, ledger.state().id)
        else:
            registry.add_version(dataset, found, word.signed_off_by)
            registry.note_ledger(dataset, place)
    ledger.keep_mark(registry.mark(ledger.state().id))


def dataset_at(registry: Registry, path: Path) -> Dataset:
    """The dataset of a ledger that somebody names, which from now on is where it was named.

    Raises:
        BadInput: the registry does not know the ledger.
        LedgerFailure: there is none, or an old copy.
    """
    with closing(SqliteLedger(path)) as ledger:
        dataset = registry.dataset_of_ledger(ledger.state().id)
    if dataset is None:
        raise BadInput(
            f"the registry does not know the ledger {path}",
            remedy=f"make it known: copriv ledger version {path} --data FILE --signed-off-by NAME",
            value=str(path),
        )
    registry.note_ledger(dataset, path)
    return registry.dataset(dataset.id)


def require_unclaimed(registry: Registry, state: LedgerState, data: Path) -> None:
    """A ledger that is taken for a new file must have been made for it, and be that of no other records."""
    claimed = registry.dataset_of_ledger(state.id)
    if claimed is not None:
        raise BadInput(
            f"this ledger is that of {claimed.name!r}, and {data} is not known as a version of it",
            remedy=f"if they are the same records: copriv ledger version {claimed.ledger} --data {data}",
            value=str(data),
        )
    state.require_dataset(fingerprint_of_file(data))


def require_apart(found: Found, dataset: Dataset | None, otherwise: str) -> None:
    """Refuse a file that looks like records of another dataset, too; `otherwise` says how a person may overrule it."""
    found_elsewhere = list(_nearest_by_dataset(others(found, dataset)).values())
    if found_elsewhere:
        raise BadInput(
            f"{found.path} looks like records of another ledger, too: {found_elsewhere[0].describe()}",
            remedy=f"give the records of each ledger in a file of their own, or {otherwise}",
            value=str(found.path),
        )


def check_split(registry: Registry, settled: Settled, wanted: Split) -> None:
    """Refuse to take rows for public that were private before, or the other way round; nothing is written."""
    found = settled.found
    known = registry.known_file(found.fingerprint)
    if known is not None and known.split is not None:
        require_same_split(known.split, wanted)
        return
    if settled.unrelated and settled.dataset is None:
        return
    sketches = registry.sketches_of(found)
    apart = registry.unrelated_to(found) | {found.fingerprint}
    if settled.unrelated:
        apart |= {kin.file.fingerprint for kin in others(found, settled.dataset).kin}
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
    if word.ask is not None and len(nearest) == 1 and kin.by != PEOPLE:
        first = f"{found.path.name}: {kin.describe()}. Are these the same records? Then the file pays from their ledger"
        if word.ask(f"{first}, {dataset.ledger}"):
            return Settled(found, dataset, unrelated=False, signed_off_by=word.signed_off_by)
        if word.ask("Do you sign off that no record of it is among those?"):
            return Settled(found, None, unrelated=True, signed_off_by=word.signed_off_by)
    raise _undecided(found, kin, dataset)


def others(found: Found, dataset: Dataset | None) -> Found:
    """The file without its kin in one dataset."""
    kin = (kin for kin in found.kin if dataset is None or kin.file.dataset != dataset.id)
    return replace(found, kin=tuple(kin))


def _require_still_true(registry: Registry, settled: Settled, now: Found) -> None:
    """Refuse what was decided before others have registered this file, or records that it looks like."""
    if now.public:
        raise _declared_public(now.path)
    chosen = None if settled.dataset is None else settled.dataset.id
    if now.dataset is not None and now.dataset.id != chosen:
        raise _has_a_ledger(now, now.dataset)
    known = {chosen, *_nearest_by_dataset(settled.found)}
    for key, kin in _nearest_by_dataset(now).items():
        if key not in known:
            raise _undecided(now, kin, registry.dataset(key))


def _take_or_make(registry: Registry, found: Found, place: Path, begin: Callable[[], Opening]) -> SqliteLedger:
    """A new ledger; or one that was made for this very file and never registered, because something was killed."""
    if not place.exists():
        return SqliteLedger.create(place, begin())
    ledger = SqliteLedger(place)
    try:
        require_unclaimed(registry, ledger.state(), found.path)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _undecided(found: Found, kin: Kin, dataset: Dataset) -> BadInput:
    if kin.by == PEOPLE:
        return BadInput(
            f"{found.path} has people who have an account in {dataset.ledger}",
            remedy=f"whoever returns keeps its account: copriv owner append {found.path} --block NAME --person COLUMN "
            f"--ledger {dataset.ledger}; if these are other people, sign that: --unrelated",
            value=str(dataset.ledger),
        )
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
