"""A fit is paid for before the first answer: from the ledger that is named, or from the one that the records have.

The ledger is a file and the estimator only knows its name, so clones, pickles and parallel fits all pay from the same
one. Each charge is one transaction under a lock, and the whole price of a fit is on the disk before a record is asked.
One record is in one owner's part, so a fit costs the records the largest promise of their owners.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from copriv.api.settings import this_person
from copriv.entropy import token
from copriv.errors import BadInput, LedgerRefusal
from copriv.owner.dataset_ledger import Settled, Word, adopt, check_split, open_settled, settle, this_file
from copriv.owner.declaration import declare_total, lost_in_all, require_room, require_within, undeclared
from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin, begin_open
from copriv.owner.ledger_state import open_state
from copriv.owner.registry import Found, Registry
from copriv.owner.split import Split, all_public, require_no_conflict, split_rows
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Amount, Guarantee, Measure
from copriv.protocol.public_rows import PublicRows
from copriv.runtime.local_dataset import fingerprint_of
from copriv.sklearn.refusal import Refusal, refusing
from copriv.vectors import FloatArray

_LEARNER = "this machine"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of X as a registry recognises them: y may be another one each time, the records stay the same."""

    name: str
    columns: tuple[str, ...]
    values: FloatArray

    @property
    def table(self) -> pl.LazyFrame:
        """The rows as a table."""
        return pl.LazyFrame({name: self.values[:, k] for k, name in enumerate(self.columns)})


@dataclass(frozen=True, slots=True)
class Bill:
    """What a fit costs and what for.

    Args:
        price: of all its answers together.
        question: the digest of its terms.
        asks: what owners are asked for: gradient or moments.
        delta: of the guarantee.
        accountant: how answers with Gaussian noise add up.
        budget: ε that the records may lose in all, if that is to be declared.
        unrelated: no record is among those of other ledgers that look alike.
    """

    price: Amount
    question: str
    asks: str
    delta: float
    accountant: Accountant
    budget: str | None = None
    unrelated: bool = False


@dataclass(frozen=True, slots=True)
class Paid:
    """Which ledger has paid, and what its records have lost in all."""

    ledger: str
    lost: Guarantee


def open_budget(path: str | Path, epsilon: float | str, delta: float = 0.0, accountant: Accountant = "pld") -> str:
    """Make a ledger with a budget, to be shared by every estimator that names it; the path, for `ledger=`.

    The budget is ε and δ for any one record (replace-one), over all fits together. A file that is there already is
    never touched.

    Raises:
        Refusal: there is a file already, or the guarantee cannot be promised; it is a `ValueError`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = open_budget(Path(folder) / "budget.sqlite", epsilon=3)
    ...     Path(ledger).is_file()
    True
    """
    place = Path(path).absolute()
    with refusing():
        guarantee = Guarantee.of(epsilon, delta)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        SqliteLedger.create(place, begin(place.stem, "none yet", guarantee, accountant)).close()
    return str(place)


def currencies_of(ledger: str | Path) -> tuple[Measure, ...]:
    """In which a ledger can pay: ε for Laplace noise, ρ for Gaussian noise."""
    with closing(_open(Path(ledger))) as opened:
        return tuple(opened.state().accounts)


def pay(ledger: str | Path | None, rows: Rows, public: Rows | None, bill: Bill) -> Paid:
    """Charge a fit, from the named ledger or from the one that the rows have; it is on the disk when this returns.

    Raises:
        BadInput: the rows are public, have another ledger, or look like records that have one.
        LedgerRefusal: the budget does not allow the charge; nothing is charged.
    """
    with Registry() as registry:
        found = registry.lookup_table(rows.table, rows.name)
        if ledger is not None:
            return _pay_from(registry, Path(ledger), found, _Claim(rows, public, bill))
        try:
            return _pay_from_own(registry, found, _Claim(rows, public, bill))
        except LedgerRefusal:  # another process may have registered the rows just now: then theirs is the ledger
            again = registry.look_again(found)
            if found.dataset is not None or again.dataset is None:
                raise
            return _pay_from_own(registry, again, _Claim(rows, public, bill))


@dataclass(frozen=True, slots=True)
class _Claim:
    """Rows that are to be private, those that are to be public, and what a fit on them costs."""

    rows: Rows
    public: Rows | None
    bill: Bill

    @property
    def split(self) -> Split:
        """All rows are private."""
        return split_rows(len(self.rows.values), np.empty(0, dtype=np.int64), "all rows private")

    @property
    def public_rows(self) -> PublicRows:
        """What is noted of the public rows."""
        return PublicRows() if self.public is None else PublicRows(len(self.public.values), self.public.name)


