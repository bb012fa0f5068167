"""What an attack on budgets has found: copies of run folders, lost keys, moved folders, and remedies that did not work."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.records import lending_like

LEARN = ("--target", "int_rate", "--features", "3", "--public-rows", 300, "--owners", 3)


@pytest.fixture
def loans(copriv, tmp_path):
    path = tmp_path / "loans.parquet"
    lending_like.generate(900, np.random.default_rng(4)).write_parquet(path)
    return path


@pytest.fixture
def train(copriv, loans):
    """A quick run; every call has a folder of its own."""
    numbers = iter(range(100))

    def call(*arguments, data=loans, rule=("--rule", "statistics")):
        return copriv("train", "--data", data, *LEARN, *rule, "--out", f"run{next(numbers)}", "--json", *arguments)

    return call


def _ledger_of(outcome):
    assert outcome.code == 0, outcome.err
    return Path(json.loads(outcome.out)["dataset"]["ledger"])


def _answers(folder):
    """Every answer that the owners of a run folder have given, by owner and query."""
    found = {}
    for path in sorted((folder / "ledgers").glob("*.sqlite")):
        with closing(sqlite3.connect(path)) as connection:
            found |= {(path.name, *row[:1]): row[1] for row in connection.execute("SELECT query, bytes FROM payload")}
    return found


@pytest.fixture
def cut(monkeypatch):
    """The power goes after so many meetings, once."""
    from copriv.cli import train_job

    real, seen = train_job.Watch.see, []

    class Cut(Exception):
        """The power goes."""

    def see(watch, iteration, model):
        seen.append(iteration.number)
        if len(seen) == 10:
            raise Cut
        real(watch, iteration, model)

    monkeypatch.setattr(train_job.Watch, "see", see)


def test_a_copy_of_a_run_folder_answers_nothing_twice(train, copriv, cut, tmp_path):
    assert train(rule=("--rule", "paper", "--horizon", 40, "--seed", 1)).code == 70
    shutil.copytree(tmp_path / "run0", tmp_path / "backup")
    assert copriv("train", "--resume", "run0", "--json").code == 0
    refused = copriv("train", "--resume", "backup", "--json")
    one, other = _answers(tmp_path / "run0"), _answers(tmp_path / "backup")
    assert len(other) < len(one)
    assert all(one[asked] == answer for asked, answer in other.items())
    assert refused.code == 2
    assert "rolled back" in refused.err


def test_two_copies_of_a_run_folder_do_not_answer_at_once(train, cut, tmp_path):
    """Both are open before either answers; the second to answer is refused."""
    assert train(rule=("--rule", "paper", "--horizon", 40, "--seed", 1)).code == 70
    shutil.copytree(tmp_path / "run0", tmp_path / "backup")
    path = next((tmp_path / "run0" / "ledgers").glob("*.sqlite"))
    with closing(SqliteLedger(path)) as one, closing(SqliteLedger(tmp_path / "backup" / "ledgers" / path.name)) as two:
        one.open_version("0" * 64, "somebody")
        with pytest.raises(Exception, match="rolled back"):
            two.open_version("0" * 64, "somebody")


def test_nothing_that_depends_on_records_names_a_ledger(train, copriv, loans, tmp_path, registry_folder, monkeypatch):
    """The same registry and key before the same file: the name of the ledger is chance."""
    with Registry():
        pass
    shutil.copytree(registry_folder, tmp_path / "twin")
    first = _ledger_of(train())
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "twin"))
    assert _ledger_of(train()).name != first.name
    monkeypatch.setenv("COPRIV_REGISTRY", str(registry_folder))
    renamed = first.rename(first.with_name("c0ffee.sqlite"))
    outcome = copriv("ledger", "statement", renamed, "--out", "stated", "--json")
    assert outcome.code == 0, outcome.err
    with closing(SqliteLedger(renamed)) as ledger:
        assert json.loads(outcome.out)["ledger"] == ledger.book().id
    for page in (outcome.out, *(path.read_text() for path in (tmp_path / "stated").iterdir())):
        assert "c0ffee" not in page
