"""A validation where all owners are in one process: records are held back before the plan, and asked at the end."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.forecast.validation import Ruler
from copriv.learner.validation import Validation, combine_validation
from copriv.owner.holding_back import held_back_key
from copriv.planning.training_plan import TrainingPlan
from copriv.protocol.messages import Answer, Query
from copriv.records.held_back import divide
from copriv.records.load import Intake, OwnerSample
from copriv.runtime.local import Consortium
from copriv.runtime.local_request import TrainRequest
from copriv.vectors import FloatArray

_chance = partial(seeded, 0, "intervals of a validation")


def hold_back(intake: Intake, request: TrainRequest, agreed: float | None) -> Intake:
    """The same owners with fewer records that train; by the user's key, or by the seed of a simulation.

    Args:
        intake: as it was read.
        request: of the run.
        agreed: the share that agreed terms hold back, if there are such terms.
    """
    share = (request.held_back if request.validate else 0.0) if agreed is None else agreed
    if not share:
        return intake
    key = hashlib.sha256(f"simulated {request.seed or 0}".encode()).digest() if request.simulate else held_back_key()
    owners = []
    for owner in intake.owners:
        training, held_back = divide(owner.sample, share, key + owner.name.encode())
        owners.append(OwnerSample(owner.name, training, held_back))
    return replace(intake, owners=tuple(owners))


def validate(
    consortium: Consortium, study: TrainingPlan, intake: Intake, model: FloatArray, run: str
) -> Validation | None:
    """Ask every owner what its held-back records say of the model; None if the terms allow no such question."""
    terms = study.terms
    if terms.validations == 0:
        return None
    if intake.public is None:
        raise BadInput("a validation without public rows", remedy="keep the public rows beside the study", value=0)
    answers = []
    for name in consortium.names:
        query = Query(f"{run}:validation", terms.digest(), name, tuple(model.tolist()), kind="validation")
        reply = consortium.transport.ask(query)
        if isinstance(reply, Answer):
            answers.append(reply)
    target = intake.dictionary.target
    ruler = Ruler.of(terms.grid(), intake.public, model, target.scale if target.kind == "number" else 1.0)
    training = {owner.name: owner.sample.records for owner in intake.owners}
    return combine_validation(answers, ruler, training, terms.held_back, _chance)
