"""`plan`: from public rows to a study: features, rule, mechanism, answers, clip, step and what they should cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import msgspec
import numpy as np
import polars as pl

from copriv.api.model import Model
from copriv.api.plan_settings import PlanSettings, PublicStudy, read_public
from copriv.api.settings import require_known
from copriv.api.tables import Table, as_path
from copriv.errors import BadInput
from copriv.learner.public_rows import public_rows_beside, write_sample
from copriv.losses.passes import record_values
from copriv.losses.sample import Sample
from copriv.planning.candidate import Candidate
from copriv.planning.expected_quality import ExpectedQuality
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.feature_trade import Traded
from copriv.planning.months import Lifetime, plan_months
from copriv.planning.outline import Study, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import choose, glance, rank
from copriv.privacy.weakness import weakness_of
from copriv.protocol.public_summary import PublicSummary
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.protocol.terms import Clock, Meeting, Terms
from copriv.protocol.text import plain
from copriv.records.dictionary import Dictionary
from copriv.report.lifetime import lifetime_as_dict
from copriv.report.months_file import MonthsFile, carry_models, months_beside, write_months
from copriv.report.plan_report import Worth, candidates_as_html


class StudySettings(PlanSettings, total=False):
    """What is settled beforehand, and what else a study says.

    Keys:
        name: what people call the study.
        learner: who asks, as owners will read it.
        meeting: who speaks first: owners `request`, or the learner does a `broadcast`.
        clock: owners are there `always`, or have `poisson` clocks.
        evaluations: how often an owner may be asked for its average loss (0).
        evaluation_share: the part of every budget that is set aside for that (0.1).
        months: plan so many monthly retrainings: the scenario then has the records that arrive at an owner in a month,
            and what it promises about any one of them in all.
        window: of them, how many read a block of arrival; what should cost least if not given.
        keep: the weight of a month's model falls to this part of itself every month (1: months are alike).
    """

    name: str
    learner: str
    meeting: Meeting
    clock: Clock
    evaluations: int
    evaluation_share: float
    months: int
    window: int
    keep: float


_OF_STUDY = frozenset(StudySettings.__annotations__) - frozenset(PlanSettings.__annotations__)


@dataclass(frozen=True)
class Plan:
    """Ways to train, ranked by what they should cost, and the study of the first; made by `plan`.

    Args:
        scenario: who would train.
        candidates: every way that was thought of; the first is taken.
        terms: what learner and owners will agree on.
        dictionary: how records become features.
        public: the public rows, as numbers.
        summary: what owners are told of them, to compare their own with; None if there are too few.
        features: which features were compared, and why these were taken; None if they were named.
        quality: what models should be worth on new records; None if public rows are too few to tell.
        trade: what features cost and bring, if some were compared.
        lifetime: the retrainings month by month, if so many were asked for; `scenario` is then that of one of them.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> plan(table, Scenario([2000] * 4), target="rate", rule="newton", features=1).terms.rule
    'newton'
    """

    scenario: Scenario
    candidates: tuple[Candidate, ...]
    terms: Terms
    dictionary: Dictionary
    public: Sample
    summary: PublicSummary | None = None
    features: FeatureChoice | None = None
    quality: ExpectedQuality | None = None
    trade: tuple[Traded, ...] = ()
    lifetime: Lifetime | None = None

    @property
    def worth(self) -> Worth:
        """What models and features should be worth."""
        return Worth(self.quality, self.features, self.trade)

    @property
    def best(self) -> Candidate:
        """The one that is taken."""
        return self.candidates[0]

    @property
    def predicted(self) -> float:
        """ψ to be expected of it."""
        return self.best.forecast.relative_fitness

    @property
    def weakness(self) -> str | None:
        """What makes the promise a weak one, if anything does."""
        largest = max(self.best.setting.guarantees)
        return weakness_of(largest.epsilon, largest.delta, min(self.scenario.records))

    def carry(self, models: Sequence[Model]) -> Model:
        """The models of the months so far as one, by the weights of the plan. Models are public: it costs no ε.

        Args:
            models: of the first months, the oldest first; all of them trained with the features of this plan.

        Raises:
            BadInput: months were not planned, or the models are not theirs.
        """
        months = MonthsFile((), 1.0, 1.0, 1.0) if self.lifetime is None else MonthsFile.of(self.lifetime)
        return Model(carry_models([model.file for model in models], months, self.dictionary))

    def save(self, path: str | Path) -> Path:
        """Write the study file and, beside it, the public rows, for the learner alone, and months if there are any.

        Nothing is overwritten.
        """
        place = Path(path)
        require_new_study(place)
        with place.open("x", encoding="utf-8") as output:
            output.write(write_study(StudyFile(self.terms, msgspec.to_builtins(self.dictionary), self.summary)))
        public_rows_beside(place).write_bytes(write_sample(self.public))
        if self.lifetime is not None:
            write_months(MonthsFile.of(self.lifetime), place)
        return place

    def to_dict(self) -> dict[str, Any]:
        """The terms, what is predicted, and every candidate, as plain values."""
        about = {"terms": self.terms.digest(), "predicted": self.predicted, "weakness": self.weakness}
        shown = [candidate.to_dict() for candidate in self.candidates]
        quality = {"quality": msgspec.to_builtins(self.quality)}
        chosen = {} if self.features is None else {"feature_choice": self.features.to_dict()}
        if self.trade:
            chosen["trade"] = msgspec.to_builtins(self.trade)
        if self.lifetime is not None:
            chosen["lifetime"] = lifetime_as_dict(self.lifetime, self.terms.unit_words)
        found: dict[str, Any] = about | msgspec.to_builtins(self.terms) | {"candidates": shown} | quality | chosen
        return found

    def to_polars(self) -> pl.DataFrame:
        """One row a candidate."""
        rows = [candidate.to_dict() for candidate in self.candidates]
        for row in rows:
            row["low"], row["high"] = row.pop("interval")
            row["smallest_epsilon"], row["epsilon"] = row.pop("epsilon")
        return pl.DataFrame(rows)

    def _repr_html_(self) -> str:
        return candidates_as_html(self.candidates, self.scenario, self.worth)


def plan(public: Table, scenario: Scenario, *, target: str | None = None, **settings: Unpack[StudySettings]) -> Plan:
    """Work out a study from public rows. No private record is looked at.

    Args:
        public: public rows: a path, or a polars, pandas or Arrow table.
        scenario: who would train, and what each promises.
        target: the column to predict.
        **settings: see `StudySettings`: what is settled beforehand, and what else the study says.

    Raises:
        BadInput: a setting makes no sense, or the public rows cannot be read.

    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [25, 31, 47, 61, 38] * 40, "rate": [9.5, 8.2, 7.4, 5.1, 8.0] * 40})
    >>> found = plan(table, Scenario(records=[2000] * 4, epsilon=1.0), target="rate", rule="newton", features=1)
    >>> found.best.rule, found.predicted < 1
    ('newton', True)
    """
    require_known(settings, StudySettings, "plan")
    if settings.get("study") is not None:
        raise BadInput("a plan under a study that is agreed", remedy="ask forecast about it", value=settings["study"])
    settled: Any = {name: value for name, value in settings.items() if name not in _OF_STUDY}
    known = read_public(public, target, settled, scenario)
    lifetime = _lifetime(known, scenario, settings)
    scenario = scenario if lifetime is None else lifetime.study
    candidates = rank(known.outline(scenario), with_pure=lifetime is None)
    summary = known.summary()
    terms = _terms(known, scenario, candidates[0], settings, public)
    if summary is not None:
        terms = msgspec.structs.replace(terms, summary=dictionary_digest(summary))
    if terms.evaluations:
        candidates = (_with_evaluations(known, terms, candidates[0], scenario), *candidates[1:])
    quality, traded = known.quality(scenario, candidates[0].relative_fitness), known.trade(scenario)
    sample = known.evidence.sample
    return Plan(scenario, candidates, terms, known.dictionary, sample, summary, known.choice, quality, traded, lifetime)


def _lifetime(known: PublicStudy, scenario: Scenario, settings: StudySettings) -> Lifetime | None:
    """The retrainings of so many months, if they are asked for."""
    if "months" not in settings:
        if "window" in settings or "keep" in settings:
            raise BadInput("a window without months", remedy="say how many months: months=24, --months 24")
        return None

    def predict(asked: Scenario) -> float:
        return glance(known.outline(asked), with_pure=False).relative_fitness

    window, keep = settings.get("window"), settings.get("keep", 1.0)
    return plan_months(predict, known.evidence.view.public_model, scenario, settings["months"], window, keep)


def require_new_study(path: Path) -> None:
    """Refuse a place where a study, its public rows or its months are already."""
    for place in (path, public_rows_beside(path), months_beside(path)):
        if place.exists():
            raise BadInput(
                f"{place} exists, and a study file is never overwritten",
                remedy="choose another --out, or remove it yourself",
                value=str(place),
            )


def _terms(
    known: PublicStudy, scenario: Scenario, candidate: Candidate, settings: StudySettings, public: Table
) -> Terms:
    """Of the candidate, with what else the study says; where owners differ, each brings its own."""
    setting, path = candidate.setting, as_path(public)
    epsilons, answers = {each.epsilon for each in setting.guarantees}, set(setting.answers)
    terms = msgspec.structs.replace(
        setting.terms,
        name=settings.get("name", "study"),
        records=max(scenario.records),
        answers=answers.pop() if len(answers) == 1 else 0,
        epsilon=epsilons.pop() if len(epsilons) == 1 else 0.0,
        delta=setting.guarantees[0].delta,
        meeting=settings.get("meeting", "request"),
        clock=settings.get("clock", "always"),
        learner=settings.get("learner", ""),
        public_rows=known.evidence.sample.rows,
        public_source="a table in memory" if path is None else plain(path.name),
    )
    if not settings.get("evaluations"):
        return terms
    objective = terms.objective()
    losses = record_values(objective.loss, known.evidence.sample, known.evidence.start)
    return msgspec.structs.replace(
        terms,
        evaluations=settings["evaluations"],
        evaluation_share=settings.get("evaluation_share", 0.1),
        loss_bound=float(np.max(losses)),
    )


def _with_evaluations(known: PublicStudy, terms: Terms, candidate: Candidate, scenario: Scenario) -> Candidate:
    """The same under the final terms, which leave less of the budget to training."""
    delta = candidate.setting.guarantees[0].delta
    given = scenario if delta == scenario.delta else scenario.purely()
    return choose(outline_of(given, known.evidence, known.spec, Study(known.dictionary, terms)))
