"""Blocks of arrival: each pays for itself, new ones start unspent, and nothing is forgotten."""

from contextlib import closing

import pytest

from copriv.errors import LedgerFailure, LedgerRefusal
from copriv.owner.block_accounts import FIRST, payable
from copriv.owner.entries import Block, Charge, Enrolled, Expired, Opening, Renewed
from copriv.owner.ledger_state import append, fold_entries, keyed, open_state
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount, Guarantee

SALT = "5a" * 32
OPENED = Opening("1d" * 32, SALT, "bank", keyed(SALT, "d" * 64), 100, 0.0, "pure", {"epsilon": 100})


def block(name, file, **more):
    return Block(name, keyed(SALT, file * 64), f"/data/{name}.parquet", 10, "A. Nother", **more)


def price(nano):
    return Amount(nano, "epsilon")


@pytest.fixture
def ledger(tmp_path):
    with closing(SqliteLedger.create(tmp_path / "ledger.sqlite", OPENED)) as made:
        yield made


def study(ledger, name, *blocks):
    ledger.enroll(Enrolled(name, name, "learner", "A. Nother", blocks=blocks))


def charge(ledger, query, nano, study="any"):
    return ledger.reserve(query, "?", price(nano), study, price(1000))


def spent(ledger):
    return {name: found.spent.get("epsilon", 0) for name, found in ledger.state().blocks.items()}


def again(tmp_path):
    with closing(SqliteLedger(tmp_path / "ledger.sqlite")) as opened:
        opened.verify()
        return opened.state()


def test_a_ledger_without_blocks_is_one(ledger):
    charge(ledger, "q", 30)
    assert spent(ledger) == {FIRST: 30}
    assert next(entry.body for entry in ledger.entries() if isinstance(entry.body, Charge)).blocks == ()


def test_the_first_block_keeps_what_was_spent_and_a_new_one_starts_unspent(ledger, tmp_path):
    charge(ledger, "q", 30)
    ledger.open_block(block("2026-01", "d"))
    ledger.open_block(block("2026-02", "e"))
    assert spent(ledger) == {"2026-01": 30, "2026-02": 0}
    assert ledger.state().accounts["epsilon"].spent == 30
    assert {name: each.spent for name, each in again(tmp_path).blocks.items()} == {
        "2026-01": {"epsilon": 30},
        "2026-02": {},
    }


def test_a_study_charges_every_block_that_it_reads_the_whole_price(ledger, tmp_path):
    ledger.open_block(block("a", "d"))
    ledger.open_block(block("b", "e"))
    study(ledger, "new", "b")
    charge(ledger, "q1", 60, "new")
    charge(ledger, "q2", 40, "all")
    assert spent(ledger) == {"a": 40, "b": 100}
    with pytest.raises(LedgerRefusal, match="budget is spent"):
        charge(ledger, "q3", 1, "new")
    with pytest.raises(LedgerRefusal, match="budget is spent"):
        charge(ledger, "q4", 1, "all")
    study(ledger, "old", "a")
    charge(ledger, "q5", 60, "old")
    assert again(tmp_path).accounts["epsilon"].left == 0


def test_blocks_that_cannot_pay_are_left_out(ledger):
    ledger.open_block(block("a", "d"))
    charge(ledger, "q1", 60)
    ledger.open_block(block("b", "e"))
    state = ledger.state()
    assert payable(state.blocks, state.budgets, price(40)) == ("a", "b")
    assert payable(state.blocks, state.budgets, price(41)) == ("b",)
    assert payable(state.blocks, state.budgets, Amount(1, "rho")) == ()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (block("a", "e"), "there with another file"),
        (block("b", "d"), "the file is the block 'a' already"),
        (block("b", "e", person="patient"), "no column of people"),
    ],
)
def test_a_block_that_contradicts_what_is_there_is_refused(ledger, second, words):
    ledger.open_block(block("a", "d"))
    with pytest.raises(LedgerRefusal, match=words):
        ledger.open_block(second)


