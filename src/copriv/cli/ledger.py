"""`copriv ledger`: make, read and check the account of an owner's budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.options import AccountantName

ledger = typer.Typer(
    help="The account of an owner's budget: one for each dataset, shared by every study and learner.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Ledger = Annotated[Path, typer.Argument(help="The ledger's file.")]
_Ledgers = Annotated[list[Path], typer.Argument(help="The ledgers' files.", metavar="LEDGER…")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Data = Annotated[Path, typer.Option("--data", help="The dataset's file; the ledger keeps its fingerprint.")]
_Epsilon = Annotated[str, typer.Option("--epsilon", help="Promised about any one record, in all.", metavar="FLOAT")]
_Signed = Annotated[str, typer.Option("--signed-off-by", help="Who is responsible for this.")]


@ledger.command()
def init(
    path: _Ledger,
    owner: Annotated[str, typer.Option("--owner", help="Whose budget it is.")],
    data: _Data,
    epsilon: _Epsilon,
    delta: Annotated[float, typer.Option("--delta", help="0 for pure epsilon, else a small probability.")] = 0.0,
    accountant: Annotated[AccountantName, typer.Option("--accountant", help="With delta: how answers add up.")] = "pld",
    pure: Annotated[
        str | None,
        typer.Option("--pure", help="With delta: the part of epsilon set aside for Laplace noise.", metavar="FLOAT"),
    ] = None,
    unrelated: Annotated[
        bool, typer.Option("--unrelated", help="They look like known records, and none is among those: you sign off.")
    ] = False,
    signed_off_by: Annotated[
        str | None, typer.Option("--signed-off-by", help="Who signs that (default: this user).")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Make a ledger for a dataset. An existing one is never changed, and records that have a ledger keep it.

    If a ledger of this very file lies there and was never registered, it is taken over.

    copriv ledger init bank.sqlite --owner "First Bank" --data loans.parquet --epsilon 1
    """
    from copriv.cli.ledger_job import run_init

    run_init(
        *(path, owner, data, epsilon, delta, accountant, pure),
        unrelated=unrelated,
        signed_off_by=signed_off_by,
        as_json=as_json,
    )


@ledger.command()
def show(paths: _Ledgers, as_json: _Json = False) -> None:
    """Show whose budgets they are, what is promised, what is spent and by which studies.

    copriv ledger show runs/first/ledgers/*.sqlite
    """
    from copriv.cli.ledger_job import run_show

    run_show(paths, as_json=as_json)


@ledger.command()
def history(
    paths: _Ledgers,
    values: Annotated[bool, typer.Option("--values", help="Also print the noisy numbers that left.")] = False,
    as_json: _Json = False,
) -> None:
    """Tell what happened: when, in which study, for which learner, at which price, and what was sent.

    copriv ledger history bank.sqlite
    """
    from copriv.cli.history_job import run_history

    run_history(paths, values=values, as_json=as_json)


@ledger.command()
def statement(
    paths: _Ledgers,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write statement.json and statement.html to this new folder.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """State what a dataset has lost in all studies and what is left, for its owner.

    copriv ledger statement bank.sqlite --out statement
    """
    from copriv.cli.statement_job import run_statement

    run_statement(paths, out, as_json=as_json)


@ledger.command()
def verify(
    path: _Ledger,
    data: Annotated[Path | None, typer.Option("--data", help="Also check that this is the ledger's dataset.")] = None,
    receipt: Annotated[
        str | None, typer.Option("--receipt", help="Also check that the ledger knows this receipt.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Check the hash chain, the account and every stored answer.

    copriv ledger verify bank.sqlite --data loans.parquet
    """
    from copriv.cli.ledger_job import run_verify

    run_verify(path, data, receipt, as_json=as_json)


@ledger.command()
def receipt(path: _Ledger, as_json: _Json = False) -> None:
    """Print where the ledger stands: the number of entries and the seal of the last one.

    Keep it somewhere else: it tells a restored old copy from the real ledger.

        copriv ledger receipt bank.sqlite
    """
    from copriv.cli.ledger_job import run_receipt

    run_receipt(path, as_json=as_json)


@ledger.command()
def epoch(
    path: _Ledger,
    epsilon: _Epsilon,
    signed_off_by: _Signed,
    delta: Annotated[
        float | None, typer.Option("--delta", help="0 for pure epsilon, else a small probability (default: as it is).")
    ] = None,
    pure: Annotated[
        str | None,
        typer.Option(
            "--pure",
            help="With delta: the part of epsilon for Laplace noise (default: as it is, or what is spent of it).",
            metavar="FLOAT",
        ),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Change the promise. What is spent stays spent; a promise below it is refused.

    copriv ledger epoch bank.sqlite --epsilon 2 --signed-off-by "J. Doe, privacy officer"
    """
    from copriv.cli.ledger_job import run_epoch

    run_epoch(path, epsilon, delta, pure, signed_off_by, as_json=as_json)


@ledger.command()
def moved(path: _Ledger, as_json: _Json = False) -> None:
    """Say where a ledger is now, after it was moved. It is known by its id.

    copriv ledger moved /new/place/bank.sqlite
    """
    from copriv.cli.ledger_job import run_moved

    run_moved(path, as_json=as_json)


@ledger.command()
def version(
    path: _Ledger,
    data: _Data,
    signed_off_by: _Signed,
    unrelated: Annotated[
        bool, typer.Option("--unrelated", help="It looks like records of another ledger, too, and has none of them.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Take over a changed dataset. It inherits everything that was spent on the old one.

    copriv ledger version bank.sqlite --data loans-2026.parquet --signed-off-by "J. Doe, privacy officer"
    """
    from copriv.cli.ledger_job import run_version

    run_version(path, data, signed_off_by, unrelated=unrelated, as_json=as_json)
