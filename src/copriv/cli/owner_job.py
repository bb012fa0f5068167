"""What `copriv owner join`, `approve`, `status` and `verdict` do."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from copriv.cli.progress import bar
from copriv.cli.study_sheet import study_rows
from copriv.entropy import fresh_seed, seeded
from copriv.errors import BadInput
from copriv.owner.comparison import Comparison, compare, explain
from copriv.owner.entries import Charge
from copriv.owner.genesis import budget_of, fingerprint_of_file
from copriv.owner.home import Engagement, Home, Prepared, prepare, read_records, require_room
from copriv.owner.owner import account_of
from copriv.privacy.accounting import Accountant
from copriv.privacy.calibration import spent_epsilon
from copriv.privacy.guarantee import ADJACENCY, UNIT, Amount, Guarantee
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.report.model_file import read_model
from copriv.transport.authority import require_valid
from copriv.transport.invitation import Invitation, read_invitation


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """The options of `copriv owner join`, as given."""

    invitation: Path
    data: Path
    target: str | None
    epsilon: str | None
    delta: float | None
    accountant: Accountant
    answers: int | None
    rate: float
    ledger: Path | None
    folder: Path
    signed_off_by: str | None
    approve_later: bool
    yes: bool


class Promised(msgspec.Struct):
    """What an owner is about to promise, or has promised, as it is shown."""

    owner: str
    study: str
    terms: str
    records: int
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    answers: int
    evaluations: int
    mechanism: str
    scale: float
    clip: float
    sensitivity: float
    ledger: str
    approved: bool
    folder: str


def run_join(options: JoinOptions, *, as_json: bool) -> None:
    """Check everything, show the promise, ask, and only then write."""
    if options.folder.exists():
        raise BadInput(
            f"{options.folder} exists, and an owner's folder is never overwritten",
            remedy="choose another --folder",
            value=str(options.folder),
        )
    invitation = read_invitation(options.invitation)
    require_valid(invitation.certificate, datetime.now(UTC))
    study, console = invitation.terms(), Console(stderr=True)
    engagement = _engage(options, invitation, study.terms)
    if Path(engagement.ledger).exists():
        require_room(engagement, fingerprint_of_file(options.data))
    with bar(console, "reading your records with the study's dictionary") as tell:
        prepared = prepare(engagement, study, tell)
    _present(prepared, console)
    if not options.approve_later:
        _ask("Do you approve these terms and make this promise?", console, yes=options.yes)
    home = Home.create(options.folder, engagement, invitation.study, _secrets(invitation))
    if not options.approve_later:
        home.approve(_who(options.signed_off_by), _now())
    told = _promised(prepared, home, approved=not options.approve_later)
    after = "copriv owner approve" if options.approve_later else "copriv owner serve"
    words = f"{engagement.owner} has joined {study.terms.name!r}\nnext: {after} --folder {options.folder}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


def run_approve(folder: Path, signed_off_by: str | None, *, yes: bool, as_json: bool) -> None:
    """Show the terms and the promise of a folder, ask, and put the approval on record."""
    home, console = Home(folder), Console(stderr=True)
    with bar(console, "reading your records with the study's dictionary") as tell:
        prepared = prepare(home.engagement, home.study, tell)
    _present(prepared, console)
    _ask("Do you approve these terms and make this promise?", console, yes=yes)
    approval = home.approve(_who(signed_off_by), _now())
    told = msgspec.json.encode(_promised(prepared, home, approved=True)).decode()
    typer.echo(told if as_json else f"approved by {approval.by}: {approval.terms}")


def run_renew(invitation_file: Path, folder: Path, *, as_json: bool) -> None:
    """Take over a new certificate for the same study; records, promise and ledger stay as they are."""
    home, invitation = Home(folder), read_invitation(invitation_file)
    require_valid(invitation.certificate, datetime.now(UTC))
    for what, given, held in (
        ("owner", invitation.owner, home.engagement.owner),
        ("study", invitation.terms().terms.digest(), home.study.terms.digest()),
    ):
        if given != held:
            raise BadInput(
                f"the invitation is for another {what}: {given}, and the folder's is {held}",
                remedy="join with it in a folder of its own: copriv owner join",
                value=given,
            )
    home.renew(invitation.host, invitation.port, _secrets(invitation))
    told = {"owner": invitation.owner, "folder": str(folder), "broker": f"{invitation.host}:{invitation.port}"}
    words = f"{folder} has a new certificate; everything else is as it was\nnext: copriv owner serve --folder {folder}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


class OwnerStatus(msgspec.Struct):
    """Where an owner stands, as it is shown."""

    owner: str
    study: str
    terms: str
    approved: bool
    epsilon: float
    epsilon_spent: float
    epsilon_left: float
    delta: float
    unit: str
    adjacency: str
    answers: int
    answers_left: int
    broker: str
    last_contact: str | None
    last_word: str | None
    model: bool


def run_status(folder: Path, *, as_json: bool) -> None:
    """Show what is promised, spent and left."""
    status = _status(Home(folder))
    if as_json:
        typer.echo(msgspec.json.encode(status).decode())
        return
    promise = f"ε = {status.epsilon:g}, δ = {status.delta:g} for any one {status.unit} ({status.adjacency})"
    contact = f"{status.last_contact}: {status.last_word}" if status.last_contact else "none yet"
    for name, value in (
        ("owner", f"{status.owner} in {status.study!r}{'' if status.approved else ' (NOT APPROVED)'}"),
        ("terms", status.terms),
        ("promised", promise),
        ("spent", f"ε = {status.epsilon_spent:.6g}, {status.answers} answers"),
        ("left", f"ε = {status.epsilon_left:.6g}, {status.answers_left} answers"),
        ("broker", status.broker),
        ("contact", contact),
        ("model", "received" if status.model else "not yet"),
    ):
        typer.echo(f"  {name:<9} {value}")


class Verdict(msgspec.Struct):
    """The joint model against the owner's own, on the owner's own records. Not private: it stays at home."""

    owner: str
    paid: str
    own: float
    joint: float
    difference: float
    standard_error: float
    own_in_sample: float
    records: int
    folds: int
    words: str


def run_verdict(folder: Path, model: Path | None, folds: int, *, as_json: bool) -> None:
    """Judge at home, for free."""
    home, console = Home(folder), Console(stderr=True)
    path = model or folder / "model.json"
    if not path.is_file():
        raise BadInput(
            f"there is no model {path}",
            remedy="let `copriv owner serve` run until the study ends, or give the learner's model.json with --model",
            value=str(path),
        )
    joint = read_model(path)
    if joint.terms.digest() != home.study.terms.digest():
        raise BadInput(f"{path} is of another study", remedy="give the model of this one", value=str(path))
    with bar(console, "reading your records") as tell:
        sample = read_records(home.engagement, home.study, tell).sample
    with bar(console, "training your own model, fold by fold"):
        generator = seeded(fresh_seed(), "folds")
        found = compare(sample, home.study.terms.objective(), np.asarray(joint.theta), generator=generator, folds=folds)
    _show_verdict(home.engagement.owner, found, as_json=as_json)


def _show_verdict(owner: str, found: Comparison, *, as_json: bool) -> None:
    told = Verdict(
        owner=owner,
        paid=found.paid,
        own=found.own,
        joint=found.joint,
        difference=found.difference,
        standard_error=found.standard_error,
        own_in_sample=found.own_in_sample,
        records=found.records,
        folds=found.folds,
        words=explain(found),
    )
    if as_json:
        typer.echo(msgspec.json.encode(told).decode())
        return
    typer.echo(told.words)
    typer.echo(f"  own model, on records it was not fitted to   {told.own:.6f}")
    typer.echo(f"  joint model, on the same records             {told.joint:.6f}")
    typer.echo(f"  difference                                   {told.difference:+.6f} ± {told.standard_error:.6f}")
    typer.echo("These figures are measured on your records and are not private: they stay at home.")


def _engage(options: JoinOptions, invitation: Invitation, terms: Terms) -> Engagement:
    if options.epsilon is None and terms.epsilon == 0:
        raise BadInput("the study asks for no epsilon of its own", remedy="say what you promise: --epsilon")
    delta = terms.delta if options.delta is None else options.delta
    guarantee = Guarantee.of(f"{terms.epsilon:.9f}" if options.epsilon is None else options.epsilon, delta)
    if not terms.suits(delta):
        raise BadInput(
            f"delta is {delta:g}, and the rule {terms.rule!r} of this study asks everybody for delta = {terms.delta:g}",
            remedy="promise pure epsilon where it is asked for, and a delta above 0 where one is",
            value=delta,
        )
    answers = options.answers or terms.answers
    if answers < 1 or (options.answers is not None and options.answers < 1):
        raise BadInput(f"--answers is {options.answers}", remedy="say how often you answer at most", value=answers)
    if not 0 < options.rate < float("inf"):
        raise BadInput(f"--rate is {options.rate}", remedy="give a finite number above 0", value=options.rate)
    ledger = options.ledger or options.folder / "ledger.sqlite"
    return Engagement(
        owner=invitation.owner,
        host=invitation.host,
        port=invitation.port,
        data=str(options.data.absolute()),
        target=options.target,
        nano_epsilon=guarantee.nano_epsilon,
        delta=guarantee.delta,
        accountant=options.accountant,
        answers=answers,
        rate=options.rate,
        ledger=str(ledger.absolute()),
    )


def _secrets(invitation: Invitation) -> dict[str, str]:
    return {"owner.pem": invitation.certificate, "owner.key": invitation.key, "authority.pem": invitation.authority}


def _promised(prepared: Prepared, home: Home, *, approved: bool) -> Promised:
    engagement, promise, terms = prepared.engagement, prepared.promise, prepared.study.terms
    return Promised(
        owner=engagement.owner,
        study=terms.name,
        terms=terms.digest(),
        records=prepared.sample.records,
        epsilon=engagement.guarantee.epsilon,
        delta=engagement.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        answers=engagement.answers,
        evaluations=terms.evaluations,
        mechanism=promise.calibration.mechanism.name,
        scale=promise.calibration.mechanism.scale,
        clip=promise.clip,
        sensitivity=promise.sensitivity.value,
        ledger=engagement.ledger,
        approved=approved,
        folder=str(home.folder),
    )


def _present(prepared: Prepared, console: Console) -> None:
    """What is about to be promised, in full, before anything is written."""
    engagement, promise, terms = prepared.engagement, prepared.promise, prepared.study.terms
    title = Text(plain(f"{engagement.owner} in the study {terms.name!r}", 300))
    table = Table(show_header=False, title=title, title_justify="left")
    table.add_column()
    table.add_column(overflow="fold")
    evaluations = f", and its average loss {terms.evaluations} times" if terms.evaluations else ""
    mechanism = promise.calibration.mechanism
    for name, value in (
        ("terms", terms.digest()),
        ("model", f"{terms.loss} loss, {terms.parameters} numbers, rule {terms.rule!r}, {terms.horizon:,} meetings"),
        *study_rows(prepared.study),
        ("meetings", f"{terms.meeting}, clock: {terms.clock}"),
        ("your records", f"{prepared.sample.records:,}; this number becomes public"),
        (
            "you promise",
            f"ε = {engagement.guarantee.epsilon:g}, δ = {engagement.delta:g} for any one {UNIT} ({ADJACENCY})",
        ),
        ("you answer", f"at most {engagement.answers} times with a noisy average gradient{evaluations}"),
        ("your noise", f"{mechanism.name}, scale {mechanism.scale:.4g} on averages of at most {promise.clip:.4g}"),
        ("your ledger", engagement.ledger),
    ):
        table.add_row(name, Text(value))
    console.print(table)
    for notice in prepared.notices:
        console.print(Text(f"note: {plain(notice, 500)}", style="dim"))


def _status(home: Home) -> OwnerStatus:
    engagement, terms = home.engagement, home.study.terms
    digest = terms.digest()
    accounts = {digest, account_of(digest, "loss")}
    ledger = home.open_ledger()
    book = ledger.book()
    charges = [entry.body for entry in ledger.entries() if isinstance(entry.body, Charge)]
    ledger.close()
    spent = sum(book.spent_by(account) for account in accounts)
    prepared = home.engagement.guarantee
    measure, accountant = budget_of(prepared, engagement.accountant).measure, engagement.accountant
    used = spent_epsilon(Amount(spent, measure), prepared, "pure" if prepared.pure else accountant) if spent else 0.0
    answers = sum(charge.study in accounts for charge in charges)
    contact, approval = home.last_contact(), home.approval()
    return OwnerStatus(
        owner=engagement.owner,
        study=terms.name,
        terms=digest,
        approved=approval is not None and approval.terms == digest,
        epsilon=prepared.epsilon,
        epsilon_spent=used,
        epsilon_left=max(prepared.epsilon - used, 0.0),
        delta=prepared.delta,
        unit=UNIT,
        adjacency=ADJACENCY,
        answers=answers,
        answers_left=max(engagement.answers + terms.evaluations - answers, 0),
        broker=f"{engagement.host}:{engagement.port}",
        last_contact=None if contact is None else contact.at,
        last_word=None if contact is None else contact.words,
        model=(home.folder / "model.json").is_file(),
    )


def _ask(question: str, console: Console, *, yes: bool) -> None:
    if yes:
        return
    if not console.is_terminal:
        raise BadInput("nobody is there to answer", remedy="add --yes if the terms above are approved", value="no tty")
    if not typer.confirm(question, default=False, err=True):
        raise BadInput("not approved; nothing was written or spent", remedy="talk to the learner about the terms")


def _who(signed_off_by: str | None) -> str:
    if signed_off_by is not None:
        return signed_off_by
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown user"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
