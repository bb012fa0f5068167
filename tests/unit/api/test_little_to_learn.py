"""A target that cannot be learnt, one that is constant, and few public rows: each gets its sentence."""

import numpy as np
import pytest

import copriv as cp
from copriv.errors import BadTable


def table(records, target):
    generator = np.random.default_rng(0)
    return {"x": generator.normal(size=records), "z": generator.normal(size=records), "y": target(generator, records)}


def toss(generator, records):
    return generator.integers(0, 2, records)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_coin_toss_is_not_praised(loss):
    run = cp.train(cp.read(table(2000, toss), target="y", owners=2, features=10), 10, simulate=True, loss=loss)
    [words] = [notice for notice in run.figures.notices if "hardly anything to learn" in notice]
    assert words.startswith("the best model explains 0.")
    assert run.figures.quality.warning == words


def test_a_target_that_can_be_learnt_gets_no_warning():
    data = table(2000, toss)
    data["y"] = data["x"] + 0.1 * data["z"]
    run = cp.train(cp.read(data, target="y", owners=2, features=10), 10, simulate=True)
    assert run.figures.quality.warning is None
    assert run.figures.quality.joint.r2 > 0.9


def test_a_constant_target_is_refused():
    with pytest.raises(BadTable, match="is 3 in every public row"):
        cp.train(
            cp.read(table(600, lambda _chance, n: np.full(n, 3.0)), target="y", owners=2, features=10),
            10,
            simulate=True,
        )


def test_thirty_public_rows_are_called_few():
    data = table(600, lambda chance, n: chance.normal(size=n))
    data["y"] = data["y"] + data["x"]
    run = cp.train(cp.read(data, target="y", owners=2, public_rows=30, features=10), 10, simulate=True)
    assert any("only 30 public rows" in notice for notice in run.figures.notices)
