"""Blocks from the command line: append, join again, see what each block has lost, renew and expire."""

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import OwnerWorkspace
from copriv.privacy.guarantee import Amount
from copriv.records import lending_like

DRAFT = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 200, "--rule", "paper")
PAPER = ("--horizon", 4, "--answers", 4, "--step", 0.1, "--clip", 1, "--features", 3)


@pytest.fixture
def told(copriv, tmp_path, monkeypatch):
    """What a command tells as JSON; the owner has joined a first study with what arrived first."""
    monkeypatch.chdir(tmp_path)
    for seed, name, rows in ((0, "public", 400), (1, "first", 200), (2, "feb", 150), (3, "mar", 120)):
        lending_like.generate(rows, np.random.default_rng(seed)).write_parquet(f"{name}.parquet")

    def call(*command):
        outcome = copriv(*command, "--json")
        assert outcome.code == 0, outcome.err
        return json.loads(outcome.out)

    call.fails = lambda *command: copriv(*command).err
    _study(copriv, "one", 0.6)
    call("owner", "join", "one.invitation", "--data", "first.parquet", "--folder", "one", "--yes")
    ledger = str(_ledger("one"))
    call("ledger", "epoch", ledger, "--epsilon", 1, "--signed-off-by", "me")
    _spend("one", 600_000_000)
    call.copriv, call.ledger = copriv, ledger
    return call


def _study(copriv, name, epsilon):
    for command in (
        ("learner", "draft", *DRAFT, *PAPER, "--epsilon", epsilon, "--name", name, "--out", f"{name}.toml"),
        ("learner", "init", f"{name}.toml", "--folder", f"hq-{name}"),
        ("learner", "invite", "bank", "--folder", f"hq-{name}", "--out", f"{name}.invitation"),
    ):
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err


def _ledger(name):
    return Path(OwnerWorkspace(Path(name)).enrollment.ledger)


def _spend(name, nano):
    home = OwnerWorkspace(Path(name))
    with closing(SqliteLedger(_ledger(name))) as ledger:
        price = Amount(nano, "epsilon")
        ledger.reserve(f"q {name}", "?", price, home.study.terms.digest(), price)


def test_the_life_of_a_budget(told):
    arrived = told("owner", "append", "feb.parquet", "--block", "2026-02", "--folder", "one")
    assert arrived["blocks"] == {"first": 200, "2026-02": 150}
    _study(told.copriv, "two", 0.6)
    joined = told("owner", "join", "two.invitation", "--data", "first.parquet", "--folder", "two", "--yes")
    assert joined["records"] == 150
    assert OwnerWorkspace(Path("two")).enrollment.blocks == ("2026-02",)
    _spend("two", 500_000_000)
    status = told("owner", "status", "--folder", "two")
    assert [(block["block"], block["spent"]) for block in status["blocks"]] == [("first", 0.6), ("2026-02", 0.5)]
    assert status["reads"] == ["2026-02"]
    shown = told("ledger", "show", told.ledger)
    assert [block["spent"] for block in shown["blocks"]] == [0.6, 0.5]
    history = told("ledger", "history", told.ledger)["events"]
    assert [event["blocks"] for event in history if event["event"] == "charge"] == [[], ["2026-02"]]
    stated = told("ledger", "statement", told.ledger, "--out", "statement")
    assert stated["spent"]["epsilon"] == 0.6
    assert "Blocks of arrival" in Path("statement/statement.html").read_text(encoding="utf-8")
    human = told.copriv("ledger", "show", told.ledger).out
    assert "2026-02: 150 records, ε = 0.5 of 1" in human
    assert "2026-02 has arrived: 150 new records" in told.copriv("ledger", "history", told.ledger).out


def test_a_join_may_name_its_blocks_by_any_file_of_the_records(told):
    told("owner", "append", "feb.parquet", "--block", "2026-02", "--folder", "one")
    told("owner", "append", "mar.parquet", "--block", "2026-03", "--ledger", told.ledger)
    _study(told.copriv, "two", 0.3)
    join = ("owner", "join", "two.invitation", "--data", "mar.parquet", "--yes", "--folder")
    assert told(*join, "all")["records"] == 470
    named = told(*join, "some", "--block", "2026-02", "--block", "2026-03")
    assert named["records"] == 270
    problem = told.fails(*join, "none", "--block", "april")
    assert "no block 'april'" in problem


