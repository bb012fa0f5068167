"""Figures people know agree with scikit-learn's, and say when there is nothing to learn."""

import numpy as np
import pytest

from copriv.losses.metrics import Metrics, label_metrics, little_to_learn, median_metrics, number_metrics, with_auc_fall
from copriv.records.quality import metrics_of_margins
from copriv.records.target import Target


def test_numbers_agree_with_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(0)
    truth, found = generator.normal(5, 2, 200), generator.normal(5, 2, 200)
    told = number_metrics(found, truth)
    assert told.r2 == pytest.approx(sk.r2_score(truth, found))
    assert told.rmse == pytest.approx(sk.root_mean_squared_error(truth, found))
    assert told.mae == pytest.approx(sk.mean_absolute_error(truth, found))
    assert number_metrics(np.full(200, truth.mean()), truth).rmse == pytest.approx(told.rmse_of_mean)


def test_labels_agree_with_scikit_learn_with_ties():
    sk = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(1)
    positive, found = generator.random(300) < 0.3, generator.integers(0, 8, 300) / 10 + 0.05
    told = label_metrics(found, positive)
    assert told.auc == pytest.approx(sk.roc_auc_score(positive, found))
    assert told.log_loss == pytest.approx(sk.log_loss(positive, found))
    assert told.accuracy == pytest.approx(sk.accuracy_score(positive, found > 0.5))
    assert told.majority == pytest.approx(1 - positive.mean())
    same = label_metrics(np.full(300, positive.mean()), positive)
    assert (same.log_loss, same.auc) == (pytest.approx(told.log_loss_of_share), 0.5)


def test_margins_come_back_in_the_targets_unit():
    stay = Target("stay", "number", center=5.0, scale=4.0)
    margins, targets = np.array([0.5, -0.5, 0.0]), np.array([0.25, -0.75, 0.5])
    assert metrics_of_margins(stay, margins, targets).rmse == pytest.approx(4 * np.sqrt(0.375 / 3))
    label = Target("dead", "label", center=0.5, scale=1.0)
    assert metrics_of_margins(label, margins, np.array([1.0, -1.0, -1.0])).accuracy == 1.0


def test_hardly_anything_to_learn_is_said():
    generator = np.random.default_rng(2)
    toss = np.where(generator.random(1000) < 0.5, 1.0, 0.0)
    nothing = number_metrics(np.full(1000, toss.mean()) + 0.01 * generator.normal(size=1000), toss)
    assert "hardly anything to learn" in little_to_learn(nothing)
    assert "hardly anything to learn" in little_to_learn(label_metrics(np.full(1000, 0.5), toss > 0))
    assert "the same in every record" in little_to_learn(number_metrics(np.ones(5), np.ones(5)))
    assert little_to_learn(number_metrics(toss + 0.1, toss)) is None
    assert little_to_learn(None) is None


def test_a_loss_that_grows_takes_the_figures_along():
    known = Metrics(10, r2=0.5, rmse=2.0, mae=1.0, rmse_of_mean=3.0)
    assert known.at_loss(1.0) == known
    assert known.at_loss(1.21).rmse == pytest.approx(2.2)
    labels = Metrics(10, auc=0.7, log_loss=0.5, accuracy=0.8, majority=0.7, log_loss_of_share=0.6)
    assert labels.at_loss(1.1).log_loss == pytest.approx(0.55)
    assert labels.at_loss(1.1).auc is None


def test_medians_are_of_those_that_have_a_figure():
    found = median_metrics([Metrics(10, r2=0.1), Metrics(20, r2=0.3), Metrics(30)])
    assert found == Metrics(20, r2=0.2)
    assert median_metrics([]) is None


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_auc_follows_from_the_log_loss_either_way(noise):
    """A model with more noise in it, and one with less; the twin that takes the AUC for fixed is off by far more."""
    generator = np.random.default_rng(0)
    truth, off = generator.normal(size=(2, 40_000)) * [[1.5], [noise]]
    positive = generator.random(truth.size) < 1 / (1 + np.exp(-truth))
    near, far = (label_metrics(1 / (1 + np.exp(-margins)), positive) for margins in (truth, truth + off))
    for known, margins, other in ((near, truth, far), (far, truth + off, near)):
        foretold = with_auc_fall(known, margins, positive).at_loss(other.log_loss / known.log_loss)
        assert abs(foretold.auc - other.auc) < 0.2 * abs(known.auc - other.auc)
        assert foretold.log_loss == pytest.approx(other.log_loss)
        assert known.at_loss(1.1).auc is None


def test_auc_stays_between_chance_and_certainty():
    margins = np.array([2.0, -1.0, 0.5, -0.5, 1.0, 0.0])
    known = with_auc_fall(label_metrics(1 / (1 + np.exp(-margins)), margins > 0.2), margins, margins > 0.2)
    found = [known.at_loss(ratio).auc for ratio in (0.01, 0.5, 1.0, 2.0, 1e6)]
    assert all(0.5 <= auc <= 1 for auc in found)
    assert found == sorted(found, reverse=True)
    assert known.at_loss(float("inf")).auc is None
    assert with_auc_fall(known, np.zeros(6), margins > 0.2) == known
