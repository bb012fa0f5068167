"""How good the models of a run are, in figures that people know, where all records are at hand.

The joint, the public and the pooled model are judged on everybody's records, and every owner's models on its own, by
the very function that `copriv owner verdict` calls at home. All of it is measured on the records: not private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.losses.metrics import Metrics, little_to_learn, median_metrics
from copriv.losses.objective import Objective
from copriv.losses.sample import Sample
from copriv.owner.comparison import FEWEST_RECORDS, STANDARD_ERRORS, Comparison, Paid, compare
from copriv.owner.own_models import Centres, ModelKind
from copriv.owner.personal import PersonalModel, personalise
from copriv.records.load import OwnerSample
from copriv.records.quality import metrics_of_model
from copriv.records.target import Target
from copriv.vectors import FloatArray


class OwnerQuality(msgspec.Struct):
    """What models are worth on one owner's own records, cross-validated; nothing is known of very few records.

    `gain` says by which share the loss of the better of joint and personal model is below that of the best model that
    needs nobody, and lies within ± `margin`, two standard errors.
    """

    owner: str
    records: int
    paid: Paid = "undecided"
    best: ModelKind | None = None
    gain: float | None = None
    margin: float | None = None
    models: dict[ModelKind, Metrics] = {}


class Quality(msgspec.Struct):
    """Figures of all models of a run. Not private.

    Args:
        joint: of the joint model on everybody's records.
        pooled: of the best model in these features, which sees everybody's records without noise, on these.
        public: of the public model on everybody's records.
        owners: what models are worth on each owner's own records.
        median: of each model, the medians of these over owners.
        paid: how many owners there are for whom joining paid, did not, or is undecided.
        best: how many owners do best with which model.
        warning: that there is hardly anything to learn, if so.
    """

    joint: Metrics
    pooled: Metrics
    public: Metrics | None
    owners: list[OwnerQuality]
    median: dict[ModelKind, Metrics]
    paid: dict[Paid, int]
    best: dict[ModelKind, int]
    warning: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnersAtHome:
    """The owners' records, where all are at hand, and the models that they can start from."""

    samples: Mapping[str, Sample]
    objective: Objective
    centres: Centres
    target: Target

    def personal(self, owner: str) -> PersonalModel:
        """The personal model of one owner.

        Raises:
            BadInput: there is no such owner, or it has too few records.
        """
        if owner not in self.samples:
            some = ", ".join(list(self.samples)[:3])
            raise BadInput(f"there is no owner {owner!r}", remedy=f"name one, such as {some}", value=owner)
        return personalise(self.samples[owner], self.objective, self.centres, self.target)


def measure_quality(
    objective: Objective,
    owners: Sequence[OwnerSample],
    target: Target,
    models: tuple[FloatArray, FloatArray, FloatArray | None],
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> Quality:
    """Judge the joint, the pooled and the public model, and every owner's own."""
    joint, pooled, public = models
    everybody = Sample.join(owner.sample for owner in owners).usable()
    judged = []
    for done, owner in enumerate(owners, start=1):
        judged.append(_judge(owner, objective, Centres(public, joint), target))
        tell(done, len(owners))
    best = metrics_of_model(target, everybody, pooled)
    return Quality(
        joint=metrics_of_model(target, everybody, joint),
        pooled=best,
        public=None if public is None else metrics_of_model(target, everybody, public),
        owners=judged,
        median=_medians(judged),
        paid={paid: sum(each.paid == paid for each in judged) for paid in ("joined", "alone", "undecided")},
        best=_counted([each.best for each in judged if each.best is not None]),
        warning=little_to_learn(best),
    )


def told(owner: str, records: int, found: Comparison) -> OwnerQuality:
    """A comparison as it is told."""
    gain = found.gain
    return OwnerQuality(
        owner=owner,
        records=records,
        paid=found.paid,
        best=found.best,
        gain=None if gain is None else gain.value,
        margin=None if gain is None else STANDARD_ERRORS * gain.standard_error,
        models=dict(found.metrics),
    )


def _judge(owner: OwnerSample, objective: Objective, centres: Centres, target: Target) -> OwnerQuality:
    usable = int(np.count_nonzero(owner.sample.used))
    if usable < FEWEST_RECORDS:
        return OwnerQuality(owner.name, usable)
    return told(owner.name, usable, compare(owner.sample, objective, centres, target))


def _medians(judged: Sequence[OwnerQuality]) -> dict[ModelKind, Metrics]:
    kinds = dict.fromkeys(kind for each in judged for kind in each.models)
    medians = {kind: median_metrics([each.models[kind] for each in judged if kind in each.models]) for kind in kinds}
    return {kind: median for kind, median in medians.items() if median is not None}


def _counted(kinds: Sequence[ModelKind]) -> dict[ModelKind, int]:
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
