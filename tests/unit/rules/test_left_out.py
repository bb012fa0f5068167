"""Public rows that are judged by the model of the others."""

import numpy as np
import pytest

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import gradient_norms, record_slopes
from copriv.losses.sample import Sample
from copriv.rules.left_out import left_out_lengths, left_out_slopes
from copriv.vectors import Norm


def rows(count: int, seed: int, loss: str) -> Sample:
    stream = np.random.default_rng(seed)
    x = np.column_stack([np.ones(count), stream.normal(size=(count, 4))]) / 3
    signal = x @ np.array([0.2, 1.0, -1.0, 0.5, 0.0]) + stream.normal(size=count)
    return Sample.of_rows(x, np.sign(signal) if loss == "logistic" else np.clip(signal, -1, 1))


def without(sample: Sample, row: int) -> Sample:
    return Sample(np.delete(sample.columns, row, axis=1), np.delete(sample.targets, row))


@pytest.mark.parametrize(("loss", "close"), [("squared", 0.01), ("huber", 0.1), ("logistic", 0.1)])
def test_a_row_that_is_left_out_is_judged_as_by_the_model_of_the_others(loss, close):
    objective, public = Objective(choose(loss, 0.5 if loss == "huber" else 0.0), 1e-5, 100.0), rows(60, 1, loss)
    theta = minimise(objective, public)
    found = left_out_slopes(objective, public, theta, objective.curvature(public, theta))
    refitted = [minimise(objective, without(public, row)) for row in range(60)]
    true = np.array([record_slopes(objective.loss, public, other)[row] for row, other in enumerate(refitted)])
    plain = record_slopes(objective.loss, public, theta)
    assert np.linalg.norm(found - true) < close * np.linalg.norm(true - plain) + 1e-9
    assert np.linalg.norm(plain) < 0.97 * np.linalg.norm(true)


def test_with_few_rows_gradients_are_as_long_as_those_of_others_and_with_many_nothing_changes():
    objective, others = Objective(choose("squared"), 1e-5, 100.0), rows(5000, 2, "squared")
    ratios = {}
    for count in (10, 5000):
        public = [rows(count, 3 + draw, "squared") for draw in range(40 if count < 100 else 1)]
        models = [minimise(objective, each) for each in public]
        pairs = list(zip(public, models, strict=True))
        fresh, plain, honest = (
            np.mean([np.mean(lengths) for lengths in found])
            for found in (
                [gradient_norms(objective.loss, others, theta, Norm.L1) for theta in models],
                [gradient_norms(objective.loss, each, theta, Norm.L1) for each, theta in pairs],
                [left_out_lengths(objective, each, theta, Norm.L1) for each, theta in pairs],
            )
        )
        ratios[count] = plain / fresh, honest / fresh
    assert ratios[10][0] < 0.6
    assert 0.75 < ratios[10][1] < 1.5
    assert ratios[5000][0] == pytest.approx(ratios[5000][1], rel=0.01)
