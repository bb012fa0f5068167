"""`copriv ledger`: what a privacy officer does with a budget."""

import json

import pytest

from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount


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
    assert (told["spent"], told["budget"], told["epsilon_spent"]) == (500_000_000, 10**9, 0.5)
    assert told["studies"] == {"study": 500_000_000}
    words = copriv("ledger", "show", bank).out
    for part in ("First Bank", "ε = 1, δ = 0 for any one record (replace-one)", "ε = 0.5 in 1 answers"):
        assert part in words


def test_a_ledger_with_delta_counts_in_rho(copriv, data):
    outcome = copriv(
        *("ledger", "init", "rho.sqlite", "--owner", "x", "--data", data, "--epsilon", "1", "--delta", "1e-6", "--json")
    )
    told = json.loads(outcome.out)
    assert told["currency"] == "nano-rho"
    assert told["accountant"] == "pld"
    assert 0 < told["budget"] < 10**9


def test_verify_and_receipt(copriv, bank, data):
    receipt = copriv("ledger", "receipt", bank).out.strip()
    assert receipt.startswith("3:")
    assert json.loads(copriv("ledger", "receipt", bank, "--json").out)["sequence"] == 3
    outcome = copriv("ledger", "verify", bank, "--data", data, "--receipt", receipt)
    assert outcome.code == 0, outcome.err
    assert "3 entries" in outcome.out


def test_an_old_copy_does_not_know_the_newest_receipt(copriv, bank, tmp_path):
    old = bank.read_bytes()
    copriv("ledger", "epoch", bank, "--epsilon", "2", "--signed-off-by", "an officer")
    receipt = copriv("ledger", "receipt", bank).out.strip()
    bank.write_bytes(old)
    assert copriv("ledger", "verify", bank).code == 0
    outcome = copriv("ledger", "verify", bank, "--receipt", receipt)
    assert outcome.code == 2
    assert "old copy" in outcome.err


def test_an_epoch_raises_the_promise_and_keeps_the_spending(copriv, bank):
    copriv("ledger", "epoch", bank, "--epsilon", "2", "--signed-off-by", "an officer")
    told = _shown(copriv, bank)
    assert (told["epsilon"], told["spent"], told["budget"]) == (2.0, 500_000_000, 2 * 10**9)


def test_a_version_takes_over_a_changed_dataset(copriv, bank, data):
    data.write_text("a,b\n1,3\n")
    outcome = copriv("ledger", "verify", bank, "--data", data)
    assert outcome.code == 2
    assert "copriv ledger version" in outcome.err
    copriv("ledger", "version", bank, "--data", data, "--signed-off-by", "an officer")
    assert copriv("ledger", "verify", bank, "--data", data).code == 0
    assert _shown(copriv, bank)["spent"] == 500_000_000


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
