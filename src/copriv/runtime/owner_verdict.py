"""What `copriv owner verdict` does: judge the joint model at home, for free, on the owner's own records."""

from __future__ import annotations

import msgspec

from copriv.entropy import fresh_seed, seeded
from copriv.losses.sample import some_of
from copriv.owner.comparison import MARGIN_WORDS, STANDARD_ERRORS, compare, explain
from copriv.owner.fit import Fit, fit_of
from copriv.owner.workspace import OwnerWorkspace, read_records
from copriv.protocol.text import quoted
from copriv.records.cluster import PLAIN_MACHINE, Machine
from copriv.records.dictionary import Dictionary
from copriv.runtime.events import Note, Progress, Tell, counting
from copriv.vectors import FloatArray


class OwnerVerdict(msgspec.Struct):
    """The joint model against the owner's own, on the owner's own records. Not private: it stays at home.

    Losses are in `unit`. The difference is own − joint, and lies within ± `margin`, which is two standard errors.
    """

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
    margin: float
    unit: str
    fit: Fit


def judge(
    home: OwnerWorkspace, joint: FloatArray, folds: int, tell: Tell, machine: Machine = PLAIN_MACHINE
) -> OwnerVerdict:
    """Cross-validate the owner's own model against the joint one; losses are in the target's own units.

    Records that do not fit in memory are judged by every so many of them, and the owner is told.
    """
    with machine.opened() as resources:
        own = read_records(home.enrollment, home.study, counting(tell, "reading your records"), resources).records
        sample = some_of(own)
    if sample.records < own.records:
        tell(Note(f"{own.records:,} records do not fit in memory: judged on {sample.records:,} of them, evenly spread"))
    tell(Progress("training your own model, fold by fold"))
    generator = seeded(fresh_seed(), "folds")
    scaled = compare(sample, home.study.terms.objective(), joint, generator=generator, folds=folds)
    target = Dictionary.from_study(home.study.dictionary).target
    is_number = target.kind == "number"
    found = scaled.in_units(target.scale**2) if is_number else scaled
    unit = f"squared units of {quoted(target.name)}" if is_number else "nats a record"
    return OwnerVerdict(
        owner=home.enrollment.owner,
        paid=found.paid,
        own=found.own,
        joint=found.joint,
        difference=found.difference,
        standard_error=found.standard_error,
        own_in_sample=found.own_in_sample,
        records=found.records,
        folds=found.folds,
        words=f"{explain(found)} Losses are in {unit}; {MARGIN_WORDS}.",
        margin=STANDARD_ERRORS * found.standard_error,
        unit=unit,
        fit=fit_of(home.study, sample),
    )
