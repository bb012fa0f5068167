"""The ridge of the public model: chosen by rows that are left out, and better on others than the one it came with."""

from dataclasses import replace

import numpy as np
import pytest

from copriv.losses.choose import choose
from copriv.losses.objective import Objective
from copriv.losses.optimum import minimise
from copriv.losses.passes import average_value
from copriv.losses.sample import Sample
from copriv.rules.ridge import best_ridge, candidate_ridges, left_out_loss, squared_losses

LOSSES = {"squared": 0.0, "huber": 0.25, "logistic": 0.0}


def population(records, parameters, seed, *, signs=False):
    """Many weak effects, and an intercept."""
    chance = np.random.default_rng(seed)
    rows = np.hstack(
        [chance.normal(size=(records, parameters - 1)) / np.sqrt(2 * parameters), np.full((records, 1), 0.7)]
    )
    margins = rows @ np.random.default_rng(0).normal(size=parameters) * 0.6 + 0.4 * chance.normal(size=records)
    return Sample.of_rows(rows, np.where(margins > 0, 1.0, -1.0) if signs else np.clip(margins, -1, 1))


def objective_of(name, ridge=1e-5):
    return Objective(choose(name, LOSSES[name]), ridge, 1e6)


def one_by_one(public, objective):
    """The average loss of every row at the model of the others, by as many fits as there are rows."""
    found = []
    for row in range(public.records):
        kept = np.arange(public.records) != row
        rest = Sample.of_rows(public.columns[:, kept].T, public.targets[kept])
        # The average is over one row less, and the sum has to stay.
        scaled = replace(objective, regularization=objective.regularization * public.records / rest.records)
        alone = Sample.of_rows(public.columns[:, [row]].T, public.targets[[row]])
        found.append(average_value(objective.loss, alone, minimise(scaled, rest)))
    return float(np.mean(found))


def test_squared_losses_are_those_of_as_many_fits_as_rows():
    public, ridges = population(30, 6, 1), np.asarray([1e-3, 1e-2, 0.3])
    expected = [one_by_one(public, objective_of("squared", ridge)) for ridge in ridges]
    assert squared_losses(public, ridges) == pytest.approx(expected, rel=1e-9)
    assert [left_out_loss(public, objective_of("squared", ridge)) for ridge in ridges] == pytest.approx(expected)
    fitted = [average_value(choose("squared"), public, minimise(objective_of("squared", r), public)) for r in ridges]
    assert fitted != pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("name", ["huber", "logistic"])
def test_losses_of_rows_left_out_are_right_to_first_order(name):
    public = population(60, 6, 2, signs=name == "logistic")
    objective = objective_of(name, 3e-3)
    expected = one_by_one(public, objective)
    assert left_out_loss(public, objective) == pytest.approx(expected, rel=0.03)
    assert average_value(objective.loss, public, minimise(objective, public)) < 0.9 * expected


@pytest.mark.parametrize("name", LOSSES)
def test_few_rows_get_a_ridge_that_is_better_on_others(name):
    signs = name == "logistic"
    public, others = population(150, 60, 3, signs=signs), population(4000, 60, 4, signs=signs)
    objective = objective_of(name)
    chosen = best_ridge(public, objective)
    plain, tuned = (minimise(replace(objective, regularization=ridge), public) for ridge in (1e-5, chosen))
    losses = [average_value(objective.loss, others, theta) for theta in (plain, tuned)]
    assert losses[1] < 0.9 * losses[0]
    tried = [
        minimise(replace(objective, regularization=ridge), public) for ridge in candidate_ridges(public, objective)
    ]
    assert losses[1] < 1.1 * min(average_value(objective.loss, others, theta) for theta in tried)
    # A twin that looks at the rows that shaped the model sees no reason for a ridge.
    fitted = [average_value(objective.loss, public, theta) for theta in tried]
    assert int(np.argmin(fitted)) == 0


def test_many_rows_keep_the_ridge_of_the_objective():
    public = population(4000, 4, 5)
    assert best_ridge(public, objective_of("squared")) < 3e-3
    assert best_ridge(public, objective_of("squared", 0.5)) == 0.5
