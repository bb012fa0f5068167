"""Models for other programs: they predict what copriv predicts, whatever the features, or are not written."""

import pickle

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest

from copriv.errors import BadInput
from copriv.protocol.plain_terms import plain_terms
from copriv.records.fit_features import PublicRows
from copriv.records.target import TargetChoice
from copriv.report import model_export, onnx_model, scikit_model
from copriv.report.model_export import no_formula, rows_for, scikit_file, to_onnx, to_scikit, write_format
from copriv.report.model_file import PERSONAL, ModelFile, Promised

ROWS = 200
GENERATOR = np.random.default_rng(0)
TABLE = pl.DataFrame(
    {
        "age": GENERATOR.normal(50, 10, ROWS),
        "income": [None if k % 5 == 0 else value for k, value in enumerate(GENERATOR.normal(3, 1, ROWS).tolist())],
        "share": [f"{value:.1f}%" for value in GENERATOR.uniform(0, 100, ROWS)],
        "ward": GENERATOR.choice(["a", "b", "c", "NONE"], ROWS, p=[0.5, 0.3, 0.1, 0.1]),
        "since": GENERATOR.choice(["2020-01-01", "2021-06-30", "2022-12-31"], ROWS),
        "issued": GENERATOR.choice(["Jan-2020", "Feb-2021", "Dec-2022"], ROWS),
        "seen": GENERATOR.choice(["31.12.2019", "1.2.2020", "15.06.2021"], ROWS),
    }
).with_columns(y=pl.col("age") / 10 + 2 * (pl.col("ward") == "b") + pl.Series(GENERATOR.normal(size=ROWS)))
NUMBERS = PublicRows(TABLE, TargetChoice("y"))
LABELS = PublicRows(TABLE.with_columns(y=(pl.col("y") > 5).cast(pl.Int8)), TargetChoice("y", labels=True))
ODD = pl.concat(
    [
        TABLE.drop("y"),
        TABLE.drop("y").with_columns(age=pl.lit(1e9), ward=pl.lit("never seen"), since=pl.lit("soon")),
        TABLE.drop("y").with_columns(
            share=pl.lit("1,234.5"), ward=pl.lit(" b "), income=pl.lit(None, pl.Float64), seen=pl.lit("n/a")
        ),
    ]
)
SPECS = ["codes:4", "all", "pls:3", "pca:3", "all+splines+pairs", "pls:2+score", "all+score+leaves:3"]


def model_of(spec, public=NUMBERS, noise="secure"):
    """A model with features that are fitted on public rows, and any numbers."""
    dictionary = public.fit(spec).dictionary
    theta = np.random.default_rng(1).normal(size=dictionary.parameters)
    terms = plain_terms(parameters=dictionary.parameters)
    return ModelFile(tuple(theta.tolist()), terms, dictionary, (Promised("east", 1.0, 0.0),), noise)


def away(found, model, table):
    return np.abs(np.ravel(found) - model.predict(table)).max()


@pytest.mark.parametrize("spec", SPECS)
def test_every_kind_of_features_predicts_the_same_elsewhere(spec):
    import onnxruntime

    model = model_of(spec)
    estimator = to_scikit(model, ODD)
    assert away(estimator.predict(ODD.to_pandas()), model, ODD) < 1e-9
    session = onnxruntime.InferenceSession(to_onnx(model, ODD), providers=["CPUExecutionProvider"])
    found = session.run(["prediction"], model_export.onnx_inputs(model.dictionary, ODD))[0]
    assert away(found, model, ODD) < 1e-9
    assert session.get_modelmeta().custom_metadata_map["noise"] == "secure"


@pytest.mark.parametrize("spec", ["all", "leaves:3"])
def test_labels_are_probabilities_elsewhere_too(spec):
    model = model_of(spec, LABELS)
    estimator = to_scikit(model, ODD)
    assert away(estimator.predict_proba(ODD.to_pandas())[:, 1], model, ODD) < 1e-9
    assert set(estimator.predict(ODD.to_pandas())) <= {0, 1}
    to_onnx(model, ODD)


def test_rows_that_try_a_dictionary_have_everything_in_them():
    made = rows_for(model_of("all").dictionary)
    assert made["ward"].null_count() > 0
    assert not set(made["ward"].drop_nulls()) <= {"a", "b", "c", "NONE"}
    assert made["income"].is_infinite().any()
    assert made["since"].str.to_date(strict=False).null_count() < made.height / 10
    assert made.equals(rows_for(model_of("all").dictionary))


