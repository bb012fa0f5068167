"""`copriv ledger`: what a privacy officer does with a budget."""

import json
from contextlib import closing

import pytest

from copriv.errors import LedgerRefusal
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.accounting import allowed_rho
from copriv.privacy.guarantee import Amount, Guarantee


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("a,b\n1,2\n")
    return path


@pytest.fixture
def bank(copriv, data, tmp_path):
    """A ledger with half of ε = 1 spent."""
    outcome = copriv("ledger", "init", "bank.sqlite", "--owner", "First Bank", "--data", data, "--epsilon", "1")
    assert outcome.code == 0, outcome.err
    ledger = SqliteLedger(tmp_path / "bank.sqlite")
    half = Amount(500_000_000, "epsilon")
    ledger.reserve("q", "?", half, "study", half)
    ledger.store("q", b"answer")
    ledger.close()
    return tmp_path / "bank.sqlite"


def _shown(copriv, bank):
    return json.loads(copriv("ledger", "show", bank, "--json").out)


def test_show_says_everything(copriv, bank):
    told = _shown(copriv, bank)
    assert (told["owner"], told["epsilon"], told["delta"]) == ("First Bank", 1.0, 0.0)
    assert (told["unit"], told["adjacency"]) == ("record", "replace-one")
    assert told["accounts"] == [{"currency": "nano-epsilon", "budget": 10**9, "spent": 500_000_000}]
    assert told["epsilon_spent"] == 0.5
    assert told["studies"] == {"study": 500_000_000}
    words = copriv("ledger", "show", bank).out
    for part in ("First Bank", "ε = 1, δ = 0 for any one record (replace-one)", "ε = 0.5 in 1 answer"):
        assert part in words


def test_a_ledger_with_delta_counts_in_rho(copriv, data):
    outcome = copriv(
        *("ledger", "init", "rho.sqlite", "--owner", "x", "--data", data, "--epsilon", "1", "--delta", "1e-6", "--json")
    )
    told = json.loads(outcome.out)
    [account] = told["accounts"]
    assert (account["currency"], told["accountant"]) == ("nano-rho", "pld")
    assert 0 < account["budget"] < 10**9


def test_a_ledger_may_have_a_pure_and_a_gaussian_account(copriv, data, tmp_path):
    commitment = ("--epsilon", "1", "--delta", "1e-6", "--pure", "0.25")
    outcome = copriv("ledger", "init", "both.sqlite", "--owner", "x", "--data", data, *commitment, "--json")
    pure, gaussian = json.loads(outcome.out)["accounts"]
    assert (pure["currency"], pure["budget"], gaussian["currency"]) == ("nano-epsilon", 250_000_000, "nano-rho")
    assert gaussian["budget"] == allowed_rho(Guarantee.of("0.75", 1e-6), "pld")
    with closing(SqliteLedger(tmp_path / "both.sqlite")) as ledger:
        for measure, nano in (("epsilon", pure["budget"]), ("rho", gaussian["budget"])):
            whole = Amount(nano, measure)
            ledger.reserve(f"all of {measure}", "?", whole, measure, whole)
            with pytest.raises(LedgerRefusal, match="budget is spent"):
                ledger.reserve(f"more of {measure}", "?", Amount(1, measure), f"another {measure}", whole)
    told = _shown(copriv, tmp_path / "both.sqlite")
    assert 0.99 < told["epsilon_spent"] <= 1.0


def test_a_pure_promise_has_nothing_to_set_aside(copriv, data):
    commitment = ("--epsilon", "1", "--pure", "0.25")
    outcome = copriv("ledger", "init", "both.sqlite", "--owner", "x", "--data", data, *commitment)
    assert outcome.code == 2
    assert "0.25 of epsilon = 1" in outcome.err