def test_policies_are_signed_and_shown(told):
    told("owner", "append", "feb.parquet", "--block", "2026-02", "--folder", "one")
    signed = ("--signed-off-by", "J. Doe")
    told("ledger", "renew", told.ledger, "--block", "first", "--epsilon", 2, "--why", "asked again", *signed)
    told("ledger", "expire", told.ledger, "--block", "2026-02", "--why", "kept long enough", *signed)
    lines = told.copriv("ledger", "history", told.ledger).out
    assert "first may lose ε = 2, δ = 0 in all: asked again; signed off by J. Doe" in lines
    assert "2026-02 is read no more: kept long enough; signed off by J. Doe" in lines
    sheet = told.copriv("ledger", "show", told.ledger).out
    assert "ε = 0.6 of 2; renewed by J. Doe: asked again" in sheet
    assert "EXPIRED: kept long enough" in sheet
    assert "may spend ε = 2 already" in told.fails(
        "ledger", "renew", told.ledger, "--block", "first", "--epsilon", 1.5, "--why", "less", *signed
    )


def test_what_is_appended_again_is_told_with_what_was_spent(told):
    february = ("owner", "append", "feb.parquet", "--block", "2026-02", "--folder", "one")
    assert "2026-02 has arrived: 150 new records with an unspent account" in told.copriv(*february).out
    again = told.copriv("owner", "append", "first.parquet", "--block", "first", "--folder", "one").out
    assert "first was there: 200 records with an account from which something was spent" in again
    assert "unspent" not in again
    assert told(*february)["charged"] is False
    _study(told.copriv, "two", 0.6)
    told("owner", "join", "two.invitation", "--data", "first.parquet", "--folder", "two", "--yes")
    _spend("two", 500_000_000)
    assert told(*february)["charged"] is True
    assert "unspent" not in told.copriv(*february).out


def test_known_rows_are_refused(told):
    assert "known as a part of these records" in told.fails(
        "owner", "append", "first.parquet", "--block", "again", "--folder", "one"
    )


@pytest.fixture
def clinic(copriv, tmp_path, monkeypatch):
    """Trains for people on a file, after two months of other people have arrived in blocks; what went wrong."""
    monkeypatch.chdir(tmp_path)
    for seed, name, rows in ((0, "public", 400), (1, "jan", 200), (2, "feb", 200), (3, "mar", 100)):
        table = lending_like.generate(rows, np.random.default_rng(seed))
        table.with_columns(who=1000 * seed + np.arange(rows) // 2).write_parquet(f"{name}.parquet")
    made = ("--owner", "bank", "--data", "jan.parquet", "--epsilon", 1, "--signed-off-by", "me")
    assert copriv("ledger", "init", "bank.sqlite", *made).code == 0

    def train(data, *append, more=()):
        block = ("--ledger", "bank.sqlite", "--block", "feb", *append)
        assert copriv("owner", "append", "feb.parquet", *block).code == 0
        asked = ("--public", "public.parquet", "--target", "int_rate", "--owners", 1, "--epsilon", 1, *PAPER)
        return copriv("train", "--data", data, *asked, "--person", "who", "--rule", "paper", *more).err

    return train


@pytest.mark.parametrize("month", ["jan", "feb"])
def test_people_pay_from_no_blocks_of_rows(clinic, month):
    """Whoever is in two blocks would lose the whole ε in each of them."""
    said = "counts what one record has lost, and this study is about one person by 'who'"
    assert said in clinic(f"{month}.parquet")


def test_people_who_have_no_account_are_not_read(clinic):
    """Those of March would lose ε, and come back in a block that has spent nothing."""
    pl.concat(pl.read_parquet(f"{month}.parquet") for month in ("jan", "feb", "mar")).write_parquet("all.parquet")
    said = clinic("all.parquet", "--person", "who", more=("--version-of", "bank.sqlite"))
    assert "blocks of people, and this file is none of them" in said
    with closing(SqliteLedger(Path("bank.sqlite"))) as ledger:
        assert not ledger.state().studies
    assert "error" not in clinic("feb.parquet", "--person", "who", more=("--out", "run"))


def test_a_training_says_that_a_block_has_expired(clinic, copriv):
    """People of it may be in every file, and no training can leave it out."""
    assert "error" not in clinic("feb.parquet", "--person", "who", more=("--out", "run", "--epsilon", 0.1))
    signed = ("--block", "first", "--why", "kept long enough", "--signed-off-by", "me")
    assert copriv("ledger", "expire", "bank.sqlite", *signed).code == 0
    said = clinic("feb.parquet", "--person", "who", more=("--out", "again", "--epsilon", 0.1))
    assert "'first' has expired (kept long enough), and a training charges every block" in " ".join(said.split())
    assert "copriv owner join --block NAME" in " ".join(said.split())
