"""At home: which model is best for an owner's own records, and did joining pay?

Five models are judged on the owner's own records, each record by models that were fitted without it:

    own          of its own records, with a ridge towards their mean
    own_public   of its own records, with a ridge around the public model
    public       the public model
    joint        the joint model
    personal     of its own records, with ridges around the joint and the public model, stacked with the others;
                 one of the others as it is, where that does better by one and a half standard errors

How strong a ridge is, cross-validation says, too: for the records of a fold, the other folds. So nothing is judged on
what it was fitted to or weighed by. That alone would judge own models too harshly, because they are fitted to a fold
less than the owner has. What a fold more is worth is seen on all records, and added (Burman 1989): the loss of the
model of all records there, less the average loss there of the models without one fold each. The joint model has seen
the records, but only through noise, and as a few among everybody's: even without noise a model of p numbers, fitted to
n records, looks better on them by only about 2p/n of its loss.

Nothing of this is asked of anybody or charged. The figures come from the records without noise: they stay at home.
`copriv train`, which has everybody's records, and `copriv owner verdict` both call `compare`, on the same folds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.loss import Loss
from copriv.losses.metrics import Metrics
from copriv.losses.objective import Objective
from copriv.losses.passes import record_values
from copriv.losses.sample import Sample
from copriv.owner.own_models import Centres, ModelKind
from copriv.records.quality import metrics_of_margins
from copriv.records.target import Target
from copriv.vectors import FloatArray, IntArray

Paid: TypeAlias = Literal["joined", "alone", "undecided"]

FEWEST_FOLDS, FEWEST_RECORDS = 2, 10
# More records than these would not change what is said.
MOST_RECORDS = 200_000
STANDARD_ERRORS = 2
# Few owners gain much, and all of them are asked: of gains that two standard errors show, too many are chance.
TO_HAVE_PAID = 2.5
# A personal model that does worse than a plain one by so many standard errors gives way to it.
TO_GIVE_WAY = 1.5
WITHOUT: tuple[ModelKind, ...] = ("own", "own_public", "public")
JOINT: ModelKind = "joint"
PERSONAL: ModelKind = "personal"
WITH: tuple[ModelKind, ...] = (JOINT, PERSONAL)
NAMES: Mapping[ModelKind, str] = {
    "own": "a model of your own records",
    "own_public": "a model of your own records around the public one",
    "public": "the public model",
    "joint": "the joint model",
    "personal": "your personal model",
}
MARGIN_WORDS = "± is two standard errors of the differences, record by record"


@dataclass(frozen=True, slots=True)
class Difference:
    """How much lower the loss of one model is than that of another, relative to the latter's."""

    value: float
    standard_error: float

    @property
    def sign(self) -> int:
        """1 or −1 if it is more than two standard errors; else 0.

        >>> Difference(0.1, 0.01).sign, Difference(-0.1, 0.01).sign, Difference(0.1, 0.06).sign
        (1, -1, 0)
        """
        return self.beyond(STANDARD_ERRORS)

    def beyond(self, standard_errors: float) -> int:
        """1 or −1 if it is more than so many standard errors; else 0."""
        if abs(self.value) <= standard_errors * self.standard_error:
            return 0
        return 1 if self.value > 0 else -1

    @property
    def words(self) -> str:
        """For people.

        >>> Difference(0.1, 0.01).words
        '10 % ± 2 %'
        """
        margin = STANDARD_ERRORS * self.standard_error
        return f"{100 * abs(self.value):.2g} % ± {100 * margin:.2g} %"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What models are worth on an owner's own records.

    Args:
        records: how many records were compared.
        folds: into how many parts they were divided.
        losses: the average loss of each model that is fitted to all records, without the regularizer.
        metrics: R², RMSE and MAE in the target's unit, or AUC, log-loss and accuracy, of each.
        gain: of the better of joint and personal model over the best that needs nobody; None if there is no joint one.
        joint_gain: of the joint model as it is over that one.
        beats_all: whether the better of the two beats each model that needs nobody, by two and a half standard errors.
    """

    records: int
    folds: int
    losses: Mapping[ModelKind, float]
    metrics: Mapping[ModelKind, Metrics]
    gain: Difference | None = None
    joint_gain: Difference | None = None
    beats_all: bool = False

    @property
    def without(self) -> ModelKind:
        """The best of the models that need nobody else."""
        return self._least(WITHOUT)

    @property
    def together(self) -> ModelKind:
        """The better of the joint and the personal model."""
        return self._least(WITH)

    @property
    def best(self) -> ModelKind:
        """The model with the least loss."""
        return self._least((*WITHOUT, *WITH))

    @property
    def paid(self) -> Paid:
        """Whether the joint model is worth something here, as it is or as the centre of a personal one.

        joined: one of them is better than each that needs nobody, by two and a half standard errors. alone: the joint
        one is worse by two, and the personal one is not better. Else undecided.
        """
        if self.gain is None or self.joint_gain is None:
            return "undecided"
        if self.beats_all:
            return "joined"
        return "alone" if self.joint_gain.sign < 0 else "undecided"

    def _least(self, kinds: tuple[ModelKind, ...]) -> ModelKind:
        return min((kind for kind in kinds if kind in self.losses), key=lambda kind: self.losses[kind])


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Every record's margin by every kind of model, fitted and weighed without it; and the models of all records.

    Args:
        sample: the records that were compared.
        margins: of each kind, one a row.
        losses: of each kind, one a record, with what a fold more is worth.
        weights: of each kind, those of its candidates.
        folds: into how many parts the records were divided.
        models: of each kind, that of all records.
        free: the model of all records without a ridge.
        loss: that of the study.
    """

    sample: Sample
    margins: Mapping[ModelKind, FloatArray]
    losses: Mapping[ModelKind, FloatArray]
    weights: Mapping[ModelKind, FloatArray]
    folds: int
    models: Mapping[ModelKind, FloatArray]
    free: FloatArray
    loss: Loss

    def difference(self, base: ModelKind, other: ModelKind) -> Difference:
        """By which share the loss of one model is below that of another, with its standard error."""
        return _difference(self.losses[base], self.losses[other])


