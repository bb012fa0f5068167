"""`copriv ledger`: make, read and check the account of an owner's budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from copriv.cli.command import argument, command, group, option
from copriv.cli.options import DATA, OUTPUT, PRIVACY, AccountantName, AsJson
from copriv.cli.person import who
from copriv.cli.say import say

if TYPE_CHECKING:
    from copriv.owner.ledger_state import LedgerState

ledger = group("The account of an owner's budget: one for each dataset, shared by every study and learner.")

_APPROVAL = "Approval"
_UNRELATED = "They look like known records, and none is among those: you sign off."


@dataclass(frozen=True, kw_only=True)
class _One(AsJson):
    path: Annotated[Path, argument("The ledger's file.")]


@dataclass(frozen=True, kw_only=True)
class _Several(AsJson):
    paths: Annotated[list[Path], argument("The ledgers' files.", "LEDGER…")]


@dataclass(frozen=True, kw_only=True)
class _Init(_One):
    owner: Annotated[str, option("--owner", DATA, "Whose budget it is.")]
    data: Annotated[Path, option("--data", DATA, "The dataset's file; the ledger keeps its fingerprint.")]
    epsilon: Annotated[str, option("--epsilon", PRIVACY, "Promised about any one record, in all.", "FLOAT")]
    delta: Annotated[float, option("--delta", PRIVACY, "0 for pure epsilon, else a small probability.")] = 0.0
    accountant: Annotated[AccountantName, option("--accountant", PRIVACY, "With delta: how answers add up.")] = "pld"
    pure: Annotated[
        str | None, option("--pure", PRIVACY, "With delta: the part of epsilon set aside for Laplace noise.", "FLOAT")
    ] = None
    unrelated: Annotated[bool, option("--unrelated", DATA, _UNRELATED)] = False
    signed_off_by: Annotated[
        str | None, option("--signed-off-by", _APPROVAL, "Who signs that (default: this user).")
    ] = None


@command(ledger, _Init)
def init(options: _Init) -> None:
    """Make a ledger for a dataset. An existing one is never changed, and records that have a ledger keep it.

    If a ledger of this very file lies there and was never registered, it is taken over.

    copriv ledger init bank.sqlite --owner "First Bank" --data loans.parquet --epsilon 1
    """
    from copriv.owner.dataset_ledger import Word
    from copriv.privacy.guarantee import Guarantee
    from copriv.runtime.owner_ledger import NewLedger, make_ledger

    path, words = options.path, f"a new ledger for {options.owner!r} in {options.path}"
    if path.exists():
        words = f"{path} was made for these records and never registered: it is taken over, with the promise it has"
    made = make_ledger(
        NewLedger(
            path=path,
            owner=options.owner,
            data=options.data,
            guarantee=Guarantee.of(options.epsilon, options.delta),
            accountant=options.accountant,
            pure=options.pure,
            word=Word(who(options.signed_off_by), unrelated=options.unrelated),
        )
    )
    _tell(path, made, words, as_json=options.as_json)


@command(ledger, _Several)
def show(options: _Several) -> None:
    """Show whose budgets they are, what is promised, what is spent and by which studies.

    copriv ledger show runs/first/ledgers/*.sqlite
    """
    from copriv.report.ledger_sheet import ledger_sheet, sheet_lines, what_was_chosen
    from copriv.runtime.owner_ledger import opened

    sheets = []
    for path in options.paths:
        with opened(path) as book:
            sheets.append(ledger_sheet(path, book.state(), what_was_chosen(book)))
    lines = (line for sheet in sheets for line in sheet_lines(sheet, f"the ledger {sheet.ledger}"))
    say(_one_or_all(sheets), lines, as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _History(_Several):
    values: Annotated[bool, option("--values", OUTPUT, "Also print the noisy numbers that left.")] = False


@command(ledger, _History)
def history(options: _History) -> None:
    """Tell what happened: when, in which study, for which learner, at which price, and what was sent.

    copriv ledger history bank.sqlite
    """
    from copriv.report.ledger_history import history_lines, read_history

    told = [read_history(path, values=options.values or options.as_json) for path in options.paths]
    say(_one_or_all(told), (line for each in told for line in history_lines(each)), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Statement(_Several):
    out: Annotated[
        Path | None, option("--out", OUTPUT, "Also write statement.json and statement.html to this new folder.")
    ] = None


@command(ledger, _Statement)
def statement(options: _Statement) -> None:
    """State what a dataset has lost in all studies and what is left, for its owner.

    copriv ledger statement bank.sqlite --out statement
    """
    run_statement(options.paths, options.out, as_json=options.as_json)


def run_statement(ledgers: Sequence[Path], out: Path | None, *, as_json: bool) -> None:
    """State what the datasets of some ledgers have lost, and write it if so wished."""
    from datetime import UTC, datetime

    from copriv.report import dataset_statement as report

    date = datetime.now(UTC).isoformat(timespec="seconds")
    told = [report.state_dataset(path, date) for path in ledgers]
    written = [] if out is None else report.write_dataset_statements(told, out)
    lines = [line for each in told for line in report.statement_lines(each)]
    say(_one_or_all(told), [*lines, report.FOR_WHOM, *(f"written: {path}" for path in written)], as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class _Verify(_One):
    data: Annotated[Path | None, option("--data", DATA, "Also check that this is the ledger's dataset.")] = None
    receipt: Annotated[str | None, option("--receipt", DATA, "Also check that the ledger knows this receipt.")] = None


@command(ledger, _Verify)
def verify(options: _Verify) -> None:
    """Check the hash chain, the account and every stored answer.

    copriv ledger verify bank.sqlite --data loans.parquet
    """
    from copriv.runtime.owner_ledger import verify_ledger

    entries, book = verify_ledger(options.path, options.data, options.receipt)
    words = f"{options.path} is in order: {entries} entries, an unbroken chain, every answer as it was sent"
    _tell(options.path, book, words, as_json=options.as_json)


@command(ledger, _One)
def receipt(options: _One) -> None:
    """Print where the ledger stands: the number of entries and the seal of the last one.

    Keep it somewhere else: it tells a restored old copy from the real ledger.

        copriv ledger receipt bank.sqlite
    """
    from copriv.runtime.owner_ledger import opened

    with opened(options.path) as found:
        book = found.state()
    words = f"{book.sequence}:{book.head}"
    say({"receipt": words, "sequence": book.sequence, "head": book.head}, words, as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Epoch(_One):
    epsilon: Annotated[str, option("--epsilon", PRIVACY, "Promised about any one record, in all.", "FLOAT")]
    signed_off_by: Annotated[str, option("--signed-off-by", _APPROVAL, "Who is responsible for this.")]
    delta: Annotated[
        float | None,
        option("--delta", PRIVACY, "0 for pure epsilon, else a small probability (default: as it is)."),
    ] = None
    pure: Annotated[
        str | None,
        option(
            "--pure",
            PRIVACY,
            "With delta: the part of epsilon for Laplace noise (default: as it is, or what is spent of it).",
            "FLOAT",
        ),
    ] = None


@command(ledger, _Epoch)
def epoch(options: _Epoch) -> None:
    """Change the promise. What is spent stays spent; a promise below it is refused.

    copriv ledger epoch bank.sqlite --epsilon 2 --signed-off-by "J. Doe, privacy officer"
    """
    from copriv.runtime.owner_ledger import change_promise

    by = options.signed_off_by
    book = change_promise(options.path, options.epsilon, options.delta, options.pure, by)
    _tell(options.path, book, f"a new epoch, signed off by {by}", as_json=options.as_json)


@command(ledger, _One)
def moved(options: _One) -> None:
    """Say where a ledger is now, after it was moved. It is known by its id.

    copriv ledger moved /new/place/bank.sqlite
    """
    from copriv.runtime.owner_ledger import note_move

    dataset, book = note_move(options.path)
    _tell(options.path, book, f"the ledger of {dataset.name!r} is now {dataset.ledger}", as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Version(_One):
    data: Annotated[Path, option("--data", DATA, "The dataset's file; the ledger keeps its fingerprint.")]
    signed_off_by: Annotated[str, option("--signed-off-by", _APPROVAL, "Who is responsible for this.")]
    unrelated: Annotated[
        bool, option("--unrelated", DATA, "It looks like records of another ledger, too, and has none of them.")
    ] = False


@command(ledger, _Version)
def version(options: _Version) -> None:
    """Take over a changed dataset. It inherits everything that was spent on the old one.

    copriv ledger version bank.sqlite --data loans-2026.parquet --signed-off-by "J. Doe, privacy officer"
    """
    from copriv.owner.dataset_ledger import Word
    from copriv.runtime.owner_ledger import change_version

    by = options.signed_off_by
    book = change_version(options.path, options.data, Word(by, unrelated=options.unrelated))
    _tell(options.path, book, f"a new version of the dataset, signed off by {by}", as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Expire(_One):
    block: Annotated[str, option("--block", DATA, "The block.")]
    why: Annotated[str, option("--why", _APPROVAL, "The reason; it stays on record.")]
    signed_off_by: Annotated[str, option("--signed-off-by", _APPROVAL, "Who is responsible for this.")]


@command(ledger, _Expire)
def expire(options: _Expire) -> None:
    """Have no study read a block any more. What it has spent stays on record; nobody in it gets another account.

    copriv ledger expire bank.sqlite --block 2024-01 --why "kept for two years" --signed-off-by "J. Doe"
    """
    from copriv.runtime.owner_blocks import expire_block

    book = expire_block(options.path, options.block, options.signed_off_by, options.why)
    _tell(options.path, book, f"{options.block} is read no more: {options.why}", as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Renew(_Expire):
    epsilon: Annotated[str, option("--epsilon", PRIVACY, "What its records may lose from now on, in all.", "FLOAT")]


@command(ledger, _Renew)
def renew(options: _Renew) -> None:
    """Give a block a larger budget. Nothing is forgotten: what it has spent counts.

    copriv ledger renew bank.sqlite --block 2026-01 --epsilon 2 --why "asked again" --signed-off-by "J. Doe"
    """
    from copriv.runtime.owner_blocks import renew_block

    book = renew_block(options.path, options.block, options.epsilon, options.signed_off_by, options.why)
    _tell(options.path, book, f"{options.block} has a larger budget: {options.why}", as_json=options.as_json)


def _tell(path: Path, book: LedgerState, words: str, *, as_json: bool) -> None:
    from copriv.report.ledger_sheet import ledger_sheet, sheet_lines

    sheet = ledger_sheet(path, book)
    say(sheet, sheet_lines(sheet, words), as_json=as_json)


def _one_or_all(told: Sequence[object]) -> object:
    """As JSON one object, or a list of them if several ledgers are named."""
    return told[0] if len(told) == 1 else told
