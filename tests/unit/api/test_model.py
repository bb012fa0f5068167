"""`Model`: predictions by hand from its coefficients, and where it is kept."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import copriv as cp
from copriv.errors import BadInput, BadTable
from copriv.records.column import raw


@pytest.fixture(scope="module")
def model(loans):
    data = cp.read(loans, target="int_rate", owners="bank", features=5, public_rows=300)
    return cp.train(data, 20, simulate=True, rule="statistics").model


@pytest.fixture(scope="module")
def labels(loans):
    data = cp.read(loans, target="int_rate", owners="bank", features=5, public_rows=300, positive_above=13.0)
    return cp.train(data, 20, simulate=True, loss="logistic", rule="newton").model


def _by_hand(model, table):
    """Σ coefficient × value + intercept, with missing cells filled as the dictionary says."""
    found = dict(zip(*model.coefficients().select("column", "coefficient"), strict=True))
    total = np.full(table.height, found["intercept"])
    for column in model.file.dictionary.columns:
        value = raw(column.name, table.schema[column.name], column.kind, column.categories)
        values = table.select(pl.when(value.is_finite()).then(value).otherwise(column.fill).alias("x"))["x"].to_numpy()
        total = total + found[column.name] * values
    return total


def _not_shortened(model, table):
    features = model.file.dictionary.features_of(table)
    return np.linalg.norm(features, axis=1) < 1 - 1e-9


def test_coefficients_by_column_predict_what_the_model_predicts(model, loans):
    rows = _not_shortened(model, loans)
    assert rows.mean() > 0.9
    assert np.abs(_by_hand(model, loans)[rows] - model.predict(loans)[rows]).max() < 1e-9


def test_a_row_that_is_shortened_would_be_noticed(model, loans):
    """The twin of the test above: far from the public rows the map is not linear."""
    far = loans.with_columns(pl.col("annual_inc") * 1e6)
    assert not _not_shortened(model, far).any()
    assert np.abs(_by_hand(model, far) - model.predict(far)).max() > 1


def test_coefficients_of_labels_are_log_odds(labels, loans):
    rows = _not_shortened(labels, loans)
    assert np.abs(expit(_by_hand(labels, loans)[rows]) - labels.predict(loans)[rows]).max() < 1e-9


def test_coefficients_per_deviation_and_by_component(model):
    by_column = model.coefficients()
    deviations = np.array([column.deviation for column in model.file.dictionary.columns])
    per_unit, per_deviation = (by_column[name].to_numpy()[:-1] for name in ("coefficient", "per_deviation"))
    assert np.allclose(per_unit * deviations, per_deviation)
    by_component = model.coefficients(by="component")
    assert by_component["coefficient"].to_list() == list(model.file.theta)
    assert by_component["component"].to_list()[-1] == "intercept"
    with pytest.raises(BadInput, match="coefficients by 'row'"):
        model.coefficients(by="row")


def test_any_table_is_predicted(model, loans, tmp_path):
    loans.write_csv(tmp_path / "loans.csv")
    wanted = model.predict(loans)
    for table in (loans.to_pandas(), loans.to_arrow(), tmp_path / "loans.csv", loans.drop("bank")):
        assert np.allclose(model.predict(table), wanted)
    with pytest.raises(BadTable, match="dti"):
        model.predict(loans.drop("dti"))


def test_a_model_is_kept_and_read_back(model, tmp_path):
    path = model.save(tmp_path / "model.json")
    assert cp.load(path) == model
    with pytest.raises(BadInput, match="exists"):
        model.save(path)
    assert model.to_dict()["terms"]["rule"] == "statistics"
    assert "dti" in model._repr_html_()


def test_coefficients_have_intervals_in_the_columns_units(model, loans):
    found = model.coefficients()
    assert model.no_interval is None
    known = found.filter(pl.col("low").is_not_null())
    assert known.height == found.height
    assert (known["low"] < known["coefficient"]).all()
    assert (known["coefficient"] < known["high"]).all()
    assert known["noise_share"].is_between(0, 1).all()
    wider = model.coefficients(level=0.99)
    assert ((wider["high"] - wider["low"]) / (found["high"] - found["low"])).is_between(1.31, 1.32).all()
    with pytest.raises(BadInput, match="level"):
        model.coefficients(level=95)


def test_where_there_is_no_interval_the_model_says_why(loans):
    data = cp.read(loans, target="int_rate", owners="bank", features="pls:2+score", public_rows=300)
    scored = cp.train(data, 20, simulate=True)
    assert "trees" in scored.model.no_interval
    assert scored.model.coefficients()["low"].is_null().all()
    data = cp.read(loans, target="int_rate", owners="bank", features=3, public_rows=300)
    paper = cp.train(data, 20, simulate=True, rule="paper", horizon=20)
    assert "the rule 'paper' does not say" in paper.model.no_interval
    assert "personal" in paper.personal("east").no_interval


def test_a_prediction_is_explained_in_words(loans, labels):
    data = cp.read(loans, target="int_rate", owners="bank", features="all", public_rows=300)
    model = cp.train(data, 20, simulate=True).model
    found = model.explain(loans, most=2)
    assert np.abs(found["prediction"].to_numpy() - model.predict(loans)).max() < 1e-9
    total = found["reasons"].list.eval(pl.element().struct.field("adds")).list.sum() + found["average"]
    assert np.abs(total.to_numpy() - model.predict(loans)).max() < 1e-9
    worst = loans.with_columns(grade=pl.lit("F"))
    assert "grade = F adds" in model.explain(worst)["why"][0]
    assert "multiplies the odds by" in labels.explain(loans[:2])["why"][0]
    assert model.explain(loans[:0]).height == 0
    with pytest.raises(BadInput, match="reasons"):
        model.explain(loans, most=0)
