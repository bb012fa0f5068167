"""A joint model of `worth`: planned on public rows, trained with simulated noise, judged on rows held out."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from benchmarks.worth_tables import OWNERS, Split
from copriv.forecast.public_evidence import PublicEvidence
from copriv.losses.optimum import minimise_freely
from copriv.losses.sample import Sample
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.feature_choice import FeatureChoice
from copriv.planning.feature_contest import FeatureContest
from copriv.planning.outline import draft_outline, gather_evidence
from copriv.planning.search import glance
from copriv.planning.training_plan import plan_candidate
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.commitment import Commitment
from copriv.records.cells import read_values
from copriv.records.dictionary import Dictionary, bound_rows, usable_records
from copriv.records.feature_spec import FeatureSpec
from copriv.records.fit_features import PublicRows
from copriv.records.load import Intake, OwnerSample
from copriv.records.public_cells import Fitted
from copriv.records.quality import metrics_of_margins
from copriv.rules.ridge import best_ridge
from copriv.runtime.local import assemble, run
from copriv.vectors import FloatArray


@dataclass(frozen=True, eq=False)
class Features:
    """Some features, everybody's records by them, the rows that are held out, and what the public rows tell."""

    fitted: Fitted
    owners: tuple[Sample, ...]
    held_out: FloatArray
    evidence: PublicEvidence

    @property
    def public(self) -> Sample:
        """The public rows."""
        return self.fitted.public


@dataclass(frozen=True)
class Joint:
    """Figures of a trained model on the rows that are held out, and its mean loss there.

    `explained` is of targets held to the bounds of the dictionary, as a plan predicts it, `error` its standard error as
    the rows that are held out leave it; the others are of those that are the same for every model.
    """

    rule: str
    parameters: int
    psi: float
    figure: float
    loss: float
    explained: float
    error: float


@dataclass(frozen=True)
class Bench:
    """One split with so many public rows; what is fitted on them is fitted once."""

    split: Split
    count: int

    @cached_property
    def rows(self) -> PublicRows:
        """The public rows."""
        return PublicRows(self.split.public(self.count), self.split.table.choice)

    @cached_property
    def contest(self) -> FeatureContest:
        """What is compared for every ε."""
        return FeatureContest(self.rows, self.wishes(1.0))

    @cached_property
    def blocks(self) -> list[pl.DataFrame]:
        """The rows of each owner."""
        return list(self.split.owners(self.count))

    @property
    def sizes(self) -> tuple[int, ...]:
        """n_i of each owner."""
        return tuple(block.height for block in self.blocks)

    def wishes(self, epsilon: float, seed: int = 0, rule: str = "auto") -> TrainingSpec:
        """A pure ε of everybody, and the rule; the rest is left open."""
        guarantees = (Guarantee.of(str(epsilon)),) * OWNERS
        return TrainingSpec(guarantees, seed=seed, rule=rule, loss=self.split.table.loss)

    def choose(self, epsilon: float) -> FeatureChoice:
        """What the plan would take."""
        return self.contest.pick(self.sizes, self.wishes(epsilon))

    @cached_property
    def read(self) -> tuple[FloatArray, FloatArray]:
        """What the columns of cells read of the owners' rows, one owner after another, and of those held out."""
        columns = self.rows.cells.columns
        return read_values(pl.concat(self.blocks), columns), read_values(self.split.held_out, columns)

    def features(self, spec: FeatureSpec) -> Features:
        """Everybody's records."""
        fitted = self.rows.fit(spec)
        dictionary, evidence = fitted.dictionary, gather_evidence(fitted.public, self.wishes(1.0))
        if dictionary.columns != self.rows.cells.columns:
            owners = tuple(Sample.of_rows(*dictionary.records_of(block)) for block in self.blocks)
            return Features(fitted, owners, dictionary.features_of(self.split.held_out), evidence)
        private, held_out = (
            bound_rows(dictionary.scores_of(values), dictionary.length, dictionary.intercept) for values in self.read
        )
        rows, targets = usable_records(private, dictionary.targets_of(pl.concat(self.blocks)))
        ends = np.cumsum((0, *self.sizes))
        owners = tuple(Sample.of_rows(rows[start:end], targets[start:end]) for start, end in pairwise(ends.tolist()))
        return Features(fitted, owners, held_out, evidence)

    def train(self, features: Features, epsilon: float, seed: int, rule: str = "auto") -> Joint:
        """Plan for these features, and train with simulated noise."""
        wishes, dictionary = self.wishes(epsilon, seed, rule), features.fitted.dictionary
        outline = draft_outline(dictionary, features.evidence, self.sizes, wishes)
        study = plan_candidate(outline, glance(outline))
        owners = tuple(OwnerSample(f"owner {k}", sample) for k, sample in enumerate(features.owners))
        intake = Intake(dictionary, features.public, owners, ())
        consortium = assemble(intake, study, noise="seeded", seed=seed, make_ledger=_ledger)
        theta = study.rule.model(study.rule.begin())
        for iteration in run(consortium, study, "worth"):
            theta = study.rule.model(iteration.state)
        figure, loss = self.judge(features, theta)
        targets = dictionary.targets_of(self.split.held_out)
        told, error = self._explained(dictionary, features.held_out @ theta, targets)
        return Joint(study.terms.rule, dictionary.parameters, study.predicted, figure, loss, told, error)

    def _explained(self, dictionary: Dictionary, margins: FloatArray, targets: FloatArray) -> tuple[float, float]:
        """R², or of labels the log-loss explained, and its standard error."""
        found = metrics_of_margins(dictionary.target, margins, targets).explained or 0.0
        labels = self.split.table.labels
        losses = np.logaddexp(0, -targets * margins) if labels else (margins - targets) ** 2
        return found, float(losses.std(ddof=1) / np.sqrt(losses.size) / losses.mean()) * (1 - found)

    def public_model(self, features: Features) -> tuple[float, float]:
        """Figure and loss of the public rows alone in the same features, with the ridge that they want."""
        objective = features.evidence.objective
        ridge = best_ridge(features.public, objective)
        return self.judge(features, minimise_freely(objective.loss, ridge, features.public))

    def judge(self, features: Features, theta: FloatArray) -> tuple[float, float]:
        """Figure and mean loss of a model on the rows that are held out."""
        margins, truth, target = features.held_out @ theta, self.split.truth, features.fitted.dictionary.target
        if self.split.table.labels:
            return self.split.figure(margins), float(np.mean(np.logaddexp(0, -truth * margins)))
        predictions = target.restore(margins)
        return self.split.figure(predictions), float(np.mean((predictions - truth) ** 2) / np.var(truth))


def _ledger(owner: OwnerSample, commitment: Commitment) -> MemoryLedger:
    calibration = commitment.calibration
    return MemoryLedger(begin(owner.name, "simulated", calibration.guarantee, calibration.accountant))
