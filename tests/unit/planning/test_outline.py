"""Of labels of records a study has one kind more on its menu; of people, and of any other target, it has two."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.sample import Sample
from copriv.planning.outline import Outline, gather_evidence, outline_of
from copriv.planning.scenario import Scenario
from copriv.planning.search import rank, work_out
from copriv.planning.training_spec import TrainingSpec
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.menu import MENU_KINDS
from copriv.protocol.unit import PersonUnit
from copriv.rules import newton

SPEC = TrainingSpec(guarantees=(), rule="newton", regularization=1e-4, horizon=60, answers=None)
PEOPLE = [PersonUnit("patient", 5, "person"), PersonUnit("patient", 1, "row")]
LOSSES = ("logistic", "squared", "huber", "poisson", "gamma")
WHO = Scenario((300,) * 4, 2.0)


@pytest.fixture
def rows_for(make_sample):
    """Public rows for a loss; counts and amounts for those with a log link."""

    def make(loss):
        sample = make_sample(400, labels=loss == "logistic")
        return sample if loss in LOSSES[:3] else Sample(sample.columns, np.abs(sample.targets) + 0.1)

    return make


def kinds_of(outline):
    return outline.setting("newton", (2,) * 4, clip=0.5, step=1.0).terms.kinds


@pytest.mark.parametrize("person", [None, *PEOPLE])
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_of_records_have_three_kinds_and_others_two(rows_for, loss, person):
    spec = replace(SPEC, loss=loss, person=person)
    outline = outline_of(WHO, gather_evidence(rows_for(loss), spec), spec)
    three = loss == "logistic" and person is None
    assert kinds_of(outline) == MENU_KINDS[: 3 if three else 2]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("person", [None, PEOPLE[0]])
def test_the_plan_that_is_worked_out_has_them_in_its_terms(rows_for, delta, person):
    spec = replace(SPEC, loss="logistic", person=person)
    outline = outline_of(Scenario((300,) * 4, 2.0, delta), gather_evidence(rows_for("logistic"), spec), spec)
    found = work_out(outline, "newton").setting
    assert found.terms.kinds == MENU_KINDS[: 3 if person is None else 2]
    assert len(found.positives_std) == (4 if person is None else 0)
    assert len(found.second_moments_std) == 4


def test_a_settled_number_of_answers_has_no_menu(rows_for):
    spec = replace(SPEC, loss="logistic", answers=2)
    assert kinds_of(outline_of(WHO, gather_evidence(rows_for("logistic"), spec), spec)) == ()


def test_without_public_rows_whose_labels_could_change_nobody_is_asked():
    spec = replace(SPEC, rule="auto", loss="logistic", guarantees=(Guarantee.of(1),) * 2)
    assert rank(Outline(spec, (300, 300), 3, None))[0].setting.terms.kinds == MENU_KINDS[:2]


def test_a_rule_that_knows_no_labels_has_the_kinds_that_it_has(rows_for):
    """The twin that has forgotten them would be seen."""
    spec = replace(SPEC, loss="logistic")
    outline = outline_of(WHO, gather_evidence(rows_for("logistic"), spec), spec)
    entry = replace(newton.ENTRY, kinds_of_labels=())
    assert outline._kinds(entry) == MENU_KINDS[:2] != outline._kinds(newton.ENTRY)


def axes_of(rows, *, delta=0.0, **changes):
    """Along which gradients of a planned study are told, if the rule has its menu."""
    spec = replace(SPEC, **changes)
    outline = outline_of(Scenario((300,) * 4, 2.0, delta), gather_evidence(rows, spec), spec)
    return work_out(outline, "newton").setting.terms.axes


def test_gradients_of_records_are_told_along_axes_under_a_pure_promise(rows_for):
    axes = axes_of(rows_for("squared"))
    assert len(axes) == rows_for("squared").parameters
    assert axes == axes_of(rows_for("squared"))


@pytest.mark.parametrize("changes", [{"delta": 1e-6}, {"person": PEOPLE[0]}, {"clip": 0.3}, {"answers": 2}])
def test_with_delta_of_people_at_a_settled_clip_or_price_they_are_told_along_the_features(rows_for, changes):
    """Gaussian noise has no axes; and a clip that a user has settled is one along the features."""
    assert axes_of(rows_for("squared"), **changes) == ()


def test_few_public_rows_have_no_axes(make_sample):
    assert axes_of(make_sample(59)) == ()
    assert len(axes_of(make_sample(400))) == make_sample(5).parameters


def test_a_rule_that_reads_no_axes_has_none(rows_for):
    outline = outline_of(WHO, gather_evidence(rows_for("squared"), SPEC), SPEC)
    assert outline._axes(newton.ENTRY) != () == outline._axes(replace(newton.ENTRY, turns=False))
    terms = work_out(outline, "newton").setting.terms
    with pytest.raises(BadInput, match="along the features"):
        replace(newton.ENTRY, turns=False)._require_kind(terms)