def compare(sample: Sample, objective: Objective, centres: Centres, target: Target, folds: int = 5) -> Comparison:
    """Compare the models that an owner can have, on its own records.

    Args:
        sample: the owner's own records; those without a usable target say nothing here and are left out.
        objective: the fitness of the study.
        centres: the public and the joint model.
        target: in whose unit figures are told.
        folds: into how many parts; fewer are taken where there are few records.

    Raises:
        BadInput: there are fewer than 10 records, or fewer than two folds.
    """
    return summarise(cross_validate(sample, objective, centres, folds), target)


def cross_validate(sample: Sample, objective: Objective, centres: Centres, folds: int = 5) -> CrossValidation:
    """Fit every candidate without one fold after another, and judge it there."""
    loss, used = objective.loss, _deal(sample.usable())
    parts = _divide(used.records, _affordable_folds(used, folds))
    full = centres.fit_all(objective, used)
    fitted = [centres.fit_all(objective, _take(used, rest), full) for rest, _ in parts]
    margins_by_all = np.empty((len(full), used.rows))
    for models, (_, fold) in zip(fitted, parts, strict=True):
        rows = used.rows_of(fold)
        margins_by_all[:, rows] = models @ used.columns[:, rows]
    judged = used.with_columns(margins_by_all)
    weights: dict[ModelKind, FloatArray] = centres.weigh(loss, judged)
    apart = [centres.weigh(loss, _take(judged, rest)) for rest, _ in parts]
    margins, losses, whole = {}, {}, {}
    for kind, family in centres.families.items():
        whole[kind] = weights[kind] @ full[family.rows]
        without = [each[kind] @ models[family.rows] for each, models in zip(apart, fitted, strict=True)]
        margins[kind], losses[kind] = _judge(loss, used, whole[kind], without, parts)
    better = _better_than_personal(losses)
    if better is not None:
        margins[PERSONAL], losses[PERSONAL], whole[PERSONAL] = margins[better], losses[better], whole[better]
        weights[PERSONAL] = centres.as_personal(better, weights[better])
    return CrossValidation(used, margins, losses, weights, len(parts), whole, full[centres.free], loss)


def _better_than_personal(losses: Mapping[ModelKind, FloatArray]) -> ModelKind | None:
    """The best plain model, if the personal one does clearly worse.

    >>> near, far = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.2, 3.1, 4.2])
    >>> _better_than_personal({"own": near, "joint": far, "personal": far}), _better_than_personal({"own": near})
    ('own', None)
    >>> _better_than_personal({"own": far, "joint": near, "personal": near}) is None
    True
    """
    if PERSONAL not in losses:
        return None
    plain = [kind for kind in losses if kind != PERSONAL]
    best = min(plain, key=lambda kind: float(losses[kind].mean()))
    return best if _difference(losses[PERSONAL], losses[best]).beyond(TO_GIVE_WAY) > 0 else None


def summarise(found: CrossValidation, target: Target) -> Comparison:
    """The averages, and the differences with their standard errors."""
    losses = {kind: float(each.mean()) for kind, each in found.losses.items()}
    metrics = {kind: _figures(found, kind, target) for kind in losses}
    plain = Comparison(found.sample.records, found.folds, losses, metrics)
    if "joint" not in losses:
        return plain
    together: ModelKind = plain.together
    gain, joint_gain = (found.difference(plain.without, kind) for kind in (together, JOINT))
    sure = all(found.difference(kind, together).beyond(TO_HAVE_PAID) > 0 for kind in WITHOUT if kind in losses)
    return Comparison(plain.records, plain.folds, losses, metrics, gain, joint_gain, sure)


