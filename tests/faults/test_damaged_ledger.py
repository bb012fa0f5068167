"""Damage and tampering: a ledger that is not what was written is not answered from."""

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
import world

from copriv.errors import LedgerFailure
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.protocol.messages import Answer
from copriv.protocol.wire import decode_reply

TAMPERED = {
    "entry changed": "UPDATE entry SET content = replace(content, '\"q1\"', '\"qx\"') WHERE sequence = 4",
    "cheaper entry": "UPDATE entry SET content = replace(content, '\"nano\":4', '\"nano\":3') WHERE sequence = 4",
    "head changed": "UPDATE entry SET head = 'x' || substr(head, 2) WHERE sequence = 4",
    "entry deleted": "DELETE FROM entry WHERE sequence = 4",
    "last entries deleted": "DELETE FROM entry WHERE sequence > 5",
    "all entries deleted": "DELETE FROM entry",
    "entry that is none": "UPDATE entry SET content = '{}' WHERE sequence = 2",
    "entry that is no text": "UPDATE entry SET content = CAST(x'ff00ff' AS TEXT) WHERE sequence = 2",
    "account changed": "UPDATE account SET spent = 0",
    "budget changed": "UPDATE account SET budget = budget + 1",
    "account deleted": "DELETE FROM account",
    "answer changed": "UPDATE payload SET bytes = x'00' WHERE query = 'q1'",
    "answer deleted": "DELETE FROM payload WHERE query = 'q1'",
    "end changed": "UPDATE ending SET sequence = sequence - 1",
    "end deleted": "DELETE FROM ending",
    "table gone": "DROP TABLE entry",
}


@pytest.fixture
def used(tmp_path):
    """A ledger with three answers, closed, and the receipt of the last."""
    path = world.make_ledger(tmp_path / "ledger.sqlite")
    return path, _ask(path, "q0", "q1", "q2")[-1].receipt


def _ask(path, *names, receipt=None):
    with closing(SqliteLedger(path)) as ledger:
        owner = world.make_owner(ledger)
        return [decode_reply(owner.handle(world.make_query(name, receipt=receipt))) for name in names]


def _read(path):
    """All that a ledger says, checked."""
    with closing(SqliteLedger(path)) as ledger:
        ledger.verify()
        return ledger.state(), list(ledger.entries()), [ledger._payload(f"q{number}") for number in range(3)]


def _tamper(path, *statements):
    """As somebody would who has dropped the triggers first."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            assert connection.execute(statement).rowcount != 0


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_is_a_failure(used, what):
    path, _ = used
    _tamper(path, TAMPERED[what])
    with pytest.raises(LedgerFailure):
        _read(path)


@pytest.mark.parametrize("what", ["answer changed", "answer deleted"])
def test_an_answer_that_was_tampered_with_is_not_sent(used, what):
    path, _ = used
    _tamper(path, TAMPERED[what])
    with pytest.raises(LedgerFailure):
        _ask(path, "q1")


@pytest.mark.parametrize("statement", [sql for sql in TAMPERED.values() if " entry" in sql or " payload" in sql][:-1])
def test_the_database_itself_does_not_let_an_entry_be_changed(used, statement):
    path, _ = used
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


def test_a_flipped_byte_is_a_failure_or_changes_nothing(used):
    """Bytes that nobody reads may be anything; but what is read is what was written, or it is not read."""
    path, _ = used
    whole, before, chance = path.read_bytes(), _read(path), np.random.default_rng(0)
    failures = 0
    for place in chance.choice(len(whole), size=400, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= int(chance.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert _read(path) == before, place
        except LedgerFailure:
            failures += 1
    assert failures > 20


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.95])
def test_a_truncated_ledger_is_a_failure(used, share):
    path, _ = used
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(LedgerFailure):
        _read(path)


def test_a_restored_old_copy_is_noticed_through_the_receipt(used, tmp_path):
    path, _ = used
    shutil.copy(path, tmp_path / "backup")
    newest = _ask(path, "q3", "q4")[-1].receipt
    shutil.copy(tmp_path / "backup", path)
    refusal, old = _ask(path, "q5", "q0", receipt=newest)
    assert (refusal.reason, old.reason) == ("rollback", "rollback")
    with closing(SqliteLedger(path)) as ledger:
        assert len(ledger.state().queries) == 3


def test_a_ledger_cut_short_with_care_is_noticed_through_the_receipt(used):
    """The last charge and its answer removed, the account corrected: nothing in the file itself shows it."""
    path, receipt = used
    account = "UPDATE account SET spent = spent / 3 * 2"
    end = "UPDATE ending SET sequence = 5, head = (SELECT head FROM entry WHERE sequence = 5), answers = 2"
    _tamper(path, end, "DELETE FROM entry WHERE sequence > 5", "DELETE FROM payload WHERE query = 'q2'", account)
    assert _ask(path, "q3", receipt=receipt)[0].reason == "rollback"


def test_a_fresh_ledger_in_its_place_is_noticed_through_the_receipt(used):
    path, receipt = used
    path.unlink()
    world.make_ledger(path)
    (refusal,) = _ask(path, "q3", receipt=receipt)
    assert refusal.reason == "rollback"
    with closing(SqliteLedger(path)) as ledger:
        assert ledger.state().spent == 0


def test_the_right_ledger_put_back_answers_again(used, tmp_path):
    path, receipt = used
    path.rename(tmp_path / "kept")
    world.make_ledger(path)
    assert _ask(path, "q3", receipt=receipt)[0].reason == "rollback"
    (tmp_path / "kept").rename(path)
    assert isinstance(_ask(path, "q3", receipt=receipt)[0], Answer)
