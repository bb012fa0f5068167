"""An owner's folder: what it has agreed to, where its records and its ledger are. Records never enter it.

Terms are approved once, by their hash, together with everything that shapes the promise that is made under them. An
owner that has not approved, or has approved something else, does not answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from copriv.entropy import token
from copriv.errors import BadInput
from copriv.losses.records import Records
from copriv.losses.sample import Sample
from copriv.owner.approval import Approval, Subject, approve, differences, seal_dataset
from copriv.owner.entries import Enrolled
from copriv.owner.holding_back import hold_back
from copriv.owner.ledger import Ledger
from copriv.owner.ledger_opening import fingerprint_of_file
from copriv.owner.ledger_state import LedgerState
from copriv.owner.owner import Owner
from copriv.owner.pending import forget_pending, joining_alone, unfinished
from copriv.owner.reading import Reading, files_to_read, fingerprint_of_reading, require_reads, require_units
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.standing import Standing, standing_of
from copriv.privacy.accounting import Accountant
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.study_file import StudyFile, read_study
from copriv.protocol.terms import Terms
from copriv.records.dictionary import ROW_NORM, TARGET_BOUND, Dictionary
from copriv.records.file_format import PLAIN, FileFormat
from copriv.records.load_owner import OpenedRecords, open_owner_records
from copriv.records.resources import Resources, default_resources

Tell = Callable[[int, int], None]

_INCOMPLETE = "the approval is from a version in which it covered neither the records nor the ledger: approve again"


class Enrollment(msgspec.Struct, frozen=True):
    """What an owner has decided when it joined.

    Args:
        owner: its name in the study.
        host: where the broker is.
        port: its port.
        data: the file of its records.
        target: what it calls the column to predict; None if as the study does.
        nano_epsilon: what it promises for this study, about any one record.
        delta: likewise; 0 for pure ε.
        accountant: how answers add up, with δ.
        answers: the most it answers.
        rate: ticks a second of its clock, if the study has clocks.
        ledger: the file of its ledger.
        form: how the file of its records is written.
        reading: the blocks that the study reads; None if the records never arrived in blocks.
    """

    owner: str
    host: str
    port: int
    data: str
    target: str | None
    nano_epsilon: int
    delta: float
    accountant: Accountant
    answers: int
    rate: float
    ledger: str
    form: FileFormat = PLAIN
    reading: Reading | None = None

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of the blocks that the study reads; none if the records never arrived in blocks."""
        return () if self.reading is None else self.reading.blocks

    @property
    def guarantee(self) -> Guarantee:
        """The promise for this study."""
        return Guarantee(self.nano_epsilon, self.delta)


class Contact(msgspec.Struct, frozen=True):
    """When the owner last heard of the study, and how it stands."""

    at: str
    words: str


class Vitals(msgspec.Struct, frozen=True):
    """What a serving process has counted since it started: nothing of it was computed from a record.

    Args:
        since: when it started.
        answers: how many queries it has answered.
        refusals: how many it has refused, by reason.
        fsyncs: how often it has waited for the disk to keep an answer.
        fsync_seconds: how long, in all.
    """

    since: str
    answers: int = 0
    refusals: dict[str, int] = {}
    fsyncs: int = 0
    fsync_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """An owner's side of a study, worked out and not yet agreed to."""

    enrollment: Enrollment
    study: StudyFile
    sample: Records
    commitment: Commitment
    notices: tuple[str, ...]
    held_back: Sample | None = None


def prepare(
    enrollment: Enrollment,
    study: StudyFile,
    tell: Tell = lambda _done, _total: None,
    resources: Resources | None = None,
) -> Prepared:
    """Read the records with the study's dictionary and work out what would be promised. Nothing is written or spent."""
    own = read_records(enrollment, study, tell, resources)
    training, held_back = hold_back(own.records, study.terms, Path(enrollment.ledger), enrollment.reading)
    commitment = commitment_of(enrollment, study.terms, training.records)
    commitment.require_bounded(own.records)
    return Prepared(enrollment, study, training, commitment, own.notices, held_back)


