"""Did joining pay? The answer must not flatter a model that knows the records by heart. Seeded throughout."""

from collections import Counter

import numpy as np
import pytest

from copriv.errors import BadInput
from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_value, record_values
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner.comparison import Comparison, compare, explain

PARAMETERS = 8
TRUTH = np.linspace(-0.8, 0.9, PARAMETERS)
OBJECTIVE = Objective(SquaredLoss(), 1e-5, 10.0)
BAD = TRUTH + 0.3
TINY_TRUTH = np.linspace(-0.8, 0.9, 20)


def _sample(records, seed=0, truth=TRUTH, labels=False):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(records, truth.size)) / truth.size**0.5
    margins = rows @ truth + 0.3 * generator.normal(size=records)
    return Sample.of_rows(rows, np.where(margins > 0, 1.0, -1.0) if labels else margins)


def _tiny(seed):
    return _sample(50, seed, TINY_TRUTH)


def _compare(sample, joint, objective=OBJECTIVE, seed=1, **options):
    return compare(sample, objective, joint, generator=np.random.default_rng(seed), **options)


def _compare_in_sample(sample, joint):
    """The broken twin: the owner's own model is judged on the records that it was fitted to."""
    loss = OBJECTIVE.loss
    own, together = (record_values(loss, sample, theta) for theta in (minimise(OBJECTIVE, sample), joint))
    differences = own - together
    error = float(differences.std(ddof=1)) / sample.records**0.5
    return Comparison(
        own.mean(), together.mean(), differences.mean(), error, own.mean(), records=sample.records, folds=1
    )


def test_a_tiny_owner_gains_from_a_good_joint_model():
    """50 records for 20 parameters; in 199 of 200 such worlds the verdict is clear."""
    verdicts = Counter(_compare(_tiny(seed), TINY_TRUTH).paid for seed in range(40))
    assert verdicts["joined"] >= 38
    assert verdicts["alone"] == 0


def test_judging_a_model_on_its_own_records_gets_the_tiny_owner_wrong():
    """Why cross-validation: on the records it was fitted to, no other model looks better than one's own."""
    verdicts = Counter(_compare_in_sample(_tiny(seed), TINY_TRUTH).paid for seed in range(40))
    assert verdicts["joined"] == 0
    assert verdicts["alone"] >= 30
    found = _compare(_tiny(0), TINY_TRUTH)
    assert found.own_in_sample < found.joint < found.own


@pytest.mark.parametrize("seed", range(4))
def test_a_large_owner_stays_alone_rather_than_take_a_bad_model(seed):
    assert _compare(_sample(3000, seed), BAD).paid == "alone"


def test_equal_models_are_undecided():
    """A joint model from as many other records is as good as one's own; about nine in ten times nobody can tell."""
    models = (minimise(OBJECTIVE, _sample(400, seed + 1000)) for seed in range(40))
    verdicts = Counter(_compare(_sample(400, seed), model).paid for seed, model in enumerate(models))
    assert verdicts["undecided"] >= 32


def test_models_equal_to_the_last_bit_are_undecided():
    """All records are alike, so that every fold gives the same model."""
    sample = Sample.of_rows(np.ones((40, 1)), np.full(40, 0.5))
    found = _compare(sample, minimise(OBJECTIVE, sample))
    assert found.difference == pytest.approx(0, abs=1e-12)
    assert Comparison(0.2, 0.2, 0.0, 0.0, 0.2, 40, 5).paid == "undecided"
    assert Comparison(0.3, 0.2, 0.1, 0.06, 0.2, 40, 5).paid == "undecided"


def test_the_figures_are_what_they_are_called():
    sample = _sample(200)
    found = _compare(sample, BAD, folds=4)
    assert (found.records, found.folds) == (200, 4)
    assert found.joint == pytest.approx(average_value(OBJECTIVE.loss, sample, BAD))
    assert found.own_in_sample == pytest.approx(average_value(OBJECTIVE.loss, sample, minimise(OBJECTIVE, sample)))
    assert found.difference == pytest.approx(found.own - found.joint)
    assert found.own_in_sample < found.own


