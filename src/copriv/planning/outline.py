"""What is known before a rule is chosen: public rows (if any), owners' sizes and promises, and what is settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from copriv.errors import BadInput
from copriv.forecast.public_evidence import PublicEvidence
from copriv.forecast.setting import Setting
from copriv.forecast.validation_cost import draw_grid
from copriv.losses.choose import choose
from copriv.losses.logistic import LogisticLoss
from copriv.losses.loss import Loss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.losses.turned import turn
from copriv.losses.validation import shape_for
from copriv.planning.few_rows import require_more_rows
from copriv.planning.scenario import Scenario
from copriv.planning.training_spec import TrainingSpec, require_one_each, require_sensible
from copriv.planning.tuning import choose_limit
from copriv.privacy.calibration import mechanism_norm
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.study_file import dictionary_digest
from copriv.protocol.terms import Terms
from copriv.records.dictionary import ROW_NORM, TARGET_BOUND, Dictionary
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.rules.room import choose_fill
from copriv.schedule.poisson import availability
from copriv.vectors import Axes, Norm

_WIDEST_BOX = 10.0
_NO_DICTIONARY = "0"


@dataclass(frozen=True, slots=True)
class Study:
    """The features that a study will have, and the terms that are agreed already, if they are known."""

    dictionary: Dictionary | None = None
    terms: Terms | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """Where a search starts from.

    Args:
        spec: what the user has settled.
        records: n_i of each owner.
        parameters: length of a model.
        evidence: of the public rows, if there are any.
        dictionary: the features, if they are known.
        agreed: terms that settle everything.
        loss: what a mistake costs.
        norm: in which gradients are clipped.
        gaussian: whether noise is Gaussian.
        validation: what terms say about validation.
    """

    spec: TrainingSpec
    records: tuple[int, ...]
    parameters: int
    evidence: PublicEvidence | None
    dictionary: Dictionary | None = None
    agreed: Terms | None = None

    loss: Loss = field(init=False)
    norm: Norm = field(init=False)
    gaussian: bool = field(init=False)
    validation: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        spec, evidence = self.spec, self.evidence
        derived = {
            "loss": loss_of(spec) if evidence is None else evidence.objective.loss,
            "norm": mechanism_norm(spec.guarantees[0]),
            "gaussian": not spec.guarantees[0].pure,
            "validation": validation_terms(spec, evidence) if self.agreed is None else {},
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """γ_i of each owner."""
        return tuple(availability(self.spec.rates or (1.0,) * len(self.records)).tolist())

    def require_public(self, rule: str) -> PublicEvidence:
        """What the public rows say, which this rule cannot do without: more of them than numbers in a model."""
        if self.evidence is None:
            raise BadInput(
                f"the rule {rule!r} without public rows",
                remedy="give public rows, or --rule statistics, or --rule averaged with --step and --clip",
                value=rule,
            )
        require_more_rows(self.evidence.sample, rule)
        return self.evidence

    def setting(self, rule: str, answers: tuple[int, ...], *, clip: float, step: float, horizon: int = 0) -> Setting:
        """A rule for these owners: its terms, and what each promises; without a horizon, until all have answered.

        A rule that chooses has its menu, unless the user has settled how many answers there are.
        """
        spec, meetings = self.spec, horizon or self.meetings(answers)
        entry = resolve(rule)
        menu = entry.has_menu(self.parameters, spec.answers)
        axes = self._axes(entry) if menu else ()
        terms = Terms(
            loss=self.loss.name,
            threshold=self.loss.threshold,
            parameters=self.parameters,
            regularization=spec.regularization,
            limit=spec.limit or (_WIDEST_BOX if self.evidence is None else self.evidence.objective.limit),
            clip=clip,
            row_norm=ROW_NORM,
            target_bound=TARGET_BOUND,
            rule=rule,
            asks=entry.asks,
            mechanisms="any" if entry.any_noise else "asked",
            horizon=meetings,
            step=step,
            central=spec.central.value,
            shares=entry.shares if menu else (),
            kinds=self._kinds(entry) if menu else (),
            fill=self._fill(entry, clip, axes) if menu else 0.0,
            axes=axes,
            dictionary=_NO_DICTIONARY if self.dictionary is None else dictionary_digest(self.dictionary),
            **({} if spec.person is None else spec.person.in_terms()),
            **self.validation,
        )
        return Setting(terms, self.records, spec.guarantees, answers, spec.accountant, spec.rates, spec.heterogeneity)

    def _kinds(self, entry: RuleEntry) -> tuple[str, ...]:
        """What is on a rule's menu: of labels more, where a record is a row and public rows can get other labels."""
        labels = self.loss.name == LogisticLoss.name and self.spec.person is None and self.evidence is not None
        return (entry.kinds_of_labels if labels else ()) or entry.kinds

    def _axes(self, entry: RuleEntry) -> Axes:
        """Along which gradients are told, if the rule can read that; a user's own clip is one along the features."""
        known = self.evidence
        if not entry.turns or known is None or self.spec.person is not None or self.spec.clip is not None:
            return ()
        return known.axes(self.norm)

    def _fill(self, entry: RuleEntry, clip: float, axes: Axes) -> float:
        """How gradients are filled, if the rule can read that and a record is a row."""
        known = self.evidence
        if not entry.fills or known is None or self.spec.person is not None:
            return 0.0
        return choose_fill(turn(known.sample, axes), clip, self.norm)

    def meetings(self, answers: tuple[int, ...]) -> int:
        """How many there are until every owner has given its answers."""
        return sum(answers) if self.spec.trace is None else len(self.spec.trace)

    def purely(self) -> Outline:
        """The same with the stronger promise: without δ."""
        guarantees = tuple(Guarantee(guarantee.nano_epsilon) for guarantee in self.spec.guarantees)
        return replace(self, spec=replace(self.spec, guarantees=guarantees))


