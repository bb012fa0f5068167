"""A join that is killed anywhere can be done again: with the same ledger, and nothing is paid twice."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.narrow_loans import narrow_loans

from copriv.owner.ledger_opening import begin_open, fingerprint_of_file
from copriv.owner.pending import joining_alone, unfinished
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount

# Where the process dies: the name of what it would do next, and the argument at which it does not get that far.
_DIE = """
import os, sys
from copriv.cli import main
from copriv.owner import registry, workspace

place = sys.argv.pop(1)

def dying(do, name):
    def call(*given, **named):
        if place == name or place == f"{name} {getattr(given[0], 'name', '')}":
            os._exit(9)
        return do(*given, **named)
    return call

workspace.write_for_owner = dying(workspace.write_for_owner, "write")
registry.Registry.register = dying(registry.Registry.register, "register")
registry.Registry.keep_split = dying(registry.Registry.keep_split, "split")
main.main()
"""
JOIN = ("owner", "join", "bank.invitation", "--data", "bank.parquet", "--epsilon", "1.5", "--yes", "--json")


@pytest.fixture
def answered(copriv, tmp_path):
    """A bank whose request was answered."""
    for seed, name, rows in ((0, "public", 400), (1, "bank", 200)):
        narrow_loans(rows, seed).write_parquet(tmp_path / f"{name}.parquet")
    draft = ("--public", "public.parquet", "--target", "int_rate", "--owners", 2, "--records", 200)
    paper = ("--rule", "paper", "--horizon", 4, "--answers", 4, "--step", 0.1, "--clip", 1, "--features", 3)
    for command in (
        ("learner", "draft", *draft, *paper),
        ("learner", "init", "study.toml"),
        ("owner", "request", "bank"),
        ("learner", "approve", "bank.request"),
    ):
        outcome = copriv(*command)
        assert outcome.code == 0, outcome.err


def _die(place, *command):
    died = subprocess.run([sys.executable, "-c", _DIE, place, *command], capture_output=True, check=False, text=True)
    assert died.returncode == 9, died.stderr


def _book(path):
    with closing(SqliteLedger(Path(path))) as ledger:
        return ledger.state()


def test_a_join_that_is_killed_is_done_again(copriv, answered, tmp_path):
    folder = tmp_path / "owner"
    _die("write study.toml", *JOIN)
    assert not (folder / "study.toml").exists()
    _die("register", *JOIN)
    made = _book(folder / "ledger.sqlite").id
    for place in ("split", "write engagement.json"):
        _die(place, *JOIN)
        assert not (folder / "engagement.json").exists()
        assert _book(folder / "ledger.sqlite").id == made
    (folder / ".owner.key.4711.new").write_text("half a ke")
    joined = copriv(*JOIN)
    assert joined.code == 0, joined.err
    assert json.loads(joined.out)["approved"]
    book = _book(folder / "ledger.sqlite")
    assert (book.id, book.spent, book.budget) == (made, 0, Amount(1_500_000_000, "epsilon"))
    assert not list(folder.glob(".*.new*"))
    assert not (folder / "pending.key").exists()
    again = copriv(*JOIN)
    assert again.code == 2
    assert "never overwritten" in again.err


def test_what_was_spent_before_is_counted_once(copriv, answered, tmp_path):
    """The ledger has no budget yet: joining declares one, of what is spent and of this promise."""
    dataset, place = tmp_path / "bank.parquet", tmp_path / "theirs.sqlite"
    opening = begin_open("bank", fingerprint_of_file(dataset))
    spent = Amount(400_000_000, "epsilon")
    with closing(SqliteLedger.create(place, opening)) as ledger, Registry() as registry:
        ledger.reserve("q", "a question", spent, "another study", spent)
        with registry.exclusive():
            registry.register(registry.lookup(dataset), place, opening.id)
    _die("write engagement.json", *JOIN)
    first = _book(place)
    assert copriv(*JOIN).code == 0
    book = _book(place)
    assert book.accounts == first.accounts
    assert (book.id, book.account("epsilon").spent) == (opening.id, spent.nano)
    assert book.account("epsilon").budget.nano == 1_900_000_000
    assert not (tmp_path / "owner" / "ledger.sqlite").exists()


def test_a_folder_with_anything_else_is_not_joined(tmp_path):
    assert unfinished(tmp_path)
    for name in (
        "pending.key",
        "study.toml",
        ".ledger.sqlite.12.new-wal",
        "ledger.sqlite-shm",
        ".engagement.json.1.new",
    ):
        (tmp_path / name).touch()
        assert unfinished(tmp_path), name
    for name in ("engagement.json", "notes.txt", "ledger.sqlite.bak", ".new", "approval.json"):
        (tmp_path / name).touch()
        assert not unfinished(tmp_path), name
        (tmp_path / name).unlink()


def test_two_joins_at_once_are_one(tmp_path):
    with joining_alone(tmp_path), pytest.raises(Exception, match="just now"), joining_alone(tmp_path):
        pass
