"""Ridges around a centre: the minimiser of what they say, from the centre to the records' own model."""

import numpy as np
import pytest

from copriv.losses.around import STRENGTHS, models_around
from copriv.losses.choose import choose
from copriv.losses.optimum import minimise_freely
from copriv.losses.passes import average_gradient
from copriv.losses.sample import Sample

CENTRE = np.array([0.5, -0.2, 0.1, 0.4])


def _sample(records=80, labels=False):
    generator = np.random.default_rng(0)
    rows = np.hstack([generator.normal(size=(records, 3)) / 3, np.full((records, 1), 0.5)])
    targets = rows @ np.array([1.0, -1.0, 0.3, 0.5]) + 0.2 * generator.normal(size=records)
    return Sample.of_rows(rows, np.where(targets > 0, 1.0, -1.0) if labels else targets)


@pytest.mark.parametrize("name", ["squared", "huber", "logistic"])
def test_every_model_minimises_its_loss_with_its_ridge(name):
    loss, sample = choose(name, 0.2), _sample(labels=name == "logistic")
    found = models_around(loss, sample, CENTRE)
    assert found.shape == (len(STRENGTHS), 4)
    pull = -np.stack([average_gradient(loss, sample, theta) for theta in found]) / (found - CENTRE)
    # Every number is pulled alike, but for the level; and each strength in proportion.
    assert pull[:, 1:3] == pytest.approx(pull[:, :1] * [1, 1], rel=1e-4)
    assert pull[:, 3] == pytest.approx(0.01 * pull[:, 0], rel=1e-3)
    assert pull[:, 0] / np.asarray(STRENGTHS) == pytest.approx(pull[0, 0] / STRENGTHS[0], rel=1e-4)


def test_the_ends_are_centre_and_own_model():
    sample = _sample()
    found = models_around(choose("squared"), sample, CENTRE)
    own = minimise_freely(choose("squared"), 1e-12, sample)
    apart = [float(np.linalg.norm(theta - own)) for theta in found]
    assert apart == sorted(apart, reverse=True)
    assert np.linalg.norm((found[0] - CENTRE)[:3]) < 0.1 * np.linalg.norm((own - CENTRE)[:3])
    assert np.linalg.norm(found[-1] - own) < 0.05 * np.linalg.norm(own - CENTRE)


def test_directions_without_records_stay_at_the_centre():
    rows = np.hstack([np.random.default_rng(1).normal(size=(5, 1)), np.zeros((5, 1)), np.ones((5, 1))])
    found = models_around(choose("squared"), Sample.of_rows(rows, rows[:, 0]), np.array([0.0, 0.7, 0.0]))
    assert found[:, 1] == pytest.approx(0.7)
