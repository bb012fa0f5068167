"""The command and the Python of a run ask for the same run, and name files without their folders."""

import ast
import shlex
from dataclasses import fields
from pathlib import Path

import polars as pl

import copriv as cp
from copriv.api.settings import Reading, TrainSettings
from copriv.cli.train import TrainOptions
from copriv.report.equivalent import command_of, python_of
from copriv.runtime.local_request import TrainRequest

FULL = TrainRequest(
    data=Path("/home/me/secret folder/loans.csv"),
    public=Path("/tmp/public.parquet"),  # noqa: S108
    target="rate; rm -rf /",
    owner_column="bank",
    epsilon=["1", "2.5"],
    delta=1e-6,
    skip=("id", "name"),
    shuffle=True,
    rule="paper",
    horizon=50,
    ledgers=Path("/srv/ledgers"),
    budget="3",
    out=Path("/srv/out"),
    seed=4,
)


def test_every_word_of_the_command_is_an_option_of_train():
    words = shlex.split(command_of(FULL, whole=True))
    options = {f"--{field.name.replace('_', '-')}" for field in fields(TrainOptions)}
    assert words[:2] == ["copriv", "train"]
    assert {word for word in words if word.startswith("--")} <= options
    assert words[words.index("--target") + 1] == "rate; rm -rf /"
    assert words[words.index("--epsilon") + 1] == "1,2.5"
    assert words.count("--skip") == 2


def test_what_may_be_passed_on_names_no_folder_and_no_ledger():
    for text in (command_of(FULL), python_of(FULL)):
        assert "loans.csv" in text
        for words in ("/home", "/srv", "/tmp", "budget", "ledgers"):  # noqa: S108
            assert words not in text
    assert "/srv/ledgers" in command_of(FULL, whole=True)


def test_python_is_python_with_settings_that_exist():
    for request in (FULL, TrainRequest(), TrainRequest(in_memory=True, target="y", owners=2, epsilon={"a": "1"})):
        calls = [node for node in ast.walk(ast.parse(python_of(request))) if isinstance(node, ast.Call)]
        given = {call.func.attr: {word.arg for word in call.keywords} for call in calls}
        assert given["read"] <= {"target", "owners", "public", *Reading.__annotations__}
        assert given["train"] <= {"epsilon", *TrainSettings.__annotations__}


def test_the_same_words_train_the_same_model(tmp_path, monkeypatch):
    table = {"x": [k % 20 / 10 for k in range(600)], "y": [3.0 + k % 20 / 5 for k in range(600)]}
    run = cp.train(cp.read(table, target="y", owners=2, features=1), 10, simulate=True, seed=3)
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(table).write_parquet("table.parquet")
    scope = {}
    exec(run.result.facts.python.replace("TABLE", "table.parquet"), scope)  # noqa: S102
    assert scope["run"].model.file.theta == run.model.file.theta
