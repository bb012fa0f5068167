"""Blocks arrive: the new get an account, the known keep theirs, whatever is killed, lost or renumbered."""

import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from tests.arriving_blocks import PRICE, append, ledger_of, rows_read, state_of, write

from copriv.errors import BadInput, BadTable, CoprivError, LedgerFailure, LedgerRefusal
from copriv.owner import arrival as module
from copriv.owner.dataset_ledger import Word
from copriv.owner.entries import Enrolled, Expired
from copriv.owner.reading import Reading, choose_reading, units_of
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Amount
from copriv.runtime.owner_ledger import change_version


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return ledger_of(tmp_path)


def test_a_returning_person_keeps_its_block_and_changes_no_number(ledger):
    told = append(ledger, "2026-02", write("feb.parquet", ["p1", "q1", "q2", "q1", "p2"], 100))
    assert (told.units, told.returning) == (2, 2)
    state = state_of(ledger)
    assert {name: block.arrival.units for name, block in state.blocks.items()} == {"first": 20, "2026-02": 2}
    assert rows_read(ledger, "2026-02", until="2026-02") == ["q1", "q1", "q2"]
    assert rows_read(ledger, "first", until="2026-02").count("p1") == 3
    assert rows_read(ledger, "first", until="first").count("p1") == 2
    assert units_of(state, Reading(("first", "2026-02"), "2026-02")) == 22


def test_a_study_reads_the_blocks_that_can_pay(ledger):
    with closing(SqliteLedger(ledger)) as opened:
        opened.enroll(Enrolled("before", "before", "learner", "me", unit="person"))
        opened.reserve("q", "?", Amount(700_000_000, "epsilon"), "before", Amount(10**9, "epsilon"))
    append(ledger, "2026-02", write("feb.parquet", ["q1", "q2", "q3"], 100))
    state = state_of(ledger)
    assert choose_reading(state, PRICE) == Reading(("2026-02",), "2026-02")
    assert choose_reading(state, Amount(300_000_000, "epsilon")).blocks == ("first", "2026-02")
    with pytest.raises(LedgerRefusal, match="'first' of these records can pay"):
        choose_reading(state, PRICE, ["first"])
    with pytest.raises(LedgerRefusal, match="no block of these records can pay"):
        choose_reading(state, Amount(1_100_000_000, "epsilon"))
    with pytest.raises(LedgerRefusal, match="no block 'march'"):
        choose_reading(state, PRICE, ["march"])


def test_ids_are_the_same_person_however_they_are_written(ledger):
    append(ledger, "a", write("a.parquet", ["17", "18"], 100))
    pl.DataFrame({"who": [17.0, 18.0, 19.0], "x": [7.1, 7.2, 7.3], "y": [1, 2, 3]}).write_csv("b.csv")
    told = append(ledger, "b", Path("b.csv").absolute())
    assert (told.units, told.returning) == (1, 2)
    card = 2**53 - 1
    append(ledger, "c", write("c.parquet", [card, card - 1], 200))
    told = append(ledger, "d", write("d.parquet", [float(card), None], 300))
    assert (told.units, told.returning) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0017", 17),
        ("+17", "17"),
        (4_000_123_412_341_235, "4.000123412341235e+15"),
        (2**63 + 2**11, str(2**63 + 2**11)),
        ("Jos\u00e9", "Jose\u0301"),
        ("\uff11\uff17", "17"),
        ("17,0", 17),
        ("17.", "17"),
        ("17\u200b", "17"),
        ("\ufeffanna", "anna\x00"),
        ("\u200fanna", "anna"),
    ],
)
def test_other_programs_write_ids_otherwise_and_nobody_gets_a_second_account(ledger, before, after):
    """Zeros, exponents, accents and unseen marks are what becomes of ids on their way through other programs."""
    append(ledger, "a", write("a.parquet", [before], 100))
    assert append(ledger, "b", write("b.parquet", [after], 200)).returning == 1