def test_the_first_block_is_what_the_ledger_was_opened_for(ledger):
    with pytest.raises(LedgerRefusal, match="not what the ledger was opened for"):
        ledger.open_block(block("b", "e"))


def test_the_same_block_again_changes_nothing_but_its_place(ledger):
    ledger.open_block(block("a", "d"))
    charge(ledger, "q", 30)
    before = ledger.state().sequence
    ledger.open_block(block("a", "d"))
    assert ledger.state().sequence == before
    moved = Block("a", keyed(SALT, "d" * 64), "/elsewhere", 10, "A. Nother")
    ledger.open_block(moved)
    assert ledger.state().blocks["a"].arrival.path == "/elsewhere"
    assert spent(ledger) == {"a": 30}


def test_a_renewal_is_for_one_block_and_forgets_nothing(ledger, tmp_path):
    ledger.open_block(block("a", "d"))
    ledger.open_block(block("b", "e"))
    charge(ledger, "q", 100)
    ledger.change_block(Renewed("a", 150, 0.0, {"epsilon": 150}, "A. Nother", "people have agreed again"))
    study(ledger, "s", "a")
    charge(ledger, "q2", 50, "s")
    assert spent(ledger) == {"a": 150, "b": 100}
    assert again(tmp_path).accounts["epsilon"].spent == 150
    with pytest.raises(LedgerRefusal, match="budget is spent"):
        charge(ledger, "q3", 1)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Renewed("a", 50, 0.0, {"epsilon": 50}, "A. Nother", "why not"), "already"),
        (Renewed("c", 500, 0.0, {"epsilon": 500}, "A. Nother", "why not"), "no block 'c'"),
        (Expired("a", "A. Nother", " "), "no reason"),
        (Expired("a", " ", "kept long enough"), "nobody has signed"),
    ],
)
def test_policies_are_signed_with_a_reason(ledger, policy, words):
    ledger.open_block(block("a", "d"))
    with pytest.raises(LedgerRefusal, match=words):
        ledger.change_block(policy)


def test_an_expired_block_is_read_no_more(ledger):
    ledger.open_block(block("a", "d"))
    ledger.open_block(block("b", "e"))
    ledger.change_block(Expired("a", "A. Nother", "kept long enough"))
    state = ledger.state()
    assert payable(state.blocks, state.budgets, price(1)) == ("b",)
    with pytest.raises(LedgerRefusal, match="has expired: kept long enough"):
        charge(ledger, "q", 1)


def test_an_epoch_keeps_every_block(ledger):
    ledger.open_block(block("a", "d"))
    charge(ledger, "q", 60)
    ledger.open_block(block("b", "e"))
    with pytest.raises(LedgerRefusal, match="less than what is spent"):
        ledger.open_epoch(Guarantee(50), {"epsilon": 50}, "A. Nother")
    ledger.open_epoch(Guarantee(200), {"epsilon": 200}, "A. Nother")
    assert spent(ledger) == {"a": 60, "b": 0}
    assert ledger.state().accounts["epsilon"].left == 140


def test_people_arrive_with_their_block_and_keep_it(ledger, tmp_path):
    ledger.open_block(block("a", "d", person="p"), [b"1" * 16, b"2" * 16])
    ledger.open_block(block("b", "e", person="p"), [b"3" * 16])
    ledger.open_block(Block("b", keyed(SALT, "e" * 64), "/else", 10, "A. Nother", "p"), [b"4" * 16])
    assert ledger.people() == {b"1" * 16: "a", b"2" * 16: "a", b"3" * 16: "b"}
    with pytest.raises(LedgerFailure):
        ledger.open_block(block("c", "f", person="p"), [b"1" * 16])
    assert list(again(tmp_path).blocks) == ["a", "b"]