def explain(found: Comparison) -> str:
    """Sentences to act on: which model to use, and whether joining paid; ± is two standard errors."""
    if found.gain is None or found.joint_gain is None:
        return f"On your {found.records:,} records {NAMES[found.best]} does best ({found.metrics[found.best].words})."
    best, other = found.together, found.without
    figures = {kind: found.metrics[kind].words for kind in (best, other, "joint")}
    where = f"cross-validated on your {found.records:,} records"
    if found.paid == "joined":
        return (
            f"Joining paid: use {NAMES[best]} ({figures[best]}, {where}). Its loss is lower by {found.gain.words} than "
            f"that of {NAMES[other]} ({figures[other]}), the best that needs nobody."
        )
    if found.paid == "alone":
        return (
            f"Joining did not pay: use {NAMES[other]} ({figures[other]}, {where}), spend nothing. The loss of the "
            f"joint model ({figures['joint']}) is higher by {found.joint_gain.words}."
        )
    return (
        f"Joining makes no difference that your {found.records:,} records could tell: {NAMES[best]} ({figures[best]}) "
        f"and {NAMES[other]} ({figures[other]}) differ by {found.gain.words} of the loss. "
        f"Use {NAMES[other]}, spend nothing more."
    )


def _difference(base: FloatArray, other: FloatArray) -> Difference:
    """From the records' paired differences."""
    unit, differences = float(base.mean()) or 1.0, base - other
    error = float(differences.std(ddof=1)) / math.sqrt(differences.size)
    return Difference(float(differences.mean()) / unit, error / unit)


def _figures(found: CrossValidation, kind: ModelKind, target: Target) -> Metrics:
    """Of the margins, with the loss as it is corrected."""
    whole = found.sample.with_columns(found.margins[kind][None, :]).margins(np.ones(1))
    plain = metrics_of_margins(target, whole, found.sample.targets)
    judged = float(_losses(found.loss, found.sample, found.margins[kind]).mean())
    ratio = float(found.losses[kind].mean()) / judged if judged > 0 else 1.0
    as_they_are = ("auc", "accuracy") if plain.deviance is None else ("rmse", "mae", "expected", "observed")
    return msgspec.structs.replace(plain.at_loss(ratio), **{name: getattr(plain, name) for name in as_they_are})


def _judge(
    loss: Loss, sample: Sample, whole: FloatArray, without: list[FloatArray], parts: list[tuple[IntArray, IntArray]]
) -> tuple[FloatArray, FloatArray]:
    """Every row's margin by the model without its fold, its record's loss there, with what a fold more is worth."""
    margins, every = np.empty(sample.rows), np.zeros(sample.records)
    for theta, (_, fold) in zip(without, parts, strict=True):
        there, rows = theta @ sample.columns, sample.rows_of(fold)
        margins[rows] = there[rows]
        every += _losses(loss, sample, there) / len(parts)
    judged = _losses(loss, sample, margins)
    if all(np.array_equal(theta, whole) for theta in without):  # a centre as it is: nothing is fitted
        return margins, judged
    return margins, judged - every + _losses(loss, sample, whole @ sample.columns)


def _losses(loss: Loss, sample: Sample, margins: FloatArray) -> FloatArray:
    """ℓ of every record at the margins of its rows."""
    return sample.by_record(record_values(loss, sample.with_columns(margins[None, :]), np.ones(1)))


def _affordable_folds(sample: Sample, folds: int) -> int:
    """As many folds as asked for, if each has a few records; else fewer."""
    if folds < FEWEST_FOLDS:
        raise BadInput(f"{folds} folds", remedy=f"give at least {FEWEST_FOLDS}", value=folds)
    if sample.records < FEWEST_RECORDS:
        raise BadInput(
            f"{sample.records} records are too few to compare models on",
            remedy=f"it takes at least {FEWEST_RECORDS}; with fewer, use the joint or the public model",
            value=sample.records,
        )
    return min(folds, sample.records // (FEWEST_RECORDS // FEWEST_FOLDS))


def _deal(sample: Sample) -> Sample:
    """The records in an order that has nothing to do with theirs, the same each time; of very many, enough."""
    order = seeded(0, "folds").permutation(sample.records)[:MOST_RECORDS]
    return sample.take(order)


def _divide(records: int, folds: int) -> list[tuple[IntArray, IntArray]]:
    """For each fold the records outside of it, to fit, and those in it, to judge."""
    parts = np.array_split(np.arange(records), folds)
    return [(np.concatenate(parts[:k] + parts[k + 1 :]), part) for k, part in enumerate(parts)]


def _take(sample: Sample, index: IntArray) -> Sample:
    return sample.take(index)
