"""What a candidate might reach is never put too low, and whoever is given up is behind on every fold."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from copriv.planning.entrant import Entrant, Prospect, without_laggards
from copriv.records.feature_spec import FeatureSpec


def test_a_rule_that_leans_is_off_by_less():
    plain, leaning = Prospect(0.1, 0.1, 0.125, 0.5), Prospect(0.1, 0.1, 0.125, 0.5, leans=True)
    assert leaning.leaning < plain.leaning == 0.1
    assert Prospect(1e-4, 0.1, 0.125, 0.5, leans=True).leaning == pytest.approx(1e-4, rel=1e-2)
    assert leaning.ratio < plain.ratio
    # A public score of all rows is better than the ones that are cross-validated.
    assert replace(plain, score=0.98).ratio == pytest.approx(0.98 * plain.ratio)


def make_entrant(name, losses):
    found = Entrant(FeatureSpec.parse(name), objective=None, fit=lambda: (SimpleNamespace(parameters=30), None))
    found.losses.extend(losses)
    return found


def test_the_same_without_a_score_is_given_up_if_it_is_behind_on_every_fold():
    scored, plain = make_entrant("all+score", (1.0, 1.0)), make_entrant("all", (1.04, 1.2))
    assert without_laggards([plain, scored], 1000) == [scored]
    # Not if the smallest owner keeps the score out.
    assert without_laggards([plain, scored], 30) == [plain, scored]
    # Once behind is chance.
    plain.losses[0] = 1.02
    assert without_laggards([plain, scored], 1000) == [plain, scored]
    # Other features may gain more by owners, so they are no measure.
    other = make_entrant("pls:3", (1.2, 1.2))
    assert without_laggards([other, scored], 1000) == [other, scored]
    # A score that is behind ripens with more rows.
    assert without_laggards([make_entrant("all", (0.9, 0.9)), scored], 1000)[1] is scored
