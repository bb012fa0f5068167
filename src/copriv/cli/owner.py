"""`copriv owner`: join a study with one's own records, answer, and judge what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from copriv.cli.command import argument, command, group, option
from copriv.cli.options import DATA, OUTPUT, PRIVACY, AccountantName, AsJson, FileOptions, MachineOptions, read_options
from copriv.cli.page import PAGE, PORT, page_beside
from copriv.cli.person import ask_to_agree, asker, who
from copriv.cli.say import say

if TYPE_CHECKING:
    from copriv.records.cluster import Machine

owner = group("An owner's side of a consortium: join with your own records and budget, answer, judge the result.")

_APPROVAL = "Approval"


@dataclass(frozen=True, kw_only=True)
class _Folder(AsJson):
    folder: Annotated[Path, option("--folder", OUTPUT, "The owner's folder.")] = Path("owner")


@dataclass(frozen=True, kw_only=True)
class _Approving(_Folder, MachineOptions):
    signed_off_by: Annotated[str | None, option("--signed-off-by", _APPROVAL, "Who approves (default: this user).")] = (
        None
    )
    yes: Annotated[bool, option("--yes", _APPROVAL, "Do not ask: for scripts of somebody who has read it.")] = False


@dataclass(frozen=True, kw_only=True)
class _Request(_Folder):
    name: Annotated[str, argument("The name under which you take part: letters, digits, - and _.")]
    out: Annotated[Path | None, option("--out", OUTPUT, "The file to write (default: NAME.request).")] = None
    again: Annotated[
        bool, option("--again", OUTPUT, "Another request: for a folder that has joined, or instead of a lost one.")
    ] = False


@command(owner, _Request)
def request(options: _Request) -> None:
    """Make your private key, which never leaves the folder, and a request for a certificate, which holds no secret.

    copriv owner request first-bank
    """
    from copriv.report.network_sentences import requested
    from copriv.runtime.owner_request import request_certificate

    out = options.out or Path(f"{options.name}.request")
    told = request_certificate(options.name, options.folder, out, again=options.again)
    say(told, requested(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Join(_Approving, FileOptions):
    invitation: Annotated[Path, argument("The learner's answer to your request.")]
    data: Annotated[Path, option("--data", DATA, "Your records: a table, or a folder of tables. They stay there.")]
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
    blocks: Annotated[
        list[str] | None, option("--block", DATA, "Read this block; repeat for several (default: all that can pay).")
    ] = None
    approve_later: Annotated[
        bool, option("--approve-later", _APPROVAL, "Prepare everything; somebody else will `copriv owner approve`.")
    ] = False


@command(owner, _Join)
def join(options: _Join) -> None:
    """Check the terms against your records, see what you would promise, and agree or not.

    copriv owner join first-bank.invitation --data loans.parquet --epsilon 1
    """
    from copriv.report.approval_screen import present
    from copriv.report.narrator import narrated
    from copriv.report.network_sentences import joined
    from copriv.runtime import owner_joining

    names = ("invitation", "data", "target", "epsilon", "delta", "accountant", "answers", "rate", "ledger", "folder")
    given = {name: getattr(options, name) for name in (*names, "version_of", "unrelated")}
    form, machine = read_options(options), options.machine()
    by, blocks = who(options.signed_off_by), tuple(options.blocks or ())
    wanted = owner_joining.JoinOptions(**given, by=by, form=form, machine=machine, blocks=blocks)
    with narrated() as tell:
        proposal = owner_joining.propose(wanted, tell, tell.aside(asker(tell.console)))
    present(proposal, tell.console)
    if not options.approve_later:
        ask_to_agree(tell.console, yes=options.yes)
    home = proposal.accept()
    if not options.approve_later:
        owner_joining.approve(home, wanted.by, proposal.prepared.sample.records)
    told = owner_joining.agreement_of(proposal, options.folder, approved=not options.approve_later)
    say(told, joined(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Append(_Folder, FileOptions):
    data: Annotated[Path, argument("New records: a table, or a folder of tables. They stay there.")]
    block: Annotated[str, option("--block", DATA, "What you call them: 2026-01, say.")]
    person: Annotated[
        str | None, option("--person", DATA, "The column that says whose a row is (default: as before).")
    ] = None
    ledger: Annotated[Path | None, option("--ledger", DATA, "Their ledger (default: that of the folder).")] = None
    unrelated: Annotated[bool, option("--unrelated", DATA, "No record in it is known: you sign off.")] = False
    signed_off_by: Annotated[str | None, option("--signed-off-by", _APPROVAL, "Who signs (default: this user).")] = None


@command(owner, _Append)
def append(options: _Append) -> None:
    """Add a block of new records, with an unspent account. People who are known keep the account they have.

    copriv owner append march.parquet --block 2026-03 --person patient
    """
    from copriv.owner.arrival import Arrival
    from copriv.report.narrator import narrated
    from copriv.report.network_sentences import appended
    from copriv.runtime.owner_blocks import append_records

    given = {name: getattr(options, name) for name in ("data", "unrelated")}
    by, form = who(options.signed_off_by), read_options(options)
    arrival = Arrival(**given, name=options.block, person=options.person or "", by=by, form=form)
    with narrated() as tell:
        told = append_records(arrival, tell, options.ledger, options.folder)
    say(told, appended(told), as_json=options.as_json)


@command(owner, _Approving)
def approve(options: _Approving) -> None:
    """Read the terms and the promise of a folder, and approve them. Only approved terms are answered.

    copriv owner approve --signed-off-by "Privacy Office"
    """
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.approval_screen import present
    from copriv.report.narrator import narrated
    from copriv.runtime import owner_joining

    home = OwnerWorkspace(options.folder)
    with narrated() as tell:
        proposal = owner_joining.propose_again(home, tell, options.machine())
    present(proposal, tell.console)
    ask_to_agree(tell.console, yes=options.yes)
    approval = owner_joining.approve(home, who(options.signed_off_by), proposal.prepared.sample.records)
    told = owner_joining.agreement_of(proposal, home.folder, approved=True)
    say(told, f"approved by {approval.by}: {approval.terms}", as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Renew(_Folder):
    invitation: Annotated[Path, argument("A new invitation to the same study.")]


@command(owner, _Renew)
def renew(options: _Renew) -> None:
    """Take over a new certificate or address for the same study; records, promise and ledger stay as they are.

    copriv owner renew second.invitation
    """
    from copriv.report.network_sentences import renewed
    from copriv.runtime.owner_request import renew_certificate

    told = renew_certificate(options.invitation, options.folder)
    say(told, renewed(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Serve(_Folder, MachineOptions):
    log: Annotated[
        Path | None, option("--log", OUTPUT, "Add every query with its price to this file, one JSON line each.")
    ] = None
    dashboard: Annotated[int | None, option("--dashboard", PAGE, f"{PORT} It is for you alone.")] = None


@command(owner, _Serve)
def serve(options: _Serve) -> None:
    """Connect out to the learner's broker and answer, until the budget, the cap or the study ends.

    copriv owner serve

    It comes back by itself after every break; stopping and starting it again loses nothing.
    """
    run_serve(options.folder, options.log, options.machine(), options.dashboard, as_json=options.as_json)


def run_serve(
    folder: Path,
    log: Path | None = None,
    machine: Machine | None = None,
    port: int | None = None,
    *,
    as_json: bool,
) -> None:
    """The whole of `copriv owner serve`."""
    from copriv.cli.person import heed_termination
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.joint_model import keep_model
    from copriv.report.narrator import narrated
    from copriv.runtime.owner_client import serve_study

    heed_termination()
    home = OwnerWorkspace(folder)
    with page_beside("owner", folder, port), narrated(log) as tell:
        model = keep_model(home, serve_study(home, tell, machine))
    told = {"owner": home.enrollment.owner, "study": home.study.terms.name, "model": str(model)}
    words = f"the study has ended; its model is {model}\nnext: copriv owner verdict --folder {folder}"
    say(told, words, as_json=as_json)


@command(owner, _Folder)
def pause(options: _Folder) -> None:
    """Answer nothing from now on, also after a restart, until `copriv owner resume`. Others see that you are away.

    copriv owner pause
    """
    from copriv.report.network_sentences import PAUSED
    from copriv.runtime.owner_status import pause_owner

    say(pause_owner(options.folder, who()), PAUSED, as_json=options.as_json)


@command(owner, _Folder)
def resume(options: _Folder) -> None:
    """Answer again after a pause.

    copriv owner resume
    """
    from copriv.runtime.owner_status import resume_owner

    say(resume_owner(options.folder), "resumed", as_json=options.as_json)


@command(owner, _Folder)
def status(options: _Folder) -> None:
    """Show what is promised, spent and left, the answers so far, and the last contact.

    copriv owner status
    """
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.network_sheets import owner_lines
    from copriv.runtime.owner_status import owner_status

    told = owner_status(OwnerWorkspace(options.folder))
    say(told, owner_lines(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Statement(_Folder):
    out: Annotated[
        Path | None, option("--out", OUTPUT, "Also write statement.json and statement.html to this new folder.")
    ] = None


@command(owner, _Statement)
def statement(options: _Statement) -> None:
    """State what your records have lost in all studies and what is left. It is for you, not for a learner.

    copriv owner statement --out statement
    """
    from copriv.cli.ledger import run_statement
    from copriv.owner.workspace import OwnerWorkspace

    ledger = Path(OwnerWorkspace(options.folder).enrollment.ledger)
    run_statement([ledger], options.out, as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Verdict(_Folder, MachineOptions):
    model: Annotated[
        Path | None, option("--model", DATA, "The joint model (default: the one that `serve` has received).")
    ] = None
    folds: Annotated[int, option("--folds", DATA, "Folds of the cross-validation.")] = 5


@command(owner, _Verdict)
def verdict(options: _Verdict) -> None:
    """Compare the joint model with your own, on your own records. It stays at home and costs nothing.

    copriv owner verdict
    """
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.joint_model import joint_model
    from copriv.report.narrator import narrated
    from copriv.report.network_sheets import verdict_lines
    from copriv.runtime.owner_verdict import judge

    home = OwnerWorkspace(options.folder)
    with narrated() as tell:
        told = judge(home, joint_model(home, options.model), options.folds, tell, options.machine())
    say(told, verdict_lines(told), as_json=options.as_json)


@dataclass(frozen=True, kw_only=True)
class _Personalise(_Verdict):
    out: Annotated[Path | None, option("--out", OUTPUT, "The file to write (default: personal.json).")] = None


@command(owner, _Personalise)
def personalise(options: _Personalise) -> None:
    """Fit a model of your own around the joint one. It stays at home, costs nothing, and must not be passed on.

    copriv owner personalise
    """
    from copriv.owner.workspace import OwnerWorkspace
    from copriv.report.joint_model import joint_model, keep_personal
    from copriv.report.narrator import narrated
    from copriv.report.network_sheets import personal_lines
    from copriv.runtime.owner_verdict import make_personal

    home = OwnerWorkspace(options.folder)
    with narrated() as tell:
        found, told = make_personal(home, joint_model(home, options.model), options.folds, tell, options.machine())
    place = keep_personal(home, found.theta, options.out)
    shown = {"model": str(place), "around_joint": found.around_joint, "verdict": told, "private": False}
    say(shown, personal_lines(told, found.around_joint, place), as_json=options.as_json)
