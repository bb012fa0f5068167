"""Power is refused where no interval would hold, and names what is protected."""

import numpy as np
import polars as pl
import pytest

import copriv as cp
from copriv.errors import BadInput

WHO = cp.Scenario([2000] * 5, epsilon=1.0)


def rows(count=400):
    chance = np.random.default_rng(5)
    age, dose = chance.normal(size=count), chance.normal(size=count)
    return pl.DataFrame({"age": age, "dose": dose, "rate": age + dose + chance.normal(size=count)})


def test_columns_that_public_rows_do_not_tell_apart_are_refused():
    twice = rows().with_columns(again=pl.col("dose"))
    with pytest.raises(BadInput, match="no interval") as refused:
        cp.power(twice, WHO, target="rate", column="dose", effect=0.1)
    assert "tell some columns apart" in refused.value.remedy
    assert 0 < cp.power(rows(), WHO, target="rate", column="dose", effect=0.1).power < 1


def test_losses_whose_intervals_were_not_measured_are_refused(monkeypatch):
    monkeypatch.setattr("copriv.api.power.COVERED", ("squared",))
    with pytest.raises(BadInput, match="no interval") as refused:
        cp.power(rows(), WHO, target="rate", column="dose", effect=0.1, loss="huber")
    assert "has not been measured" in refused.value.remedy


def test_counts_have_rate_ratios():
    counted = rows().with_columns(visits=pl.col("rate").exp().round().clip(0, 20)).drop("rate")
    given = {"target": "visits", "column": "dose", "loss": "poisson"}
    found = cp.power(counted, WHO, effect=1.1, **given)
    assert "a rate ratio of 1.1 for 'dose' is found" in found.lines()[0]
    assert found.to_dict()["rate_ratio"]
    assert found.power == pytest.approx(cp.power(counted, WHO, effect=1 / 1.1, **given).power)
    with pytest.raises(BadInput, match="a rate ratio of 1"):
        cp.power(counted, WHO, effect=1.0, **given)


def test_people_are_named():
    some = rows().with_columns(person=pl.int_range(400) // 2)
    found = cp.power(some, WHO, target="rate", column="dose", effect=0.1, person="person")
    assert found.to_dict()["unit"].startswith("person")
    assert "for any one person" in found.lines()[0]


def test_a_clip_that_would_take_most_finds_nothing_and_says_what_would():
    chance = np.random.default_rng(0)
    dose, drug = chance.lognormal(0, 1.2, 1000), chance.random(1000) < 0.3
    long = pl.DataFrame({"dose": dose, "drug": drug.astype(str), "los": dose + drug + chance.lognormal(0, 1.2, 1000)})
    given = {"target": "los", "column": "drug", "effect": 0.5, "wanted": 0.8}
    found = cp.power(long, cp.Scenario([2000] * 5, epsilon=0.02), **given)
    assert (found.power, found.to_dict()["no_interval"]) == (0.0, found.none)
    assert found.lines()[1].startswith("no interval: the clip takes most")
    enough = cp.power(long, cp.Scenario([2000] * 5, epsilon=found.needed["epsilon"]), **given)
    assert enough.power >= 0.8
    assert enough.none == ""