def _pay_from(registry: Registry, place: Path, found: Found, claim: _Claim) -> Paid:
    """From a ledger that a person names, which thereby says that these are its records."""
    if claim.bill.budget is not None:
        raise BadInput(
            f"a ledger and a budget of {claim.bill.budget}",
            remedy="a ledger has its own budget: leave settings={'budget': …} out",
            value=claim.bill.budget,
        )
    with closing(_open(place)) as ledger:
        require_room(ledger.state(), claim.bill.price, str(place))
        word = Word(this_person().name, unrelated=claim.bill.unrelated)
        dataset = registry.dataset_of_ledger(ledger.state().id)
        settled = Settled(found, dataset, claim.bill.unrelated, word.signed_off_by)
        public = _check_rows(registry, settled, claim)
        if found.dataset is None or dataset is None or found.dataset.id != dataset.id:
            adopt(registry, ledger, place, found, fingerprint_of(found), word)
        return _charge(registry, ledger, place, settled, public, claim)


def _pay_from_own(registry: Registry, found: Found, claim: _Claim) -> Paid:
    """From the ledger that the rows have, or from a new one that only notes what is spent, as `copriv train` does."""
    bill = claim.bill
    settled = settle(registry, found, Word(this_person().name, unrelated=bill.unrelated))
    public = _check_rows(registry, settled, claim)
    new = registry.folder / "ledgers" / f"{claim.rows.name} {token()[:16]}.sqlite"
    place = new if settled.dataset is None else settled.dataset.ledger
    begun = begin_open(claim.rows.name, fingerprint_of(found), bill.delta, bill.accountant)
    if settled.dataset is None and bill.budget is not None:  # nothing is written for a fit that cannot be paid for
        require_within(open_state(begun)[0], bill.price, Guarantee.of(bill.budget, bill.delta))
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing(open_settled(registry, settled, place, lambda: begun)) as ledger:
        return _charge(registry, ledger, place, settled, public, claim)


def _check_rows(registry: Registry, settled: Settled, claim: _Claim) -> Found | None:
    """Refuse rows that were public before, and public rows that are private ones; the public rows, if any."""
    check_split(registry, settled, claim.split)
    if claim.public is None:
        return None
    mine = this_file(settled, claim.split, registry)
    given = claim.public
    found = registry.lookup_table(given.table, given.name, beside=mine.sketches)
    if found.dataset is not None or found.fingerprint == settled.found.fingerprint:
        raise BadInput(
            "the public rows are private records",
            remedy="give other public rows; rows once private stay private",
            value=len(given.values),
        )
    if not claim.bill.unrelated:
        everything = all_public(len(given.values))
        for other in (mine, *registry.known_files()):
            if other.fingerprint != found.fingerprint and other.dataset is not None:
                require_no_conflict(registry.sketches_of(found), everything, other)
    return found


def _charge(
    registry: Registry, ledger: SqliteLedger, place: Path, settled: Settled, public: Found | None, claim: _Claim
) -> Paid:
    """Put on record which rows are public, then check the budget and charge, one process after another."""
    registry.keep_split(settled.found.fingerprint, claim.split)
    if public is not None:
        registry.note_public(public)
    bill, run = claim.bill, f"run {token()[:16]}"
    with registry.exclusive():
        _declare(ledger, bill)
        require_room(ledger.state(), bill.price, str(place))
        ledger.enroll(Enrolled(run, claim.rows.name, _LEARNER, this_person().name, bill.asks, claim.public_rows))
        ledger.reserve(run, bill.question, bill.price, run, bill.price)
        ledger.settle()
    return Paid(str(place), lost_in_all(ledger.state()))


def _declare(ledger: SqliteLedger, bill: Bill) -> None:
    """Hold the records to the budget that the fit declares, if it does."""
    if bill.budget is None:
        return
    total, book = Guarantee.of(bill.budget, bill.delta), ledger.state()
    require_within(book, bill.price, total)
    if undeclared(book):
        declared = declare_total(book, total, bill.price)
        ledger.open_epoch(declared.guarantee, declared.budgets, this_person().name)


def _open(place: Path) -> SqliteLedger:
    if not place.is_file():
        raise Refusal(
            f"there is no ledger {place}",
            remedy=f"make one: copriv.sklearn.open_budget({str(place)!r}, epsilon=3); fitting never creates one",
            value=str(place),
        )
    return SqliteLedger(place)


def column_names(names: Sequence[str] | None, columns: int) -> tuple[str, ...]:
    """The columns' own names, or numbered ones."""
    return tuple(f"x{k}" for k in range(columns)) if names is None else tuple(map(str, names))
