"""One suite for every ledger: in memory, on disk, and on disk with the process killed after every call."""

import os
import pickle
import signal
import sqlite3
import warnings
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copriv import errors
from copriv.errors import CoprivError, LedgerFailure, LedgerRefusal, QueryConflict
from copriv.owner.entries import Opening
from copriv.owner.ledger_state import keyed
from copriv.owner.memory_ledger import MemoryLedger
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.owner.watermark import Watermark
from copriv.privacy.guarantee import Amount, Guarantee

BUDGET = Amount(100, "epsilon")
CHARGE = Amount(30, "epsilon")
SALT = "5a" * 32
GENESIS = Opening("1d" * 32, SALT, "bank", keyed(SALT, "d" * 64), 100, 0.0, "pure", {"epsilon": 100})


def reserve(ledger, query="q", question="?", charge=CHARGE, study="study", allowance=BUDGET):
    return ledger.reserve(query, question, charge, study, allowance)


class Killed:
    """A ledger whose process is killed (SIGKILL) after every call: the next one starts from what is on disk."""

    def __init__(self, path):
        self._path = path

    def __getattr__(self, name):
        def call(*arguments):
            ours, theirs = os.pipe()
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                child = os.fork()
            if child == 0:
                os.write(theirs, pickle.dumps(self._outcome(name, arguments)))
                os.kill(os.getpid(), signal.SIGKILL)
            os.close(theirs)
            with os.fdopen(ours, "rb") as pipe:
                kind, value = pickle.loads(pipe.read())  # noqa: S301
            assert os.waitpid(child, 0)[1] == signal.SIGKILL
            if kind == "returned":
                return value
            raise getattr(errors, kind)(value, remedy="as it was in the process that was killed")

        return call

    def _outcome(self, name, arguments):
        """What the call returns or raises, in a form that travels; the connection is left open for the kill."""
        try:
            return "returned", getattr(SqliteLedger(self._path), name)(*arguments)
        except CoprivError as problem:
            return type(problem).__name__, problem.problem


@pytest.fixture(params=["memory", "sqlite", "killed"])
def ledger(request, tmp_path):
    if request.param == "memory":
        yield MemoryLedger(GENESIS)
        return
    made = SqliteLedger.create(tmp_path / "ledger.sqlite", GENESIS)
    if request.param == "sqlite":
        yield made
        made.close()
        return
    made.close()
    yield Killed(tmp_path / "ledger.sqlite")


def test_a_new_ledger_has_spent_nothing(ledger):
    book = ledger.state()
    assert (book.owner, book.budget, book.spent, book.sequence) == ("bank", BUDGET, 0, 1)
    assert book.is_for("d" * 64)
    assert not book.is_for("e" * 64)
    assert not book.queries
    assert book.newest_receipt is None


def test_charges_add_up_and_the_budget_is_the_end(ledger):
    for number in range(3):
        assert reserve(ledger, f"q{number}") is None
    with pytest.raises(LedgerRefusal, match=r"budget is spent: ε = 0\.00000009 of ε = 0\.0000001"):
        reserve(ledger, "q3")
    assert ledger.state().spent == 90
    assert reserve(ledger, "q4", charge=Amount(10, "epsilon")) is None
    assert len(ledger.state().queries) == 4


def test_a_study_has_its_share_and_all_studies_one_budget(ledger):
    share = Amount(60, "epsilon")
    reserve(ledger, "a1", study="a", allowance=share)
    reserve(ledger, "a2", study="a", allowance=share)
    with pytest.raises(LedgerRefusal, match=r"share of this study is spent: ε = 0\.00000006 of ε = 0\.00000006"):
        reserve(ledger, "a3", study="a", allowance=share)
    reserve(ledger, "b1", study="b", allowance=share)
    with pytest.raises(LedgerRefusal, match=r"budget is spent: ε = 0\.00000009 of ε = 0\.0000001"):
        reserve(ledger, "b2", study="b", allowance=share)
    assert ledger.state().studies == {"a": share, "b": CHARGE}


def test_the_same_question_is_free_and_gets_the_same_bytes_and_receipt(ledger):
    reserve(ledger)
    receipt = ledger.store("q", b"answer")
    reserve(ledger, "other")
    stored = reserve(ledger)
    assert (stored.payload, stored.receipt) == (b"answer", receipt)
    assert ledger.state().spent == 60


def test_a_charged_question_without_an_answer_may_be_asked_again_for_free(ledger):
    """Nothing left the owner, so the reservation still stands for it."""
    reserve(ledger)
    assert reserve(ledger) is None
    assert ledger.state().spent == 30


