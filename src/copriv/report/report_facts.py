"""report.json: what may be passed on of a run beside its model, its privacy statement and its schedule.

Everything here follows from owners' noisy answers, from public rows, or from the terms: nothing in it is measured on
records. report.html is drawn from this, model.json and privacy.json, and from nothing else.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from copriv.forecast.foresight import Foreseen
from copriv.learner.validation import Validation
from copriv.planning.expected_quality import ExpectedQuality
from copriv.report.timeline import Timeline

FORMAT = 1


class Judged(msgspec.Struct):
    """The average loss that owners were paid to tell, and how far the noise may have moved it."""

    average_loss: float
    standard_error: float
    owners: int
    records: int


class Predicted(msgspec.Struct, frozen=True):
    """The ψ that was forecast before anybody was asked, where it should lie, and what that does not cover.

    Args:
        relative_fitness: ψ that is expected.
        interval: where it lies with a probability of 95 %, if the public rows fit.
        elsewhere: the same if the public rows come from elsewhere.
        caveats: what the forecast leaves out.
    """

    relative_fitness: float
    interval: tuple[float, float] | None = None
    elsewhere: tuple[float, float] | None = None
    caveats: tuple[str, ...] = ()


Unit: TypeAlias = Literal["target", "log-odds", "logarithm", "share"]


class Converging(msgspec.Struct, frozen=True):
    """How far the model still was from the final one: meeting and distance.

    The distance is the root mean square difference of predictions for public rows (in the target's unit, in
    log-odds, or in logarithms of an expectation); without public rows, that of the model's numbers as a share of
    their length.
    """

    points: list[tuple[int, float]]
    unit: Unit


class ReportFacts(msgspec.Struct, kw_only=True):
    """What report.html tells beside the model and the privacy statement.

    Args:
        network: whether owners were elsewhere.
        predicted: the forecast before the first answer, if there was one.
        foreseen: what was expected on the way, from the answers.
        quality: figures to be expected on new records.
        evaluation: what owners were paid to tell of their average loss.
        validation: what they were paid to tell of records that were held back from training.
        converging: how the model came to rest.
        timeline: who answered when.
        refused: why meetings came to nothing, and how often.
        few_rows: that public rows are few, if so.
        command: the command line that asks for the same; files by their names only.
        python: the same from Python.
    """

    network: bool
    timeline: Timeline | None = None
    predicted: Predicted | None = None
    foreseen: list[Foreseen] = []
    quality: ExpectedQuality | None = None
    evaluation: Judged | None = None
    validation: Validation | None = None
    converging: Converging | None = None
    refused: dict[str, int] = {}
    few_rows: str | None = None
    command: str = ""
    python: str = ""
    format: int = FORMAT

    @property
    def relative_fitness(self) -> float | None:
        """ψ as it is expected after the last answer, else before the first; None where nothing is."""
        if self.foreseen:
            return self.foreseen[-1].relative_fitness
        return None if self.predicted is None else self.predicted.relative_fitness
