"""One suite for every ledger: in memory, on disk, and on disk but opened anew before every call."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv.errors import LedgerRefusal, QueryConflict
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount

BUDGET = Amount(100, "epsilon")
CHARGE = Amount(30, "epsilon")


class Reopened:
    """A ledger that forgets everything but its file between two calls."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        def call(*arguments):
            ledger = SqliteLedger(self._path)
            try:
                return getattr(ledger, name)(*arguments)
            finally:
                ledger.close()

        return call


@pytest.fixture(params=["memory", "sqlite", "reopened"])
def ledger(request, tmp_path):
    if request.param == "memory":
        return MemoryLedger(BUDGET)
    made = SqliteLedger.create(tmp_path / "ledger.sqlite", "bank", BUDGET)
    if request.param == "sqlite":
        return made
    made.close()
    return Reopened(tmp_path / "ledger.sqlite")


def test_a_new_ledger_has_spent_nothing(ledger):
    account = ledger.account()
    assert (account.budget, account.spent, account.answers) == (BUDGET, Amount(0, "epsilon"), 0)


def test_charges_add_up_and_the_budget_is_the_end(ledger):
    for number in range(3):
        assert ledger.reserve(f"q{number}", b"?", CHARGE) is None
    with pytest.raises(LedgerRefusal, match="budget is spent: 90 of 100"):
        ledger.reserve("q3", b"?", CHARGE)
    assert ledger.account().spent == Amount(90, "epsilon")
    assert ledger.reserve("q4", b"?", Amount(10, "epsilon")) is None
    assert ledger.account().answers == 4


def test_the_same_question_is_free_and_gets_the_same_bytes(ledger):
    ledger.reserve("q", b"?", CHARGE)
    ledger.store("q", b"answer")
    assert ledger.reserve("q", b"?", CHARGE) == b"answer"
    assert ledger.account().spent == CHARGE


def test_a_charged_question_without_an_answer_may_be_asked_again_for_free(ledger):
    """Nothing left the owner, so the reservation still stands for it."""
    ledger.reserve("q", b"?", CHARGE)
    assert ledger.reserve("q", b"?", CHARGE) is None
    assert ledger.account().spent == CHARGE


def test_an_id_with_another_question_is_a_conflict(ledger):
    ledger.reserve("q", b"?", CHARGE)
    with pytest.raises(QueryConflict, match="'q'"):
        ledger.reserve("q", b"other", CHARGE)
    assert ledger.account().spent == CHARGE


def test_there_is_one_answer_to_one_charged_query(ledger):
    with pytest.raises(LedgerRefusal, match="never charged"):
        ledger.store("q", b"answer")
    ledger.reserve("q", b"?", CHARGE)
    ledger.store("q", b"answer")
    with pytest.raises(QueryConflict, match="already"):
        ledger.store("q", b"another")
    assert ledger.reserve("q", b"?", CHARGE) == b"answer"


def test_currencies_are_not_mixed(ledger):
    with pytest.raises(LedgerRefusal, match="rho"):
        ledger.reserve("q", b"?", Amount(1, "rho"))


@given(calls=st.lists(st.tuples(st.integers(0, 5), st.sampled_from([b"a", b"b"]), st.integers(1, 40)), max_size=30))
def test_memory_and_disk_agree_on_every_sequence_of_calls(tmp_path_factory, calls):
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    ledgers = [MemoryLedger(BUDGET), SqliteLedger.create(path, "bank", BUDGET)]
    for number, question, nano in calls:
        outcomes = {_outcome(ledger, f"q{number}", question, Amount(nano, "epsilon")) for ledger in ledgers}
        assert len(outcomes) == 1
        accounts = {ledger.account() for ledger in ledgers}
        assert len(accounts) == 1
        assert accounts.pop().spent.nano <= BUDGET.nano
    ledgers[1].close()


def _outcome(ledger, query, question, charge):
    try:
        if ledger.reserve(query, question, charge) is None:
            ledger.store(query, question * 2)
            return "charged"
    except LedgerRefusal as problem:
        return str(problem)
    return "repeated"


def test_serving_never_creates_a_ledger(tmp_path):
    with pytest.raises(LedgerRefusal, match="no ledger"):
        SqliteLedger(tmp_path / "ledger.sqlite")
    assert not list(tmp_path.iterdir())


def test_creating_never_touches_an_existing_file(tmp_path):
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, "bank", BUDGET).reserve("q", b"?", CHARGE)
    with pytest.raises(LedgerRefusal, match="already"):
        SqliteLedger.create(path, "bank", BUDGET)
    assert SqliteLedger(path).account().spent == CHARGE


def test_the_database_itself_refuses_to_overspend(tmp_path):
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, "bank", BUDGET).close()
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        connection.execute("UPDATE account SET spent = 101")
    connection.close()


def test_racing_learners_get_exactly_the_budgeted_answers(tmp_path):
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, "bank", Amount(20, "epsilon")).close()

    def race(learner):
        ledger, won = SqliteLedger(path), 0
        for number in range(15):
            try:
                ledger.reserve(f"{learner}:{number}", b"?", Amount(1, "epsilon"))
                won += 1
            except LedgerRefusal:
                pass
        ledger.close()
        return won

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(race, range(4))) == 20