def test_a_charge_of_more_than_a_block_has_is_damage():
    state, first = open_state(OPENED)
    entries = [first]
    for body in (block("a", "d"), block("b", "e"), Charge("q", "?", 101, "epsilon", "s", ("b",))):
        entries.append(state.next_entry(body))
        if not isinstance(body, Charge):
            state = append(state, entries[-1])
    with pytest.raises(LedgerFailure, match="spends more than the budget"):
        fold_entries(entries)
    unknown = state.next_entry(Charge("q", "?", 1, "epsilon", "s", ("c",)))
    with pytest.raises(LedgerFailure, match="no account"):
        append(state, unknown)


def test_the_database_itself_refuses_to_overspend_a_block(ledger, tmp_path):
    ledger.open_block(block("a", "d"))
    connection = ledger._connection
    with pytest.raises(Exception, match="CHECK constraint failed"):
        connection.execute("UPDATE block_account SET spent = 101")
    connection.execute("UPDATE block_account SET spent = 1")
    with pytest.raises(LedgerFailure, match="accounts do not agree"):
        SqliteLedger(tmp_path / "ledger.sqlite")


def test_every_kind_of_question_is_paid_by_the_blocks_of_its_study(ledger):
    ledger.open_block(block("2026-01", "d"))
    ledger.open_block(block("2026-02", "e"))
    study(ledger, "ab12", "2026-02")
    for number, account in enumerate(("ab12", "ab12:loss", "ab12:validation")):
        charge(ledger, f"q{number}", 10, account)
    assert spent(ledger) == {"2026-01": 0, "2026-02": 30}


TWO = Opening("1d" * 32, SALT, "bank", keyed(SALT, "d" * 64), 100, 1e-6, "zcdp", {"epsilon": 50, "rho": 40})


@pytest.fixture
def two(tmp_path):
    """A ledger of two currencies, whose block was renewed to more of both."""
    with closing(SqliteLedger.create(tmp_path / "two.sqlite", TWO)) as made:
        made.open_block(block("a", "d"))
        made.change_block(Renewed("a", 150, 1e-6, {"epsilon": 80, "rho": 60}, "A. Nother", "people have agreed again"))
        yield made


def allowed(ledger):
    state = ledger.state()
    return {each: state.blocks["a"].account(each, state.budgets).budget.nano for each in ("epsilon", "rho")}


def test_budgets_of_two_currencies_are_one_promise(two):
    """The larger of each currency would allow 200 and 60, which nobody has signed."""
    assert allowed(two) == {"epsilon": 80, "rho": 60}
    two.open_epoch(Guarantee(220, 1e-6), {"epsilon": 200, "rho": 1}, "A. Nother")
    assert allowed(two) == {"epsilon": 80, "rho": 60}
    two.open_epoch(Guarantee(400, 1e-6), {"epsilon": 200, "rho": 60}, "A. Nother")
    assert allowed(two) == {"epsilon": 200, "rho": 60}


def test_what_was_spent_of_one_promise_cannot_be_spent_again_of_another(two):
    two.open_epoch(Guarantee(400, 1e-6), {"epsilon": 200, "rho": 60}, "A. Nother")
    two.enroll(Enrolled("s", "s", "learner", "A. Nother", blocks=("a",)))
    two.reserve("q", "?", price(190), "s", price(1000))
    with pytest.raises(LedgerRefusal, match="less than what is spent"):
        two.open_epoch(Guarantee(195, 1e-6), {"epsilon": 195, "rho": 1}, "A. Nother")


def test_a_renewed_block_keeps_its_delta(two):
    with pytest.raises(LedgerRefusal, match="'a' was renewed to more, with delta = 1e-06 and not 1e-12"):
        two.open_epoch(Guarantee(220, 1e-12), {"epsilon": 50, "rho": 20}, "A. Nother")
    two.open_epoch(Guarantee(400, 1e-12), {"epsilon": 80, "rho": 60}, "A. Nother")
    assert allowed(two) == {"epsilon": 80, "rho": 60}