@pytest.mark.parametrize("dearer", [Amount(31, "epsilon"), Amount(1, "rho")])
def test_a_charge_without_an_answer_pays_for_no_dearer_one(ledger, dearer):
    """The owner may have promised more since; less noise for what was charged would be a loss that no account shows."""
    reserve(ledger)
    with pytest.raises(QueryConflict, match="for less"):
        reserve(ledger, charge=dearer)
    assert reserve(ledger, charge=Amount(29, "epsilon")) is None
    assert ledger.state().spent == 30
    ledger.store("q", b"answer")
    assert reserve(ledger, charge=dearer).payload == b"answer"


def test_an_id_with_another_question_is_a_conflict(ledger):
    reserve(ledger)
    with pytest.raises(QueryConflict, match="'q'"):
        reserve(ledger, question="other")
    assert ledger.state().spent == 30


def test_there_is_one_answer_to_one_charged_query(ledger):
    with pytest.raises(LedgerRefusal, match="never charged"):
        ledger.store("q", b"answer")
    reserve(ledger)
    ledger.store("q", b"answer")
    with pytest.raises(QueryConflict, match="already"):
        ledger.store("q", b"another")
    assert reserve(ledger).payload == b"answer"


def test_the_newest_answer_to_a_question_is_found_under_whatever_id(ledger):
    assert ledger.stored_answer("?") is None
    reserve(ledger)
    assert ledger.stored_answer("?") is None
    ledger.store("q", b"answer")
    reserve(ledger, "again")
    assert ledger.stored_answer("?") == b"answer"
    ledger.store("again", b"newer")
    assert ledger.stored_answer("?") == b"newer"
    assert ledger.stored_answer("another") is None


def test_currencies_are_not_mixed(ledger):
    with pytest.raises(LedgerRefusal, match="rho"):
        reserve(ledger, charge=Amount(1, "rho"))
    with pytest.raises(LedgerRefusal, match="rho"):
        reserve(ledger, allowance=Amount(1, "rho"))


def test_nothing_is_free(ledger):
    with pytest.raises(LedgerRefusal):
        reserve(ledger, charge=Amount(0, "epsilon"))


def test_a_ledger_knows_its_own_receipts_and_no_others(ledger):
    reserve(ledger)
    first = ledger.store("q", b"answer")
    reserve(ledger, "other")
    newest = ledger.store("other", b"answer")
    assert ledger.state().newest_receipt == newest
    assert ledger.witnesses(first)
    assert ledger.witnesses(newest)
    for stranger in ("", "0" * 64, newest[:-1], newest.upper() + "0", f"3:{ledger.state().head}"):
        assert not ledger.witnesses(stranger)


def test_a_receipt_is_random_and_tells_nothing_of_ledger_or_answer(ledger):
    """Two ledgers for the same records that have said the same: nothing in their receipts agrees."""
    again = MemoryLedger(GENESIS)
    receipts = set()
    for one in (ledger, again):
        for query in ("q", "r"):
            reserve(one, query)
            receipts.add(one.store(query, b"answer"))
    assert len(receipts) == 4
    assert all(len(receipt) == 64 and set(receipt) <= set("0123456789abcdef") for receipt in receipts)


@given(
    calls=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.integers(1, 40), st.sampled_from("st")), max_size=30
    )
)
def test_memory_and_disk_agree_on_every_sequence_of_calls(tmp_path_factory, calls):
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    ledgers = [MemoryLedger(GENESIS), SqliteLedger.create(path, GENESIS)]
    for number, question, nano, study in calls:
        outcomes = {_outcome(ledger, f"q{number}", question, Amount(nano, "epsilon"), study) for ledger in ledgers}
        assert len(outcomes) == 1
        assert len({(book.sequence, len(book.receipts)) for book in (ledger.state() for ledger in ledgers)}) == 1
        assert ledgers[0].state().spent == ledgers[1].state().spent <= BUDGET.nano
    ledgers[1].close()


def _outcome(ledger, query, question, charge, study):
    try:
        stored = reserve(ledger, query, question, charge, study, Amount(70, "epsilon"))
        return "repeated" if stored else f"{len(ledger.store(query, question.encode()))} digits"
    except LedgerRefusal as problem:
        return str(problem)


@pytest.fixture
def disk(tmp_path):
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", GENESIS)
    yield ledger
    ledger.close()


def test_serving_never_creates_a_ledger(tmp_path):
    with pytest.raises(LedgerFailure, match="no ledger"):
        SqliteLedger(tmp_path / "ledger.sqlite")
    assert not list(tmp_path.iterdir())


