"""`copriv export`: what may be passed on leaves, what was measured on records stays; run folders are private."""

import json
import stat
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from copriv.cli.owner import run_serve
from copriv.records import lending_like
from copriv.report import export
from copriv.runtime.rehearsal import free_port

PASSED_ON = {
    "model.json",
    "privacy.json",
    "privacy.html",
    "schedule.json",
    "report.html",
    "report.json",
    "inference.json",
}


@pytest.fixture
def train(copriv, tmp_path):
    frame = lending_like.generate(1200, np.random.default_rng(1))
    frame.with_columns((pl.int_range(pl.len()) % 3).cast(pl.String).alias("bank")).write_parquet(tmp_path / "l.parquet")

    def call(*arguments):
        outcome = copriv(
            *("train", "--data", "l.parquet", "--target", "int_rate", "--owner-column", "bank", "--features", "3"),
            *("--rule", "paper", "--horizon", "9", "--public-rows", "300", "--json", *arguments),
        )
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    return call


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_folder_is_for_its_owner_alone(train, tmp_path):
    train("--out", "runs/first", "--ledgers", "ledgers")
    folder = tmp_path / "runs" / "first"
    assert _mode(folder) == _mode(tmp_path / "ledgers") == 0o700
    assert {path.name: oct(_mode(path)) for path in folder.iterdir() if path.is_file()} == {
        path.name: "0o600" for path in folder.iterdir() if path.is_file()
    }


def test_what_may_be_passed_on_is_copied_and_the_rest_is_named(copriv, train, tmp_path):
    figures = train("--out", "run")
    told = json.loads(copriv("export", "run", "handout/first", "--json").out)
    handed = tmp_path / "handout" / "first"
    assert {path.name for path in handed.iterdir()} == set(told["copied"]) == PASSED_ON
    assert set(told["left"]) == {path.name for path in (tmp_path / "run").iterdir()} - PASSED_ON
    assert "not private" in told["left"]["run.json"]
    assert "not private" in told["left"]["convergence.png"]
    assert "not private" in told["left"]["report-internal.html"]
    model = copriv("export", "run", "handout/model.onnx", "--to", "onnx")
    assert model.out.splitlines() == ["may be passed on: handout/model.onnx", "  copied  model.onnx"]
    assert (tmp_path / "handout" / "model.onnx").stat().st_size > 1_000
    assert copriv("export", "run", "handout/model.pmml", "--to", "pmml").code == 2
    everything = "".join(path.read_text() for path in handed.iterdir())
    for name in ("relative_fitness", "fitness", "best_fitness", "cost_of_privacy"):
        assert str(figures[name])[:8] not in everything
    for name in PASSED_ON:
        assert (handed / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    shown = copriv("export", "run", "again").out
    assert "copied  model.json" in shown
    assert "left    run.json" in shown


def _leaks(folder, figure):
    return {path.name for path in folder.iterdir() if str(figure) in path.read_text()}


def test_what_does_not_belong_into_a_file_does_not_leave_with_it(copriv, train, tmp_path, monkeypatch):
    """The twin copies files by their name: whatever was put into them leaves."""
    fitness = train("--out", "run")["fitness"]
    for name in ("model.json", "privacy.json", "report.json", "inference.json"):
        path = tmp_path / "run" / name
        path.write_text(json.dumps(json.loads(path.read_text()) | {"fitness": fitness}))
    for name in ("privacy.html", "report.html"):
        (tmp_path / "run" / name).write_text(f"the fitness is {fitness}")
    assert copriv("export", "run", "handout").code == 0
    assert _leaks(tmp_path / "handout", fitness) == set()
    for name in ("_model", "_statement", "_page", "_facts", "_report", "_inference"):
        monkeypatch.setattr(export, name, Path.read_bytes)
    assert copriv("export", "run", "twin").code == 0
    assert _leaks(tmp_path / "twin", fitness) == PASSED_ON - {"schedule.json"}


def test_what_cannot_be_exported_is_refused_and_nothing_is_made(copriv, train, tmp_path):
    train("--out", "simulated", "--simulate")
    (tmp_path / "there").mkdir()
    for arguments, words in (
        (("nowhere", "handout"), "no finished run"),
        ((".", "handout"), "no finished run"),
        (("simulated", "handout"), "simulated"),
    ):
        outcome = copriv("export", *arguments)
        assert outcome.code == 2
        assert words in outcome.err
        assert not (tmp_path / "handout").exists()
    train("--out", "run")
    outcome = copriv("export", "run", "there")
    assert outcome.code == 2
    assert "exists" in outcome.err
    assert not list((tmp_path / "there").iterdir())


def test_a_statement_of_an_earlier_version_is_not_passed_on(copriv, train, tmp_path):
    train("--out", "run")
    path = tmp_path / "run" / "privacy.json"
    kept = json.loads(path.read_text())
    path.write_text(
        json.dumps({name: kept[name] for name in ("unit", "adjacency", "noise", "private", "terms", "owners")})
    )
    outcome = copriv("export", "run", "handout")
    assert outcome.code == 2
    assert "earlier version" in outcome.err
    assert not (tmp_path / "handout").exists()


def test_a_run_over_the_network_is_exported_from_the_learners_folder(copriv, tmp_path):
    for seed, name, rows in ((0, "public", 400), (1, "east", 200)):
        lending_like.generate(rows, np.random.default_rng(seed)).write_parquet(tmp_path / f"{name}.parquet")
    for command in (
        ("learner", "draft", "--public", "public.parquet", "--target", "int_rate", "--owners", 1, "--records", 200,
         "--rule", "paper", "--horizon", 3, "--answers", 3, "--step", 0.1, "--clip", 1, "--features", 3,
         "--name", "loans", "--learner", "The Institute"),
        ("learner", "init", "study.toml", "--port", free_port()),
        ("learner", "invite", "east"),
        ("owner", "join", "east.invitation", "--data", "east.parquet", "--yes"),
    ):  # fmt: skip
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err
    assert copriv("export", "learner", "handout").code == 2
    serving = threading.Thread(target=run_serve, args=(tmp_path / "owner",), kwargs={"as_json": True})
    serving.start()
    assert copriv("learner", "run", "--json").code == 0
    serving.join()
    assert _mode(tmp_path / "learner" / "run") == 0o700
    told = json.loads(copriv("export", "learner", "handout", "--json").out.splitlines()[-1])
    assert set(told["copied"]) == PASSED_ON | {"run.json", "meetings.png", "meetings.svg"}
    assert set(told["left"]) == {"roster.json", "checkpoint.sqlite"}
    report = json.loads(copriv("report", "learner", "--json").out)
    assert report == {"report": "learner/run/report.html", "internal": None, "private": True}
    assert "on their own machines" in (tmp_path / "handout" / "report.html").read_text()
    statement = json.loads((tmp_path / "handout" / "privacy.json").read_text())
    assert (statement["study"], statement["learner"]) == ("loans", "The Institute")
    assert statement["public"]["words"] == "400 public rows of public.parquet: nobody in them is protected"
    owned = json.loads(copriv("owner", "statement", "--json").out)
    assert [(study["study"], study["learner"]) for study in owned["studies"]] == [("loans", "The Institute")]
    assert owned["spent"]["epsilon"] == pytest.approx(1.0)
