"""What `copriv train` refuses, before anything is written or spent."""

import shutil
from pathlib import Path

import polars as pl
import pytest

QUICK = ["--rule", "paper", "--horizon", "60", "--public-rows", "400", "--features", "4"]


@pytest.fixture(scope="module")
def odd_table(table, tmp_path_factory):
    """The same loans with columns that no owner and no target can be taken from."""
    rows = pl.int_range(pl.len())
    frame = pl.read_parquet(table).with_columns(
        pl.lit(None).alias("nothing"),
        pl.when(rows < 3).then(pl.lit("small")).otherwise(pl.lit("large")).alias("lopsided"),
    )
    path = tmp_path_factory.mktemp("odd") / "loans.parquet"
    frame.write_parquet(path)
    return path


def _files(folder):
    return sorted(path.relative_to(folder) for path in Path(folder).rglob("*"))


BAD = {
    "missing file": (["--data", "nowhere.csv"], "nowhere.csv"),
    "missing target": (["--target", "int_rat"], "'int_rat'"),
    "missing owner column": (["--owner-column", "bnak"], "'bnak'"),
    "text target": (["--target", "grade"], "--ordinal"),
    "all-missing target": (["--target", "nothing"], "'nothing'"),
    "all-missing owner column": (["--owner-column", "nothing"], "owner column"),
    "owner with too few records": (["--min-records", "0", "--owner-column", "lopsided"], "'small'"),
    "epsilon 0": (["--epsilon", "0"], "epsilon is 0"),
    "negative epsilon": (["--epsilon", "-1"], "epsilon is -1"),
    "epsilon NaN": (["--epsilon", "nan"], "epsilon is nan"),
    "no epsilon": (["--epsilon", ""], "epsilon is "),
    "epsilon words": (["--epsilon", "lots"], "epsilon is lots"),
    "too few epsilons": (["--epsilons", "two.txt"], "2 values of epsilon for 3 owners"),
    "epsilons of others": (["--epsilons", "others.json"], "no epsilon for"),
    "a bad epsilon among them": (["--epsilons", "bad.txt"], "epsilon is -3"),
    "epsilon twice": (["--epsilon", "1", "--epsilons", "two.txt"], "both given"),
    "delta 1": (["--delta", "1"], "delta is 1"),
    "negative delta": (["--delta", "-0.1"], "delta is -0.1"),
    "delta NaN": (["--delta", "nan"], "delta is nan"),
    "horizon 0": (["--horizon", "0"], "horizon is 0"),
    "clip 0": (["--clip", "0"], "clip is 0"),
    "clip NaN": (["--clip", "nan"], "clip is nan"),
    "too many public rows": (["--public-rows", "2400"], "2400 public rows"),
    "no public rows": (["--public-rows", "0"], "--public-rows is 0"),
    "features 0": (["--features", "0"], "0 features"),
    "existing folder": (["--out", "taken"], "never overwritten"),
    "two ways of owning": (["--owners", "3"], "owners are given twice"),
    "labels for regression": (["--positive-above", "3"], "--loss logistic"),
    "many-valued labels": (["--loss", "logistic"], "--positive-above"),
    "no schedule": (["--schedule", "nowhere.json"], "nowhere.json"),
    "not a schedule": (["--schedule", "others.json"], "not a recorded schedule"),
    "bad seed": (["--seed", "-1"], "seed is -1"),
    "bad rate": (["--rates", "bad.txt"], "-3"),
    "not a table": (["--data", "others.json"], "neither CSV nor Parquet"),
    "missing public file": (["--public", "nowhere.csv"], "nowhere.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_with_a_remedy_and_nothing_is_written(copriv, odd_table, tmp_path, case):
    arguments, named = BAD[case]
    loans = shutil.copy(odd_table, tmp_path)
    (tmp_path / "two.txt").write_text("1\n2\n")
    (tmp_path / "bad.txt").write_text("1\n2\n-3\n")
    (tmp_path / "others.json").write_text('{"x": 1}')
    (tmp_path / "taken").mkdir()
    before = _files(tmp_path)
    base = ["--data", loans, "--target", "int_rate", "--owner-column", "bank", *QUICK]
    outcome = copriv("train", *base, *arguments)
    assert outcome.code == 2, outcome.err
    assert named in outcome.err
    assert "remedy: " in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert _files(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--data", "loans.parquet"],
        ["train", "--horizon", "many"],
        ["train", "--loss", "hinge"],
        ["dance"],
        ["train", "--colour"],
    ],
)
def test_words_that_are_off_are_errors_of_the_same_kind(copriv, loans, arguments):
    outcome = copriv(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err


def test_a_bug_is_told_without_a_traceback(copriv, loans, monkeypatch):
    from copriv.api import train

    def broken(*_arguments):
        raise RuntimeError("the roof leaks")

    monkeypatch.setattr(train, "carry_out", broken)
    outcome = copriv("train")
    assert outcome.code == 70
    assert "the roof leaks" in outcome.err
    assert "Traceback" not in outcome.err