def read_records(
    enrollment: Enrollment,
    study: StudyFile,
    tell: Tell = lambda _done, _total: None,
    resources: Resources | None = None,
) -> OpenedRecords:
    """The owner's records, as the study's dictionary has them: in memory if they fit in half of this machine's.

    Args:
        enrollment: where the records are.
        study: what they are reduced for.
        tell: is told how many rows of how many are read, now and in later passes.
        resources: another bound on memory, and who helps.
    """
    dictionary = Dictionary.from_study(study.dictionary)
    require_bounds(study.terms)
    if dictionary.parameters != study.terms.parameters:
        raise BadInput(
            f"the dictionary makes {dictionary.parameters} numbers of a record, and the terms say "
            f"{study.terms.parameters}",
            remedy="ask the learner for another study file",
            value=dictionary.parameters,
        )
    notes, reading = list[str](), enrollment.reading
    own = open_owner_records(
        Path(enrollment.data) if reading is None else files_to_read(Path(enrollment.ledger), reading),
        enrollment.form,
        dictionary,
        resources or default_resources(),
        target=enrollment.target,
        person=study.terms.people,
        tell=tell,
        note=notes.append,
    )
    if reading is not None:
        require_units(Path(enrollment.ledger), reading, own.records.records)
    pointed_out = () if own.repeated is None else (own.repeated.words(enrollment.guarantee.epsilon),)
    return OpenedRecords(own.records, (*notes, *own.notices, *pointed_out), own.repeated)


def fingerprint_of_records(enrollment: Enrollment) -> str:
    """SHA-256 of what the study reads."""
    if enrollment.reading is None:
        return fingerprint_of_file(Path(enrollment.data))
    return fingerprint_of_reading(Path(enrollment.ledger), enrollment.reading)


def require_bounds(terms: Terms) -> None:
    """Refuse terms that some record of the dictionary would not fit: whether they fit must not depend on any record."""
    if terms.row_norm < ROW_NORM or terms.target_bound < TARGET_BOUND:
        raise BadInput(
            f"the terms bound rows by {terms.row_norm:g} and targets by {terms.target_bound:g}, and a dictionary makes "
            f"rows up to {ROW_NORM:g} and targets up to {TARGET_BOUND:g}",
            remedy="ask the learner for another study file",
            value=terms.row_norm,
        )


def commitment_of(enrollment: Enrollment, terms: Terms, records: int) -> Commitment:
    """The noise that keeps the owner's promise."""
    accountant = enrollment.accountant
    return make_commitment(
        terms, enrollment.guarantee, records=records, answers=enrollment.answers, accountant=accountant
    )