def test_cross_validation_is_what_a_loop_over_folds_gives():
    sample, order = _sample(60), np.random.default_rng(1).permutation(60)
    rows, own = sample.columns.T, np.empty(60)
    for fold in np.array_split(order, 3):
        rest = np.setdiff1d(order, fold)
        model = minimise(OBJECTIVE, Sample.of_rows(rows[rest], sample.targets[rest]))
        own[fold] = (rows[fold] @ model - sample.targets[fold]) ** 2
    found, differences = _compare(sample, BAD, folds=3), own - (rows @ BAD - sample.targets) ** 2
    assert found.own == pytest.approx(own.mean())
    assert found.standard_error == pytest.approx(differences.std(ddof=1) / 60**0.5)


class Dealt:
    """A generator whose shuffle is known."""

    def __init__(self, order):
        self.order = order

    def permutation(self, _records):
        return self.order


def test_only_the_shuffle_says_who_is_judged_with_whom():
    """The same records in another order, dealt into the same folds, give the same figures."""
    sample, moved = _sample(100), np.random.default_rng(9).permutation(100)
    order = np.random.default_rng(1).permutation(100)
    reordered = Sample.of_rows(sample.columns.T[moved], sample.targets[moved])
    one = compare(sample, OBJECTIVE, BAD, generator=Dealt(order))
    other = compare(reordered, OBJECTIVE, BAD, generator=Dealt(np.argsort(moved)[order]))
    for name in Comparison.__slots__:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9), name


def test_sorted_records_are_judged_like_shuffled_ones():
    sample = _sample(400)
    order = np.argsort(sample.targets)
    one, other = _compare(sample, BAD), _compare(Sample.of_rows(sample.columns.T[order], sample.targets[order]), BAD)
    assert one.paid == other.paid
    assert one.difference == pytest.approx(other.difference, abs=one.standard_error)


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.2), LogisticLoss()], ids=lambda loss: loss.name)
def test_every_loss_can_be_compared(loss):
    objective = Objective(loss, 1e-3, 10.0)
    sample = _sample(300, labels=loss.name == "logistic")
    assert _compare(sample, -TRUTH, objective).paid == "alone"


@pytest.mark.parametrize(("records", "folds"), [(100, 5), (40, 5), (39, 4), (24, 3), (17, 2), (16, 2)])
def test_few_records_are_divided_into_fewer_folds(records, folds):
    assert _compare(_sample(records), TRUTH).folds == folds


def test_too_few_records_and_folds_are_refused():
    with pytest.raises(BadInput, match=r"15 records for a model of 8 parameters.*at least 16"):
        _compare(_sample(15), TRUTH)
    with pytest.raises(BadInput, match="1 folds"):
        _compare(_sample(100), TRUTH, folds=1)
    with pytest.raises(BadInput, match="shape"):
        _compare(_sample(100), TRUTH[:3])


@pytest.mark.parametrize(
    ("own", "joint", "words"),
    [
        (0.3, 0.2, "Joining paid: use the joint model"),
        (0.2, 0.3, "Joining did not pay: use a model of your own"),
        (0.2, 0.21, "cannot tell"),
    ],
)
def test_the_sentence_says_what_to_do(own, joint, words):
    text = explain(Comparison(own, joint, own - joint, 0.01, 0.1, 1234, 5))
    assert words in text
    assert "1,234 records" in text
    assert f"{own:.4g}" in text
    assert f"{joint:.4g}" in text
    assert text.endswith(".")
    assert "\n" not in text


def test_models_are_judged_on_usable_records_only():
    generator = np.random.default_rng(5)
    rows = np.hstack([generator.normal(size=(60, 2)) / 3, np.full((60, 1), 0.5)])
    targets = np.clip(rows @ np.array([1.0, -1.0, 0.5]), -1, 1)
    holes = np.zeros((25, 3))
    with_holes = Sample.of_rows(np.vstack([rows, holes]), np.append(targets, np.zeros(25)))
    assert _compare(with_holes, np.zeros(3)) == _compare(Sample.of_rows(rows, targets), np.zeros(3))
