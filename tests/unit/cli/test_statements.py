"""Two statements and a history: what is said of a study, what of a dataset, and what happened in a ledger."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from copriv import __version__
from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin, begin_open
from copriv.owner.owner import account_of
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee
from copriv.privacy.release import Release
from copriv.protocol.public_rows import PublicRows
from copriv.records import lending_like

FORMAT_1 = Path(__file__).parents[1] / "owner" / "ledger_of_format_1.sql"
VALUES = (0.123456789012, -2.5)
FIRST, SECOND = "a" * 64, "b" * 64


def _answer(ledger, query, study, amount, mechanism="laplace"):
    ledger.reserve(query, "?", amount, study, Amount(10**11, amount.measure))
    release = Release(query, mechanism, 0.25, 0.01, "L1", amount.nano, amount.measure)
    ledger.store(query, msgspec.msgpack.encode((VALUES, release)))


@pytest.fixture
def bank(copriv, tmp_path):
    """Two studies of ε = 1 each on the same records: 2 of ε = 3 are spent; an epoch and a version in between."""
    path = tmp_path / "bank.sqlite"
    half = Amount(500_000_000, "epsilon")
    with closing(SqliteLedger.create(path, begin("First Bank", "records", Guarantee.of(2)))) as ledger:
        public = PublicRows(10_000, "loans.csv", own=True)
        ledger.enroll(Enrolled(FIRST, "loans 2025", "The Institute", "A. Officer", "gradient", public))
        _answer(ledger, "q1", FIRST, half)
        _answer(ledger, "q2", account_of(FIRST, "loss"), half)
        ledger.open_epoch(Guarantee.of(3), {"epsilon": 3 * 10**9}, "B. Officer")
        ledger.open_version("other records", "C. Officer")
        ledger.enroll(Enrolled(SECOND, "\x1b[2Jloans <b>2026</b>", "", "D. Officer"))
        _answer(ledger, "q3", SECOND, half * 2)
        ledger.reserve("q4", "?", Amount(1, "epsilon"), SECOND, half * 4)
    return path


@pytest.fixture
def old(copriv, tmp_path):
    """A ledger of format 1: no dates, no names, answers of another kind."""
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FORMAT_1.read_text())
    return path


def test_the_owners_statement_is_about_all_studies(copriv, bank, tmp_path):
    told = json.loads(copriv("ledger", "statement", bank, "--out", "said", "--json").out)
    assert told["spent"] == {"epsilon": pytest.approx(2.000000001), "delta": 0.0}
    assert told["promised"] == {"epsilon": 3.0, "delta": 0.0}
    assert told["left"] == pytest.approx(0.999999999)
    assert (told["unit"], told["adjacency"], told["copriv"]) == ("record", "replace-one", __version__)
    assert told["date"].startswith("20")
    first, second = told["studies"]
    assert (first["study"], first["learner"], first["approved_by"]) == ("loans 2025", "The Institute", "A. Officer")
    assert first["spent"] == {"epsilon": 1.0, "delta": 0.0}
    assert (first["answers"], second["answers"]) == (2, 1)
    assert (second["learner"], second["approved_by"]) == ("not named", "D. Officer")
    assert [change["signed_off_by"] for change in told["changes"]] == ["B. Officer", "C. Officer"]
    assert told["public"] == ["10,000 rows of this very file (loans.csv) are public: nobody in them is protected"]
    assert "for the owner" in told["for_whom"]
    assert json.loads((tmp_path / "said" / "statement.json").read_text()) == told


def test_the_page_shows_the_same_and_names_as_text(copriv, bank, tmp_path):
    shown = copriv("ledger", "statement", bank, "--out", "said").out
    page = (tmp_path / "said" / "statement.html").read_text()
    for words in ("loans 2025", "The Institute", "A. Officer", "C. Officer", "of this very file", "ε = 2", "ε = 3"):
        assert words in shown
        assert words in page
    for text in (shown, page):
        assert "\x1b" not in text
    assert "<b>2026" not in page
    assert "http" not in page
    assert (tmp_path / "said").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "said").iterdir())
    assert copriv("ledger", "statement", bank, "--out", "said").code == 2


def test_no_seal_and_no_answer_is_in_a_statement(copriv, bank):
    with closing(SqliteLedger(bank)) as ledger:
        book = ledger.state()
        secret = [book.head, book.salt, book.dataset, *book.receipts, "0.1234567"]
    for arguments in (("ledger", "statement", bank), ("ledger", "statement", bank, "--json")):
        text = copriv(*arguments).out
        assert not [word for word in secret if word in text]


def test_two_accounts_are_stated_with_their_total(copriv, tmp_path):
    path = tmp_path / "both.sqlite"
    opening = begin("Bank", "records", Guarantee.of(1, 1e-6), pure=250_000_000)
    with closing(SqliteLedger.create(path, opening)) as ledger:
        rho = Amount(ledger.state().accounts["rho"].budget.nano, "rho")
        _answer(ledger, "q1", FIRST, Amount(250_000_000, "epsilon"))
        _answer(ledger, "q2", SECOND, rho, "gaussian")
    told = json.loads(copriv("ledger", "statement", path, "--json").out)
    assert 0.999 < told["spent"]["epsilon"] <= 1.0
    assert told["spent"]["delta"] == 1e-6
    assert [account["currency"] for account in told["accounts"]] == ["ε of Laplace noise", "ρ of Gaussian noise"]
    assert all(account["left"] == 0 for account in told["accounts"])
    assert told["studies"][1]["spent"]["epsilon"] == pytest.approx(0.75, rel=1e-3)
    assert told["deployment"]["dp_flavor"]["name"] == "Approximate DP"


def test_a_ledger_without_a_budget_has_no_limit(copriv, tmp_path):
    path = tmp_path / "open.sqlite"
    with closing(SqliteLedger.create(path, begin_open("file", "records"))) as ledger:
        _answer(ledger, "q1", FIRST, Amount(12 * 10**9, "epsilon"))
    told = json.loads(copriv("ledger", "statement", path, "--json").out)
    assert (told["promised"], told["left"], told["spent"]["epsilon"]) == (None, None, 12.0)
    assert "e^12" in told["weakness"]
    assert "no budget is declared" in copriv("ledger", "statement", path).out
    assert "no budget is declared" in copriv("ledger", "history", path).out


def test_many_ledgers_have_a_statement_each(copriv, bank, old, tmp_path):
    told = json.loads(copriv("ledger", "statement", bank, old, "--out", "said", "--json").out)
    assert [statement["owner"] for statement in told] == ["First Bank", "First Bank"]
    assert (tmp_path / "said" / "statement.html").read_text().count("<h1>") == 2


def test_both_statements_have_the_sections_of_the_registry(copriv, bank):
    told = json.loads(copriv("ledger", "statement", bank, "--json").out)["deployment"]
    assert set(told) == {"product", "dp_flavor", "privacy_loss", "model", "accounting", "implementation"}
    assert told["privacy_loss"]["privacy_unit"] == "record"
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.0, "delta": 0.0}
    assert told["dp_flavor"]["name"] == "Pure DP"
    assert __version__ in told["implementation"]["software"]


def test_history_is_readable(copriv, bank):
    text = copriv("ledger", "history", bank).out
    lines = text.splitlines()
    for words in (
        "average gradient, 2 numbers, laplace noise of scale 0.25",
        "average loss, 2 numbers",
        "loans 2025, The Institute: ε = 0.5",
        "a new promise: ε = 3, δ = 0 for any one record (replace-one), signed off by B. Officer",
        "a new version of the records, signed off by C. Officer",
        "not named: approved by D. Officer",
        "charged, and no answer is kept here",
        "of this very file",
    ):
        assert words in text
    assert all(line[2:6].isdigit() for line in lines[1:])
    assert "\x1b" not in text
    assert "0.123456789012" not in text
    assert "0.123456789012 -2.5" in copriv("ledger", "history", bank, "--values").out


def test_history_as_json_has_everything(copriv, bank):
    told = json.loads(copriv("ledger", "history", bank, "--json").out)
    events = told["events"]
    assert [event["event"] for event in events] == [
        *("opened", "enrolled", "answer", "answer", "epoch", "version", "enrolled", "answer", "charge")
    ]
    assert events[2]["sent"]["values"] == list(VALUES)
    assert events[2]["terms"] == events[3]["terms"] == FIRST
    assert sum(event["epsilon"] for event in events if event["event"] in {"answer", "charge"}) == pytest.approx(2)


def test_history_of_a_ledger_of_format_1(copriv, old):
    text = copriv("ledger", "history", old).out
    assert "not noted" in text
    assert "8 bytes were sent" in text
    copriv("ledger", "epoch", old, "--epsilon", "3", "--signed-off-by", "an officer")
    told = json.loads(copriv("ledger", "history", old, "--json").out)
    assert told["events"][0]["date"].startswith("before 20")
    assert copriv("ledger", "statement", old).code == 0
    assert "study study" in copriv("ledger", "statement", old).out


def test_show_names_studies_and_speaks_in_epsilon(copriv, bank):
    shown = copriv("ledger", "show", bank).out
    assert "ε = 2.000000001 of ε = 3" in shown
    assert "nano" not in shown
    assert "loans 2025, The Institute" in shown
    assert json.loads(copriv("ledger", "show", bank, "--json").out)["names"][FIRST] == "loans 2025, The Institute"


@pytest.mark.parametrize(
    ("commitment", "words"), [(("1000000000",), "e^1e+09"), (("1", "--delta", "0.9"), "δ = 0.9"), (("12",), "e^12")]
)
def test_a_weak_promise_is_called_that_in_every_place(copriv, tmp_path, commitment, words):
    (tmp_path / "loans.csv").write_text("a,b\n1,2\n")
    made = copriv("ledger", "init", "weak.sqlite", "--owner", "x", "--data", "loans.csv", "--epsilon", *commitment)
    assert words in made.out
    for command in (("show",), ("statement",), ("show", "--json"), ("statement", "--json")):
        assert words in copriv("ledger", command[0], "weak.sqlite", *command[1:]).out
    copriv("ledger", "statement", "weak.sqlite", "--out", "said")
    assert words in (tmp_path / "said" / "statement.html").read_text()
    raised = copriv("ledger", "epoch", "weak.sqlite", "--epsilon", "1000000001", "--signed-off-by", "x", "--json")
    assert "means little" in json.loads(raised.out)["weakness"]


def test_a_sound_promise_is_left_in_peace(copriv, bank):
    assert json.loads(copriv("ledger", "show", bank, "--json").out)["weakness"] is None
    assert "beware" not in copriv("ledger", "show", bank).out


@pytest.fixture
def loans(copriv, tmp_path):
    """Three banks' loans in one table, and public ones in another."""
    for name, rows, seed in (("loans", 1200, 1), ("public", 300, 2)):
        frame = lending_like.generate(rows, np.random.default_rng(seed))
        frame = frame.with_columns((pl.int_range(pl.len()) % 3).cast(pl.String).alias("bank"))
        frame.write_parquet(tmp_path / f"{name}.parquet")
    return ("train", "--data", "loans.parquet", "--target", "int_rate", "--owner-column", "bank", "--features", "3",
            "--rule", "paper", "--horizon", "9", "--json")  # fmt: skip