@pytest.mark.parametrize(
    ("card", "kind", "size", "suffix"),
    [
        (7_340_000_000_000_000_123, pl.Float64, 53, "parquet"),
        (7_340_000_000_000_000_123, pl.Float64, 53, "csv"),
        (123_456_789, pl.Float32, 24, "parquet"),
    ],
)
def test_ids_that_have_lost_digits_are_refused(ledger, monkeypatch, card, kind, size, suffix):
    """A table with one id missing keeps all others as doubles: 7340000000000000123 is 7.34e+18 then."""
    append(ledger, "whole", write("whole.parquet", [card, card + 1], 100))
    cards = pl.DataFrame({"who": [card, card + 1, None], "x": [7.1, 7.2, 7.3], "y": [1, 2, 3]})
    lossy, table = Path(f"lossy.{suffix}").absolute(), cards.with_columns(pl.col("who").cast(kind))
    (table.write_parquet if suffix == "parquet" else table.write_csv)(lossy)
    before = state_of(ledger)
    match = rf"'who' of lossy.{suffix} has ids beyond 2\^{size} as floating-point.*whole numbers or as text"
    with pytest.raises(BadTable, match=match) as refused:
        append(ledger, "lossy", lossy)
    assert str(card)[:3] not in str(refused.value), "an id is no part of an error"
    with Registry() as registry:
        assert registry.lookup(lossy).dataset is None
    assert state_of(ledger) == before
    monkeypatch.setattr("copriv.records.block_files.require_kept", lambda *_given: None)
    assert append(ledger, "lossy", lossy, unrelated=True).returning == 0  # the twin: everybody has a second account


def test_whoever_was_taken_out_of_the_ledger_is_no_new_person(ledger):
    append(ledger, "a", write("a.parquet", ["q1", "q2"], 100))
    with closing(sqlite3.connect(ledger)) as database:
        database.execute("DROP TRIGGER person_no_delete")
        database.execute("DELETE FROM person WHERE id IN (SELECT id FROM person WHERE block = 'a' LIMIT 1)")
        database.commit()
    with pytest.raises(LedgerFailure, match="the people of the block 'a' are not those of its entry"):
        append(ledger, "b", write("b.parquet", ["q1", "q2"], 200))
    with closing(SqliteLedger(ledger)) as opened, pytest.raises(LedgerFailure, match="people of the block"):
        opened.verify()


def test_a_row_that_names_nobody_is_a_person_of_its_block(ledger):
    told = append(ledger, "a", write("a.parquet", ["q1", None, None, "", "p1"], 100))
    assert (told.units, told.returning) == (4, 1)
    assert append(ledger, "b", write("b.parquet", [None, "q2"], 200)).units == 2
    assert len(rows_read(ledger, "a", until="b")) == 4
    assert "p1" not in rows_read(ledger, "a", until="b")


def test_known_rows_get_no_fresh_budget(ledger):
    with pytest.raises(BadInput, match="known as a part of these records"):
        append(ledger, "again", Path("first.parquet").absolute())
    with pytest.raises(BadInput, match="looks like records of another ledger"):
        append(ledger, "again", write("again.parquet", [f"p{number}" for number in range(20)]), person="")
    renumbered = write("renumbered.parquet", [f"r{number}" for number in range(20)] * 2)
    table = pl.read_parquet(renumbered).with_columns(case_id=pl.int_range(pl.len()) * 77 + 5)
    table.write_parquet("first-with-cases.parquet")
    with_cases = Path("first-with-cases.parquet").absolute()
    with pytest.raises(BadInput, match="of its people"):
        append(ledger, "cases", with_cases)
    append(ledger, "cases", with_cases, unrelated=True)
    table.with_columns(who=pl.lit("s") + pl.col("case_id").cast(pl.String)).write_parquet("other-ids.parquet")
    with pytest.raises(BadInput, match="of its people"):
        append(ledger, "other", Path("other-ids.parquet").absolute())


def test_a_version_of_before_is_no_new_block(ledger):
    again = write("version.parquet", [f"p{number}" for number in range(20)] * 2 + ["p0"])
    change_version(ledger, again, Word("me"))
    with pytest.raises(BadInput, match="known as a part of these records"):
        append(ledger, "new", again)


