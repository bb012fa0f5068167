"""Whoever approves later sees what the one who joined saw; and what is left is what the records have left."""

import json
from contextlib import closing
from pathlib import Path

import msgspec
import polars as pl
import pytest
from tests.narrow_loans import narrow_loans

from copriv.owner.owner import account_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.workspace import Contact, OwnerWorkspace
from copriv.privacy.guarantee import Amount


@pytest.fixture
def join(copriv, tmp_path):
    """Join a study of that name, in a folder of its own."""
    for seed, name, rows in ((0, "public", 400), (1, "bank", 200)):
        narrow_loans(rows, seed).write_parquet(tmp_path / f"{name}.parquet")

    def call(name, *options, data="bank.parquet", delta=0, answers=4):
        draft = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 200, "--name", name)
        paper = (
            "--rule",
            "paper",
            "--horizon",
            answers,
            "--answers",
            answers,
            "--step",
            0.1,
            "--clip",
            1,
            "--features",
            3,
        )
        for command in (
            ("learner", "draft", *draft, *paper, "--features", 3, "--delta", delta, "--out", f"{name}.toml"),
            ("learner", "init", f"{name}.toml", "--folder", f"hq-{name}"),
            ("learner", "invite", "bank", "--folder", f"hq-{name}", "--out", f"{name}.invitation"),
            ("owner", "join", f"{name}.invitation", "--data", data, "--folder", name, "--yes", *options),
        ):
            outcome = copriv(*command)
            assert outcome.code == 0, outcome.err
        return outcome

    return call


def _ledger(name):
    return closing(SqliteLedger(Path(OwnerWorkspace(Path(name)).enrollment.ledger)))


def _raise_budget(name, nano, delta=0.0):
    with _ledger(name) as ledger:
        budgets = {"epsilon": nano}
        ledger.open_epoch(
            msgspec.structs.replace(OwnerWorkspace(Path(name)).enrollment, nano_epsilon=nano).guarantee, budgets, "me"
        )


def _spend(name, study, nano):
    with _ledger(name) as ledger:
        amount = Amount(nano, "epsilon")
        ledger.reserve(f"q-{ledger.state().sequence}", "a question", amount, study, amount * 100)


def _notes(outcome):
    return [line for line in outcome.err.splitlines() if line.startswith(("note:", "the learner's authority"))]


def test_approving_later_shows_what_joining_shows(copriv, join, tmp_path):
    first = join("first", "--epsilon", "1")
    assert _notes(copriv("owner", "approve", "--folder", "first", "--yes"))[-1] == _notes(first)[-1]
    _spend("first", OwnerWorkspace(Path("first")).study.terms.digest(), 250_000_001)
    _raise_budget("first", 9 * 10**9)
    table = pl.read_parquet("bank.parquet")
    pl.concat([table, table.head(1)]).write_parquet("newer.parquet")
    joined = join(
        "second", "--epsilon", "2", "--approve-later", "--version-of", "first/ledger.sqlite", data="newer.parquet"
    )
    approved = copriv("owner", "approve", "--folder", "second", "--yes")
    assert approved.code == 0, approved.err
    assert _notes(approved) == _notes(joined)
    known, spent, authority = _notes(approved)
    assert known.startswith("note: these are a new version of known records, and their ledger pays:")
    assert "spent ε = 0.250000001, δ = 0 for any one record (replace-one) in all before" in spent
    assert len(authority.removeprefix("the learner's authority: ").replace(" ", "")) == 32
    _raise_budget("second", 10 * 10**9)
    third = join("third", "--epsilon", "2", "--approve-later", data="newer.parquet")
    assert _notes(copriv("owner", "approve", "--folder", "third", "--yes")) == _notes(third)
    assert "these are known records" in _notes(third)[0]


def _left(copriv, name):
    outcome = copriv("owner", "status", "--folder", name, "--json")
    assert outcome.code == 0, outcome.err
    told = json.loads(outcome.out)
    return told["epsilon_left"], told["answers_left"]


def test_what_is_left_is_what_the_records_have_left(copriv, join):
    join("first", "--epsilon", "1")
    assert _left(copriv, "first") == (1, 4)
    _spend("first", "another study", 400_000_000)
    epsilon, answers = _left(copriv, "first")
    assert epsilon == pytest.approx(0.6)
    assert answers == 2
    _spend("first", account_of(OwnerWorkspace(Path("first")).study.terms.digest(), "gradient"), 250_000_000)
    epsilon, answers = _left(copriv, "first")
    assert epsilon == pytest.approx(0.35)
    assert answers == 1
    _spend("first", "another study", 350_000_000)
    assert _left(copriv, "first") == (0, 0)


def test_with_gaussian_noise_likewise(copriv, join):
    # With as many answers Gaussian noise costs less than Laplace noise, which a guarantee with delta would allow, too.
    join("first", "--epsilon", "1", "--accountant", "zcdp", delta="1e-6", answers=400)
    assert _left(copriv, "first") == (1, 400)
    with _ledger("first") as ledger:
        half = Amount(ledger.state().budget.nano // 2, "rho")
        ledger.reserve("q", "a question", half, "another study", half)
    epsilon, answers = _left(copriv, "first")
    assert 0.5 < epsilon < 0.8
    assert answers == 200


def test_a_billionth_is_shown(copriv, join):
    joined = join("first", "--epsilon", "5.0000049")
    assert "ε = 5.0000049, δ = 0 for any one record (replace-one)" in joined.err
    shown = copriv("owner", "status", "--folder", "first").out
    assert "promised  ε = 5.0000049, δ = 0 for any one record (replace-one)" in shown
    assert "left      ε = 5.0000049, 4 answers" in shown


def test_status_shows_what_others_say_as_text(copriv, join):
    join("first", "--epsilon", "1")
    home = OwnerWorkspace(Path("first"))
    home.note_contact(Contact("now", "dismissed\x1b[2J"))
    changed = msgspec.structs.replace(home.enrollment, host="broker\x1b[2J")
    (home.folder / "engagement.json").write_bytes(msgspec.json.encode(changed))
    shown = copriv("owner", "status", "--folder", "first").out
    assert "\x1b" not in shown
    assert "broker\\x1b[2J" in shown
    assert "dismissed\\x1b[2J" in shown
