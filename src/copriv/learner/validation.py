"""What owners' answers about held-back records come to: figures for each owner and over all of them.

Every answer is private already, and what is computed from answers costs nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from copriv.forecast.validation import Chance, Figure, Ruler, Told, read_figures
from copriv.learner.evaluation import mechanism_of
from copriv.privacy.guarantee import NANO
from copriv.protocol.messages import Answer

FIGURES = {
    "auc": "AUC",
    "log_loss": "log-loss",
    "calibration_slope": "calibration slope",
    "observed_expected": "observed/expected",
    "r2": "R²",
    "rmse": "RMSE",
}


class OwnerValidation(msgspec.Struct, frozen=True):
    """What one owner's held-back records say, and what it paid: ε (or ρ, with δ) for any one record, replace-one."""

    owner: str
    figures: dict[str, Figure]
    paid: float
    measure: str


class Validation(msgspec.Struct, frozen=True):
    """What everybody's held-back records say of the model; private, and may be passed on.

    Args:
        figures: over all owners that answered.
        owners: of each of them alone.
        records: about how many records were held back.
        held_back: the share of records that was.
        level: of the intervals.
    """

    figures: dict[str, Figure]
    owners: list[OwnerValidation]
    records: int
    held_back: float
    level: float = 0.95


def combine_validation(
    answers: Sequence[Answer], ruler: Ruler, training: Mapping[str, int], held_back: float, chance: Chance
) -> Validation | None:
    """Figures over all owners that answered, and of each alone; None if nobody has.

    Args:
        answers: to queries of kind "validation" at one model, one an owner.
        ruler: how to read them.
        training: how many records of each owner train.
        held_back: the share of all records that does not.
        chance: of the draws of noise that intervals are read from.
    """
    if not answers:
        return None
    told = [_told(answer, training[answer.owner], held_back) for answer in answers]
    values = np.sum([each.values for each in told], axis=0)
    mechanisms = tuple(mechanism for each in told for mechanism in each.mechanisms)
    records = sum(each.records for each in told)
    return Validation(
        figures=read_figures(ruler, Told(values, mechanisms, records), chance),
        owners=[
            OwnerValidation(answer.owner, read_figures(ruler, each, chance), *_price(answer))
            for answer, each in zip(answers, told, strict=True)
        ],
        records=records,
        held_back=held_back,
    )


def _told(answer: Answer, training: int, held_back: float) -> Told:
    """One owner's answer; how many records it has held back follows from how many train, but for chance."""
    expected = round(training * held_back / (1 - held_back))
    return Told(np.asarray(answer.values), (mechanism_of(answer.release),), max(expected, 1))


def _price(answer: Answer) -> tuple[float, str]:
    return answer.release.nano / NANO, answer.release.measure
