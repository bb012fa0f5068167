"""`copriv sweep`: a grid from the command line."""

import json

import polars as pl
import pytest

SMALL = ["--owners", "2", "--records-per-owner", "500", "--public-rows", "500", "--rule", "statistics"]


def test_synthetic_banks_over_a_grid(copriv, tmp_path, rendered):
    arguments = ["--vary", "epsilon=0.5,1,10", "--vary", "features=3,5", *SMALL, "--out", "grid", "--json"]
    outcome = copriv("sweep", *arguments)
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    assert told["varied"] == {"epsilon": [0.5, 1.0, 10.0], "features": ["3", "5"]}
    assert [(row["epsilon"], row["features_used"]) for row in told["rows"]] == [
        (epsilon, features) for epsilon in (0.5, 1.0, 10.0) for features in (3, 5)
    ]
    assert "simulated, not private" in told["statement"]
    assert "the same command goes on from grid" in outcome.err
    assert (tmp_path / "grid" / "sweep_epsilon.png").stat().st_size > 1000
    assert pl.read_csv(tmp_path / "grid" / "sweep.csv")["relative_fitness"].null_count() == 0
    again = copriv("sweep", *arguments)
    assert json.loads(again.out)["rows"] == told["rows"]
    assert json.loads(again.out)["reused"] == 6
    assert "6 of them done before" in again.err


def test_a_table_is_shown_with_what_it_is_worth(copriv):
    outcome = copriv("sweep", "--vary", "delta=0,1e-6", "--runs", "2", *SMALL)
    assert outcome.code == 0, outcome.err
    assert "simulated, not private" in outcome.out
    assert "run" in outcome.out
    assert outcome.out.count("statistics") == 4


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--vary", "epsilonn=1,2"], "--vary epsilonn=1,2"),
        (["--vary", "epsilon"], "NAME=V"),
        (["--vary", "epsilon=1,much"], "'much'"),
        (["--vary", "rule=auto,magic"], "'magic'"),
        (["--vary", "out=a,b"], "--vary out=a,b"),
        (["--runs", "0"], "0 runs"),
        (["--data", "nowhere.csv", "--target", "y", "--owners", "2"], "nowhere.csv"),
        (["--real-noise", "--dask", "local"], "cannot be shared out"),
    ],
)
def test_bad_input_writes_nothing(copriv, tmp_path, arguments, named):
    outcome = copriv("sweep", *arguments, "--out", "grid")
    assert outcome.code == 2
    assert named in outcome.err
    assert not list(tmp_path.iterdir())