def test_show_takes_many_ledgers(copriv, bank, data):
    data.with_name("others.csv").write_text("a,b\n7,8\n")
    copriv("ledger", "init", "other.sqlite", "--owner", "Other", "--data", "others.csv", "--epsilon", "2")
    told = json.loads(copriv("ledger", "show", bank, "other.sqlite", "--json").out)
    assert [standing["owner"] for standing in told] == ["First Bank", "Other"]
    assert copriv("ledger", "show", bank, "other.sqlite").out.count("promised") == 2


def test_verify_and_receipt(copriv, bank, data):
    receipt = copriv("ledger", "receipt", bank).out.strip()
    assert receipt.startswith("3:")
    assert json.loads(copriv("ledger", "receipt", bank, "--json").out)["sequence"] == 3
    outcome = copriv("ledger", "verify", bank, "--data", data, "--receipt", receipt)
    assert outcome.code == 0, outcome.err
    assert "3 entries" in outcome.out


def test_an_old_copy_is_behind_its_mark_and_does_not_know_the_newest_receipt(copriv, bank, tmp_path, monkeypatch):
    old = bank.read_bytes()
    copriv("ledger", "epoch", bank, "--epsilon", "2", "--signed-off-by", "an officer")
    receipt = copriv("ledger", "receipt", bank).out.strip()
    bank.write_bytes(old)
    for command in ("verify", "show", "receipt"):
        outcome = copriv("ledger", command, bank)
        assert outcome.code == 2
        assert "rolled back: it has 3 entries, and it had 4" in outcome.err
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "another machine"))
    assert copriv("ledger", "verify", bank).code == 0
    outcome = copriv("ledger", "verify", bank, "--receipt", receipt)
    assert outcome.code == 2
    assert "old copy" in outcome.err


def test_an_epoch_raises_the_promise_and_keeps_the_spending(copriv, bank):
    copriv("ledger", "epoch", bank, "--epsilon", "2", "--signed-off-by", "an officer")
    told = _shown(copriv, bank)
    assert (told["epsilon"], told["accounts"][0]["spent"], told["accounts"][0]["budget"]) == (
        2.0,
        500_000_000,
        2 * 10**9,
    )


def test_a_version_takes_over_a_changed_dataset(copriv, bank, data):
    data.write_text("a,b\n1,3\n")
    outcome = copriv("ledger", "verify", bank, "--data", data)
    assert outcome.code == 2
    assert "copriv ledger version" in outcome.err
    copriv("ledger", "version", bank, "--data", data, "--signed-off-by", "an officer")
    assert copriv("ledger", "verify", bank, "--data", data).code == 0
    assert _shown(copriv, bank)["epsilon_spent"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["init", "bank.sqlite", "--owner", "x", "--data", "loans.csv", "--epsilon", "1"], "already"),
        (["init", "no/such/place.sqlite", "--owner", "x", "--data", "loans.csv", "--epsilon", "1"], "no folder"),
        (["init", "new.sqlite", "--owner", "x", "--data", "nowhere.csv", "--epsilon", "1"], "nowhere.csv"),
        (["init", "new.sqlite", "--owner", "x", "--data", "loans.csv", "--epsilon", "0"], "epsilon is 0"),
        (["init", "new.sqlite", "--owner", "x", "--data", "loans.csv", "--epsilon", "1", "--delta", "2"], "delta is 2"),
        (["show", "nowhere.sqlite"], "no ledger"),
        (["show", "loans.csv"], "loans.csv"),
        (["verify", "bank.sqlite", "--receipt", "yesterday"], "'yesterday' is not a receipt"),
        (["epoch", "bank.sqlite", "--epsilon", "0.4", "--signed-off-by", "x"], "less than what is spent"),
        (["epoch", "bank.sqlite", "--epsilon", "2", "--signed-off-by", " "], "signed off"),
        (["version", "bank.sqlite", "--data", "nowhere.csv", "--signed-off-by", "x"], "nowhere.csv"),
    ],
)
def test_bad_input_changes_nothing(copriv, bank, tmp_path, arguments, named):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = copriv("ledger", *arguments)
    assert outcome.code == 2
    assert named in outcome.err
    assert "Traceback" not in outcome.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