def test_a_ledger_with_blocks_has_no_other_versions(ledger):
    append(ledger, "a", write("a.parquet", ["q1"], 100))
    with pytest.raises(LedgerRefusal, match="arrived in blocks"):
        change_version(ledger, write("v.parquet", ["q1", "q2"], 300), Word("me"))


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 41, "-x"])
def test_names_are_plain(ledger, name):
    with pytest.raises(BadInput, match="a block is called"):
        append(ledger, name, write("a.parquet", ["q1"], 100))


def _narrow(name, people, start, *lacking):
    table = pl.read_parquet(write("whole.parquet", people, start)).drop(lacking).with_columns(more=1)
    table.write_parquet(name)
    return Path(name).absolute()


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("person", ["who", ""])
def test_a_file_without_columns_of_the_first_block_is_refused_before_anything_is_written(ledger, earlier, person):
    """Somebody of the first block returns in it: every study of that block would lack a column, for good."""
    if earlier:
        append(ledger, "a", write("a.parquet", ["q1"], 100), person=person)
        append(ledger, "first", Path("first.parquet").rename("elsewhere.parquet").absolute(), person=person)
    narrow, before = _narrow("narrow.parquet", ["p1", "r1"], 200, "x", "y"), state_of(ledger)
    with pytest.raises(BadInput, match=r"lacks columns of the block 'first': 'x', 'y';.*empty where nothing is known"):
        append(ledger, "narrow", narrow, person=person)
    assert state_of(ledger) == before
    with Registry() as registry:
        assert registry.lookup(narrow).dataset is None
    told = append(ledger, "narrow", _narrow("narrow.parquet", ["p1", "r1"], 200), person=person)
    assert told.units == (1 if person else 2), "columns that are more do no harm"
    assert rows_read(ledger, "first", until="narrow").count("p1") == (3 if person else 2)


def test_a_block_that_has_arrived_may_lie_elsewhere_whatever_it_lacks(ledger, monkeypatch):
    narrow = _narrow("narrow.parquet", ["p1", "r1"], 200, "x")
    with monkeypatch.context() as patch:
        patch.setattr(module, "_require_columns", lambda *_given: None)
        append(ledger, "narrow", narrow)
    assert append(ledger, "narrow", narrow.rename("moved.parquet").absolute()).returning == 1


def test_a_name_or_a_file_is_there_once(ledger):
    first = write("a.parquet", ["q1", "q2", "q3"], 100)
    append(ledger, "a", first)
    with pytest.raises(BadInput, match="another file than that of the block 'a'"):
        append(ledger, "a", write("b.parquet", ["r1", "r2"], 200))
    with pytest.raises(BadInput, match="known as a part"):
        append(ledger, "b", first)
    sequence = state_of(ledger).sequence
    assert append(ledger, "a", first).units == 3
    assert state_of(ledger).sequence == sequence
    moved = first.rename("elsewhere.parquet").absolute()
    append(ledger, "a", moved)
    assert state_of(ledger).blocks["a"].arrival.path == str(moved)


@pytest.mark.parametrize("step", ["first", "registry", "ledger"])
def test_killed_between_two_steps_the_file_belongs_to_its_dataset_and_the_command_goes_on(ledger, monkeypatch, step):
    data = write("a.parquet", ["q1", "p1", "q2"], 100)
    killed = {
        "first": (Registry, "add_block", 0),
        "registry": (SqliteLedger, "open_block", 1),
        "ledger": (SqliteLedger, "open_block", 0),
    }[step]
    with monkeypatch.context() as patch:
        _kill(patch, *killed)
        with pytest.raises(KeyboardInterrupt):
            append(ledger, "a", data)
    with Registry() as registry:
        found = registry.lookup(data)
        assert (found.dataset is not None) == (step == "registry")
        if found.dataset is not None:
            assert found.dataset.ledger == ledger
    told = append(ledger, "a", data)
    assert (told.units, told.returning, list(told.state.blocks)) == (2, 1, ["first", "a"])