class OwnerWorkspace:
    """An owner's folder.

    Args:
        folder: where `copriv owner join` has made it.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "engagement.json").is_file():
            raise BadInput(
                f"{folder} is not an owner's folder",
                remedy="make one with `copriv owner join INVITATION`, or name it with --folder",
                value=str(folder),
            )
        self.folder = folder
        self.enrollment = _read(folder / "engagement.json", Enrollment)
        self.study = read_study((folder / "study.toml").read_text(encoding="utf-8"))

    @classmethod
    def create(
        cls, folder: Path, enrollment: Enrollment, study: str, secrets: dict[str, str], take_ledger: Callable[[], None]
    ) -> OwnerWorkspace:
        """Make the folder, with its certificate and key for nobody else to read; then take the ledger.

        If it is killed, the folder has no engagement.json yet, and the same may be done again.
        """
        try:
            folder.mkdir(parents=True, mode=0o700, exist_ok=unfinished(folder))
        except OSError as problem:
            raise BadInput(
                f"{folder} cannot be made: {problem.strerror}", remedy="choose another --folder", value=str(folder)
            ) from problem
        with joining_alone(folder):
            for name, text in {**secrets, "study.toml": study}.items():
                write_for_owner(folder / name, text.encode())
            take_ledger()
            write_for_owner(folder / "engagement.json", msgspec.json.encode(enrollment))
        forget_pending(folder)
        return cls(folder)

    def approve(self, by: str, at: str, records: int = 0) -> Approval:
        """Put on record, here and in the ledger, that the folder's terms and promise are approved."""
        ledger = self.open_ledger()
        try:
            approval = approve(self._subject(ledger.state()), by, at, records)
            ledger.enroll(self.enrolled(by))
        finally:
            ledger.close()
        write_for_owner(self.folder / "approval.json", msgspec.json.encode(approval))
        return approval

    def enrolled(self, by: str) -> Enrolled:
        """The study as the ledger knows it."""
        terms = self.study.terms
        about = (terms.digest(), terms.name, terms.learner, by, terms.kind, terms.public, terms.unit)
        return Enrolled(*about, blocks=self.enrollment.blocks, person=terms.person, axes=len(terms.axes))

    def standing(self) -> Standing:
        """How the records of the folder stand: whether they were known, and what they have lost."""
        ledger = self.open_ledger()
        try:
            return standing_of(ledger, Path(self.enrollment.ledger), self.folder, self.study.terms.digest())
        finally:
            ledger.close()

    def authority(self) -> str:
        """The certificates of the learner's authorities, as they were given."""
        return (self.folder / "authority.pem").read_text(encoding="ascii")

    def renew(self, host: str, port: int, secrets: dict[str, str]) -> None:
        """Another certificate, perhaps at another address; the promise and its approval stand."""
        for name, text in secrets.items():
            write_for_owner(self.folder / name, text.encode())
        self.enrollment = msgspec.structs.replace(self.enrollment, host=host, port=port)
        write_for_owner(self.folder / "engagement.json", msgspec.json.encode(self.enrollment))
        forget_pending(self.folder)

    def approval(self) -> Approval | None:
        """What was approved, if anything was."""
        path = self.folder / "approval.json"
        return _read(path, Approval) if path.is_file() else None

    def require_approved(self) -> None:
        """Refuse to serve under terms or a promise that nobody has approved, naming what differs."""
        approval = self.approval()
        if approval is None or not approval.complete:
            words = "nobody has approved these terms" if approval is None else _INCOMPLETE
            raise self._not_approved(words)
        ledger = SqliteLedger(Path(self.enrollment.ledger))
        try:
            differing = differences(approval, self._subject(ledger.state()))
        finally:
            ledger.close()
        if differing:
            raise self._not_approved(
                f"what was approved is not what the folder says; it differs in {', '.join(differing)}"
            )

    def is_approved(self) -> bool:
        """Whether everything is as somebody has approved it."""
        try:
            self.require_approved()
        except BadInput:
            return False
        return True

    def _not_approved(self, words: str) -> BadInput:
        remedy = f"read and approve them: copriv owner approve --folder {self.folder}"
        return BadInput(words, remedy=remedy, value=self.study.terms.digest())

    def _subject(self, state: LedgerState) -> Subject:
        """Everything that shapes the promise, as the folder has it now."""
        decided = self.enrollment
        return Subject(
            terms=self.study.terms.digest(),
            owner=decided.owner,
            data=decided.data,
            dataset=seal_dataset(state, fingerprint_of_records(decided)),
            target=decided.target,
            form=decided.form,
            ledger=decided.ledger,
            ledger_id=state.id,
            accountant=decided.accountant,
            nano_epsilon=decided.nano_epsilon,
            delta=decided.delta,
            answers=decided.answers,
            blocks=decided.blocks,
        )

    def open_ledger(self, draw: Callable[[], str] = token) -> SqliteLedger:
        """The ledger, if it is the one of these records and its budget is in the right currency."""
        ledger = SqliteLedger(Path(self.enrollment.ledger), draw=draw)
        try:
            ledger.state().require_dataset(fingerprint_of_file(Path(self.enrollment.data)))
        except BaseException:
            ledger.close()
            raise
        return ledger

    def open_owner(self, ledger: Ledger, prepared: Prepared) -> Owner:
        """The owner that answers from the records of this folder, behind secure noise."""
        self.require_approved()
        require_reads(ledger.state(), self.study.terms.digest(), self.enrollment.blocks)
        responder = PrivateResponder(prepared.sample, prepared.commitment, prepared.held_back)
        return Owner(self.enrollment.owner, self.study.terms, prepared.commitment, responder, ledger)

    def note_contact(self, contact: Contact) -> None:
        """Remember when the study was last heard of."""
        write_for_owner(self.folder / "contact.json", msgspec.json.encode(contact))

    def note_vitals(self, vitals: Vitals) -> None:
        """Keep what was counted; nobody waits for the disk, and a folder that cannot be written is left alone."""
        with suppress(OSError):
            write_for_owner(self.folder / "vitals.json", msgspec.json.encode(vitals), durably=False)

    def vitals(self) -> Vitals | None:
        """What the last serving process has counted."""
        path = self.folder / "vitals.json"
        return _read(path, Vitals) if path.is_file() else None

    def last_contact(self) -> Contact | None:
        """When the study was last heard of."""
        path = self.folder / "contact.json"
        return _read(path, Contact) if path.is_file() else None


def write_for_owner(path: Path, content: bytes, *, durably: bool = True) -> None:
    """A file that only the owner's own user may read, complete or not there at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        if durably:
            file.flush()
            os.fsync(file.fileno())
    draft.rename(path)


Kept = TypeVar("Kept", Enrollment, Approval, Contact, Vitals)


def _read(path: Path, kind: type[Kept]) -> Kept:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except msgspec.DecodeError as problem:
        raise BadInput(f"{path} cannot be read: {problem}", remedy="restore it", value=str(path)) from problem
