"""Counts and amounts: how they are bounded, what their offset is, and records that have none."""

import math

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput, BadTable
from copriv.records.dictionary import Dictionary
from copriv.records.exposure import Exposure
from copriv.records.fit_target import fit_target
from copriv.records.load import LoadSpec, load_consortium, take_public
from copriv.records.load_owner import load_owner, stream
from copriv.records.partition import Partition
from copriv.records.resources import Resources
from copriv.records.streamed import Part
from copriv.records.table import count_rows
from copriv.records.target import Target, TargetChoice

ROWS = 400
BAD = [0.0, -1.0, math.inf, -math.inf, math.nan, None]


def table(rows=ROWS, seed=0):
    chance = np.random.default_rng(seed)
    age, years = chance.normal(50, 10, rows), chance.uniform(0.5, 2.0, rows)
    visits = chance.poisson(years * np.exp((age - 50) / 20))
    names = np.array(["a", "b"])[np.arange(rows) % 2]
    return pl.DataFrame({"age": age, "years": years, "visits": visits.astype(float), "ward": names})


COUNT = TargetChoice.for_loss("poisson", "visits", exposure="years")
AMOUNT = TargetChoice.for_loss("gamma", "visits", exposure="years")


def test_a_count_is_bounded_and_not_centred():
    frame = table()
    target = fit_target(frame, COUNT)
    bounded = target.bounded(np.array([0.0, 1e9, -1.0, math.inf, math.nan]))
    assert np.array_equal(bounded, [0.0, 1.0, math.nan, math.nan, math.nan], equal_nan=True)
    held = np.minimum(frame["visits"], target.scale)
    assert target.center == pytest.approx(held.sum() / frame["years"].sum())
    given = target.given_exposure
    assert np.exp([given.low, given.high]).tolist() == pytest.approx([frame["years"].min(), frame["years"].max()])


def test_an_amount_of_nothing_is_none():
    target = fit_target(table(), AMOUNT)
    assert np.isnan(target.bounded(np.array([0.0, -2.0]))).all()
    assert target.bounded(np.array([1e-300]))[0] > 0


def test_a_margin_of_0_predicts_the_public_mean_for_the_exposure():
    target = fit_target(table(), COUNT)
    frame = pl.DataFrame({"years": [1.0, 4.0, None, 0.0]})
    predicted = target.restore(target.prediction_offsets(frame))
    assert predicted.tolist() == pytest.approx(np.multiply([1.0, 4.0, 1.0, 1.0], target.center))
    assert target.restore(target.prediction_offsets(pl.DataFrame({"other": [1]}))).tolist() == [
        pytest.approx(target.center)
    ]


@pytest.mark.parametrize("choice", [COUNT, AMOUNT, TargetChoice.for_loss("poisson", "visits", offset="years")])
@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("column", ["years", "visits"])
def test_a_record_without_exposure_or_target_counts_and_says_nothing(choice, value, column):
    dictionary = take_public(table().lazy(), choice, 1)[0]
    frame = table(8, seed=1).with_columns(pl.col("visits") + 1)
    odd = frame.with_columns(pl.when(pl.int_range(8) == 3).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))
    plain, changed = (load_owner(each.lazy(), dictionary).sample for each in (frame, odd))
    rest = np.delete(np.arange(8), 3)
    assert changed.records == 8
    for one, other in ((plain.columns.T, changed.columns.T), (plain.targets, changed.targets)):
        assert np.array_equal(one[rest], other[rest])
    assert np.array_equal(plain.offsets[rest], changed.offsets[rest])
    usable = (column == "visits" and value == 0 and choice is not AMOUNT) or (
        choice.offset is not None and column == "years" and value in (0.0, -1.0)
    )
    silent = not changed.columns[:, 3].any() and changed.targets[3] == 0 and changed.offsets[3] == 0
    assert silent == (not usable)


def test_an_exposure_beyond_the_public_range_is_held():
    dictionary = take_public(table().lazy(), COUNT, 1)[0]
    frame = table(6, seed=2).with_columns(years=pl.Series([1e-9, 1e9, 1.0, 1.0, 1.0, 1.0]))
    offsets = load_owner(frame.lazy(), dictionary).sample.offsets - dictionary.target.base
    given = dictionary.target.given_exposure
    assert offsets[:3].tolist() == pytest.approx([given.low, given.high, 0.0])


def test_the_exposure_is_no_feature():
    dictionary, public, _ = take_public(table().lazy(), COUNT, "all")
    assert dictionary.required_columns() == ["age", "ward"]
    assert public.offsets.size == ROWS
    intake = load_consortium(table().lazy(), LoadSpec(COUNT, Partition(column="ward"), "all", 100))
    assert all(owner.sample.offsets.size == owner.sample.records for owner in intake.owners)


def test_records_read_anew_for_every_pass_have_the_same_offsets():
    dictionary = take_public(table().lazy(), COUNT, 1)[0]
    frame = table(2_000, seed=3).lazy()
    whole = load_owner(frame, dictionary).sample
    names = ["age", "years", "visits", "ward"]
    part = Part(frame.select(sorted(set(names))), 0, count_rows(frame))
    streamed = stream([part], dictionary, Resources(0, None, 300))
    found = np.concatenate(list(streamed.each(lambda sample: sample.offsets.copy())))
    assert found.tobytes() == whole.offsets.tobytes()


def test_dictionaries_of_earlier_versions_are_written_as_before():
    target = Target("y", "number", 0.0, 1.0)
    assert "exposure" not in msgspec.to_builtins(target)
    dictionary = take_public(table().lazy(), COUNT, 1)[0]
    assert Dictionary.from_json(dictionary.to_json()) == dictionary


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"loss": "squared", "exposure": "years"}, "is for counts and amounts"),
        ({"loss": "poisson", "exposure": "years", "offset": "age"}, "not both"),
        ({"loss": "poisson", "exposure": "visits"}, "a column of its own"),
        ({"loss": "poisson", "exposure": "ward"}, "no public row with a number above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused(choice, words):
    loss = choice.pop("loss")
    with pytest.raises(BadInput, match=words):
        fit_target(table(), TargetChoice.for_loss(loss, "visits", **choice))


def test_a_count_that_is_never_above_0_is_refused():
    with pytest.raises(BadTable, match="above 0 in no public row"):
        fit_target(table().with_columns(visits=-pl.col("visits") - 1), COUNT)


@pytest.mark.parametrize(
    "change",
    [
        {"center": 0.0},
        {"center": -1.0},
        {"center": 1e150},
        {"exposure": Exposure("y", logarithm=False, low=0.0, high=1.0)},
        {"kind": "number"},
    ],
)
def test_a_target_that_bounds_no_margin_is_refused(change):
    plain = {"name": "y", "kind": "count", "center": 1.0, "scale": 5.0}
    plain["exposure"] = Exposure("years", logarithm=False, low=0.0, high=1.0)
    Target(**plain)
    with pytest.raises(BadInput):
        Target(**(plain | change))


@pytest.mark.parametrize("ends", [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf), (-1e3, 0.0)])
def test_an_exposure_without_a_range_is_refused(ends):
    with pytest.raises(BadInput, match="exposure"):
        Exposure("years", logarithm=False, low=ends[0], high=ends[1])


def test_a_dictionary_of_another_kind_is_refused():
    dictionary = take_public(table().lazy(), COUNT, 1)[0]
    for choice in (TargetChoice("visits"), AMOUNT):
        plan = LoadSpec(choice, Partition(column="ward"), 1, 100)
        with pytest.raises(BadInput, match="target of kind count"):
            load_consortium(table().lazy(), plan, dictionary=dictionary)
