"""What `copriv owner verdict` and `owner personalise` do: judge models at home, for free, on one's own records."""

from __future__ import annotations

import msgspec
import numpy as np

from copriv.losses.metrics import Metrics
from copriv.losses.sample import Sample, some_of
from copriv.owner.comparison import MARGIN_WORDS, STANDARD_ERRORS, Comparison, Difference, Paid, compare, explain
from copriv.owner.fit import Fit, fit_of
from copriv.owner.own_models import Centres, ModelKind
from copriv.owner.personal import PersonalModel, personalise
from copriv.owner.workspace import OwnerWorkspace, read_records
from copriv.records.cluster import PLAIN_MACHINE, Machine
from copriv.records.dictionary import Dictionary
from copriv.records.target import Target
from copriv.runtime.events import Note, Progress, Tell, counting
from copriv.vectors import FloatArray


class OwnerVerdict(msgspec.Struct):
    """What models are worth on the owner's own records. Not private: it stays at home.

    `gain` is by which share the loss of the better of joint and personal model is below that of the best model that
    needs nobody; it lies within ± `margin`, two standard errors. `joint_gain` is that of the joint model as it is.
    """

    owner: str
    paid: Paid
    best: ModelKind
    without: ModelKind
    gain: float
    margin: float
    joint_gain: float
    joint_margin: float
    models: dict[ModelKind, Metrics]
    losses: dict[ModelKind, float]
    records: int
    folds: int
    words: str
    fit: Fit


def judge(
    home: OwnerWorkspace, joint: FloatArray, folds: int, tell: Tell, machine: Machine = PLAIN_MACHINE
) -> OwnerVerdict:
    """Cross-validate the models that this owner can have, on its own records."""
    sample, target = _read(home, tell, machine)
    found = compare(sample, home.study.terms.objective(), _centres(home, joint), target, folds)
    return _told(home, found, fit_of(home.study, sample))


def make_personal(
    home: OwnerWorkspace, joint: FloatArray, folds: int, tell: Tell, machine: Machine = PLAIN_MACHINE
) -> tuple[PersonalModel, OwnerVerdict]:
    """The personal model, and what it and the others are worth."""
    sample, target = _read(home, tell, machine)
    found = personalise(sample, home.study.terms.objective(), _centres(home, joint), target, folds)
    return found, _told(home, found.comparison, fit_of(home.study, sample))


def _read(home: OwnerWorkspace, tell: Tell, machine: Machine) -> tuple[Sample, Target]:
    """The records in memory, and the target; of records that do not fit, every so many, and the owner is told."""
    with machine.opened() as resources:
        own = read_records(home.enrollment, home.study, counting(tell, "reading your records"), resources).records
        sample = some_of(own)
    if sample.records < own.records:
        tell(Note(f"{own.records:,} records do not fit in memory: judged on {sample.records:,} of them, evenly spread"))
    tell(Progress("training your own models, fold by fold"))
    return sample, Dictionary.from_study(home.study.dictionary).target


def _centres(home: OwnerWorkspace, joint: FloatArray) -> Centres:
    known = home.study.public
    return Centres(None if known is None else np.asarray(known.model), joint)


def _told(home: OwnerWorkspace, found: Comparison, fit: Fit) -> OwnerVerdict:
    gain, joint_gain = (each or Difference(0.0, 0.0) for each in (found.gain, found.joint_gain))
    return OwnerVerdict(
        owner=home.enrollment.owner,
        paid=found.paid,
        best=found.best,
        without=found.without,
        gain=gain.value,
        margin=STANDARD_ERRORS * gain.standard_error,
        joint_gain=joint_gain.value,
        joint_margin=STANDARD_ERRORS * joint_gain.standard_error,
        models=dict(found.metrics),
        losses=dict(found.losses),
        records=found.records,
        folds=found.folds,
        words=f"{explain(found)} {MARGIN_WORDS[0].upper()}{MARGIN_WORDS[1:]}.",
        fit=fit,
    )
