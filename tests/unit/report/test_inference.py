"""inference.json: coefficients in the units of columns, by cause, as a meta-analysis, or why there are none."""

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv.errors import BadInput
from copriv.forecast.one_step import OneStep, PublicSandwich
from copriv.records.fit_features import fit_dictionary
from copriv.records.target import TargetChoice
from copriv.report.inference import (
    INFERENCE,
    OF_COMPONENTS,
    PULLED,
    infer_coefficients,
    read_inference,
    write_inference,
)

NAMES = tuple(f"bank-{place}" for place in range(6))


def table(rows=200):
    stream = np.random.default_rng(3)
    age, kind = stream.normal(40, 10, rows), stream.choice(["a", "b"], rows, p=[0.7, 0.3])
    cost = 3 + 0.5 * age + 4 * (kind == "b") + stream.normal(0, 3, rows)
    return pl.DataFrame({"age": age, "kind": kind, "cost": cost, "ill": np.where(cost > 24, "yes", "no")})


def dictionary(features="all", target="cost", *, labels=False):
    rows = table().select("age", "kind", target)
    return fit_dictionary(rows, TargetChoice(target, labels=labels), features)[0]


def estimate(size, *, owners=6, pulled=0.0, none=""):
    stream, one = np.random.default_rng(1), np.eye(size)
    sandwich = PublicSandwich(one, one, 4 * one, 0 * one, 4 * one, 0 * one, left=1.0, flat=False, back=one)
    each = 1 + 0.05 * stream.normal(size=(owners, size))
    records = np.full(owners, 400.0)
    spent = (np.full(owners, 0.01), 0.001 * one, np.full(size, pulled), none)
    return OneStep(each.mean(axis=0), each, np.arange(owners), records, sandwich, *spent)


def test_in_the_units_of_columns():
    known = dictionary()
    found = infer_coefficients(known, estimate(known.parameters), NAMES, "secure")
    assert [one.name for one in found.coefficients] == ["age", "kind = b", "intercept"]
    weights = {each.label: each.weight for each in known.cell_weights(estimate(known.parameters).theta)}
    age = found.coefficients[0]
    assert age.estimate == pytest.approx(known.target.scale * weights["age"])
    assert age.low < age.estimate < age.high
    for one in found.coefficients:
        parts = (one.sampling, one.privacy, one.between, one.public)
        assert one.standard_error**2 == pytest.approx(sum(part**2 for part in parts))
        assert 0 <= one.p_value <= 1
    assert "weighed by their records" in found.population
    assert "τ²" in found.population
    assert found.meta[0].name == "age"
    assert [each.owner for each in found.owners] == list(NAMES)


def test_few_owners_speak_of_themselves():
    known = dictionary()
    found = infer_coefficients(known, estimate(known.parameters, owners=3), NAMES, "secure")
    assert "of these owners alone" in found.population
    assert all(one.between == 0 and one.low is not None for one in found.coefficients)
    assert len(infer_coefficients(known, estimate(known.parameters, owners=1), NAMES, "secure").meta) == 0


def test_labels_have_log_odds():
    known = dictionary(target="ill", labels=True)
    assert infer_coefficients(known, estimate(known.parameters), NAMES, "secure").log_odds


@pytest.mark.parametrize("features", ["pls:2", "2"])
def test_features_without_a_name_have_none(features):
    known = dictionary(features)
    found = infer_coefficients(known, estimate(known.parameters), NAMES, "secure")
    assert (found.none, found.coefficients) == (OF_COMPONENTS, ())


def test_no_interval_keeps_the_estimate():
    known = dictionary()
    for given, why in ((estimate(known.parameters, none="because"), "because"), ("nobody", "nobody")):
        found = infer_coefficients(known, given, NAMES, "secure")
        assert found.none == why
        assert all(one.low is None and one.p_value is None for one in found.coefficients)
    assert infer_coefficients(known, estimate(known.parameters, pulled=9.0), NAMES, "secure").none == PULLED


def test_written_and_read_again(tmp_path):
    known = dictionary()
    found = infer_coefficients(known, estimate(known.parameters), NAMES, "secure")
    write_inference(found, tmp_path)
    assert read_inference(tmp_path / INFERENCE) == found
    with pytest.raises(BadInput, match="there is no"):
        read_inference(tmp_path / "nothing.json")
    (tmp_path / INFERENCE).write_bytes(msgspec.json.encode({"format": 9}))
    with pytest.raises(BadInput, match="format 9"):
        read_inference(tmp_path / INFERENCE)
    (tmp_path / INFERENCE).write_text("[")
    with pytest.raises(BadInput, match="holds no coefficients"):
        read_inference(tmp_path / INFERENCE)


def test_a_name_that_is_none():
    known = dictionary()
    with pytest.raises(BadInput, match="there is no coefficient 'height'"):
        infer_coefficients(known, estimate(known.parameters), NAMES, "secure").place("height")
