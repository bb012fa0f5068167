"""Owners whose rows hardly vary along a direction in which the public rows do: a step along it has to be long.

Seeds are fixed. The twin takes curvature for at least a twentieth of the public one, and its steps are too short.
"""

import numpy as np
import pytest
from tests.shifted import P, cost, noise_model, population, rule_for, train

from copriv.rules import difference

NARROW = np.diag([0.04, 1.0, 1.0, 1.0])


def owners(count):
    return [population(4000, 40 + i, model=np.linspace(0.7, -0.5, P), mixing=NARROW) for i in range(count)]


@pytest.mark.parametrize("count", [3, 10])
def test_a_narrow_direction_is_followed_to_its_end_and_a_twin_stops_on_the_way(count, monkeypatch):
    public, samples = population(2000, 0), owners(count)

    def trained():
        rule = rule_for(public, samples, noise_model(count, 1e-5, clip=8.0))
        return cost(rule.model(train(rule, samples)[0]), samples)

    ours = trained()
    monkeypatch.setattr(difference, "_FLATTEST", 0.05)
    assert trained() > 5 * ours
