"""`copriv owner`: join a study with one's own records, answer, and judge what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copriv.cli.options import AccountantName

owner = typer.Typer(
    help="An owner's side of a consortium: join with your own records and budget, answer, judge the result.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Folder = Annotated[Path, typer.Option("--folder", help="The owner's folder.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
_Yes = Annotated[bool, typer.Option("--yes", help="Do not ask: for scripts of somebody who has read it.")]
_SignedOff = Annotated[str | None, typer.Option("--signed-off-by", help="Who approves (default: this user).")]
_HERE = Path("owner")


@owner.command()
def request(
    name: Annotated[str, typer.Argument(help="The name under which you take part: letters, digits, - and _.")],
    folder: _Folder = _HERE,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write (default: NAME.request).")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Another request: for a folder that has joined, or instead of a lost one.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Make your private key, which never leaves the folder, and a request for a certificate, which holds no secret.

    copriv owner request first-bank
    """
    from copriv.cli.owner_request import run_request

    run_request(name, folder, out or Path(f"{name}.request"), again=again, as_json=as_json)


@owner.command()
def join(
    invitation: Annotated[Path, typer.Argument(help="The learner's answer to your request.")],
    data: Annotated[Path, typer.Option("--data", help="Your records: a CSV or Parquet table. It stays where it is.")],
    target: Annotated[
        str | None, typer.Option("--target", help="What you call the column to predict (default: as the study does).")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", help="What you promise about any one record (default: asked).", metavar="FLOAT"),
    ] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="0 for pure epsilon (default: as asked by the study).")
    ] = None,
    accountant: Annotated[AccountantName, typer.Option("--accountant", help="With delta: how answers add up.")] = "pld",
    answers: Annotated[
        int | None, typer.Option("--answers", help="The most you answer (default: as asked by the study).")
    ] = None,
    rate: Annotated[
        float, typer.Option("--rate", help="Ticks a second of your clock, if the study has Poisson clocks.")
    ] = 1.0,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="Their ledger (default: the one that is known, else a new one)."),
    ] = None,
    version_of: Annotated[
        Path | None, typer.Option("--version-of", help="They are the same records as this ledger's, and it pays.")
    ] = None,
    unrelated: Annotated[
        bool, typer.Option("--unrelated", help="They look like known records, and none is among those: you sign off.")
    ] = False,
    folder: _Folder = _HERE,
    signed_off_by: _SignedOff = None,
    approve_later: Annotated[
        bool, typer.Option("--approve-later", help="Prepare everything; somebody else will `copriv owner approve`.")
    ] = False,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Check the terms against your records, see what you would promise, and agree or not.

    copriv owner join first-bank.invitation --data loans.parquet --epsilon 1
    """
    from copriv.cli.owner_job import JoinOptions, run_join

    options = JoinOptions(
        invitation=invitation,
        data=data,
        target=target,
        epsilon=epsilon,
        delta=delta,
        accountant=accountant,
        answers=answers,
        rate=rate,
        ledger=ledger,
        folder=folder,
        signed_off_by=signed_off_by,
        approve_later=approve_later,
        yes=yes,
        version_of=version_of,
        unrelated=unrelated,
    )
    run_join(options, as_json=as_json)


@owner.command()
def approve(
    folder: _Folder = _HERE, signed_off_by: _SignedOff = None, yes: _Yes = False, as_json: _Json = False
) -> None:
    """Read the terms and the promise of a folder, and approve them. Only approved terms are answered.

    copriv owner approve --signed-off-by "Privacy Office"
    """
    from copriv.cli.owner_job import run_approve

    run_approve(folder, signed_off_by, yes=yes, as_json=as_json)


@owner.command()
def renew(
    invitation: Annotated[Path, typer.Argument(help="A new invitation to the same study.")],
    folder: _Folder = _HERE,
    as_json: _Json = False,
) -> None:
    """Take over a new certificate or address for the same study; records, promise and ledger stay as they are.

    copriv owner renew second.invitation
    """
    from copriv.cli.owner_request import run_renew

    run_renew(invitation, folder, as_json=as_json)


@owner.command()
def serve(folder: _Folder = _HERE, as_json: _Json = False) -> None:
    """Connect out to the learner's broker and answer, until the budget, the cap or the study ends.

    copriv owner serve

    It comes back by itself after every break; stopping and starting it again loses nothing.
    """
    from copriv.cli.owner_serve import run_serve

    run_serve(folder, as_json=as_json)


@owner.command()
def status(folder: _Folder = _HERE, as_json: _Json = False) -> None:
    """Show what is promised, spent and left, the answers so far, and the last contact.

    copriv owner status
    """
    from copriv.cli.owner_status import run_status

    run_status(folder, as_json=as_json)


@owner.command()
def statement(
    folder: _Folder = _HERE,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write statement.json and statement.html to this new folder.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """State what your records have lost in all studies and what is left. It is for you, not for a learner.

    copriv owner statement --out statement
    """
    from copriv.cli.statement_job import run_owner_statement

    run_owner_statement(folder, out, as_json=as_json)


@owner.command()
def verdict(
    folder: _Folder = _HERE,
    model: Annotated[
        Path | None, typer.Option("--model", help="The joint model (default: the one that `serve` has received).")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.")] = 5,
    as_json: _Json = False,
) -> None:
    """Compare the joint model with your own, on your own records. It stays at home and costs nothing.

    copriv owner verdict
    """
    from copriv.cli.owner_job import run_verdict

    run_verdict(folder, model, folds, as_json=as_json)
