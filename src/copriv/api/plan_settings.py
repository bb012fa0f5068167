"""What `forecast`, `plan` and `verdict` may be told beside the scenario, and the public rows as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict

import polars as pl

from copriv.api.tables import Table, as_lazy, as_path
from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.learner.public_rows import public_rows_beside, read_sample
from copriv.losses.choose import loss_name
from copriv.losses.metrics import Metrics
from copriv.losses.outside import OutsideLoss
from copriv.losses.sample import Sample
from copriv.owner.registry import Registry
from copriv.owner.registry_store import default_folder
from copriv.planning.default_features import features_for
from copriv.planning.expected_quality import ExpectedQuality, cross_validate, expect_quality, folds_of_sample
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.feature_contest import FeatureContest
from copriv.planning.feature_trade import Traded, public_distance, trade
from copriv.planning.few_rows import are_too_few
from copriv.planning.from_terms import settled_by
from copriv.planning.outline import Outline, Study, evidence_for, gather_evidence, outline_of, wishes_in
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import RuleChoice, TrainingSpec, require_sensible
from copriv.protocol.public_summary import PublicSummary, summarise
from copriv.protocol.study_file import read_study
from copriv.protocol.terms import Terms
from copriv.protocol.unit import PersonUnit
from copriv.records.dictionary import ROW_NORM, Dictionary
from copriv.records.feature_spec import FeatureSpec
from copriv.records.file_format import FileFormat, parse_format
from copriv.records.fit_features import PublicRows
from copriv.records.load import collect_public, load_public
from copriv.records.load_notices import about_public
from copriv.records.people import PersonChoice, choose_people
from copriv.records.table import open_table, require_columns
from copriv.records.target import OF_TARGET, TargetChoice
from copriv.rules.paper import CentralStep


class PlanSettings(TypedDict, total=False):
    """What is settled beforehand; all else is for the search to choose.

    Keys:
        skip: columns to leave out, such as one that gives the target away.
        features: which features: auto (the default: the plan chooses), a number of principal components, pls:10, all …
        ordinal: number the sorted categories of a text target 1, 2, 3 …
        positive_above: for the logistic loss, targets above this are positive.
        positive: for the logistic loss, the category that is positive, against all others.
        exposure: for the Poisson and Gamma loss, the column that says how long or among how many.
        offset: the same, if the column has its logarithm.
        rule: auto, newton, statistics, averaged, paper, or one from outside: its name or its entry.
        loss: squared, huber (with `huber_threshold`), logistic, or one from outside: its name or the loss.
        horizon, step, rho, central: of Algorithm 1; `step` also of averaged steps.
        clip, answers, regularization, box: instead of what the search would choose.
        validate: the part of every budget that validates the model on records held back from training (0: none).
        held_back: the share of every owner's records that is held back for that (0.2).
        seed: of simulated runs on public rows (0).
        study: a study.toml whose features and terms are agreed.
        encoding, delimiter, decimal, dates: how files are written, where names and headers do not tell.
        person: the column that says whose a row is, if a person is protected as one; public rows may have it, too.
        rows_cap: the most rows of a person that count.
        weigh: person (the default: people weigh alike) or row.
    """

    skip: Sequence[str]
    features: int | str
    ordinal: bool
    positive_above: float | None
    positive: str | None
    exposure: str | None
    offset: str | None
    rule: RuleChoice
    loss: str | OutsideLoss
    huber_threshold: float
    horizon: int
    step: float | None
    rho: float | None
    central: Literal["proof", "printed"]
    clip: float | None
    answers: int | None
    regularization: float
    box: float | None
    validate: float
    held_back: float
    seed: int
    study: str | Path | None
    encoding: str | None
    delimiter: str | None
    decimal: str | None
    dates: str | None
    person: str | None
    rows_cap: int | None
    weigh: Literal["person", "row"] | None


_ELSEWHERE = {"huber_threshold": "threshold", "box": "limit"}
_OF_FILES = ("encoding", "delimiter", "decimal", "dates")
_OF_PEOPLE = ("person", "rows_cap", "weigh")
_OF_READING = ("skip", "features", *OF_TARGET, "study", *_OF_FILES, *_OF_PEOPLE)


@dataclass(frozen=True, slots=True)
class PublicStudy:
    """Public rows as numbers, the features they are reduced to, and what is settled."""

    dictionary: Dictionary
    evidence: PublicEvidence
    spec: TrainingSpec
    agreed: Terms | None
    notices: tuple[str, ...]
    choice: FeatureChoice | None = None
    rows: PublicRows | None = None
    features: FeatureSpec | None = None
    contest: FeatureContest | None = None
    figures: Metrics | None = None

    def ready(self) -> PublicStudy:
        """The same with the public model cross-validated once, for whoever asks about one scenario after another."""
        return self if are_too_few(self.evidence.sample) else replace(self, figures=self._public_figures())

    @property
    def person(self) -> PersonUnit | None:
        """Who is protected, if a record is a person."""
        return self.spec.person if self.agreed is None else self.agreed.people

    @property
    def study(self) -> Study:
        """The features, and the terms if they are agreed."""
        return Study(self.dictionary, self.agreed)

    def summary(self) -> PublicSummary | None:
        """What owners are told of the public rows, to compare their own with; None if there are too few."""
        known = self.evidence
        return summarise(known.sample, known.objective, known.start, ROW_NORM)

    def quality(self, scenario: Scenario, joint: float) -> ExpectedQuality | None:
        """What models should be worth on new records, if ψ of the joint one is this; None if rows are too few."""
        if are_too_few(self.evidence.sample):
            return None
        public, view = self._public_figures(), self.evidence.view
        if public is None:
            return None
        own = view.median_alone(scenario.records, scenario.heterogeneity)
        counted = None if self.choice is None else public_distance(self.choice.taken)
        return expect_quality(public, view.public_model(scenario.total) if counted is None else counted, joint, own)

    def trade(self, scenario: Scenario) -> tuple[Traded, ...]:
        """What features cost and bring, for the owners of a scenario and with less ε; nothing if they were named."""
        if self.choice is None or self.contest is None:
            return ()
        return trade(self.contest, self.choice, scenario, self.spec)

    def _public_figures(self) -> Metrics | None:
        """Of the public model, cross-validated: with features fitted anew in each fold, if a target has shaped them.

        The rows of a study have their features already.
        """
        if self.figures is not None:
            return self.figures
        if self.choice is not None:
            return self.choice.taken.public
        parts = folds_of_sample(self.evidence.sample)
        if self.rows is not None and self.features is not None and not self.features.codes:
            parts = self.rows.folds(self.features)
        return cross_validate(parts, self.evidence, self.dictionary.target)

    def outline(self, scenario: Scenario) -> Outline:
        """Where the search for owners of a scenario starts from."""
        return outline_of(scenario, self.evidence, self.spec, self.study)


def read_public(
    public: Table, target: str | None, settings: PlanSettings, scenario: Scenario | None = None
) -> PublicStudy:
    """The public rows, reduced by features that are fitted on them, or by those of a study.

    Features that are left open (`auto`) are chosen for the owners of the scenario.
    """
    spec = spec_of(settings)
    if settings.get("study") is not None:
        return _read_under_study(public, target, settings, spec)
    if public is None or target is None:
        missing = "public rows" if public is None else "a target"
        raise BadInput(f"there is no study, and so no forecast without {missing}", remedy=f"give {missing}, or a study")
    table, skip = open_public(public, settings), tuple(settings.get("skip") or ())
    require_columns(table, skip)
    said = {name: settings[name] for name in OF_TARGET if settings.get(name) is not None}  # type: ignore[literal-required]
    choice = TargetChoice.for_loss(spec.loss, target, **said)
    rows = collect_public(table, choice, skip=skip, person=people_of(settings))
    spec = replace(spec, person=rows.person)
    wanted = FeatureSpec.parse(features_for(settings.get("features"), spec.meant_rule))
    found, contest = None, None
    if wanted.auto and scenario is not None:
        wishes = wishes_in(scenario, spec)
        contest = FeatureContest(rows, wishes)
        found = contest.choose(scenario.records, wishes)
    features = wanted if found is None else found.taken.spec
    fitted = rows.fit(features)
    notices = (*(() if found is None else found.notices), *about_public(fitted, features, rows))
    evidence = gather_evidence(fitted.public, spec)
    return PublicStudy(fitted.dictionary, evidence, spec, None, notices, found, rows, features, contest)


def spec_of(settings: PlanSettings) -> TrainingSpec:
    """What is settled, as the search has it; whose it is comes with the scenario."""
    values: dict[str, Any] = {
        _ELSEWHERE.get(name, name): value for name, value in settings.items() if name not in _OF_READING
    }
    if "loss" in values:
        values["loss"] = loss_name(values["loss"])
    if "central" in values:
        values["central"] = CentralStep(values["central"])
    spec = TrainingSpec(**({"guarantees": (), "rule": "auto"} | values))
    require_sensible(spec)
    if settings.get("positive_above") is not None and spec.loss != "logistic":
        raise BadInput(
            "--positive-above makes labels of the target, which only the logistic loss uses",
            remedy="add --loss logistic, or leave it out",
            value=settings["positive_above"],
        )
    return spec


def people_of(settings: PlanSettings) -> PersonChoice | None:
    """Who is protected, if a record is a person."""
    return choose_people(settings.get("person"), settings.get("rows_cap"), settings.get("weigh"))


def format_of(settings: PlanSettings) -> FileFormat:
    """How files are written, where their names, first bytes and headers do not tell."""
    return parse_format(
        encoding=settings.get("encoding"),
        delimiter=settings.get("delimiter"),
        decimal=settings.get("decimal"),
        dates=settings.get("dates"),
    )


def open_public(source: Table, settings: PlanSettings) -> pl.LazyFrame:
    """The table of public rows; the very file of a known dataset is refused unread. Nothing is noted."""
    path, form = as_path(source), format_of(settings)
    if path is None:
        return as_lazy(source, form)
    if path.is_file() and (default_folder() / "registry.sqlite").is_file():
        with Registry() as registry:
            known = registry.known_file(registry.fingerprint(path))
        if known is not None and known.dataset is not None:
            raise BadInput(
                f"{path} is a file of private records",
                remedy="give a file of public rows; rows once private stay private",
                value=str(path),
            )
    return open_table(path, form)


def _read_under_study(public: Table, target: str | None, settings: PlanSettings, spec: TrainingSpec) -> PublicStudy:
    """With the features, rule, clip, step and answers that are agreed."""
    path = Path(str(settings["study"]))
    if not path.is_file():
        raise BadInput(
            f"there is no study file {path}", remedy="give one that `copriv plan` has written", value=str(path)
        )
    file = read_study(path.read_text(encoding="utf-8"))
    dictionary = Dictionary.from_study(file.dictionary)
    _require_agreement(file.terms, dictionary, settings, target)
    sample = _rows_of_study(public, path, _HowRead(dictionary, file.terms.people), settings)
    return PublicStudy(dictionary, evidence_for(file.terms, sample), spec, file.terms, ())


class _HowRead(NamedTuple):
    """How the rows of a study become records."""

    dictionary: Dictionary
    person: PersonUnit | None


def _rows_of_study(public: Table, study: Path, how: _HowRead, settings: PlanSettings) -> Sample:
    """The given rows, or those that were kept beside the study file."""
    if public is not None:
        return load_public(open_public(public, settings), *how)
    kept = public_rows_beside(study)
    if not kept.is_file():
        raise BadInput(f"no public rows, and no {kept} beside the study", remedy="give public rows", value=str(kept))
    return read_sample(kept.read_bytes())


def _require_agreement(terms: Terms, dictionary: Dictionary, settings: PlanSettings, target: str | None) -> None:
    """Refuse a setting that says something else than the study."""
    given: dict[str, object] = {**settings, "target": target}
    for name, value in settled_by(terms, dictionary).items():
        # A number of features may be written as text.
        if given.get(name) is not None and given[name] != value and str(given[name]) != str(value):
            option = f"--{name.replace('_', '-')}"
            raise BadInput(
                f"{option} is {given[name]}, and the study says {value}",
                remedy=f"leave {option} out, or plan another study",
                value=given[name],
            )
    for name in ("skip", *OF_TARGET, "rho"):
        if given.get(name):
            raise BadInput(f"{name} is given, and the study settles it", remedy="leave it out", value=str(given[name]))