def test_killed_before_the_ledger_knows_it_a_block_keeps_its_name(ledger, monkeypatch):
    """Were the name given to another file, this one would fit under none: it is known, as another block."""
    data, other = write("a.parquet", ["q1", "p1"], 100), write("b.parquet", ["r1", "r2", "r3"], 200)
    with monkeypatch.context() as patch:
        _kill(patch, SqliteLedger, "open_block", 1)
        with pytest.raises(KeyboardInterrupt):
            append(ledger, "a", data)
    with pytest.raises(BadInput, match=r"b\.parquet is another file than that of the block 'a'.*another --block"):
        append(ledger, "a", other)
    assert list(state_of(ledger).blocks) == ["first"]
    assert append(ledger, "b", other).units == 3
    assert append(ledger, "a", data).units == 1


def test_names_of_another_ledger_are_free(ledger, tmp_path):
    append(ledger, "a", write("a.parquet", ["q1"], 100))
    other = ledger_of(tmp_path, "other", [f"s{number}" for number in range(20)], 500)
    assert append(other, "a", write("b.parquet", ["r1"], 900)).units == 1


def _kill(patch, kind, name, after):
    """The call of that name ends everything, after so many that go well."""
    real, calls = getattr(kind, name), []

    def deadly(self, *given, **more):
        calls.append(name)
        if len(calls) > after:
            raise KeyboardInterrupt
        return real(self, *given, **more)

    patch.setattr(kind, name, deadly)


def test_an_old_copy_of_the_ledger_is_noticed(ledger):
    old = ledger.read_bytes()
    append(ledger, "a", write("a.parquet", ["q1", "q2"], 100))
    ledger.write_bytes(old)
    for remains in ledger.parent.glob(f"{ledger.name}-*"):
        remains.unlink()
    with pytest.raises(LedgerFailure, match=r"old copy|behind|rolled back|restored"):
        append(ledger, "b", write("b.parquet", ["r1", "r2"], 200))


def test_people_are_looked_for_under_their_own_key_only(ledger, monkeypatch):
    append(ledger, "a", write("a.parquet", ["q1", "q2"], 100))
    monkeypatch.setattr(module, "key_check", lambda _registry: "another")
    with pytest.raises(LedgerFailure, match="key of another registry"):
        append(ledger, "b", write("b.parquet", ["q1", "r2"], 200))


def test_an_expired_block_keeps_its_people(ledger):
    append(ledger, "a", write("a.parquet", ["q1", "q2"], 100))
    with closing(SqliteLedger(ledger)) as opened:
        opened.change_block(Expired("a", "me", "kept long enough"))
    Path("a.parquet").unlink()
    told = append(ledger, "b", write("b.parquet", ["q1", "r1"], 200))
    assert (told.units, told.returning) == (1, 1)
    assert rows_read(ledger, "first", "b", until="b").count("q1") == 0


def test_rows_are_units_where_nobody_is_named(ledger):
    told = append(ledger, "a", write("a.parquet", ["q1", "q1", "p1"], 100), person="")
    assert (told.units, told.returning) == (3, 0)
    assert rows_read(ledger, "a", until="a") == ["p1", "q1", "q1"]
    with pytest.raises(LedgerRefusal, match="no column of people"):
        append(ledger, "b", write("b.parquet", ["q1"], 200), person="who")


def test_changed_files_are_not_read(ledger):
    append(ledger, "a", write("a.parquet", ["q1", "q2"], 100))
    write("a.parquet", ["q1", "q3"], 100)
    with pytest.raises(CoprivError, match="not what it was"):
        rows_read(ledger, "first", until="a")


def test_people_by_another_column_bring_no_block(ledger):
    """Charged by patient, a block by visit would give a patient an account for every visit."""
    with closing(SqliteLedger(ledger)) as opened:
        opened.enroll(Enrolled("before", "before", "learner", "me", unit="person", person="who"))
        opened.reserve("q", "?", Amount(700_000_000, "epsilon"), "before", Amount(10**9, "epsilon"))
    visits = write("visits.parquet", ["p1", "q1"], 100)
    with pytest.raises(LedgerRefusal, match="one person by 'who' has lost, and this study is about one person by 'x'"):
        append(ledger, "visits", visits, person="x")
    assert list(state_of(ledger).blocks) == ["first"]
    assert append(ledger, "visits", visits).returning == 1


