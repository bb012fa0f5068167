"""Supervised components are those of partial least squares."""

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

from copriv.records.components import principal_components, supervised_components


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(3)
    cells = generator.normal(size=(200, 12)) @ generator.normal(size=(12, 12))
    cells -= cells.mean(axis=0)
    return cells, cells[:, 0] - 2 * cells[:, 5] + generator.normal(size=200)


def test_scores_are_those_of_another_implementation(rows):
    cells, targets = rows
    scores = cells @ supervised_components(cells, targets, 6).T
    np.testing.assert_allclose(scores.T @ scores / 200, np.eye(6), atol=1e-9)
    other = PLSRegression(6, scale=False).fit(cells, targets).transform(cells)
    other /= np.sqrt(np.mean(other**2, axis=0))
    np.testing.assert_allclose(np.abs(np.sum(scores * other, axis=0)) / 200, 1, atol=1e-6)


def test_the_first_few_of_many_are_the_few(rows):
    cells, targets = rows
    many = supervised_components(cells, targets, 9)
    np.testing.assert_array_equal(supervised_components(cells, targets, 4), many[:4])
    assert supervised_components(cells, targets, 99).shape[0] <= 12
    np.testing.assert_array_equal(principal_components(cells, 3), principal_components(cells, 12)[:3])


def test_a_target_that_nothing_goes_with_has_no_components():
    assert supervised_components(np.zeros((9, 3)), np.arange(9.0), 2).shape == (0, 3)