def test_creating_never_touches_an_existing_file_and_leaves_no_draft(disk, tmp_path):
    reserve(disk)
    with pytest.raises(LedgerRefusal, match="already"):
        SqliteLedger.create(tmp_path / "ledger.sqlite", GENESIS)
    assert disk.state().spent == 30
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_database_itself_refuses_to_overspend_and_to_forget(disk, tmp_path):
    reserve(disk)
    disk.store("q", b"answer")
    connection = sqlite3.connect(tmp_path / "ledger.sqlite")
    for statement, message in (
        ("UPDATE account SET spent = 101", "CHECK"),
        ("UPDATE entry SET content = ''", "append-only"),
        ("DELETE FROM entry", "append-only"),
        ("UPDATE payload SET bytes = x'00'", "append-only"),
        ("DELETE FROM payload", "append-only"),
    ):
        with pytest.raises(sqlite3.IntegrityError, match=message):
            connection.execute(statement)
    connection.close()


def test_a_new_epoch_carries_the_spending_over(disk):
    reserve(disk)
    reserve(disk, "q2")
    disk.open_epoch(Guarantee(200), {"epsilon": 200}, "an officer")
    book = disk.state()
    assert (book.spent, book.budget.nano, book.guarantee.nano_epsilon) == (60, 200, 200)
    for number in range(4):
        reserve(disk, f"more{number}", allowance=Amount(200, "epsilon"))
    with pytest.raises(LedgerRefusal, match=r"budget is spent: ε = 0\.00000018 of ε = 0\.0000002"):
        reserve(disk, "too much", allowance=Amount(200, "epsilon"))
    assert disk.verify() == 1 + 2 + 1 + 4


def test_an_epoch_is_signed_and_not_below_what_is_spent(disk):
    reserve(disk)
    with pytest.raises(LedgerRefusal, match="less than what is spent"):
        disk.open_epoch(Guarantee(29), {"epsilon": 29}, "an officer")
    with pytest.raises(LedgerRefusal, match="signed off"):
        disk.open_epoch(Guarantee(300), {"epsilon": 300}, "  ")
    with pytest.raises(LedgerRefusal, match=r"less than what is spent: ε = 0\.00000003"):
        disk.open_epoch(Guarantee(300, 1e-6), {"rho": 300}, "an officer")
    disk.open_epoch(Guarantee(30), {"epsilon": 30}, "an officer")
    assert disk.state().budget.nano == 30


def test_a_changed_dataset_needs_a_signed_version_that_inherits_the_spending(disk):
    reserve(disk)
    with pytest.raises(LedgerRefusal, match="copriv ledger version"):
        disk.state().require_dataset("e" * 64)
    with pytest.raises(LedgerRefusal, match="signed off"):
        disk.open_version("e" * 64, "")
    disk.open_version("e" * 64, "an officer")
    disk.state().require_dataset("e" * 64)
    assert disk.state().spent == 30


def test_entries_tell_the_whole_story(disk):
    reserve(disk)
    disk.store("q", b"answer")
    kinds = [type(entry.body).__name__ for entry in disk.entries()]
    assert kinds == ["Opening", "Charge", "Answered"]
    assert [entry.head for entry in disk.entries()][-1] == disk.state().head
    changed = msgspec.structs.replace(next(disk.entries()), previous="1" * 64)
    assert changed.head != next(disk.entries()).head


def test_racing_learners_get_exactly_the_budgeted_answers(tmp_path):
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, msgspec.structs.replace(GENESIS, budgets={"epsilon": 20})).close()

    def race(learner):
        ledger, won = SqliteLedger(path), 0
        for number in range(15):
            try:
                reserve(ledger, f"{learner}:{number}", charge=Amount(1, "epsilon"))
                won += 1
            except LedgerRefusal:
                pass
        ledger.close()
        return won

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(race, range(4))) == 20


def test_a_log_without_its_ledger_is_not_read_into_a_new_one(disk, tmp_path):
    reserve(disk)
    (tmp_path / "ledger.sqlite").rename(tmp_path / "moved.sqlite")
    with pytest.raises(LedgerRefusal, match=r"ledger\.sqlite-wal"):
        SqliteLedger.create(tmp_path / "ledger.sqlite", GENESIS)


def test_a_mark_is_never_ahead_of_what_a_power_cut_leaves(disk, tmp_path):
    """A charge is not yet waited for; its answer is, and raises the mark over both."""
    mark = Watermark(tmp_path / "mark")
    disk.keep_mark(mark)
    reserve(disk)
    assert mark.newest().sequence == 1
    disk.store("q", b"answer")
    assert mark.newest().sequence == 3
    reserve(disk, "other")
    disk.settle()
    assert mark.newest().sequence == 4
