"""A study worked out in full before the first answer: terms, rule, promises and schedule.

Everything comes from the user's wishes, the public rows and the owners' sizes; no private record is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from copriv.entropy import seeded
from copriv.errors import BadInput
from copriv.losses.choose import choose
from copriv.losses.loss import Loss
from copriv.losses.sample import Sample
from copriv.planning.training_spec import TrainingSpec, require_one_each, require_sensible
from copriv.planning.tuning import choose_limit, public_model
from copriv.protocol.commitment import Commitment, make_commitment
from copriv.protocol.study_file import dictionary_digest
from copriv.protocol.terms import Terms
from copriv.records.dictionary import ROW_NORM, TARGET_BOUND, Dictionary
from copriv.records.load import Intake
from copriv.rules.registry import resolve
from copriv.rules.rule import Rule
from copriv.schedule.poisson import availability, draw, until_spent
from copriv.schedule.trace import Trace
from copriv.vectors import FloatArray

Noise = Literal["secure", "seeded", "none"]

_WIDEST_BOX = 10.0


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Ready to run; `foreseen` is the ψ that the public rows foretell, NaN where they tell nothing."""

    terms: Terms
    rule: Rule[Any]
    commitments: tuple[Commitment, ...]
    trace: Trace
    public_model: FloatArray | None
    predicted: float = math.nan


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known before a rule is chosen: the public rows (if any), the sizes, how often each owner is met."""

    dictionary: Dictionary
    public: Sample | None
    sizes: tuple[int, ...]
    wishes: TrainingSpec
    probabilities: tuple[float, ...]
    loss: Loss
    model: FloatArray | None

    def require_public(self, rule: str) -> tuple[Sample, FloatArray]:
        """The public rows and their model, which this rule cannot do without."""
        if self.public is None or self.model is None:
            raise BadInput(
                f"the rule {rule!r} without public rows",
                remedy="give public rows, or --rule statistics, or --rule averaged with --step and --clip",
                value=rule,
            )
        return self.public, self.model

    def terms(self, rule: str, *, horizon: int, clip: float, step: float) -> Terms:
        """The terms under a rule."""
        wishes, entry = self.wishes, resolve(rule)
        limit = wishes.limit or (_WIDEST_BOX if self.model is None else choose_limit(self.model))
        return Terms(
            loss=self.loss.name,
            threshold=self.loss.threshold,
            parameters=self.dictionary.parameters,
            regularization=wishes.regularization,
            limit=limit,
            clip=clip,
            row_norm=ROW_NORM,
            target_bound=TARGET_BOUND,
            rule=rule,
            asks=entry.asks,
            mechanisms="any" if entry.any_noise else "asked",
            horizon=horizon,
            step=step,
            central=wishes.central.value,
            dictionary=dictionary_digest(self.dictionary),
        )

    def commitments(self, terms: Terms, answers: tuple[int, ...]) -> tuple[Commitment, ...]:
        """What each owner promises, for so many answers."""
        return tuple(
            make_commitment(terms, guarantee, records=records, answers=most, accountant=self.wishes.accountant)
            for guarantee, records, most in zip(self.wishes.guarantees, self.sizes, answers, strict=True)
        )

    def schedule(self) -> Trace:
        """T meetings, whoever comes."""
        return self.wishes.trace or draw(self.probabilities, self.wishes.horizon, seeded(self.wishes.seed, "schedule"))

    def schedule_of_answers(self, answers: tuple[int, ...]) -> Trace:
        """Meetings until every owner has given its answers."""
        return self.wishes.trace or until_spent(self.probabilities, answers, seeded(self.wishes.seed, "schedule"))


def outline(dictionary: Dictionary, public: Sample | None, sizes: tuple[int, ...], wishes: TrainingSpec) -> Outline:
    """Check the wishes and work out what every rule starts from."""
    require_one_each(wishes, len(sizes))
    require_sensible(wishes)
    loss = choose(wishes.loss, wishes.threshold if wishes.loss == "huber" else 0.0)
    probabilities = tuple(availability(wishes.rates or [1.0] * len(sizes)).tolist())
    model = None if public is None else public_model(loss, wishes.regularization, public)
    return Outline(dictionary, public, sizes, wishes, probabilities, loss, model)


def design(intake: Intake, wishes: TrainingSpec) -> TrainingPlan:
    """Work out a study of these owners."""
    sizes = tuple(owner.sample.records for owner in intake.owners)
    return design_ahead(intake.dictionary, intake.public, sizes, wishes)


def design_ahead(
    dictionary: Dictionary, public: Sample | None, sizes: tuple[int, ...], wishes: TrainingSpec
) -> TrainingPlan:
    """Work out a study of owners that are known by their sizes only."""
    return design_candidates(dictionary, public, sizes, wishes)[0]


def design_candidates(
    dictionary: Dictionary, public: Sample | None, sizes: tuple[int, ...], wishes: TrainingSpec
) -> list[TrainingPlan]:
    """The studies that the wishes leave to choose from, the least expected cost first."""
    from copriv.planning.candidates import DESIGNS, design_all
    from copriv.planning.outside import design_outside

    found = outline(dictionary, public, sizes, wishes)
    if wishes.rule == "auto":
        return design_all(found)
    entry = resolve(wishes.rule)
    return [DESIGNS[entry.name](found) if entry.name in DESIGNS else design_outside(found, entry)]
