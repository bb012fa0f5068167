"""What `copriv owner join` and `approve` do: check everything, propose a promise, and write only what was agreed to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from copriv.errors import BadInput
from copriv.learner.admission import FASTEST, SLOWEST
from copriv.owner.approval import Approval
from copriv.owner.dataset_ledger import Word
from copriv.owner.fit import Fit, fit_of
from copriv.owner.joining import Joining, settle_joining
from copriv.owner.pending import taken, unfinished
from copriv.owner.registry import Registry
from copriv.owner.workspace import Enrollment, OwnerWorkspace, Prepared, prepare
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import ADJACENCY, Guarantee
from copriv.privacy.weakness import weakness
from copriv.protocol.terms import Terms
from copriv.records.cluster import PLAIN_MACHINE, Machine
from copriv.records.file_format import PLAIN, FileFormat
from copriv.runtime.events import Tell, counting
from copriv.runtime.owner_request import authorities_of, secrets_of
from copriv.transport.certificates import require_valid
from copriv.transport.invitation import Invitation, read_invitation

Ask = Callable[[str], bool]

_READING = "reading your records with the study's dictionary"


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    """How an owner would take part.

    Args:
        invitation: the learner's answer to its request.
        data: the file of its records.
        target: what it calls the column to predict; None if as the study does.
        epsilon: what it promises; None for what the study asks for.
        delta: likewise.
        accountant: how answers add up, with δ.
        answers: the most it answers; None for what the study asks for.
        rate: ticks a second of its clock.
        ledger: the ledger of its records; None for the one that is known, or a new one.
        folder: where everything is kept.
        by: who says so.
        version_of: the records are those of this ledger, changed.
        unrelated: they look like known ones, and none is among those.
        form: how the file is written, where its name and header do not tell.
        machine: how much memory may be used, and who helps to read.
        blocks: the blocks that the study reads; all that can pay if none is named.
    """

    invitation: Path
    data: Path
    target: str | None = None
    epsilon: str | None = None
    delta: float | None = None
    accountant: Accountant = "pld"
    answers: int | None = None
    rate: float = 1.0
    ledger: Path | None = None
    folder: Path = Path("owner")
    by: str = ""
    version_of: Path | None = None
    unrelated: bool = False
    form: FileFormat = PLAIN
    machine: Machine = PLAIN_MACHINE
    blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A promise that is worked out, and not yet made: nothing is written.

    Args:
        prepared: the owner's side of the study.
        notices: what there is to say about the records and what they have lost.
        authorities: the fingerprints of the learner's authorities.
        fit: how the records differ from the study's public rows. It is shown, and neither kept nor sent.
        accept: writes the folder and takes the ledger.
    """

    prepared: Prepared
    notices: tuple[str, ...]
    authorities: str
    fit: Fit
    accept: Callable[[], OwnerWorkspace]


class Agreement(msgspec.Struct):
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
    fit: Fit


def propose(options: JoinOptions, tell: Tell, ask: Ask | None) -> Proposal:
    """Check the terms against the records and work out the promise. Nothing is written or spent.

    Args:
        options: how the owner would take part.
        tell: is told how far the reading is.
        ask: puts a question to a person, if one is there, about records that look like known ones.
    """
    if options.folder.exists() and not unfinished(options.folder):
        raise taken(options.folder)
    invitation = read_invitation(options.invitation)
    require_valid(invitation.certificate, datetime.now(UTC))
    secrets, study = secrets_of(invitation, options.folder), invitation.terms()
    enrollment = _enroll(options, invitation, study.terms)
    joining = settle_records(options, tell, ask, study.terms.person)
    reading = joining.choose_reading(enrollment.guarantee, enrollment.accountant, study.terms, options.blocks)
    enrollment = msgspec.structs.replace(enrollment, ledger=str(joining.ledger), reading=reading)
    with options.machine.opened() as resources:
        prepared = prepare(enrollment, study, counting(tell, _READING), resources)
        fit = fit_of(study, prepared.sample)
    take = partial(joining.take, enrollment.owner, enrollment.guarantee, enrollment.accountant)
    accept = partial(OwnerWorkspace.create, options.folder, enrollment, invitation.study, secrets, take)
    return Proposal(prepared, joining.notices(), authorities_of(invitation.authority), fit, accept)


def propose_again(home: OwnerWorkspace, tell: Tell, machine: Machine = PLAIN_MACHINE) -> Proposal:
    """The promise of a folder that has joined, for whoever is to approve it."""
    with machine.opened() as resources:
        prepared = prepare(home.enrollment, home.study, counting(tell, _READING), resources)
        fit = fit_of(home.study, prepared.sample)
    return Proposal(prepared, home.standing().notices(), authorities_of(home.authority()), fit, lambda: home)


def approve(home: OwnerWorkspace, by: str, records: int) -> Approval:
    """Put on record that somebody approves the terms and the promise of a folder, now."""
    return home.approve(by, datetime.now(UTC).isoformat(timespec="seconds"), records)


def settle_records(options: JoinOptions, tell: Tell, ask: Ask | None, person: str) -> Joining:
    """From which ledger the study is paid: the one that the records have, or a new one in the folder."""
    word = Word(options.by, options.version_of, options.unrelated, ask)
    with Registry() as registry:
        found = registry.lookup(options.data, counting(tell, "recognising your records"), form=options.form)
        return settle_joining(registry, found, word, options.ledger, options.folder / "ledger.sqlite", person)


def agreement_of(proposal: Proposal, folder: Path, *, approved: bool) -> Agreement:
    """A promise as it is shown."""
    prepared = proposal.prepared
    enrollment, commitment, terms = prepared.enrollment, prepared.commitment, prepared.study.terms
    return Agreement(
        owner=enrollment.owner,
        study=terms.name,
        terms=terms.digest(),
        records=prepared.sample.records,
        epsilon=enrollment.guarantee.epsilon,
        delta=enrollment.delta,
        unit=terms.unit_words,
        adjacency=ADJACENCY,
        answers=enrollment.answers,
        evaluations=terms.evaluations,
        mechanism=commitment.calibration.mechanism.name,
        scale=commitment.calibration.mechanism.scale,
        clip=commitment.clip,
        sensitivity=commitment.sensitivity.value,
        ledger=enrollment.ledger,
        approved=approved,
        folder=str(folder),
        learner=terms.learner,
        public=terms.public.words,
        weakness=weakness(enrollment.guarantee, prepared.sample.records),
        fit=proposal.fit,
    )


def _enroll(options: JoinOptions, invitation: Invitation, terms: Terms) -> Enrollment:
    guarantee = _guarantee(options, terms)
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
        form=options.form,
    )


def _guarantee(options: JoinOptions, terms: Terms) -> Guarantee:
    """What is promised: as given, else as the study asks."""
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
    return guarantee
