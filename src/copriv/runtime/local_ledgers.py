"""The ledgers of a run: made for it, opened again when it is resumed, or shared with other runs on the same records."""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from copriv.errors import BadInput
from copriv.owner.ledger import Ledger
from copriv.owner.ledger_opening import begin, fingerprint_of_sample, require_left
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.training_plan import Noise, TrainingPlan
from copriv.protocol.commitment import Commitment
from copriv.records.load import Intake, OwnerSample
from copriv.runtime.local_folder import ledger_path
from copriv.runtime.local_request import TrainRequest

# The database, its log, the index of the log, and the high-water mark.
_FILES_PER_LEDGER = 4
_OTHER_FILES = 256

Dataset = Callable[[OwnerSample], str]


@dataclass(frozen=True, slots=True)
class Ledgers:
    """Where the ledgers of a run lie and how they come to be there.

    Args:
        place: their folder.
        noise: secure noise needs ledgers that last.
        dataset: how an owner's records are told from others.
        resumed: whether they must be there already.
        registry: keeps how far each ledger has come, so that a copy of a run folder answers nothing twice; None for
            records that nobody has to protect.
    """

    place: Path
    noise: Noise
    dataset: Dataset
    resumed: bool
    registry: Registry | None = None

    def make(self, owner: OwnerSample, commitment: Commitment) -> Ledger:
        """The ledger of one owner: in memory for a simulation, else on disk, new or opened again."""
        calibration = commitment.calibration
        if self.noise != "secure":
            return MemoryLedger(begin(owner.name, "simulated", calibration.guarantee, calibration.accountant))
        path = ledger_path(self.place, owner.name)
        if self.resumed or path.exists():
            ledger = SqliteLedger(path)
            ledger.state().require_dataset(self.dataset(owner))
        else:
            self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
            opening = begin(owner.name, self.dataset(owner), calibration.guarantee, calibration.accountant)
            ledger = SqliteLedger.create(path, opening)
        if self.registry is not None:
            ledger.keep_mark(self.registry.mark(ledger.state().id))
        return ledger

    def check(self, intake: Intake, study: TrainingPlan) -> None:
        """Before anything is written: does every existing ledger have enough left for this study?"""
        for owner, commitment in zip(intake.owners, study.commitments, strict=True):
            path = ledger_path(self.place, owner.name)
            if self.noise == "secure" and path.exists():
                ledger = SqliteLedger(path)
                _require_room(ledger, commitment, self.dataset(owner))
                ledger.close()


def dataset_of(request: TrainRequest, records: str | None) -> Dataset:
    """How an owner's records are told from others: what they are, the way they were divided, and the owner's part.

    Args:
        request: of the run; how many rows are public is settled in it.
        records: the fingerprint of all records; None for generated ones, which are told apart by themselves.
    """
    if records is None:
        return lambda owner: fingerprint_of_sample(owner.sample)
    order = f"shuffled by {request.rows_seed}" if request.shuffle else "in order"
    public = "none" if request.public else str(request.public_rows)
    division = f"{request.owner_column}|{request.owners}|{request.records_per_owner}|{order}|{public}"
    division += f"|{request.person}" if request.person else ""
    return lambda owner: hashlib.sha256(f"{records}|{division}|{owner.name}".encode()).hexdigest()


def allow_open_files(ledgers: int) -> None:
    """Every ledger stays open during a run; ask the system for as many files, or say that there are too many owners."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = ledgers * _FILES_PER_LEDGER + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BadInput(
            f"{ledgers} ledgers need {needed} open files, and this machine allows {hard}",
            remedy="raise the limit (ulimit -n), or take fewer owners",
            value=hard,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _require_room(ledger: SqliteLedger, commitment: Commitment, dataset: str) -> None:
    book, wanted = ledger.state(), commitment.budget
    book.require_dataset(dataset)
    book.require_unit(commitment.unit)
    require_left(book, wanted)
