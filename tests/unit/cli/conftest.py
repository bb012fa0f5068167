import io
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from tests.narrow_loans import COLUMNS
from tests.ten_components import with_ten_components

from copriv.cli import main as command
from copriv.records import lending_like


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def copriv(monkeypatch, capsys, tmp_path):
    """Run the command line in an empty folder, as a user would; with ten components unless it says otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COPRIV_TRACEBACK", raising=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["copriv", *with_ten_components(arguments)])
        with pytest.raises(SystemExit) as stopped:
            command.main()
        captured = capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def copriv_once():
    """Run the command line in a folder that outlives a test, for what several tests look at."""

    def call(folder, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(folder)
            patch.setenv("COLUMNS", "200")
            patch.setattr(sys, "argv", ["copriv", *with_ten_components(arguments)])
            with pytest.raises(SystemExit) as stopped:
                command.main()
        return Outcome(int(stopped.value.code or 0), out.getvalue(), err.getvalue())

    return call


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """The loans of three banks, written once; of the columns, one that is left out and one that tells too much."""
    frame = lending_like.generate(2400, np.random.default_rng(1)).select(*COLUMNS, "sub_grade", "url")
    frame = frame.sample(fraction=1, shuffle=True, seed=1)
    frame = frame.with_columns((pl.int_range(pl.len()) % 3).cast(pl.String).alias("bank"))
    path = tmp_path_factory.mktemp("table") / "loans.parquet"
    frame.write_parquet(path)
    return path


@pytest.fixture
def loans(table, tmp_path):
    return shutil.copy(table, tmp_path)
