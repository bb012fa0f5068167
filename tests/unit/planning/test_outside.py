"""A rule and a loss of another package are planned and trained like any other: by name, or passed as an object."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses import choose as losses
from copriv.owner.ledger_opening import begin
from copriv.owner.memory_ledger import MemoryLedger
from copriv.planning.from_terms import plan_from_terms
from copriv.planning.outline import draft_outline
from copriv.planning.outside import settle_outside
from copriv.planning.training_plan import design, design_ahead
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.records import lending_like
from copriv.records.load import LoadSpec, load_consortium
from copriv.records.partition import Partition
from copriv.records.target import TargetChoice
from copriv.rules import registry
from copriv.rules.registry import resolve
from copriv.runtime.local import Watch, assemble, measure, run

OUTSIDE = Path(__file__).resolve().parents[2] / "outside"
OWNERS = 3


@pytest.fixture(scope="module")
def intake():
    frame = lending_like.generate(3500, np.random.default_rng(0)).sample(fraction=1, shuffle=True, seed=0)
    partition = Partition(owners=OWNERS, records_per_owner=800)
    return load_consortium(frame.lazy(), LoadSpec(TargetChoice("int_rate"), partition, features=4, public_rows=1000))


@pytest.fixture(autouse=True)
def _installed(monkeypatch):
    monkeypatch.setattr(registry, "_PASSED", {})
    monkeypatch.setattr(losses, "_PASSED", {})
    monkeypatch.syspath_prepend(str(OUTSIDE))


def _wishes(**changes):
    given = {"guarantees": (Guarantee.of(100),) * OWNERS, "seed": 3, "rule": "fading"}
    return TrainingSpec(**(given | changes))


def _ledger(owner, commitment):
    return MemoryLedger(begin(owner.name, "simulated", commitment.calibration.guarantee))


def _psi(intake, study, model):
    samples = [owner.sample for owner in intake.owners]
    return measure(study.terms.objective(), samples, study, Watch(len(study.trace)), model).relative


def _train(intake, study):
    """ψ of a run with seeded noise."""
    consortium = assemble(intake, study, noise="seeded", seed=5, make_ledger=_ledger)
    *_, last = run(consortium, study, "run")
    return _psi(intake, study, study.rule.model(last.state))


def _of_nothing(intake, study):
    """ψ of the model 0."""
    return _psi(intake, study, np.zeros(study.terms.parameters))


def test_a_rule_by_its_name_is_planned_and_learns(intake):
    study = design(intake, _wishes())
    assert (study.terms.rule, study.terms.step, study.terms.kind) == ("fading", 0.5, "gradient")
    assert study.terms.suits(1e-6)
    assert len(study.trace) == 20 * OWNERS
    assert {commitment.calibration.answers for commitment in study.commitments} == {20}
    assert 0 < study.terms.clip < 10
    reached = _train(intake, study)
    assert reached < _of_nothing(intake, study) / 8
    assert 0.7 < reached / study.predicted < 1.4
    assert study.candidate.forecast.caveats


def test_the_study_is_the_same_where_the_learner_sets_it_up_from_the_terms(intake):
    study = design(intake, _wishes())
    again = plan_from_terms(study.terms, intake, _wishes(answers=20))
    assert again.rule == study.rule
    assert again.commitments == study.commitments
    assert len(again.trace) == len(study.trace)


def test_a_rule_that_is_passed_is_planned_alike(intake):
    mine = dataclasses.replace(resolve("fading"), answers=5, step=0.25, clip=0.125)
    study = design(intake, _wishes(rule=mine))
    assert (study.terms.clip, study.terms.step, len(study.trace)) == (0.125, 0.25, 5 * OWNERS)
    asked = design(intake, _wishes(rule=mine, answers=2, clip=0.5, step=0.1))
    assert (asked.terms.clip, asked.terms.step, len(asked.trace)) == (0.5, 0.1, 2 * OWNERS)


def test_a_rule_that_counts_meetings_is_met_for_its_horizon(intake):
    mine = dataclasses.replace(resolve("fading"), counts="meetings")
    study = design(intake, _wishes(rule=mine, horizon=40))
    assert len(study.trace) == 40
    assert all(commitment.calibration.answers < 40 for commitment in study.commitments)


def test_without_public_rows_nothing_is_foretold_and_nothing_is_clipped_tighter_than_proven(intake):
    study = design_ahead(intake.dictionary, None, (800,) * OWNERS, _wishes())
    assert math.isnan(study.predicted)
    assert study.commitments[0].clip < study.terms.clip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": None}, "needs a step"),
        ({"losses": ("logistic",)}, "with the squared loss"),
        ({"needs": frozenset({"public"})}, "without public rows"),
    ],
)
def test_what_a_rule_needs_is_said_before_anything_is_spent(intake, changes, words):
    bare = draft_outline(intake.dictionary, None, (800,) * OWNERS, _wishes())
    with pytest.raises(BadInput, match=words):
        settle_outside(bare, dataclasses.replace(resolve("fading"), **changes))


def test_an_unknown_rule_is_refused(intake):
    with pytest.raises(BadInput, match="'nobody-s' is not known"):
        design(intake, _wishes(rule="nobody-s"))


@pytest.mark.parametrize("rule", ["newton", "averaged", "paper", "fading"])
def test_every_rule_learns_with_a_loss_from_outside(intake, rule):
    study = design(intake, _wishes(rule=rule, loss="smooth-huber", horizon=20, clip=0.5))
    assert study.terms.loss == "smooth-huber"
    assert _train(intake, study) < _of_nothing(intake, study) / 3
