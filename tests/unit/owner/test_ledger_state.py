"""The fold over a ledger's entries is pure: a state that has a successor stays what it was."""

import msgspec
import pytest

from copriv.errors import LedgerRefusal
from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin
from copriv.owner.ledger_state import append, fold_entries, open_state
from copriv.privacy.guarantee import Amount, Guarantee

PRICE, SHARE = Amount(10, "epsilon"), Amount(10**6, "epsilon")


def _life(queries=30):
    """States and entries of a ledger that answers some queries of two studies."""
    state, entry = open_state(begin("bank", "records", Guarantee.of(1)))
    states, entries = [state], [entry]
    proposals = [lambda state: state.next_entry(Enrolled("first", "study one", "a learner", "Ada"))]
    for number in range(queries):
        study = ("first", "second")[number % 2]
        proposals += [
            lambda state, number=number, study=study: state.charge(f"q{number}", "?", PRICE, study, SHARE),
            lambda state, number=number: state.answer(f"q{number}", b"", f"{number:064x}"),
        ]
    proposals.append(lambda state: state.open_epoch(Guarantee.of(2), {"epsilon": 2 * 10**9}, "Ada"))
    proposals.append(lambda state: state.open_version("other records", "Ada"))
    for propose in proposals:
        entries.append(propose(states[-1]))
        states.append(append(states[-1], entries[-1]))
    return states, entries


def _plain(state):
    fields = {name: getattr(state, name) for name in type(state).__dataclass_fields__}
    return {
        name: dict(value) if name in ("queries", "studies", "enrolled", "receipts") else value
        for name, value in fields.items()
    }


def test_every_state_is_the_fold_of_its_own_entries():
    states, entries = _life()
    for number, state in enumerate(states, start=1):
        assert _plain(state) == _plain(fold_entries(entries[:number]))


def test_two_ways_from_one_state_do_not_meet():
    states, entries = _life()
    middle = states[5]
    other = append(middle, middle.charge("another", "?", PRICE, "third", SHARE))
    assert other.spent_by("third") == PRICE.nano
    assert "another" not in states[6].queries
    assert _plain(states[-1]) == _plain(fold_entries(entries))
    assert states[-1].newest_receipt == f"{29:064x}"


def _charged(unit, study="study"):
    """The state of a ledger that has paid for one answer of a study about a record or a person."""
    state, _ = open_state(begin("bank", "records", Guarantee.of(1)))
    state = append(state, state.next_entry(Enrolled(study, "a study", "a learner", "Ada", unit=unit)))
    assert state.unit is None
    return append(state, state.charge("q", "?", PRICE, study, SHARE))


@pytest.mark.parametrize(("unit", "other"), [("record", "person"), ("person", "record")])
def test_what_a_record_has_lost_and_what_a_person_has_lost_have_one_ledger_and_are_not_mixed(unit, other):
    state = _charged(unit)
    assert state.unit == unit
    state.require_unit(unit)
    with pytest.raises(LedgerRefusal, match=f"one {unit} has lost, and this study is about one {other}"):
        state.require_unit(other)
    joined = append(state, state.next_entry(Enrolled("second", "another", "a learner", "Ada", unit=other)))
    with pytest.raises(LedgerRefusal, match="neither can pay for the other"):
        joined.charge("r", "?", PRICE, "second", SHARE)
    assert joined.charge("r", "?", PRICE, "study", SHARE) is not None
    renewed = append(joined, joined.open_version("other records", "Ada"))
    assert renewed.unit == unit


def test_people_by_another_column_are_other_people():
    """A study chooses its column: of visits instead of patients, a patient loses once for every visit."""
    state, _ = open_state(begin("bank", "records", Guarantee.of(1)))
    for study, column in (("first", "patient"), ("second", "visit"), ("third", "patient"), ("of before", "")):
        named = Enrolled(study, study, "a learner", "Ada", unit="person", person=column)
        state = append(state, state.next_entry(named))
    state = append(state, state.charge("q", "?", PRICE, "first", SHARE))
    assert state.person == "patient"
    with pytest.raises(LedgerRefusal, match="one person by 'patient' has lost, and this study is about one person by"):
        state.charge("r", "?", PRICE, "second", SHARE)
    assert state.charge("r", "?", PRICE, "third", SHARE) is not None
    assert state.charge("r", "?", PRICE, "of before", SHARE) is not None


def test_a_ledger_of_before_counts_for_records():
    state, _ = open_state(begin("bank", "records", Guarantee.of(1)))
    assert (state.unit, state.unit_words) == (None, "record")
    state = append(state, state.charge("q", "?", PRICE, "unnamed", SHARE))
    assert (state.unit, state.unit_words) == ("record", "record")
    enrolled = Enrolled("first", "study one", "a learner", "Ada")
    assert b"unit" not in msgspec.json.encode(enrolled)
    assert _charged("person").unit_words == "person (all of its rows at this owner)"
