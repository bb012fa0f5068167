"""What `copriv owner join`, `approve` and `verdict` do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import typer
from rich.console import Console

from copriv.cli.approval_screen import present
from copriv.cli.owner_request import authorities_of, secrets_of
from copriv.cli.person import asker, who
from copriv.cli.progress import bar
from copriv.entropy import fresh_seed, seeded
from copriv.errors import BadInput
from copriv.learner.admission import FASTEST, SLOWEST
from copriv.owner.comparison import Comparison, compare, explain
from copriv.owner.dataset_ledger import Word
from copriv.owner.joining import Joining, settle_joining
from copriv.owner.pending import taken, unfinished
from copriv.owner.registry import Registry
from copriv.owner.workspace import Enrollment, OwnerWorkspace, Prepared, prepare, read_records
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import ADJACENCY, UNIT, Guarantee
from copriv.privacy.weakness import weakness
from copriv.protocol.terms import Terms
from copriv.protocol.text import quoted
from copriv.report.model_file import read_model
from copriv.transport.certificates import require_valid
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
    version_of: Path | None = None
    unrelated: bool = False


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
    learner: str
    public: str
    weakness: str | None


def run_join(options: JoinOptions, *, as_json: bool) -> None:
    """Check everything, show the promise, ask, and only then write."""
    if options.folder.exists() and not unfinished(options.folder):
        raise taken(options.folder)
    invitation = read_invitation(options.invitation)
    require_valid(invitation.certificate, datetime.now(UTC))
    secrets = secrets_of(invitation, options.folder)
    study, console = invitation.terms(), Console(stderr=True)
    engagement = _engage(options, invitation, study.terms)
    joining = settle_records(options, console)
    engagement = msgspec.structs.replace(engagement, ledger=str(joining.ledger))
    joining.require_room(engagement.guarantee, engagement.accountant)
    with bar(console, "reading your records with the study's dictionary") as tell:
        prepared = prepare(engagement, study, tell)
    present(prepared, joining.notices(), authorities_of(invitation.authority), console)
    if not options.approve_later:
        _ask("Do you approve these terms and make this promise?", console, yes=options.yes)
    take = partial(joining.take, engagement.owner, engagement.guarantee, engagement.accountant)
    home = OwnerWorkspace.create(options.folder, engagement, invitation.study, secrets, take)
    if not options.approve_later:
        home.approve(who(options.signed_off_by), _now(), prepared.sample.records)
    told = _promised(prepared, home, approved=not options.approve_later)
    after = "copriv owner approve" if options.approve_later else "copriv owner serve"
    words = f"{engagement.owner} has joined {quoted(study.terms.name)}\nnext: {after} --folder {options.folder}"
    typer.echo(msgspec.json.encode(told).decode() if as_json else words)


def run_approve(folder: Path, signed_off_by: str | None, *, yes: bool, as_json: bool) -> None:
    """Show the terms and the promise of a folder, ask, and put the approval on record."""
    home, console = OwnerWorkspace(folder), Console(stderr=True)
    with bar(console, "reading your records with the study's dictionary") as tell:
        prepared = prepare(home.engagement, home.study, tell)
    present(prepared, home.standing().notices(), authorities_of(home.authority()), console)
    _ask("Do you approve these terms and make this promise?", console, yes=yes)
    approval = home.approve(who(signed_off_by), _now(), prepared.sample.records)
    told = msgspec.json.encode(_promised(prepared, home, approved=True)).decode()
    typer.echo(told if as_json else f"approved by {approval.by}: {approval.terms}")


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
    home, console = OwnerWorkspace(folder), Console(stderr=True)
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


def settle_records(options: JoinOptions, console: Console) -> Joining:
    """From which ledger the study is paid: the one that the records have, or a new one in the folder."""
    word = Word(who(options.signed_off_by), options.version_of, options.unrelated, asker(console))
    with Registry() as registry:
        with bar(console, "recognising your records") as tell:
            found = registry.lookup(options.data, tell)
        return settle_joining(registry, found, word, options.ledger, options.folder / "ledger.sqlite")


def _engage(options: JoinOptions, invitation: Invitation, terms: Terms) -> Enrollment:
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
    if not SLOWEST <= options.rate <= FASTEST:
        remedy = f"give between {SLOWEST:g} and {FASTEST:g} ticks a second"
        raise BadInput(f"--rate is {options.rate}", remedy=remedy, value=options.rate)
    ledger = options.ledger or options.folder / "ledger.sqlite"
    return Enrollment(
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


def _promised(prepared: Prepared, home: OwnerWorkspace, *, approved: bool) -> Promised:
    engagement, commitment, terms = prepared.engagement, prepared.commitment, prepared.study.terms
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
        mechanism=commitment.calibration.mechanism.name,
        scale=commitment.calibration.mechanism.scale,
        clip=commitment.clip,
        sensitivity=commitment.sensitivity.value,
        ledger=engagement.ledger,
        approved=approved,
        folder=str(home.folder),
        learner=terms.learner,
        public=terms.public.words,
        weakness=weakness(engagement.guarantee, prepared.sample.records),
    )


def _ask(question: str, console: Console, *, yes: bool) -> None:
    if yes:
        return
    if not console.is_terminal:
        raise BadInput("nobody is there to answer", remedy="add --yes if the terms above are approved", value="no tty")
    if not typer.confirm(question, default=False, err=True):
        raise BadInput("not approved; nothing was written or spent", remedy="talk to the learner about the terms")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