def test_the_statement_of_a_study_names_it_and_its_public_rows(copriv, loans, tmp_path):
    outcome = copriv(*loans, "--public-rows", "300", "--out", "first")
    assert outcome.code == 0, outcome.err
    words = "300 rows of this very file (loans.parquet) are public: nobody in them is protected"
    assert words in outcome.err
    statement = json.loads((tmp_path / "first" / "privacy.json").read_text())
    assert (statement["study"], statement["learner"], statement["copriv"]) == ("first", "this machine", __version__)
    assert statement["public"]["words"] == words
    assert statement["public"]["rows_of_this_very_file"]
    assert "other studies" in statement["about"]
    assert any("model.json holds what was fitted on them" in each for each in statement["not_protected"])
    assert statement["deployment"]["privacy_loss"]["privacy_unit"] == "record"
    assert statement["deployment"]["product"]["name"] == "first"
    assert "receipt" not in json.dumps(statement)
    page = (tmp_path / "first" / "privacy.html").read_text()
    for each in ("“first”", "this machine", __version__, words, statement["date"]):
        assert each in page
    ledger = min((tmp_path / "first" / "ledgers").glob("*.sqlite"))
    told = json.loads(copriv("ledger", "statement", ledger, "--json").out)
    assert told["public"] == [words]
    [study] = told["studies"]
    assert (study["study"], study["learner"]) == ("first", "this machine")
    assert "average gradient, 4 numbers" in copriv("ledger", "history", ledger).out


def test_public_rows_of_another_file_are_said_to_be_from_there(copriv, loans, tmp_path):
    outcome = copriv(*loans, "--public", "public.parquet", "--out", "second", "--epsilon", "12")
    statement = json.loads((tmp_path / "second" / "privacy.json").read_text())
    assert statement["public"]["words"] == "300 public rows of public.parquet: nobody in them is protected"
    assert "e^12" in statement["weakness"]
    assert "e^12" in outcome.err
    assert "e^12" in json.loads(outcome.out)["weakness"]
    assert "e^12" in (tmp_path / "second" / "privacy.html").read_text()


def test_a_plan_that_asks_for_little_says_so(copriv, loans, tmp_path):
    asked = copriv("plan", "--public", "public.parquet", "--target", "int_rate", "--rule", "paper", "--horizon", "9",
                   "--step", "0.1", "--clip", "1", "--owners", 2, "--records", 300, "--epsilon", "20",
                   "--learner", "The Institute", "--json")  # fmt: skip
    told = json.loads(asked.out)
    assert (told["learner"], told["public_rows"], told["public_source"]) == ("The Institute", 300, "public.parquet")
    assert "e^20" in told["weakness"]
    assert "e^20" in asked.err
