"""`copriv owner`: join a study with one's own records, answer, and judge what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from copriv.cli.command import argument, option, takes
from copriv.cli.options import DATA, OUTPUT, PRIVACY, AccountantName, AsJson

if TYPE_CHECKING:
    from rich.console import Console

owner = typer.Typer(
    help="An owner's side of a consortium: join with your own records and budget, answer, judge the result.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_APPROVAL = "Approval"
_QUESTION = "Do you approve these terms and make this promise?"


@dataclass(frozen=True, kw_only=True)
class Folder(AsJson):
    """Where the owner is."""

    folder: Annotated[Path, option("--folder", OUTPUT, "The owner's folder.")] = Path("owner")


@dataclass(frozen=True, kw_only=True)
class Approving(Folder):
    """Who approves."""

    signed_off_by: Annotated[str | None, option("--signed-off-by", _APPROVAL, "Who approves (default: this user).")] = (
        None
    )
    yes: Annotated[bool, option("--yes", _APPROVAL, "Do not ask: for scripts of somebody who has read it.")] = False


@dataclass(frozen=True, kw_only=True)
class Request(Folder):
    """Options of `copriv owner request`."""

    name: Annotated[str, argument("The name under which you take part: letters, digits, - and _.")]
    out: Annotated[Path | None, option("--out", OUTPUT, "The file to write (default: NAME.request).")] = None
    again: Annotated[
        bool, option("--again", OUTPUT, "Another request: for a folder that has joined, or instead of a lost one.")
    ] = False


@owner.command()
@takes(Request)
def request(options: Request) -> None:
    """Make your private key, which never leaves the folder, and a request for a certificate, which holds no secret.

    copriv owner request first-bank
    """
    from copriv.cli.narrator import say
    from copriv.runtime.owner_request import request_certificate

    name, folder, out = options.name, options.folder, options.out or Path(f"{options.name}.request")
    fingerprint = request_certificate(name, folder, out, again=options.again)
    say(
        {"owner": name, "request": str(out), "fingerprint": fingerprint, "folder": str(folder)},
        f"the request of {name} is {out}: send it to the learner; it holds no secret, and the key stays in {folder}\n"
        f"fingerprint: {fingerprint}\n"
        "read it out over the telephone: `copriv learner approve` must show the same",
        as_json=options.as_json,
    )


@dataclass(frozen=True, kw_only=True)
class Join(Approving):
    """Options of `copriv owner join`."""

    invitation: Annotated[Path, argument("The learner's answer to your request.")]
    data: Annotated[Path, option("--data", DATA, "Your records: a CSV or Parquet table. It stays where it is.")]
    target: Annotated[
        str | None, option("--target", DATA, "What you call the column to predict (default: as the study does).")
    ] = None
    epsilon: Annotated[
        str | None, option("--epsilon", PRIVACY, "What you promise about any one record (default: asked).", "FLOAT")
    ] = None
    delta: Annotated[
        float | None, option("--delta", PRIVACY, "0 for pure epsilon (default: as asked by the study).")
    ] = None
    accountant: Annotated[AccountantName, option("--accountant", PRIVACY, "With delta: how answers add up.")] = "pld"
    answers: Annotated[
        int | None, option("--answers", PRIVACY, "The most you answer (default: as asked by the study).")
    ] = None
    rate: Annotated[
        float, option("--rate", PRIVACY, "Ticks a second of your clock, if the study has Poisson clocks.")
    ] = 1.0
    ledger: Annotated[
        Path | None, option("--ledger", DATA, "Their ledger (default: the one that is known, else a new one).")
    ] = None
    version_of: Annotated[
        Path | None, option("--version-of", DATA, "They are the same records as this ledger's, and it pays.")
    ] = None
    unrelated: Annotated[
        bool, option("--unrelated", DATA, "They look like known records, and none is among those: you sign off.")
    ] = False
    approve_later: Annotated[
        bool, option("--approve-later", _APPROVAL, "Prepare everything; somebody else will `copriv owner approve`.")
    ] = False


@owner.command()
@takes(Join)
def join(options: Join) -> None:
    """Check the terms against your records, see what you would promise, and agree or not.

    copriv owner join first-bank.invitation --data loans.parquet --epsilon 1
    """
    from copriv.cli.narrator import narrated, say
    from copriv.cli.person import asker, who
    from copriv.protocol.text import quoted
    from copriv.report.approval_screen import present
    from copriv.runtime import owner_joining

    by, console = who(options.signed_off_by), _console()
    given = ("invitation", "data", "target", "epsilon", "delta", "accountant", "answers", "rate", "ledger", "folder")
    named = {name: getattr(options, name) for name in (*given, "version_of", "unrelated")}
    with narrated() as tell:
        proposal = owner_joining.propose(owner_joining.JoinOptions(**named, by=by), tell, asker(console))
    prepared, folder = proposal.prepared, options.folder
    present(prepared, proposal.notices, proposal.authorities, console)
    if not options.approve_later:
        _ask(console, yes=options.yes)
    home = proposal.accept()
    if not options.approve_later:
        owner_joining.approve(home, by, prepared.sample.records)
    after = "copriv owner approve" if options.approve_later else "copriv owner serve"
    say(
        owner_joining.agreement_of(prepared, folder, approved=not options.approve_later),
        f"{prepared.engagement.owner} has joined {quoted(prepared.study.terms.name)}\nnext: {after} --folder {folder}",
        as_json=options.as_json,
    )


@owner.command()
@takes(Approving)
def approve(options: Approving) -> None:
    """Read the terms and the promise of a folder, and approve them. Only approved terms are answered.

    copriv owner approve --signed-off-by "Privacy Office"
    """
    from copriv.cli.narrator import narrated, say
    from copriv.cli.person import who
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.approval_screen import present
    from copriv.runtime import owner_joining

    home, console = OwnerWorkspace(options.folder), _console()
    with narrated() as tell:
        proposal = owner_joining.propose_again(home, tell)
    present(proposal.prepared, proposal.notices, proposal.authorities, console)
    _ask(console, yes=options.yes)
    approval = owner_joining.approve(home, who(options.signed_off_by), proposal.prepared.sample.records)
    told = owner_joining.agreement_of(proposal.prepared, home.folder, approved=True)
    say(told, f"approved by {approval.by}: {approval.terms}", as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class Renew(Folder):
    """Options of `copriv owner renew`."""

    invitation: Annotated[Path, argument("A new invitation to the same study.")]


@owner.command()
@takes(Renew)
def renew(options: Renew) -> None:
    """Take over a new certificate or address for the same study; records, promise and ledger stay as they are.

    copriv owner renew second.invitation
    """
    from copriv.cli.narrator import say
    from copriv.runtime.owner_request import renew_certificate

    folder, new = options.folder, renew_certificate(options.invitation, options.folder)
    say(
        {"owner": new.owner, "folder": str(folder), "broker": f"{new.host}:{new.port}"},
        f"{folder} has a new certificate; everything else is as it was\nnext: copriv owner serve --folder {folder}",
        as_json=options.as_json,
    )


@dataclass(frozen=True, kw_only=True)
class Serve(Folder):
    """Options of `copriv owner serve`."""

    log: Annotated[
        Path | None, option("--log", OUTPUT, "Add every query with its price to this file, one JSON line each.")
    ] = None


@owner.command()
@takes(Serve)
def serve(options: Serve) -> None:
    """Connect out to the learner's broker and answer, until the budget, the cap or the study ends.

    copriv owner serve

    It comes back by itself after every break; stopping and starting it again loses nothing.
    """
    run_serve(options.folder, options.log, as_json=options.as_json)


def run_serve(folder: Path, log: Path | None = None, *, as_json: bool) -> None:
    """The whole of `copriv owner serve`."""
    from copriv.cli.narrator import narrated, say
    from copriv.cli.progress import heed_termination
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.joint_model import keep_model
    from copriv.runtime.owner_client import serve_study

    heed_termination()
    home = OwnerWorkspace(folder)
    with narrated(log) as tell:
        model = keep_model(home, serve_study(home, tell))
    told = {"owner": home.engagement.owner, "study": home.study.terms.name, "model": str(model)}
    words = f"the study has ended; its model is {model}\nnext: copriv owner verdict --folder {folder}"
    say(told, words, as_json=as_json)


@owner.command()
@takes(Folder)
def status(options: Folder) -> None:
    """Show what is promised, spent and left, the answers so far, and the last contact.

    copriv owner status
    """
    from copriv.cli.narrator import say
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.network_sheets import owner_lines
    from copriv.runtime.owner_status import owner_status

    told = owner_status(OwnerWorkspace(options.folder))
    say(told, owner_lines(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class Statement(Folder):
    """Options of `copriv owner statement`."""

    out: Annotated[
        Path | None, option("--out", OUTPUT, "Also write statement.json and statement.html to this new folder.")
    ] = None


@owner.command()
@takes(Statement)
def statement(options: Statement) -> None:
    """State what your records have lost in all studies and what is left. It is for you, not for a learner.

    copriv owner statement --out statement
    """
    from copriv.cli.ledger import run_statement
    from copriv.owner.workspace import OwnerWorkspace

    ledger = Path(OwnerWorkspace(options.folder).engagement.ledger)
    run_statement([ledger], options.out, as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class Verdict(Folder):
    """Options of `copriv owner verdict`."""

    model: Annotated[
        Path | None, option("--model", DATA, "The joint model (default: the one that `serve` has received).")
    ] = None
    folds: Annotated[int, option("--folds", DATA, "Folds of the cross-validation.")] = 5


@owner.command()
@takes(Verdict)
def verdict(options: Verdict) -> None:
    """Compare the joint model with your own, on your own records. It stays at home and costs nothing.

    copriv owner verdict
    """
    from copriv.cli.narrator import narrated, say
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.joint_model import joint_model
    from copriv.report.network_sheets import verdict_lines
    from copriv.runtime.owner_verdict import judge

    home = OwnerWorkspace(options.folder)
    with narrated() as tell:
        told = judge(home, joint_model(home, options.model), options.folds, tell)
    say(told, verdict_lines(told), as_json=options.as_json)


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _ask(console: Console, *, yes: bool) -> None:
    """Have a person agree, or stop."""
    from copriv.errors import BadInput

    if yes:
        return
    if not console.is_terminal:
        raise BadInput("nobody is there to answer", remedy="add --yes if the terms above are approved", value="no tty")
    if not typer.confirm(_QUESTION, default=False, err=True):
        raise BadInput("not approved; nothing was written or spent", remedy="talk to the learner about the terms")