def validation_terms(spec: TrainingSpec, evidence: PublicEvidence | None) -> dict[str, Any]:
    """What terms say about a validation, by the names that they have for it; nothing if none is wanted."""
    if not spec.validate:
        return {}
    if evidence is None:
        raise BadInput("a validation without public rows", remedy="give public rows: its bins are theirs", value=0)
    grid = draw_grid(shape_for(evidence.objective.loss.name), evidence.sample, evidence.start)
    share, validate = spec.held_back, spec.validate
    return {"held_back": share, "validations": 1, "validation_share": validate, "validation_grid": grid}


def loss_of(spec: TrainingSpec) -> Loss:
    """The loss that is wanted."""
    return choose(spec.loss, spec.threshold if spec.loss == "huber" else 0.0)


def gather_evidence(public: Sample, spec: TrainingSpec) -> PublicEvidence:
    """What public rows say, for the loss, regularizer and box that are wanted; for any number of scenarios."""
    loss = loss_of(spec)
    model = minimise_freely(loss, spec.regularization, public)
    return PublicEvidence(public, Objective(loss, spec.regularization, spec.limit or choose_limit(model)), model)


def evidence_for(terms: Terms, public: Sample) -> PublicEvidence:
    """What public rows say under terms."""
    objective = terms.objective()
    return PublicEvidence(public, objective, minimise_freely(objective.loss, terms.regularization, public))


def wishes_in(scenario: Scenario, spec: TrainingSpec) -> TrainingSpec:
    """What is settled, with what the owners of a scenario promise."""
    return replace(
        spec,
        guarantees=scenario.guarantees,
        rates=None if scenario.rates is None else tuple(scenario.rates),
        accountant=scenario.accountant,
        heterogeneity=scenario.heterogeneity,
    )


def outline_of(scenario: Scenario, evidence: PublicEvidence, spec: TrainingSpec, study: Study | None = None) -> Outline:
    """A search for the owners of a scenario; without a dictionary, one that ends in no study."""
    study, settled = study or Study(), wishes_in(scenario, spec)
    if study.dictionary is not None:
        sizes = training_records(scenario.records, spec, study.terms)
        return replace(draft_outline(study.dictionary, evidence, sizes, settled), agreed=study.terms)
    require_sensible(settled)
    sizes = training_records(scenario.records, spec)
    return Outline(settled, sizes, evidence.sample.parameters, evidence, agreed=study.terms)


def training_records(records: Sequence[int], spec: TrainingSpec, agreed: Terms | None = None) -> tuple[int, ...]:
    """How many records of each owner train, if so many are to be expected."""
    share = (spec.held_back if spec.validate else 0.0) if agreed is None else agreed.held_back
    return tuple(max(round(size * (1 - share)), 1) for size in records)


def draft_outline(
    dictionary: Dictionary, evidence: PublicEvidence | None, records: Sequence[int], spec: TrainingSpec
) -> Outline:
    """Check what is settled, and gather what every rule starts from."""
    require_one_each(spec, len(records))
    require_sensible(spec)
    parameters = dictionary.parameters if evidence is None else evidence.sample.parameters
    return Outline(spec, tuple(records), parameters, evidence, dictionary)
