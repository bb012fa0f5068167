"""From a training to coefficients with intervals, and power before it, through Python and the command line."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import copriv as cp
from copriv.cli.main import app
from copriv.errors import BadInput

NAMES = ["age", "drug = yes", "intercept"]


def patients(rows, seed):
    stream = np.random.default_rng(seed)
    age, drug = stream.normal(50, 10, rows), stream.random(rows) < 0.4
    odds = np.exp(-1.5 + 0.03 * (age - 50) + 0.7 * drug)
    ill = stream.random(rows) < odds / (1 + odds)
    words = {name: np.where(values, "yes", "no") for name, values in (("drug", drug), ("ill", ill))}
    return pl.DataFrame({"age": age, **words})


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    place = tmp_path_factory.mktemp("public") / "public.parquet"
    patients(500, 1).write_parquet(place)
    return place


@pytest.fixture(scope="module")
def run(public, tmp_path_factory):
    data = cp.read(patients(6000, 7), target="ill", owners=5, public=public, features="all")
    trained = cp.train(data, 3.0, loss="logistic", simulate=True)
    return trained, trained.save(tmp_path_factory.mktemp("runs") / "first")


def test_a_run_tells_coefficients(run):
    found = run[0].inference()
    table = found.to_polars()
    assert table["name"].to_list() == NAMES
    assert found.none is None
    drug = table.row(1, named=True)
    assert drug["low"] < 0.7 < drug["high"]
    assert drug["odds_ratio"] == pytest.approx(np.exp(drug["estimate"]))
    assert found.meta().height == 3
    assert found.owners("drug = yes")["owner"].len() == 5
    assert found.forest("drug = yes").startswith("<svg")
    assert "with intervals" in repr(found)
    assert "<table>" in found._repr_html_()


def test_the_folder_tells_the_same(run):
    assert cp.inference(run[1]).to_dict() == run[0].inference().to_dict()
    (run[1] / "inference.json").rename(run[1] / "kept")
    with pytest.raises(BadInput, match="earlier ones have kept no such"):
        cp.inference(run[1])
    (run[1] / "kept").rename(run[1] / "inference.json")


def test_on_the_command_line(run):
    ask = CliRunner().invoke
    shown = ask(app, ["coefficients", str(run[1])], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert "odds ratio" in shown.output
    assert "simulated" in shown.output
    told = json.loads(ask(app, ["coefficients", str(run[1]), "--json"], catch_exceptions=False).output)
    assert [one["name"] for one in told["coefficients"]] == NAMES
    assert "random effects" in ask(app, ["coefficients", str(run[1]), "--meta"], env={"COLUMNS": "200"}).output
    assert ask(app, ["coefficients", str(run[1]), "--forest", "age"]).output.startswith("<svg")


def test_power_grows_with_everything(public):
    def found(epsilon=1.0, records=2000, owners=6, **more):
        who = cp.Scenario([records] * owners, epsilon=epsilon, **more)
        return cp.power(public, who, target="ill", column="drug", effect=1.3, loss="logistic").power

    usual = found()
    assert 0.05 < usual < 1
    assert found(epsilon=0.2) < usual < found(records=8000)
    assert usual < found(owners=20)
    assert found(heterogeneity=0.01) < usual


def test_what_it_takes(public):
    options = ["power", "--public", str(public), "--target", "ill", "--loss", "logistic", "--owners", "6"]
    options += ["--records", "2000", "--column", "drug = yes", "--effect", "1.3", "--power", "0.8"]
    told = json.loads(CliRunner().invoke(app, [*options, "--json"], catch_exceptions=False).output)
    again = cp.Scenario([2000] * 6, epsilon=round(told["needed"]["epsilon"], 4))
    reached = cp.power(public, again, target="ill", column="drug", effect=1.3, loss="logistic").power
    assert reached == pytest.approx(0.8, abs=0.03)
    words = CliRunner().invoke(app, options, catch_exceptions=False).output
    assert "an odds ratio of 1.3 for 'drug = yes' is found with power" in words
    assert "replace-one" in words


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"column": "height"}, "no coefficient"),
        ({"effect": 1.0}, "odds ratio of 1"),
        ({"wanted": 2.0}, "a power of 2"),
        ({"features": "pls:1"}, "no interval"),
        ({"loss": "squared"}, "not numeric"),
    ],
)
def test_what_cannot_be_meant(public, change, why):
    given = {"target": "ill", "column": "drug", "effect": 1.3, "loss": "logistic"} | change
    with pytest.raises(BadInput, match=why):
        cp.power(public, cp.Scenario([2000] * 6), **given)


def test_an_effect_of_nothing(public):
    rows = pl.read_parquet(public).with_columns(cost=pl.col("age") * 2 + 1.0)
    with pytest.raises(BadInput, match="an effect of 0"):
        cp.power(rows, cp.Scenario([2000] * 6), target="cost", column="drug", effect=0.0, skip=["ill", "age"])