@pytest.mark.parametrize(
    ("module", "name", "twin"),
    [
        (scikit_model, "standardise", lambda column, values: (values - column["mean"]) / column["deviation"]),
        (scikit_model, "place_of", lambda text, places, _buckets: places.get(text, np.nan)),
        (onnx_model, "_depth", lambda _trees: 1),
        (onnx_model, "_known", lambda graph, value: graph.add("Not", graph.add("IsInf", value))),
    ],
    ids=["no limits", "no place for others", "trees cut short", "missing values forgotten"],
)
def test_a_twin_that_reads_otherwise_is_not_written(module, name, twin, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, twin)
    model, form = model_of("all+score"), "sklearn" if module is scikit_model else "onnx"
    with np.errstate(all="ignore"), pytest.raises(BadInput, match="predicts otherwise"):
        write_format(model, tmp_path / "twin", form)
    assert not (tmp_path / "twin").exists()


def test_the_python_file_needs_no_copriv(monkeypatch, tmp_path):
    """Also names that are meant to break out of it stay names."""
    model = model_of("all+score")
    odd = msgspec.structs.replace(model.dictionary.target, name='y"""\nraise SystemExit\n#')
    odd = msgspec.structs.replace(model, dictionary=msgspec.structs.replace(model.dictionary, target=odd))
    text = scikit_file(odd).decode()
    assert "import copriv" not in text
    monkeypatch.setitem(__import__("sys").modules, "copriv", None)
    space = {"__name__": "elsewhere"}
    exec(compile(text, "model.py", "exec", dont_inherit=True), space)  # noqa: S102
    assert away(space["model"].predict(ODD.to_pandas()), odd, ODD) < 1e-9
    cells = ODD.select(model.dictionary.required_columns()).to_pandas().to_numpy(dtype=object)
    assert away(space["model"].predict(cells), odd, ODD) < 1e-9


def test_the_estimator_is_one_of_scikit_learn():
    from sklearn.base import clone, is_classifier, is_regressor

    estimator = to_scikit(model_of("all"))
    table = ODD.to_pandas()
    again = pickle.loads(pickle.dumps(clone(estimator)))  # noqa: S301
    assert is_regressor(estimator)
    assert not is_classifier(estimator)
    assert (again.fit(table).predict(table) == estimator.predict(table)).all()
    assert isinstance(estimator.score(table[:20], np.arange(20.0)), float)
    days = table.assign(since=pd.to_datetime(table["since"], errors="coerce"))
    assert (estimator.predict(days) == estimator.predict(table)).all()


def test_hashed_categories_go_to_scikit_learn_only():
    towns = [f"town {k % 120}" if k % 3 else "capital" for k in range(ROWS)]
    table = TABLE.select("age", "y").with_columns(town=pl.Series(towns))
    model = model_of("all", PublicRows(table, TargetChoice("y")))
    assert max(column.encoded.buckets for column in model.dictionary.columns) > 1
    rows = table.with_columns(town=pl.col("town") + " upon " + pl.col("age").round().cast(pl.String))
    to_scikit(model, rows)
    with pytest.raises(BadInput, match="hash"):
        to_onnx(model)


def test_what_stays_at_home_and_what_is_unknown_are_refused(tmp_path):
    personal = model_of("all", noise=PERSONAL)
    for form in ("onnx", "sklearn", "coefficients"):
        with pytest.raises(BadInput, match="personal"):
            write_format(personal, tmp_path / form, form)
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match="pmml"):
        write_format(model_of("all"), tmp_path / "model", "pmml")
    write_format(model_of("all"), tmp_path / "table.csv", "coefficients")
    assert pl.read_csv(tmp_path / "table.csv")["column"].to_list()[-1] == "intercept"
    with pytest.raises(BadInput, match="exists"):
        write_format(model_of("all"), tmp_path / "table.csv", "coefficients")


def test_no_name_is_a_formula_of_a_spreadsheet():
    names = ["=cmd|' /C calc'!A1", "@SUM(1)", "+1", "-1", "\t=1", "a=b", "rate", ""]
    shown = pl.DataFrame({"column": names}).select(no_formula(pl.col("column")))["column"].to_list()
    assert [name.startswith("'") for name in shown] == [True] * 5 + [False] * 3
    assert [name.removeprefix("'") for name in shown] == names


def test_coefficients_keep_their_columns(tmp_path):
    write_format(model_of("all"), tmp_path / "table.csv", "coefficients")
    assert pl.read_csv(tmp_path / "table.csv").columns[:2] == ["column", "kind"]
    assert pl.read_csv(tmp_path / "table.csv").width == 7
