"""What a run of a study is called, who asks, and which rows it takes as public."""

from __future__ import annotations

from typing import NamedTuple

from copriv.learner.public_rows import public_rows_beside
from copriv.owner.entries import Enrolled
from copriv.planning.training_plan import TrainingPlan
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.terms import Terms
from copriv.protocol.text import plain
from copriv.records.load import Intake
from copriv.runtime.local_load import Sources
from copriv.runtime.local_request import TrainRequest

LEARNER = "this machine"


class Origin(NamedTuple):
    """Name of the study, learner, public rows."""

    name: str
    learner: str
    public: PublicRows


def origin_of(request: TrainRequest, sources: Sources, name: str, intake: Intake, terms: Terms) -> Origin:
    """As the study file has it; else the run's name, this machine, and where the public rows were read."""
    return Origin(terms.name or plain(name), terms.learner or LEARNER, _public_rows(request, sources, intake, terms))


def enrolled_by(who: str, study: TrainingPlan, origin: Origin) -> Enrolled:
    """What ledgers keep of a run, by its name, before anything is charged to it."""
    terms = study.terms
    about = (terms.digest(), origin.name, origin.learner, who, terms.kind, origin.public, terms.unit)
    return Enrolled(*about, person=terms.person, axes=len(terms.axes))


def _public_rows(request: TrainRequest, sources: Sources, intake: Intake, terms: Terms) -> PublicRows:
    if intake.public is None:
        return terms.public
    rows = intake.public_rows
    if sources.public is not None:
        return PublicRows(rows, plain(sources.public.name))
    if request.public is not None:
        return PublicRows(rows, plain(request.public.name))
    if request.study is not None:
        beside = PublicRows(rows, plain(public_rows_beside(request.study).name))
        return terms.public if terms.public_rows else beside
    if sources.data is not None:
        return PublicRows(rows, plain(sources.data.name), own=True)
    if request.data is None:
        return PublicRows(rows, "generated records")
    return PublicRows(rows, plain(request.data.name), own=True)
