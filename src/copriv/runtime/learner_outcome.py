"""What a study with owners elsewhere has come to, and who writes it down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from copriv.forecast.foresight import Foreseen
from copriv.forecast.model_errors import Errors
from copriv.forecast.one_step import Unshrunk
from copriv.learner.checkpoint import Entry, Expelled
from copriv.learner.evaluation import Evaluation
from copriv.learner.roster import Roster
from copriv.learner.validation import Validation
from copriv.protocol.study_file import StudyFile
from copriv.protocol.terms import Terms
from copriv.records.dictionary import Dictionary
from copriv.schedule.trace import Trace
from copriv.vectors import FloatArray

Written = TypeVar("Written")


@dataclass(frozen=True, slots=True)
class JointRun:
    """A finished study, before it is told; the roster has those that are left, the log every meeting.

    `predicted` is ψ if the public rows fit, `foreseen` what is expected after the last answer, of rules that tell.
    """

    study: StudyFile
    roster: Roster
    expelled: Sequence[Expelled]
    log: Sequence[Entry]
    model: FloatArray
    evaluation: Evaluation | None
    evaluated: Mapping[str, int]
    seconds: float
    folder: Path
    errors: Errors = "this run was not asked how far off its model may be"
    unshrunk: Unshrunk = "this run was not asked for coefficients that are not drawn towards the public rows"
    predicted: float | None = None
    foreseen: tuple[Foreseen, ...] = ()
    validation: Validation | None = None

    @property
    def terms(self) -> Terms:
        """The study's terms."""
        return self.study.terms

    def dictionary(self) -> Dictionary:
        """The study's dictionary."""
        return Dictionary.from_study(self.study.dictionary)

    def meetings(self) -> list[Entry]:
        """The meetings with those that are left."""
        return [entry for entry in self.log if entry.owner in self.roster.names]

    def refusals(self) -> list[str]:
        """Why meetings came to nothing."""
        return [entry.outcome for entry in self.log if entry.outcome != "answer"]

    def trace(self) -> Trace:
        """Who was met when, of those that are left: the schedule that another run may replay."""
        places = {name: place for place, name in enumerate(self.roster.names)}
        meetings = self.meetings()
        met = [places[entry.owner] for entry in meetings]
        return Trace.of([entry.time for entry in meetings], met, owners=len(places))

    def taken_out(self) -> dict[str, int]:
        """How many answers of each expelled owner were taken out; none of one that lied in the evaluation only."""
        given = Counter(entry.owner for entry in self.log if entry.outcome == "answer")
        return {out.owner: given[out.owner] if out.number else 0 for out in self.expelled}


@dataclass(frozen=True, slots=True)
class Kept(Generic[Written]):
    """A finished run as it was written: the report, the model, and who was expelled from it."""

    report: Written
    model: tuple[float, ...]
    expelled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Archive(Generic[Written]):
    """How a finished run is written to its folder, and read from it again. A server knows nothing of reports."""

    write: Callable[[JointRun], Written]
    read: Callable[[Path], Kept[Written]]