def _spend(ledger, study="before"):
    with closing(SqliteLedger(ledger)) as opened:
        opened.enroll(Enrolled(study, study, "learner", "me", unit="person", person="who"))
        opened.reserve(f"q {study}", "?", Amount(700_000_000, "epsilon"), study, Amount(10**9, "epsilon"))


def test_whoever_was_in_an_earlier_version_alone_has_no_new_account(ledger):
    """p0 to p4 were charged and are in the file of now no more: they come back to the account that they had."""
    _spend(ledger)
    change_version(ledger, write("later.parquet", [f"p{number}" for number in range(5, 25)] * 2), Word("me"))
    told = append(ledger, "a", write("a.parquet", ["p0", "p7", "q1"], 500))
    assert (told.units, told.returning) == (1, 2)
    assert told.state.blocks["first"].arrival.units == 20
    read = rows_read(ledger, "first", "a", until="a")
    assert "p0" not in read, "it is in no number, so it is not read"
    assert read.count("p7") == 3
    assert len(set(read)) == units_of(told.state, Reading(("first", "a"), "a"))
    moved = Path("later.parquet").rename("moved.parquet").absolute()
    assert append(ledger, "first", moved).units == 20
    assert append(ledger, "b", write("b.parquet", ["p0", "p1", "q2"], 600)).returning == 2


@pytest.mark.parametrize("how", ["gone", "overwritten"])
def test_people_of_a_version_that_is_gone_are_signed_for(ledger, how):
    _spend(ledger)
    first = Path("first.parquet")
    later = [f"p{number}" for number in range(5, 25)] * 2
    if how == "gone":
        change_version(ledger, write("later.parquet", later), Word("me"))
        first.unlink()
    else:
        change_version(ledger, write("first.parquet", later), Word("me"))
    with pytest.raises(BadInput, match="an earlier version of these records is not where it was"):
        append(ledger, "a", write("a.parquet", ["q0", "q1"], 500))
    assert not any(block.arrival for block in state_of(ledger).blocks.values())
    assert append(ledger, "a", Path("a.parquet").absolute(), unrelated=True).units == 2


def test_versions_that_nobody_has_charged_say_nothing(ledger):
    change_version(ledger, write("first.parquet", [f"p{number}" for number in range(5, 25)] * 2), Word("me"))
    assert append(ledger, "a", write("a.parquet", ["p0", "q1"], 500)).units == 2


def test_a_twin_that_knows_the_file_of_now_alone_gives_a_second_account(ledger, monkeypatch):
    _spend(ledger)
    change_version(ledger, write("later.parquet", [f"p{number}" for number in range(5, 25)] * 2), Word("me"))
    monkeypatch.setattr(module, "_former", lambda *_given: set())
    assert append(ledger, "a", write("a.parquet", ["p0", "p7", "q1"], 500)).units == 2


def _ask(ledger, study, *blocks, **about):
    with closing(SqliteLedger(ledger)) as opened:
        opened.enroll(Enrolled(study, study, "learner", "me", blocks=blocks, **about))
        opened.reserve(f"q {study}", "?", PRICE, study, PRICE)


@pytest.mark.parametrize(
    ("column", "about"),
    [
        ("", {"unit": "person", "person": "who"}),
        ("", {"unit": "person"}),
        ("who", {"unit": "person", "person": "x"}),
        ("who", {"unit": "record"}),
    ],
)
def test_blocks_pay_for_nothing_that_counts_otherwise(ledger, column, about):
    """Blocks of rows that are charged for people, one by one, would have whoever is in two of them lose twice."""
    people = [f"p{number}" for number in range(20)] if not column else [f"q{number}" for number in range(20)]
    append(ledger, "a", write("a.parquet", people, 100), person=column)
    for block in ("first", "a"):
        with pytest.raises(LedgerRefusal, match=r"counts what one (record|person by 'who') has lost"):
            _ask(ledger, f"of {block}", block, **about)
    assert not state_of(ledger).studies
    _ask(ledger, "alike", "first", unit="person" if column else "record", person=column)
    assert state_of(ledger).blocks["first"].spent == {"epsilon": PRICE.nano}
