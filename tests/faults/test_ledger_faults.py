"""A disk that is full, broken or read-only, a ledger that is gone: nothing is sent, and later a query is paid once."""

import sqlite3
from contextlib import closing

import pytest
import world
from fuse import name_of

from copriv.errors import LedgerFailure
from copriv.owner.sqlite_ledger import SqliteLedger, connect
from copriv.protocol.messages import Answer
from copriv.protocol.wire import decode_reply

CHARGE = world.commitment().calibration.charge.nano
HALVES = [("begin immediate", 1), ("insert entry", 1), ("update account", 1), ("commit", 1)]
HALVES += [("begin immediate", 2), ("insert entry", 2), ("insert payload", 1), ("commit", 2)]


class Failing:
    """A connection whose disk fails once, at the given statement, before or after it was carried out."""

    def __init__(self, connection, statement, countdown, moment):
        self._connection, self._statement, self._countdown, self._moment = connection, statement, countdown, moment

    def execute(self, statement, *parameters):
        if name_of(statement) != self._statement:
            return self._connection.execute(statement, *parameters)
        self._countdown -= 1
        if self._countdown == 0 and self._moment == "before":
            raise sqlite3.OperationalError("disk I/O error")
        result = self._connection.execute(statement, *parameters)
        if self._countdown == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return result

    def close(self):
        self._connection.close()


@pytest.fixture
def path(tmp_path):
    return world.make_ledger(tmp_path / "ledger.sqlite")


def _healthy_again(path, sent, query):
    """A new process on a healthy disk: what was sent stands, and the failed query is answered and charged once."""
    with closing(SqliteLedger(path)) as ledger:
        owner = world.make_owner(ledger)
        for asked, reply in sent:
            assert owner.handle(asked) == reply
        answer = owner.handle(query)
        assert isinstance(decode_reply(answer), Answer)
        assert owner.handle(query) == answer
        assert ledger.state().spent == CHARGE * (len(sent) + 1)
        ledger.verify()


@pytest.mark.parametrize("spare", range(5))
def test_a_full_disk_sends_nothing(path, spare):
    def connect_to_full(path):
        connection = connect(path)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + spare}")
        return connection

    queries = [world.make_query(f"q{number}") for number in range(world.ANSWERS)]
    with closing(SqliteLedger(path, connect_to_full)) as ledger:
        sent = []
        with pytest.raises(LedgerFailure, match="full"):
            sent.extend(map(world.make_owner(ledger).handle, queries))
    _healthy_again(path, list(zip(queries, sent, strict=False)), queries[len(sent)])


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("statement", "countdown"), HALVES)
def test_a_failing_disk_sends_nothing(path, statement, countdown, moment):
    with (
        closing(SqliteLedger(path, lambda path: Failing(connect(path), statement, countdown, moment))) as ledger,
        pytest.raises(LedgerFailure, match="disk I/O error") as failure,
    ):
        world.make_owner(ledger).handle(world.make_query("q"))
    assert "nothing was sent" in failure.value.remedy
    _healthy_again(path, [], world.make_query("q"))


@pytest.mark.parametrize(("statement", "countdown"), HALVES)
def test_after_a_failure_the_same_process_fails_again_or_answers_properly(path, statement, countdown):
    """It should have ended; but if it is asked again, the account still holds."""
    query = world.make_query("q")
    with closing(SqliteLedger(path, lambda path: Failing(connect(path), statement, countdown, "before"))) as ledger:
        owner = world.make_owner(ledger)
        with pytest.raises(LedgerFailure):
            owner.handle(query)
        sent = owner.handle(query)
        assert ledger.state().spent == CHARGE
    with closing(SqliteLedger(path)) as ledger:
        ledger.verify()
        assert world.make_owner(ledger).handle(query) == sent


def test_a_read_only_ledger_sends_nothing_and_says_what_to_do(path):
    def connect_to_read(path):
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)

    with closing(SqliteLedger(path, connect_to_read)) as ledger:
        with pytest.raises(LedgerFailure, match="readonly") as failure:
            world.make_owner(ledger).handle(world.make_query("q"))
        assert "can be written" in failure.value.remedy
    _healthy_again(path, [], world.make_query("q"))


def test_a_missing_ledger_is_a_failure_and_is_not_made(path):
    path.unlink()
    with pytest.raises(LedgerFailure, match="no ledger") as failure:
        SqliteLedger(path)
    assert "ledger init" in failure.value.remedy
    assert not path.exists()


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_ledger_that_is_taken_away_from_a_running_owner_is_a_failure(path, what):
    """Charges to a file that nobody will find again are no charges."""
    with closing(SqliteLedger(path)) as ledger:
        owner = world.make_owner(ledger)
        owner.handle(world.make_query("q1"))
        path.rename(path.with_suffix(".moved"))
        if what == "deleted":
            path.with_suffix(".moved").unlink()
        if what == "replaced":
            world.make_ledger(path.with_suffix(".other")).rename(path)
        with pytest.raises(LedgerFailure):
            owner.handle(world.make_query("q2"))


def test_a_ledger_that_vanishes_while_it_is_opened_is_a_failure(path):
    def connect_and_lose(found):
        connection = connect(found)
        found.unlink()
        return connection

    with closing(SqliteLedger(path, connect_and_lose)) as ledger, pytest.raises(LedgerFailure, match="deleted"):
        world.make_owner(ledger).handle(world.make_query("q"))


def test_a_draft_left_by_a_killed_creation_does_not_stand_in_the_way(tmp_path, monkeypatch):
    """Process ids come back: in a container every creation may have the same."""
    monkeypatch.setattr("os.getpid", lambda: 1)
    path = tmp_path / "ledger.sqlite"
    world.make_ledger(path)
    path.rename(tmp_path / ".ledger.sqlite.1.new")
    (tmp_path / ".ledger.sqlite.1.new-wal").write_bytes(b"what was left of it")
    with closing(SqliteLedger(world.make_ledger(path))) as ledger:
        assert ledger.verify() == 1
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.sqlite"]
