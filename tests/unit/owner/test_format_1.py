"""A ledger that an earlier version has written: taken over with all its spending, and with its receipts still known."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from copriv.errors import LedgerFailure, LedgerRefusal
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount

DUMP = Path(__file__).with_name("ledger_of_format_1.sql")
DATASET = hashlib.sha256(b"a,b\n1,2\n").hexdigest()
BUDGET = Amount(2 * 10**9, "epsilon")


@pytest.fixture
def old(tmp_path):
    """Three charges of 0.2, two answers, and an epoch that raised the promise to 2."""
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(DUMP.read_text())
    return path


@pytest.fixture
def receipts(old):
    """Every receipt that the ledger of format 1 ever gave or printed."""
    with closing(sqlite3.connect(old)) as connection:
        return [f"{number}:{head}" for number, head in connection.execute("SELECT sequence, head FROM entry")]


def test_spending_answers_and_promise_are_kept(old):
    for _ in range(2):
        with closing(SqliteLedger(old)) as ledger:
            book = ledger.state()
            assert (book.owner, book.spent, book.budget, book.sequence) == ("First Bank", 600_000_000, BUDGET, 7)
            assert book.is_for(DATASET)
            stored = ledger.reserve("q1", "?1", Amount(200_000_000, "epsilon"), "study", BUDGET)
            assert stored.payload == b"answer 1"
            assert ledger.verify() == 7


def test_a_receipt_from_before_does_not_read_as_a_rollback(old, receipts):
    with closing(SqliteLedger(old)) as ledger:
        assert len(receipts) == 7
        assert all(ledger.witnesses(receipt) for receipt in receipts)
        assert not ledger.witnesses(f"8:{'0' * 64}")
        assert not ledger.witnesses(receipts[2].replace("3:", "4:"))


def test_life_goes_on_and_the_budget_is_the_old_one(old):
    with closing(SqliteLedger(old)) as ledger:
        ledger.reserve("q3", "?", Amount(1_400_000_000, "epsilon"), "study", BUDGET)
        receipt = ledger.store("q3", b"answer")
        assert ledger.witnesses(receipt)
        with pytest.raises(LedgerRefusal, match="budget is spent"):
            ledger.reserve("q4", "?", Amount(1, "epsilon"), "other", BUDGET)


def test_nothing_is_left_from_which_the_old_fingerprint_can_be_read(old, receipts):
    SqliteLedger(old).close()
    content = b"".join(path.read_bytes() for path in old.parent.glob("old.sqlite*"))
    assert DATASET.encode() not in content


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE account SET spent = 0",
        "DROP TRIGGER entry_no_update; UPDATE entry SET content = replace(content, '\"nano\":2', '\"nano\":1')",
        "DROP TRIGGER entry_no_delete; DELETE FROM entry WHERE sequence = 6",
        "PRAGMA user_version = 3",
    ],
)
def test_what_is_damaged_or_from_the_future_is_not_taken_over(old, damage):
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(damage)
    before = old.read_bytes()
    with pytest.raises(LedgerFailure):
        SqliteLedger(old)
    assert old.read_bytes() == before


@pytest.mark.parametrize("statement", range(0, 24, 2))
def test_a_kill_while_it_is_taken_over_loses_nothing(old, tmp_path, statement):
    """The process dies at every second statement of the change; the next one finds either format whole."""
    program = (
        "import os, sys, signal; from pathlib import Path; from copriv.owner import sqlite_ledger as s\n"
        "class Dying:\n"
        "    left = int(sys.argv[2])\n"
        "    def __init__(self, connection): self.connection = connection\n"
        "    def execute(self, *call):\n"
        "        if Dying.left == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        Dying.left -= 1; return self.connection.execute(*call)\n"
        "    def close(self): self.connection.close()\n"
        "s.SqliteLedger(Path(sys.argv[1]), lambda path: Dying(s.connect(path)))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, old, str(3 * statement)], check=False, env=os.environ)
    assert ended.returncode in {0, -signal.SIGKILL}
    alone = shutil.copy(old, tmp_path / "alone.sqlite")
    for path in (old, Path(alone)):
        with closing(SqliteLedger(path)) as ledger:
            assert (ledger.state().spent, ledger.verify()) == (600_000_000, 7)
