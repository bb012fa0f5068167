"""What others have called a column is text in whatever a command prints, and ends no command."""

import numpy as np
import pytest

from copriv.records import lending_like

TARGET, COLUMN = "rate [/dl]", "id [/z]\x1b[31m"
PAPER = ("--rule", "paper", "--horizon", 4, "--answers", 4, "--step", 0.1, "--clip", 1, "--features", 3)


@pytest.fixture
def said(copriv, tmp_path, monkeypatch):
    """All that a command prints, for tables whose names close tags and repaint terminals."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("public", "mine")):
        table = lending_like.generate(300, np.random.default_rng(seed))
        table.rename({"int_rate": TARGET, "id": COLUMN}).write_parquet(f"{name}.parquet")

    def call(*words):
        outcome = copriv(*words)
        assert outcome.code == 0, outcome.err
        shown = " ".join((outcome.out + outcome.err).split())
        assert "\x1b" not in shown
        return shown

    return call


def test_a_forecast_names_what_it_is_for(said):
    asked = ("--public", "public.parquet", "--target", TARGET, "--owners", 3, "--records", 200, "--epsilon", 1)
    shown = said("forecast", *asked, "--vary", "epsilon", "--out", "[/a]")
    assert f"forecast for '{TARGET}'" in shown
    assert r"left out, identifier: id [/z]\x1b[31m" in shown
    assert "[/a]/" in shown


def test_a_run_that_was_paid_for_is_shown(said):
    """The table is printed after every answer was charged."""
    asked = ("--data", "mine.parquet", "--public", "public.parquet", "--target", TARGET, "--owners", 2, "--epsilon", 1)
    assert f"models of '{TARGET}' on everybody's records" in said("train", *asked, *PAPER, "--out", "run")
    assert "note: " in said("predict", "--model", "run/model.json", "--data", "mine.parquet", "--out", "predicted.csv")


def test_a_sweep_is_shown_wherever_it_is_kept(said):
    asked = ("--data", "mine.parquet", "--public", "public.parquet", "--target", TARGET, "--owners", 2)
    swept = ("--vary", "epsilon=1,2", "--simulate", "--out", "ladder [/b]")
    assert "ladder [/b]/" in said("sweep", *asked, *PAPER, *swept)


def test_a_ledger_is_shown_whatever_its_file_was_called(said, tmp_path):
    named = tmp_path / "mine\x1b[2J.parquet"
    (tmp_path / "mine.parquet").rename(named)
    said("ledger", "init", "mine.sqlite", "--owner", named.name, "--data", named, "--epsilon", 1)
    assert r"owner mine\x1b[2J.parquet" in said("ledger", "show", "mine.sqlite")
    said("ledger", "history", "mine.sqlite")
