"""Weights that are chosen for the mean of models, and what keeps them from following chance."""

import numpy as np
import pytest

from copriv.losses.huber import HuberLoss
from copriv.losses.logistic import LogisticLoss
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.losses.squared import SquaredLoss
from copriv.owner import stacking
from copriv.owner.own_models import unit_of
from copriv.owner.stacking import stack

FIRST = np.array([0.0, 0.0, 0.0, 1.0])


def _margins(records, seed, labels=False, apart=0.5):
    """Four models of the same records, each off in its own way."""
    generator = np.random.default_rng(seed)
    truth = generator.normal(size=records)
    rows = truth[:, None] + apart * generator.normal(size=(records, FIRST.size))
    noisy = truth + 0.3 * generator.normal(size=records)
    return Sample.of_rows(rows, np.where(noisy > 0, 1.0, -1.0) if labels else noisy)


def _stack(loss, margins):
    return stack(loss, margins, FIRST, unit_of(loss, average_value(loss, margins, FIRST)))


@pytest.mark.parametrize("loss", [SquaredLoss(), HuberLoss(0.2), LogisticLoss()], ids=lambda loss: loss.name)
def test_models_that_err_apart_are_better_together(loss):
    labels = loss.name == "logistic"
    weights = _stack(loss, _margins(2000, 0, labels))
    new = _margins(20_000, 1, labels)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert average_value(loss, new, weights) < 0.97 * average_value(loss, new, FIRST)


def test_no_weights_nearby_are_better():
    loss = SquaredLoss()
    for seed in range(10):
        margins = _margins(60, seed)
        held = stacking._Held(loss, margins, FIRST, margins.records)
        found = stacking._minimise(held, FIRST)
        others = np.random.default_rng(seed).dirichlet(np.ones(FIRST.size), size=200)
        assert held.value(found) <= min(map(held.value, [*others, *np.eye(FIRST.size)])) + 1e-9


def test_few_records_cannot_choose_freely(monkeypatch):
    """Of four models that are nearly the same, what 20 records prefer is chance; the twin without a hold follows it."""
    samples = [_margins(20, seed, apart=0.05) for seed in range(30)]

    def strays():
        return np.mean([np.abs(_stack(SquaredLoss(), each) - FIRST).max() for each in samples])

    honest = strays()
    monkeypatch.setattr(stacking, "_HOLD", 1e-6)
    monkeypatch.setattr(stacking, "_FITTED", -50.0)
    assert honest < 0.1
    assert strays() > 0.4
