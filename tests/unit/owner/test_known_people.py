"""Whoever has an account in a ledger of blocks gets no other one through another file, unless a person signs."""

from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from tests.arriving_blocks import append, ledger_of, state_of, write

from copriv.errors import BadInput, BadTable, CoprivError, LedgerFailure, LedgerRefusal
from copriv.owner import dataset_ledger as module
from copriv.owner.dataset_ledger import Word, open_settled, settle
from copriv.owner.entries import Expired
from copriv.owner.joining import settle_joining
from copriv.owner.registry import Registry
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.runtime.owner_ledger import NewLedger, change_version, make_ledger

FIRST = [f"p{number}" for number in range(20)]
REFUSED = "has people who have an account in .*clinic.sqlite"


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    """People p0 to p19 in the block `first`, and q0 to q4 in `feb`."""
    monkeypatch.chdir(tmp_path)
    place = ledger_of(tmp_path)
    append(place, "feb", write("feb.parquet", [f"q{number}" for number in range(5)] * 4, 100))
    return place


def again(people=FIRST, name="again.parquet"):
    return write(name, people, 900)


def settled(data, person="who", **said):
    with Registry() as registry:
        return settle(registry, registry.lookup(data), Word("me", **said), person)


def new_ledger(place, data, **said):
    return make_ledger(
        NewLedger(
            path=Path(place).absolute(),
            owner="clinic",
            data=data,
            guarantee=Guarantee.of("1"),
            accountant="pld",
            pure=None,
            word=Word("me", **said),
        )
    )


def test_known_people_with_new_rows_get_no_new_ledger(ledger):
    with pytest.raises(BadInput, match=REFUSED) as refusal:
        settled(again())
    assert "copriv owner append" in refusal.value.remedy
    assert str(ledger) in refusal.value.remedy
    with pytest.raises(BadInput, match=REFUSED):
        settled(again(["q0", "q1", "q2", *(f"s{number}" for number in range(90))], "some.parquet"))
    everybody = [*(f"s{number}" for number in range(3000)), *FIRST]
    with pytest.raises(BadInput, match=REFUSED):
        settled(again(everybody, "among-many.parquet"))


def test_joining_is_refused_before_anything_is_written(ledger, tmp_path):
    data, before = again(), {path: path.read_bytes() for path in tmp_path.glob("*.sqlite")}
    with Registry() as registry:
        with pytest.raises(BadInput, match=REFUSED):
            settle_joining(registry, registry.lookup(data), Word("me"), None, tmp_path / "new.sqlite", "who")
        assert not registry.lookup(data).known
    assert {path: path.read_bytes() for path in tmp_path.glob("*.sqlite")} == before


def test_a_twin_that_compares_rows_alone_gives_them_a_new_ledger(ledger, monkeypatch):
    monkeypatch.setattr(module, "with_known_people", lambda _registry, found, *_given, **_more: found)
    assert settled(again()).dataset is None


def test_a_study_may_call_the_column_otherwise_and_the_command_may_know_no_study(ledger):
    other = pl.read_parquet(again()).rename({"who": "card"})
    other.write_parquet("card.parquet")
    with pytest.raises(BadInput, match=REFUSED):
        settled(Path("card.parquet").absolute(), "card")
    with pytest.raises(BadInput, match=REFUSED):
        new_ledger("new.sqlite", again())
    assert not Path("new.sqlite").exists()
    new_ledger("new.sqlite", Path("card.parquet").absolute())
    with pytest.raises(CoprivError, match="records of another ledger, too"):
        settled(Path("card.parquet").absolute(), "card")


def test_people_of_expired_blocks_stay_known(ledger):
    with closing(SqliteLedger(ledger)) as opened:
        opened.change_block(Expired("feb", "me", "kept long enough"))
    with pytest.raises(BadInput, match=REFUSED):
        settled(again(["q0", "q1", "q2"] * 4))


def test_a_table_in_memory_has_people_too(ledger):
    table = pl.read_parquet(again()).lazy()
    with Registry() as registry, pytest.raises(BadInput, match=REFUSED):
        settle(registry, registry.lookup_table(table, "table"), Word("me"), "who")


def test_other_people_need_no_signature_and_a_signature_is_given_once(ledger, tmp_path):
    assert settled(again([f"s{number}" for number in range(20)], "others.parquet")).dataset is None
    data = again()
    new_ledger("new.sqlite", data, unrelated=True)
    assert settled(data).dataset.ledger == tmp_path / "new.sqlite"


def test_people_who_arrive_while_somebody_thinks_are_noticed(ledger):
    data = again(["t0", "t1", "t2"] * 4)
    decided = settled(data)
    append(ledger, "mar", write("mar.parquet", ["t0", "t1", "t2"] * 4, 300))
    with Registry() as registry, pytest.raises(BadInput, match=REFUSED):
        open_settled(registry, decided, Path("new.sqlite"), lambda: pytest.fail("a ledger was made"))


def test_another_ledger_takes_known_people_neither_as_a_block_nor_as_a_version(ledger):
    new_ledger("other.sqlite", again(["s0", "s1", "s2"] * 4, "other.parquet"))
    other = Path("other.sqlite").absolute()
    with pytest.raises(BadInput, match="people are there"):
        append(other, "mar", again())
    with pytest.raises(BadInput, match="people are there"):
        change_version(other, again(), Word("me"))
    assert list(state_of(other).blocks) == ["first"]
    assert append(other, "mar", again(), unrelated=True).units == 20
    assert settled(again()).dataset.ledger == other


def test_a_ledger_with_its_first_block_alone_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    append(ledger_of(tmp_path), "first", Path("first.parquet").absolute())
    with pytest.raises(BadInput, match=REFUSED):
        settled(again())


def test_a_ledger_that_is_gone_is_looked_for_where_a_study_is_about_people(ledger):
    data = again()
    ledger.rename("elsewhere.sqlite")
    with pytest.raises(LedgerFailure, match="which has blocks, is missing"):
        settled(data)
    assert settled(data, unrelated=True).dataset is None
    assert settled(data, "").dataset is None


def join_as_version(ledger, data):
    with Registry() as registry:
        found = registry.lookup(data)
        joining = settle_joining(registry, found, Word("me", version_of=ledger), None, ledger, "who")
    joining.take("clinic", Guarantee.of("1"), "pld")


def test_a_version_that_is_refused_can_be_appended(ledger):
    data = again([f"s{number}" for number in range(20)])
    with pytest.raises(LedgerRefusal, match="arrived in blocks"):
        join_as_version(ledger, data)
    assert append(ledger, "mar", data).units == 20


def test_a_twin_that_notes_the_version_first_leaves_a_dead_end(ledger, monkeypatch):
    monkeypatch.setattr(module, "require_unnamed", lambda _blocks: None)
    data = again([f"s{number}" for number in range(20)])
    with pytest.raises(LedgerRefusal, match="arrived in blocks"):
        join_as_version(ledger, data)
    with pytest.raises(BadInput, match="known as a part of these records"):
        append(ledger, "mar", data)


def test_people_whose_ids_lack_digits_are_not_taken_for_strangers(ledger, tmp_path):
    data = tmp_path / "cut.parquet"
    pl.read_parquet(again()).with_columns(who=pl.int_range(pl.len()) + 2.0**60).write_parquet(data)
    with pytest.raises(BadTable, match=r"beyond 2\^53 as floating-point"):
        settled(data)
    pl.read_parquet(data).rename({"who": "other"}).write_parquet(tmp_path / "nameless.parquet")
    assert settled(tmp_path / "nameless.parquet").dataset is None
