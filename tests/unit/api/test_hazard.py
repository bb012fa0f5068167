"""Hazards from tables of lives to survival, and the command that makes person-periods."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import copriv as cp
from copriv.api.hazard import expand_periods, period_edges, survival
from copriv.cli.main import app
from copriv.errors import BadInput


def table(rows=2_400, seed=0):
    chance = np.random.default_rng(seed)
    age = chance.normal(60, 10, rows)
    months = chance.exponential(9 * np.exp(-0.05 * (age - 60)))
    left = chance.uniform(2, 20, rows)
    ward = np.array(["a", "b", "c"])[np.arange(rows) % 3]
    died = (months <= left).astype(int)
    return pl.DataFrame({"months": np.minimum(months, left), "died": died, "age": age, "ward": ward})


def test_hazards_are_trained_with_a_record_as_one_unit():
    frame = table()
    public, private = frame[:600].drop("ward"), frame[600:]
    edges = period_edges(public, "months", "died", 4)
    shown, rows = (expand_periods(each, "months", "died", edges) for each in (public, private))
    data = cp.read(
        rows, target="died", owners="ward", public=shown, features="all", person="record", weigh="row",
        rows_cap=len(edges),
    )  # fmt: skip
    run = cp.train(data, epsilon=10, loss="logistic", simulate=True, seed=1)
    assert run.metrics["records"] == private.height
    assert run.model.file.terms.unit == "person"
    assert run.metrics["relative_fitness"] < 0.1
    told = survival(run.model, pl.DataFrame({"age": [45.0, 75.0]}))
    young, old = told["survival"].to_numpy().reshape(2, len(edges))
    assert np.all(np.diff(young) < 0)
    assert np.all(young > old)
    truth = np.exp(-np.asarray(edges) / (9 * np.exp(-0.05 * np.array([[-15.0], [15.0]]))))
    # The last period is long, and whoever left within it counts as having lived through it.
    assert np.abs(np.array([young, old]) - truth)[:, :-1].max() < 0.05


def test_a_model_without_periods_has_no_survival():
    frame = table(600).drop("months")
    run = cp.train(cp.read(frame, target="died", owners="ward", features="all"), 5, loss="logistic", simulate=True)
    with pytest.raises(BadInput, match="knows no periods"):
        survival(run.model, frame)


def test_the_command_writes_person_periods(tmp_path):
    path, out = tmp_path / "lives.csv", tmp_path / "periods.csv"
    table(100).write_csv(path)
    asked = ["periods", str(path), "--time", "months", "--event", "died", "--out", str(out)]
    told = CliRunner().invoke(app, [*asked, "--periods", "3", "--json"])
    found = json.loads(told.output)
    assert len(found["edges"]) == 3
    assert pl.read_csv(out)["record"].n_unique() == 100
    assert "exists" in str(CliRunner().invoke(app, [*asked, "--edges", "3,6"]).exception)
    out.unlink()
    assert "must not choose" in CliRunner().invoke(app, asked).exception.remedy
    told = CliRunner().invoke(app, [*asked, "--edges", "3,6"])
    assert "periods end at 3,6" in told.output
    assert "--rows-cap 2" in told.output


def test_records_have_names_of_their_own(tmp_path):
    path = tmp_path / "lives.csv"
    table(40).with_columns(card=pl.Series([f"c{row // 2}" for row in range(39)] + [None])).write_csv(path)
    asked = ["periods", str(path), "--time", "months", "--event", "died", "--edges", "3,6", "--out"]
    plain = CliRunner().invoke(app, [*asked, str(tmp_path / "plain.csv")])
    assert "records are numbered from 0" in plain.output
    named = CliRunner().invoke(app, [*asked, str(tmp_path / "n.csv"), "--person", "card", "--prefix", "march"])
    assert "--rows-cap 2, times the most records" in named.output
    found = pl.read_csv(tmp_path / "n.csv")
    assert "card" not in found.columns
    assert set(found["record"]) == {f"c{row}" for row in range(20)} | {"march/39"}
    without = CliRunner().invoke(app, [*asked, str(tmp_path / "w.csv"), "--person", "card"])
    assert isinstance(without.exception, BadInput)
    assert "--prefix" in without.exception.remedy
    assert not (tmp_path / "w.csv").exists()
