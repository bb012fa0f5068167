"""What a run of `copriv train` is called, who asks, and which rows it takes as public."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from copriv.cli.person import who
from copriv.cli.train_options import TrainOptions
from copriv.learner.public_rows import public_rows_beside
from copriv.owner.entries import Enrolled
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.planning.training_plan import TrainingPlan
from copriv.protocol.commitment import main_kind
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.records.load import Intake
from copriv.runtime.local import Consortium

LEARNER = "this machine"


class Origin(NamedTuple):
    """Name of the study, learner, public rows."""

    name: str
    learner: str
    public: PublicRows


def origin_of(options: TrainOptions, folder: Path, intake: Intake, terms: Terms) -> Origin:
    """As the study file has it; else the run folder's name, this machine, and where the public rows were read."""
    name, learner = terms.name or plain(folder.absolute().name), terms.learner or LEARNER
    return Origin(name, learner, _public_rows(options, intake, terms))


def enroll(consortium: Consortium, study: TrainingPlan, origin: Origin) -> None:
    """Put the run on record in every ledger that lasts, by its name, before anything is charged to it."""
    terms = study.terms
    enrolled = Enrolled(terms.digest(), origin.name, origin.learner, who(), main_kind(terms), origin.public)
    for ledger in consortium.ledgers:
        if isinstance(ledger, SqliteLedger):
            ledger.enroll(enrolled)


def _public_rows(options: TrainOptions, intake: Intake, terms: Terms) -> PublicRows:
    if intake.public is None:
        return terms.public
    if options.public is not None:
        return PublicRows(intake.public.records, plain(options.public.name))
    if options.study is not None:
        beside = PublicRows(intake.public.records, plain(public_rows_beside(options.study).name))
        return terms.public if terms.public_rows else beside
    if options.data is None:
        return PublicRows(options.public_rows, "generated records")
    return PublicRows(options.public_rows, plain(options.data.name), own=True)
